//! The transform in 52-bit arithmetic, eight slots per register.
//!
//! Levels whose blocks are longer than 64 slots are done two at a time through memory; the last six
//! are done in eight registers, a square of 64 slots. Three of those six pair registers; then the
//! square is transposed, so that the last three, which would pair lanes, pair registers too.
//!
//! **Bounds.** Only the low 52 bits of a register count, because multiplication reads no others.
//! When q is so small that nothing can grow past them ([`Reduction::AtTheEnd`]), there is no
//! reduction between levels at all: a level adds a number below 2q, or subtracts it, so values stay
//! positive if a multiple of 2q for each level, the *bias*, is added at the start. Otherwise values
//! are kept below 4q, as Harvey does.
//!
//! **Moduli below 2^30** are transformed in 32 bits: see [`words`].
//!
//! **Wide moduli**, from 2^50 to 2^60, use the same levels in 64-bit lanes. The upper half of a
//! product of 64-bit numbers is assembled from three products of 32-bit halves; the fourth and the
//! carries are omitted, so a quotient may be three too low and products are below 4q. Without
//! reduction between levels values stay below 2^64 up to q of 57 bits; otherwise they are kept
//! below 8q.

mod forward;
mod inverse;
mod words;

use super::products::{Factors, every};
use super::registers::{load, store};
use crate::simd::args::ntt::{Factor, LaneFactors, Reduction, SquareFactors, Tables};
use crate::simd::args::{AccumulatorMut, ModulusPair, ResidueLift};
use crate::simd::scalar;
use core::arch::x86_64::*;
use forward::Forward;
use inverse::Inverse;

type Row = [u64; 8];
type Square = [Row; 8];

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    if short(t) {
        return words::forward(t, x);
    }
    match (t.reduction, t.wide) {
        (Reduction::AtTheEnd, false) => Forward::<true, false>::new(t).words(x),
        (Reduction::EachLevel, false) => Forward::<false, false>::new(t).words(x),
        (Reduction::AtTheEnd, true) => Forward::<true, true>::new(t).words(x),
        (Reduction::EachLevel, true) => Forward::<false, true>::new(t).words(x),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    match (t.reduction, t.wide) {
        (Reduction::AtTheEnd, false) => Forward::<true, false>::new(t).bytes(bytes, out),
        (Reduction::EachLevel, false) => Forward::<false, false>::new(t).bytes(bytes, out),
        (Reduction::AtTheEnd, true) => Forward::<true, true>::new(t).bytes(bytes, out),
        (Reduction::EachLevel, true) => Forward::<false, true>::new(t).bytes(bytes, out),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward_i8_mul_acc(t: &Tables, bytes: &[i8], b: &[u64], sum: AccumulatorMut<'_>) {
    if t.wide {
        forward_i8(t, bytes, sum.scratch);
        return scalar::mul_acc_wide(t, sum.scratch, b, sum.cells);
    }
    match t.reduction {
        Reduction::AtTheEnd => Forward::<true, false>::new(t).bytes_mul_acc(bytes, b, sum),
        Reduction::EachLevel => Forward::<false, false>::new(t).bytes_mul_acc(bytes, b, sum),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    if short(t) {
        return words::inverse(t, x);
    }
    match (t.reduction, t.wide) {
        (Reduction::AtTheEnd, false) => Inverse::<true, false>::new(t).run(x),
        (Reduction::EachLevel, false) => Inverse::<false, false>::new(t).run(x),
        // Sums double: 64 bits are not enough for the number of levels.
        (_, true) => Inverse::<false, true>::new(t).run(x),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward_from(t: &Tables, p: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
    if short(t) && p.special().value() / 4 < t.modulus.value() {
        return words::forward_from(t, p, carry, x, out);
    }
    match carry {
        ResidueLift::Unsigned => super::digits::carried(p, x, out),
        ResidueLift::Centered => super::digits::centered(p, x, out),
    }
    forward(t, out);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn inverse_to(t: &Tables, x: &[u64], out: &mut [u64]) {
    if short(t) {
        return words::inverse_to(t, x, out);
    }
    out.copy_from_slice(x);
    inverse(t, out);
}

/// Whether [32 bits](words) are enough for values, and there are at least two squares.
fn short(t: &Tables) -> bool {
    t.modulus.bits() <= 30 && t.n >= 128
}

/// The factors of one block and of its two halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn three(factors: &[Factor], i: usize) -> [Factors; 3] {
    [every(factors[i]), every(factors[2 * i]), every(factors[2 * i + 1])]
}

// Written out instead of with `map`: a closure made here has this function's instructions, and the
// library's functions, which have not, would call it instead of inlining it.

/// The seven factors of the levels that pair rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn every_seven(f: &SquareFactors) -> [Factors; 7] {
    let [a, b, c, d, e, f, g] = f.rows;
    [every(a), every(b), every(c), every(d), every(e), every(f), every(g)]
}

/// The seven registers of factors of the levels that pair lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_seven(f: &SquareFactors) -> [Factors; 7] {
    let [a, b, c, d, e, f, g] = &f.lanes;
    [lanes(a), lanes(b), lanes(c), lanes(d), lanes(e), lanes(f), lanes(g)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(f: &LaneFactors) -> Factors {
    Factors { w: load(&f.w), quotient: load(&f.quotient) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_square(square: &Square) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = square;
    [load(a), load(b), load(c), load(d), load(e), load(f), load(g), load(h)]
}

/// Transposes 8 by 8 lanes: pairs of lanes, then pairs of halves, then pairs of quarters.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose(x: [__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = x;
    let [c0, c2, c4, c6] = transpose_quarters([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let [c1, c3, c5, c7] = transpose_quarters([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Transposes 4 by 4 quarters of 128 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (ab_even, ab_odd) = (_mm512_shuffle_i64x2::<EVEN>(a, b), _mm512_shuffle_i64x2::<ODD>(a, b));
    let (cd_even, cd_odd) = (_mm512_shuffle_i64x2::<EVEN>(c, d), _mm512_shuffle_i64x2::<ODD>(c, d));
    [
        _mm512_shuffle_i64x2::<EVEN>(ab_even, cd_even),
        _mm512_shuffle_i64x2::<EVEN>(ab_odd, cd_odd),
        _mm512_shuffle_i64x2::<ODD>(ab_even, cd_even),
        _mm512_shuffle_i64x2::<ODD>(ab_odd, cd_odd),
    ]
}

fn quarters<T>(x: &[T]) -> [&[T]; 4] {
    let (left, right) = x.split_at(x.len() / 2);
    let (a, b) = left.split_at(left.len() / 2);
    let (c, d) = right.split_at(right.len() / 2);
    [a, b, c, d]
}

fn quarters_mut<T>(x: &mut [T]) -> impl Iterator<Item = [&mut T; 4]> {
    let (left, right) = x.split_at_mut(x.len() / 2);
    let (a, b) = left.split_at_mut(left.len() / 2);
    let (c, d) = right.split_at_mut(right.len() / 2);
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_quarters(to: [&mut Row; 4], x: [__m512i; 4]) {
    for (to, x) in to.into_iter().zip(x) {
        store(to, x);
    }
}
