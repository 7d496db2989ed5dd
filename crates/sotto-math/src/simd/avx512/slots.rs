//! Arithmetic between slots, eight per register.

use super::products::{Constants, Product, below, every, times};
use super::registers::{load, store};
use crate::simd::args::ntt::{Automorphism, Tables};
use core::arch::x86_64::*;

type Row = [u64; 8];

/// Number of products that are summed before they are folded: see [`narrow_sums`] and
/// [`wide_sums`].
const PRODUCTS: usize = 8;

/// Rows that are summed side by side, so that products do not wait for each other.
const SIDE_BY_SIDE: usize = 4;

/// Permutes slots by squares of 64: their rows are permuted alike, then rotated in each lane by
/// blending rows 1, 2 and 4 apart. Nothing is gathered slot by slot.
#[target_feature(enable = "avx512f")]
pub(super) fn permute(a: &Automorphism, x: &[u64], out: &mut [u64]) {
    let x = x.as_chunks::<8>().0.as_chunks::<8>().0;
    for (out, origin) in out.as_chunks_mut::<8>().0.as_chunks_mut::<8>().0.iter_mut().zip(&a.squares) {
        let lanes = load(&a.lanes[usize::from(origin.carry % 8)].0);
        // In the order of h, which is that of reversed row numbers.
        let [r0, r4, r2, r6, r1, r5, r3, r7] = &x[origin.square as usize];
        let mut rows = [load(r0), load(r1), load(r2), load(r3), load(r4), load(r5), load(r6), load(r7)];
        for row in &mut rows {
            *row = _mm512_permutexvar_epi64(lanes, *row);
        }
        let [by_1, by_2, by_4] = a.turns[usize::from(origin.carry)];
        let rows = turned::<4>(turned::<2>(turned::<1>(rows, by_1), by_2), by_4);
        for (&to, row) in a.rows.iter().zip(rows) {
            store(&mut out[to], row);
        }
    }
}

/// In the lanes of `mask`, replaces each row by the one `BY` rows on.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned<const BY: usize>(rows: [__m512i; 8], mask: u8) -> [__m512i; 8] {
    let mut out = rows;
    for (i, out) in out.iter_mut().enumerate() {
        *out = _mm512_mask_blend_epi64(mask, rows[i], rows[(i + BY) % 8]);
    }
    out
}

