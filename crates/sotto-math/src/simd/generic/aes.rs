//! AES by its instructions, on registers that pass each round together.

use super::Register;
use crate::simd::args::key_schedule::CONSTANTS;

/// Registers of blocks, on which the AES instructions work block by block.
pub(in crate::simd) trait Blocks: Register {
    /// Repeats a 32-bit number in every lane.
    fn splat(self, x: i32) -> Self::Value;

    /// Puts a number into the first byte of each block, and zeros into the others.
    fn firsts(self, x: u8) -> Self::Value;

    /// Does a round: SubBytes, ShiftRows, MixColumns, and the key added.
    fn round(self, x: Self::Value, key: Self::Value) -> Self::Value;

    /// Does the last round, without MixColumns.
    fn last_round(self, x: Self::Value, key: Self::Value) -> Self::Value;

    /// Repeats the last word of each block in all of its words, rotated by a byte.
    fn turned(self, x: Self::Value) -> Self::Value;

    /// Xors to each word of a block the words before it.
    fn sums(self, x: Self::Value) -> Self::Value;
}

/// Encrypts by FIPS 197, section 5.1.
#[inline(always)]
pub(in crate::simd) fn encrypt<R: Blocks, const N: usize>(
    r: R,
    keys: &[R::Value; 11],
    mut blocks: [R::Value; N],
) -> [R::Value; N] {
    let [whitening, rounds @ .., last] = keys;
    for block in &mut blocks {
        *block = r.xor(*block, *whitening);
    }
    for key in rounds {
        for block in &mut blocks {
            *block = r.round(*block, *key);
        }
    }
    for block in &mut blocks {
        *block = r.last_round(*block, *last);
    }
    blocks
}

/// Encrypts each block, and xors the block.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
pub(in crate::simd) fn hash<R: Blocks, const N: usize>(
    r: R,
    keys: &[R::Value; 11],
    blocks: [R::Value; N],
) -> [R::Value; N] {
    let mut hashes = encrypt(r, keys, blocks);
    for (hash, block) in hashes.iter_mut().zip(blocks) {
        *hash = r.xor(*hash, block);
    }
    hashes
}

/// Descends from each seed, under its key: for each turn the seed becomes its hash with the turn
/// xored to its first byte.
#[inline(always)]
pub(in crate::simd) fn paths<R: Blocks, const N: usize>(
    r: R,
    keys: [R::Value; N],
    turns: &[u8],
    mut seeds: [R::Value; N],
) -> [R::Value; N] {
    let rounds = expand(r, keys);
    for turn in turns {
        let turn = r.firsts(*turn);
        for seed in &mut seeds {
            *seed = r.xor(*seed, turn);
        }
        let [whitening, middle @ .., last] = &rounds;
        let mut blocks = seeds;
        for (block, key) in blocks.iter_mut().zip(whitening) {
            *block = r.xor(*block, *key);
        }
        for keys in middle {
            for (block, key) in blocks.iter_mut().zip(keys) {
                *block = r.round(*block, *key);
            }
        }
        for ((block, key), seed) in blocks.iter().zip(last).zip(&mut seeds) {
            *seed = r.xor(r.last_round(*block, *key), *seed);
        }
    }
    seeds
}

/// Computes the round keys of FIPS 197, section 5.2, of a key in each block. The S-box is that of
/// the last round, whose shift of rows changes nothing where all columns are equal.
#[inline(always)]
fn expand<R: Blocks, const N: usize>(r: R, mut keys: [R::Value; N]) -> [[R::Value; N]; 11] {
    let mut rounds = [keys; 11];
    for (round, constant) in rounds[1..].iter_mut().zip(CONSTANTS) {
        let constant = r.splat(i32::from(constant));
        for key in &mut keys {
            *key = r.xor(r.sums(*key), r.last_round(r.turned(*key), constant));
        }
        *round = keys;
    }
    rounds
}

/// Loads `N` registers of blocks.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
pub(in crate::simd) fn load_all<R: Register, const N: usize>(r: R, from: &[[u8; 16]]) -> [R::Value; N] {
    let mut values = [r.zero(); N];
    for (value, from) in values.iter_mut().zip(from.chunks_exact(R::BYTES / 16)) {
        *value = r.load(from);
    }
    values
}

/// Stores `N` registers of blocks.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
pub(in crate::simd) fn store_all<R: Register, const N: usize>(
    r: R,
    to: &mut [[u8; 16]],
    values: [R::Value; N],
) {
    for (to, value) in to.chunks_exact_mut(R::BYTES / 16).zip(values) {
        r.store(to, value);
    }
}
