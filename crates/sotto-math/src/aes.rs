//! AES-128 over whole slices: a pseudo-random function of two numbers, and a generator that grows
//! trees.
//!
//! All functions do a fixed number of rounds on independent blocks, so a processor with AES
//! instructions keeps eight registers in flight and is limited by nothing else. Without them the
//! code is bit-sliced. Neither has a table, a branch or an address that depends on a key or a
//! block.

pub use crate::simd::args::aes::Aes;
use crate::simd::{self, Blocks};

impl Aes {
    /// Encrypts all pairs of `nx` numbers from `x` on and `ny` from `y` on, the second moving
    /// faster.
    ///
    /// `out[a * ny + b]` is the block of `x + a` and `y + b`, each as eight little-endian bytes and
    /// modulo 2^64.
    ///
    /// # Panics
    /// If `out` is not `nx * ny` long.
    pub fn grid(&self, x: u64, nx: usize, y: u64, ny: usize, out: &mut [[u8; 16]]) {
        grid_with(simd::kernels().aes(), self, [x, y], [nx, ny], out);
    }

    /// Writes the encryption of `input[i]` plus `input[i]` to `out[i]`: a function that nobody can
    /// invert even if the key is known (Matyas, Meyer and Oseas).
    ///
    /// # Panics
    /// If there are not as many outputs as inputs.
    pub fn mmo(&self, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
        mmo_with(simd::kernels().aes(), self, input, out);
    }
}

/// Makes two blocks of each seed, the children in a binary tree.
///
/// `out[2 * i]` is the result of [`Aes::mmo`] for `seeds[i]` under `left`, and `out[2 * i + 1]`
/// under `right`.
///
/// # Panics
/// If there are not twice as many outputs as seeds.
pub fn double(left: &Aes, right: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    double_with(simd::kernels().aes(), [left, right], seeds, out);
}

/// Makes four blocks of each seed, for leaves of 512 bits.
///
/// `out[4 * i + t]` is the result of [`Aes::mmo`] for `seeds[i]` with `t` xored to its first byte.
///
/// # Panics
/// If there are not four times as many outputs as seeds.
pub fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    widen_with(simd::kernels().aes(), key, seeds, out);
}

/// Descends one path in each of many trees, each under a key of its own.
///
/// For each of `turns` in order, every seed is replaced by the result of [`Aes::mmo`] under its key
/// for the seed with the turn xored to its first byte. The time depends on lengths only.
///
/// # Panics
/// If there are not as many seeds as keys.
pub fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    descend_with(simd::kernels().aes(), keys, turns, seeds);
}

fn grid_with(blocks: &dyn Blocks, key: &Aes, from: [u64; 2], count: [usize; 2], out: &mut [[u8; 16]]) {
    assert_eq!(count[0].checked_mul(count[1]), Some(out.len()), "one block for each pair");
    // A grid without columns has no pair, and no next row either.
    if !out.is_empty() {
        blocks.grid(key, from, count[1] as u64, out);
    }
}

fn mmo_with(blocks: &dyn Blocks, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(input.len(), out.len(), "one block for each input");
    blocks.mmo(key, input, out);
}

fn double_with(blocks: &dyn Blocks, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(seeds.len().checked_mul(2), Some(out.len()), "two blocks for each seed");
    blocks.double(keys, seeds, out);
}

fn widen_with(blocks: &dyn Blocks, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(seeds.len().checked_mul(4), Some(out.len()), "four blocks for each seed");
    blocks.widen(key, seeds, out);
}

fn descend_with(blocks: &dyn Blocks, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    assert_eq!(keys.len(), seeds.len(), "a seed for each key");
    blocks.descend(keys, turns, seeds);
}

#[cfg(test)]
mod tests;