#[target_feature(enable = "avx512f")]
pub(super) fn add(t: &Tables, x: &mut [u64], y: &[u64]) {
    let q = Constants::new(t).q;
    for (x, y) in x.as_chunks_mut::<8>().0.iter_mut().zip(y.as_chunks::<8>().0) {
        store(x, below(_mm512_add_epi64(load(x), load(y)), q));
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn sub(t: &Tables, x: &mut [u64], y: &[u64]) {
    let q = Constants::new(t).q;
    for (x, y) in x.as_chunks_mut::<8>().0.iter_mut().zip(y.as_chunks::<8>().0) {
        store(x, difference(load(x), load(y), q));
    }
}

/// Computes `x - y`, plus q where that wraps.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn difference(x: __m512i, y: __m512i, q: __m512i) -> __m512i {
    let d = _mm512_sub_epi64(x, y);
    _mm512_min_epu64(d, _mm512_add_epi64(d, q))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mul(t: &Tables, x: &mut [u64], y: &[u64]) {
    if t.wide { mul_by::<true>(t, x, y) } else { mul_by::<false>(t, x, y) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn mul_by<const WIDE: bool>(t: &Tables, x: &mut [u64], y: &[u64]) {
    let product = Product::<WIDE>::new(t);
    for (x, y) in x.as_chunks_mut::<8>().0.iter_mut().zip(y.as_chunks::<8>().0) {
        store(x, product.reduced(load(x), load(y)));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn split(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
    if t.wide { split_by::<true>(t, c, s, m, odd) } else { split_by::<false>(t, c, s, m, odd) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn split_by<const WIDE: bool>(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
    let product = Product::<WIDE>::new(t);
    let q = product.c.q;
    let sources = s.as_chunks::<8>().0.iter().zip(m.as_chunks::<8>().0);
    let targets = c.as_chunks_mut::<8>().0.iter_mut().zip(odd.as_chunks_mut::<8>().0);
    for ((c, odd), (s, m)) in targets.zip(sources) {
        let (x, s) = (load(c), load(s));
        store(odd, product.reduced(difference(x, s, q), load(m)));
        store(c, below(_mm512_add_epi64(x, s), q));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn sum_of_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
    if !add && a.is_empty() {
        out.fill(0);
    }
    for (i, (a, b)) in a.chunks(PRODUCTS).zip(b.chunks(PRODUCTS)).enumerate() {
        let add = add || i > 0;
        if t.wide { wide_sums(t, a, b, add, out) } else { narrow_sums(t, a, b, add, out) }
    }
}

/// Sums up to eight products of numbers below 2^30, which are below 2^63.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn paired_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], out: [&mut [u64]; 2]) {
    let c = Constants::new(t);
    let fold = every(t.folds[0]).w;
    let low_51 = _mm512_set1_epi64((1 << 51) - 1);
    let [first, second] = out;
    let rows = first.as_chunks_mut::<8>().0.iter_mut().zip(second.as_chunks_mut::<8>().0);
    for (i, (first, second)) in rows.enumerate() {
        let mut sums = [_mm512_setzero_si512(); 2];
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (load(&a.as_chunks::<8>().0[i]), load(&b.as_chunks::<8>().0[i]));
            // The products ignore upper halves.
            sums[0] = _mm512_add_epi64(sums[0], _mm512_mul_epu32(a, b));
            sums[1] = _mm512_add_epi64(sums[1], _mm512_mul_epu32(a, _mm512_srli_epi64::<32>(b)));
        }
        for (out, sum) in [(first, sums[0]), (second, sums[1])] {
            // Below 2^12 times below 2^30, and below 2^51.
            let folded = _mm512_mul_epu32(_mm512_srli_epi64::<51>(sum), fold);
            let x = _mm512_add_epi64(_mm512_and_si512(sum, low_51), folded);
            let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, c.barrett);
            store(out, below(c.low_52(_mm512_madd52lo_epu64(x, quotient, c.minus_q)), c.q));
        }
    }
}

/// Sums up to eight products, in two halves of 52 bits.
///
/// With `q = 1 mod 128` below 2^50, each upper half is at most 2^48 - 64, so the part of eight
/// products and `out` above the lowest 51 bits is below 2^52: one constant factor folds it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn narrow_sums(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
    let c = Constants::new(t);
    let fold = every(t.folds[0]);
    let low_51 = _mm512_set1_epi64((1 << 51) - 1);
    for (i, out) in out.as_chunks_mut::<8>().0.as_chunks_mut::<SIDE_BY_SIDE>().0.iter_mut().enumerate() {
        let mut lo = [_mm512_setzero_si512(); SIDE_BY_SIDE];
        let mut hi = lo;
        if add {
            for (lo, out) in lo.iter_mut().zip(&*out) {
                *lo = load(out);
            }
        }
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (rows(a, i), rows(b, i));
            for k in 0..SIDE_BY_SIDE {
                let (a, b) = (load(&a[k]), load(&b[k]));
                lo[k] = _mm512_madd52lo_epu64(lo[k], a, b);
                hi[k] = _mm512_madd52hi_epu64(hi[k], a, b);
            }
        }
        for ((out, lo), hi) in out.iter_mut().zip(lo).zip(hi) {
            let high = _mm512_add_epi64(_mm512_srli_epi64::<51>(lo), _mm512_add_epi64(hi, hi));
            // Below 2q, which is below 2^51.
            let folded = c.low_52(times::<false>(c, high, fold));
            let x = _mm512_add_epi64(_mm512_and_si512(lo, low_51), folded);
            let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, c.barrett);
            store(out, below(c.low_52(_mm512_madd52lo_epu64(x, quotient, c.minus_q)), c.q));
        }
    }
}

/// Sums up to eight products of numbers below 2^60, split into halves of 30 bits.
///
/// A product of halves is below 2^60 - 2^30, so sixteen of them, the middle ones, plus the carry
/// into them are below 2^64. Four products of 32-bit registers take less time than the seven that
/// halves of 52 bits would need.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn wide_sums(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
    let c = Constants::new(t);
    let [fold_30, fold_60] = [every(t.folds[0]), every(t.folds[1])];
    let eight_q = _mm512_add_epi64(c.four_q, c.four_q);
    let low_30 = _mm512_set1_epi64((1 << 30) - 1);
    for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let zero = _mm512_setzero_si512();
        let mut low = if add { load(out) } else { zero };
        let (mut middle, mut top) = (zero, zero);
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (load(&a.as_chunks::<8>().0[i]), load(&b.as_chunks::<8>().0[i]));
            let (a_low, b_low) = (_mm512_and_si512(a, low_30), _mm512_and_si512(b, low_30));
            let (a_top, b_top) = (_mm512_srli_epi64::<30>(a), _mm512_srli_epi64::<30>(b));
            low = _mm512_add_epi64(low, _mm512_mul_epu32(a_low, b_low));
            middle = _mm512_add_epi64(middle, _mm512_mul_epu32(a_low, b_top));
            middle = _mm512_add_epi64(middle, _mm512_mul_epu32(a_top, b_low));
            top = _mm512_add_epi64(top, _mm512_mul_epu32(a_top, b_top));
        }
        let middle = _mm512_add_epi64(middle, _mm512_srli_epi64::<30>(low));
        // Two numbers below 4q, and one below q.
        let folded = _mm512_add_epi64(times::<true>(c, middle, fold_30), times::<true>(c, top, fold_60));
        let x = _mm512_add_epi64(_mm512_and_si512(low, low_30), folded);
        store(out, below(below(below(below(x, eight_q), c.four_q), c.two_q), c.q));
    }
}

/// The rows of a slice that are summed side by side.
#[inline]
fn rows<'a>(x: &&'a [u64], i: usize) -> &'a [Row; SIDE_BY_SIDE] {
    &x.as_chunks::<8>().0.as_chunks::<SIDE_BY_SIDE>().0[i]
}
