//! Rows of words times short vectors: signed 32-bit products in 64-bit lanes.
//!
//! `vpmuldq` multiplies signed words, and `h` is unsigned. Flipping the top bit of `h`
//! subtracts 2^31 from it, which makes it signed; the missing `2^31 sum(s)` is the same
//! for every row and is added back once.

use super::lanes::{load, prefetch, store};
use core::arch::x86_64::*;

/// How far ahead a row is asked for, as in the scan.
const AHEAD: usize = 101 * 64;

#[target_feature(enable = "avx2")]
pub(super) fn dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    // Up to four vectors share one read of a row; further ones find it in the cache.
    for (r, row) in h.chunks_exact(n).enumerate() {
        for (s, y) in s.chunks(4).zip(y.chunks_mut(4)) {
            let sums = match *s {
                [a] => pad(row_times([a], row)),
                [a, b] => pad(row_times([a, b], row)),
                [a, b, c] => pad(row_times([a, b, c], row)),
                [a, b, c, d] => row_times([a, b, c, d], row),
                _ => [0; 4],
            };
            for (y, sum) in y.iter_mut().zip(sums) {
                y[r] = sum;
            }
        }
    }
    let whole = n / 8 * 8;
    for (s, y) in s.iter().zip(y) {
        let sum = s[..whole].iter().map(|&s| i64::from(s)).sum::<i64>();
        y.iter_mut().for_each(|y| *y = y.wrapping_add(sum.wrapping_shl(31)));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn row_times<const V: usize>(s: [&[i32]; V], row: &[u32]) -> [i64; V] {
    let (words, tail) = row.as_chunks::<8>();
    let mut small = [&[][..]; V];
    for (small, s) in small.iter_mut().zip(s) {
        *small = &s.as_chunks::<8>().0[..words.len()];
    }
    let flip = _mm256_set1_epi32(i32::MIN);
    let mut even = [_mm256_setzero_si256(); V];
    let mut odd = [_mm256_setzero_si256(); V];
    for (i, words) in words.iter().enumerate() {
        prefetch(words.as_ptr().cast::<u8>().wrapping_add(AHEAD));
        let h = _mm256_xor_si256(load(words), flip);
        let h_odd = _mm256_srli_epi64::<32>(h);
        for v in 0..V {
            let s = load(&small[v][i]);
            even[v] = _mm256_add_epi64(even[v], _mm256_mul_epi32(h, s));
            odd[v] = _mm256_add_epi64(odd[v], _mm256_mul_epi32(h_odd, _mm256_srli_epi64::<32>(s)));
        }
    }
    let mut sums = [0; V];
    for v in 0..V {
        sums[v] = sum(_mm256_add_epi64(even[v], odd[v]));
        for (&h, &s) in tail.iter().zip(&s[v][words.len() * 8..]) {
            sums[v] = sums[v].wrapping_add(i64::from(h).wrapping_mul(i64::from(s)));
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(x: __m256i) -> i64 {
    let mut lanes = [0i64; 4];
    store(&mut lanes, x);
    let [a, b, c, d] = lanes;
    a.wrapping_add(b).wrapping_add(c).wrapping_add(d)
}

fn pad<const V: usize>(sums: [i64; V]) -> [i64; 4] {
    let mut padded = [0; 4];
    padded[..V].copy_from_slice(&sums);
    padded
}
