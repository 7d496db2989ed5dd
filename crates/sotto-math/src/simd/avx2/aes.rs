//! AES by its instructions, eight blocks in flight.

use crate::aes::Aes;
use crate::aes::schedule::CONSTANTS;
use crate::simd::Blocks;
use crate::simd::scalar::Pairs;
use core::arch::x86_64::*;

/// Blocks in flight: a round takes some four cycles, and two can begin in each.
const FLIGHT: usize = 8;

/// Proof that this processor has AVX2 and AES. Only the probe makes one.
pub(in crate::simd) struct AesNi(());

impl AesNi {
    pub(in crate::simd) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: AesNi = AesNi(());
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes")).then_some(&PROVEN)
    }
}

impl Blocks for AesNi {
    fn grid(&self, key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
        // SAFETY: self proves the features.
        unsafe { grid(key, Pairs { x, b: 0, y, ny }, out) }
    }

    fn mmo(&self, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
        // SAFETY: self proves the features.
        unsafe { mmo(key, input, out) }
    }

    fn double(&self, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
        // SAFETY: self proves the features.
        unsafe { double(keys, seeds, out) }
    }

    fn widen(&self, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
        // SAFETY: self proves the features.
        unsafe { widen(key, seeds, out) }
    }

    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
        // SAFETY: self proves the features.
        unsafe { descend(keys, turns, seeds) }
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn grid(key: &Aes, mut pairs: Pairs, out: &mut [[u8; 16]]) {
    let keys = keys(key);
    let (groups, rest) = out.as_chunks_mut::<FLIGHT>();
    for out in groups {
        let mut blocks = [_mm_setzero_si128(); FLIGHT];
        for block in &mut blocks {
            *block = pair(pairs.next_pair());
        }
        store_all(out, encrypt(&keys, blocks));
    }
    for out in rest {
        let [block] = encrypt(&keys, [pair(pairs.next_pair())]);
        store(out, block);
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn mmo(key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let keys = keys(key);
    let (groups, rest) = input.as_chunks::<FLIGHT>();
    let (out_groups, out_rest) = out.as_chunks_mut::<FLIGHT>();
    for (input, out) in groups.iter().zip(out_groups) {
        store_all(out, hash(&keys, load_all(input)));
    }
    for (input, out) in rest.iter().zip(out_rest) {
        let [hash] = hash(&keys, [load(input)]);
        store(out, hash);
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn double(sides: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let sides = [keys(sides[0]), keys(sides[1])];
    let (groups, rest) = seeds.as_chunks::<FLIGHT>();
    let (out, out_rest) = out.split_at_mut(2 * FLIGHT * groups.len());
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<{ 2 * FLIGHT }>().0) {
        for (at, keys) in sides.iter().enumerate() {
            let hashes = hash(keys, load_all(seeds));
            for (out, hash) in out.as_chunks_mut::<2>().0.iter_mut().zip(hashes) {
                store(&mut out[at], hash);
            }
        }
    }
    for (seed, out) in rest.iter().zip(out_rest.as_chunks_mut::<2>().0) {
        for (out, keys) in out.iter_mut().zip(&sides) {
            let [hash] = hash(keys, [load(seed)]);
            store(out, hash);
        }
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let keys = keys(key);
    // Two leaves are a flight. An odd last one is a shorter flight.
    let (groups, rest) = seeds.as_chunks::<{ FLIGHT / 4 }>();
    let (out, out_rest) = out.split_at_mut(FLIGHT * groups.len());
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<FLIGHT>().0) {
        let mut blocks = [_mm_setzero_si128(); FLIGHT];
        for (seed, blocks) in seeds.iter().zip(blocks.as_chunks_mut::<4>().0) {
            *blocks = leaf(seed);
        }
        store_all(out, hash(&keys, blocks));
    }
    for (seed, out) in rest.iter().zip(out_rest.as_chunks_mut::<4>().0) {
        store_all(out, hash(&keys, leaf(seed)));
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    let (groups, rest) = keys.as_chunks::<FLIGHT>();
    let (seeds, seeds_rest) = seeds.as_chunks_mut::<FLIGHT>();
    for (keys, seeds) in groups.iter().zip(seeds) {
        store_all(seeds, paths(load_all(keys), turns, load_all(seeds)));
    }
    for (key, seed) in rest.iter().zip(seeds_rest) {
        let [end] = paths([load(key)], turns, [load(seed)]);
        store(seed, end);
    }
}

/// Down from each seed, under its key.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn paths<const N: usize>(keys: [__m128i; N], turns: &[u8], mut seeds: [__m128i; N]) -> [__m128i; N] {
    let rounds = expand(keys);
    for turn in turns {
        for seed in &mut seeds {
            *seed = _mm_xor_si128(*seed, _mm_cvtsi32_si128(i32::from(*turn)));
        }
        let [whitening, middle @ .., last] = &rounds;
        let mut blocks = seeds;
        for (block, key) in blocks.iter_mut().zip(whitening) {
            *block = _mm_xor_si128(*block, *key);
        }
        for keys in middle {
            for (block, key) in blocks.iter_mut().zip(keys) {
                *block = _mm_aesenc_si128(*block, *key);
            }
        }
        for ((block, key), seed) in blocks.iter().zip(last).zip(&mut seeds) {
            *seed = _mm_xor_si128(_mm_aesenclast_si128(*block, *key), *seed);
        }
    }
    seeds
}

/// The round keys of FIPS 197, section 5.2, of several keys. The S-box is that of the last round, whose shift of rows moves
/// nothing where all columns are equal.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn expand<const N: usize>(mut keys: [__m128i; N]) -> [[__m128i; N]; 11] {
    let mut rounds = [keys; 11];
    for (round, constant) in rounds[1..].iter_mut().zip(CONSTANTS) {
        let constant = _mm_set1_epi32(i32::from(constant));
        for key in &mut keys {
            let word = _mm_shuffle_epi32::<0xFF>(*key);
            let turned = _mm_or_si128(_mm_srli_epi32::<8>(word), _mm_slli_epi32::<24>(word));
            // Each word becomes the sum of those up to it.
            let sums = _mm_xor_si128(*key, _mm_slli_si128::<4>(*key));
            let sums = _mm_xor_si128(sums, _mm_slli_si128::<8>(sums));
            *key = _mm_xor_si128(sums, _mm_aesenclast_si128(turned, constant));
        }
        *round = keys;
    }
    rounds
}

/// The encryption of each block, plus the block.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn hash<const N: usize>(keys: &[__m128i; 11], blocks: [__m128i; N]) -> [__m128i; N] {
    let mut hashes = encrypt(keys, blocks);
    for (hash, block) in hashes.iter_mut().zip(blocks) {
        *hash = _mm_xor_si128(*hash, block);
    }
    hashes
}

/// FIPS 197, section 5.1, on blocks that go through each round together.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn encrypt<const N: usize>(keys: &[__m128i; 11], mut blocks: [__m128i; N]) -> [__m128i; N] {
    let [whitening, rounds @ .., last] = keys;
    for block in &mut blocks {
        *block = _mm_xor_si128(*block, *whitening);
    }
    for key in rounds {
        for block in &mut blocks {
            *block = _mm_aesenc_si128(*block, *key);
        }
    }
    for block in &mut blocks {
        *block = _mm_aesenclast_si128(*block, *last);
    }
    blocks
}

/// A seed four times, with 0, 1, 2 and 3 added to its first byte without carry.
#[inline]
#[target_feature(enable = "avx2")]
fn leaf(seed: &[u8; 16]) -> [__m128i; 4] {
    let mut blocks = [load(seed); 4];
    for (block, t) in blocks.iter_mut().zip(0..) {
        *block = _mm_xor_si128(*block, _mm_cvtsi32_si128(t));
    }
    blocks
}

#[inline]
#[target_feature(enable = "avx2")]
fn keys(key: &Aes) -> [__m128i; 11] {
    load_all(&key.rounds)
}

#[inline]
#[target_feature(enable = "avx2")]
fn pair([x, y]: [u64; 2]) -> __m128i {
    _mm_set_epi64x(y as i64, x as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_all<const N: usize>(from: &[[u8; 16]; N]) -> [__m128i; N] {
    let mut blocks = [_mm_setzero_si128(); N];
    for (block, from) in blocks.iter_mut().zip(from) {
        *block = load(from);
    }
    blocks
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_all<const N: usize>(to: &mut [[u8; 16]; N], values: [__m128i; N]) {
    for (to, value) in to.iter_mut().zip(values) {
        store(to, value);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(from: &[u8; 16]) -> __m128i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u8; 16], value: __m128i) {
    // SAFETY: the array is the 16 bytes that this store writes, and it needs no alignment.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), value) }
}
