//! Transpositions in pairs of registers.

use super::registers::Pair;
use core::arch::wasm32::*;

/// Transposes 4 by 4 lanes in two rows at a time, of which there are four pairs.
#[inline(always)]
pub(super) fn transpose([a, b, c, d]: [Pair; 4]) -> [Pair; 4] {
    [
        [firsts(a[0], b[0]), firsts(c[0], d[0])],
        [seconds(a[0], b[0]), seconds(c[0], d[0])],
        [firsts(a[1], b[1]), firsts(c[1], d[1])],
        [seconds(a[1], b[1]), seconds(c[1], d[1])],
    ]
}

/// Transposes 8 by 8 words by four transpositions of 4 by 4, of which the outer two are swapped.
#[inline(always)]
pub(super) fn transpose_words([a, b, c, d, e, f, g, h]: [Pair; 8]) -> [Pair; 8] {
    let [i, j, k, l] = transpose_quarter([a[0], b[0], c[0], d[0]]);
    let [m, n, o, p] = transpose_quarter([e[0], f[0], g[0], h[0]]);
    let [q, r, s, t] = transpose_quarter([a[1], b[1], c[1], d[1]]);
    let [u, v, w, x] = transpose_quarter([e[1], f[1], g[1], h[1]]);
    [[i, m], [j, n], [k, o], [l, p], [q, u], [r, v], [s, w], [t, x]]
}

/// Transposes 4 by 4 words: pairs of words, then pairs of pairs.
#[inline(always)]
fn transpose_quarter([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let (ab, cd) = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<0, 4, 1, 5>(c, d));
    let (ab_high, cd_high) = (i32x4_shuffle::<2, 6, 3, 7>(a, b), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [firsts(ab, cd), seconds(ab, cd), firsts(ab_high, cd_high), seconds(ab_high, cd_high)]
}

#[inline(always)]
fn firsts(a: v128, b: v128) -> v128 {
    i64x2_shuffle::<0, 2>(a, b)
}

#[inline(always)]
fn seconds(a: v128, b: v128) -> v128 {
    i64x2_shuffle::<1, 3>(a, b)
}
