//! Transpositions in pairs of registers.

use super::registers::{Four, Pair};
use crate::simd::generic::each;
use core::arch::aarch64::*;

/// Transposes 4 by 4 lanes in two rows at a time, of which there are four pairs.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn transpose([a, b, c, d]: [Four; 4]) -> [Four; 4] {
    [
        [vzip1q_f64(a[0], b[0]), vzip1q_f64(c[0], d[0])],
        [vzip2q_f64(a[0], b[0]), vzip2q_f64(c[0], d[0])],
        [vzip1q_f64(a[1], b[1]), vzip1q_f64(c[1], d[1])],
        [vzip2q_f64(a[1], b[1]), vzip2q_f64(c[1], d[1])],
    ]
}

/// Transposes 8 by 8 words by four transpositions of 4 by 4, of which the outer two are swapped.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn transpose_words([a, b, c, d, e, f, g, h]: [Pair; 8]) -> [Pair; 8] {
    let [i, j, k, l] = transpose_quarter([a[0], b[0], c[0], d[0]]);
    let [m, n, o, p] = transpose_quarter([e[0], f[0], g[0], h[0]]);
    let [q, r, s, t] = transpose_quarter([a[1], b[1], c[1], d[1]]);
    let [u, v, w, x] = transpose_quarter([e[1], f[1], g[1], h[1]]);
    [[i, m], [j, n], [k, o], [l, p], [q, u], [r, v], [s, w], [t, x]]
}

/// Transposes 4 by 4 words: pairs of lanes, then pairs of pairs.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_quarter([a, b, c, d]: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
    let [a, b] = [vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)];
    let [c, d] = [vreinterpretq_u32_u8(c), vreinterpretq_u32_u8(d)];
    let ab = [vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(a, b))];
    let cd = [vreinterpretq_u64_u32(vtrn1q_u32(c, d)), vreinterpretq_u64_u32(vtrn2q_u32(c, d))];
    let (low, high) = (each!(vtrn1q_u64(ab, cd)), each!(vtrn2q_u64(ab, cd)));
    let (low, high) = (each!(vreinterpretq_u8_u64(low)), each!(vreinterpretq_u8_u64(high)));
    [low[0], low[1], high[0], high[1]]
}
