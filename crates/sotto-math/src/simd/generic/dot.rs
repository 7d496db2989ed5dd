//! Products of rows of words and short vectors: signed 32-bit products in 64-bit lanes.
//!
//! The product is of signed words, and `h` is unsigned. Flipping the top bit of `h` subtracts 2^31
//! from it, which makes it signed; the missing `2^31 sum(s)` is the same for every row and is added
//! back once.

use super::{Multiplier, Register, prefetch};

/// Number of bytes ahead that a row is prefetched, as in the scan.
const AHEAD: usize = 101 * 64;

/// Multiplies rows of `h`, `n` words each, by each vector of `s`.
#[inline(always)]
pub(in crate::simd) fn dot<R: Multiplier>(r: R, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    // Up to four vectors share one read of a row; further ones find it in the cache.
    for (at, row) in h.chunks_exact(n).enumerate() {
        for (s, y) in s.chunks(4).zip(y.chunks_mut(4)) {
            let sums = match *s {
                [a] => pad(row_times(r, [a], row)),
                [a, b] => pad(row_times(r, [a, b], row)),
                [a, b, c] => pad(row_times(r, [a, b, c], row)),
                [a, b, c, d] => row_times(r, [a, b, c, d], row),
                _ => [0; 4],
            };
            for (y, sum) in y.iter_mut().zip(sums) {
                y[at] = sum;
            }
        }
    }
    let whole = n / step::<R>() * step::<R>();
    for (s, y) in s.iter().zip(y) {
        let sum = s[..whole].iter().map(|&s| i64::from(s)).sum::<i64>();
        y.iter_mut().for_each(|y| *y = y.wrapping_add(sum.wrapping_shl(31)));
    }
}

/// Number of words of a step: four registers.
#[inline(always)]
const fn step<R: Register>() -> usize {
    R::BYTES
}

#[inline(always)]
fn row_times<R: Multiplier, const V: usize>(r: R, s: [&[i32]; V], row: &[u32]) -> [i64; V] {
    let (step, count) = (step::<R>(), R::BYTES / 4);
    let whole = row.len() / step * step;
    let s = s.map(|s| &s[..row.len()]);
    let flip = r.splat(i32::MIN);
    let mut lanes = [[r.zero(); 2]; V];
    for (i, words) in row.chunks_exact(step).enumerate() {
        for line in (0..4 * step).step_by(64) {
            prefetch(words.as_ptr().cast::<u8>().wrapping_add(AHEAD + line));
        }
        let mut parts = s;
        for part in &mut parts {
            *part = &part[i * step..][..step];
        }
        for (j, words) in words.chunks_exact(count).enumerate() {
            let h = r.xor(r.load(words), flip);
            for v in 0..V {
                lanes[v] = r.add_products(lanes[v], h, r.load(&parts[v][j * count..][..count]));
            }
        }
    }
    let mut sums = [0; V];
    for v in 0..V {
        sums[v] = r.sum_lanes(lanes[v]);
        for (&h, &s) in row[whole..].iter().zip(&s[v][whole..]) {
            sums[v] = sums[v].wrapping_add(i64::from(h).wrapping_mul(i64::from(s)));
        }
    }
    sums
}

#[inline(always)]
fn pad<const V: usize>(sums: [i64; V]) -> [i64; 4] {
    let mut padded = [0; 4];
    padded[..V].copy_from_slice(&sums);
    padded
}
