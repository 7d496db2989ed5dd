//! The transform in 32-bit arithmetic, four slots to a register.
//!
//! AVX2 multiplies 32-bit numbers only, so this serves primes below 2^32, values always
//! reduced; for larger primes the scalar transform is used. Shoup's quotient with 32 bits is the
//! upper part of the one with 52. Below 2^31, where a sum of two values fits 32 bits, there
//! is room for [eight slots](eight) to a register.

mod eight;

use super::lanes::{load, store};
use crate::ntt::{Factor, LaneFactors, Tables};
use crate::simd::scalar;
use core::arch::x86_64::*;

type Row = [u64; 4];

#[target_feature(enable = "avx2")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    if t.modulus.bits() > 32 {
        return scalar::forward(t, x);
    }
    if t.modulus.bits() < 32 {
        return eight::forward(t, x);
    }
    let q = _mm256_set1_epi64x(t.modulus.value() as i64);
    let (mut half, mut blocks) = (t.n / 2, 1);
    while half >= 8 {
        for (block, f) in x.chunks_exact_mut(2 * half).zip(&t.forward.factors[blocks..]) {
            let f = every(f);
            let (left, right) = halves(block);
            for (u, v) in left.iter_mut().zip(right) {
                forward_butterfly(u, v, f, q);
            }
        }
        (half, blocks) = (half / 2, blocks * 2);
    }
    scalar::transpose_squares(x);
    for (square, f) in x.as_chunks_mut::<64>().0.iter_mut().zip(&t.forward.squares) {
        for (distance, factors) in [(4, &f.lanes[..1]), (2, &f.lanes[1..3]), (1, &f.lanes[3..])] {
            for (block, f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                let f = lanes(f);
                let (left, right) = halves(block);
                for (i, (u, v)) in left.iter_mut().zip(right).enumerate() {
                    forward_butterfly(u, v, f[i % 2], q);
                }
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    if t.modulus.bits() > 32 {
        return scalar::inverse(t, x);
    }
    if t.modulus.bits() < 32 {
        return eight::inverse(t, x);
    }
    let q = _mm256_set1_epi64x(t.modulus.value() as i64);
    for (square, f) in x.as_chunks_mut::<64>().0.iter_mut().zip(&t.inverse.squares) {
        for (distance, factors) in [(1, &f.lanes[3..]), (2, &f.lanes[1..3]), (4, &f.lanes[..1])] {
            for (block, f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                let f = lanes(f);
                let (left, right) = halves(block);
                for (i, (u, v)) in left.iter_mut().zip(right).enumerate() {
                    inverse_butterfly(u, v, f[i % 2], q);
                }
            }
        }
    }
    scalar::transpose_squares(x);
    let (mut half, mut blocks) = (8, t.n / 16);
    while blocks > 1 {
        for (block, f) in x.chunks_exact_mut(2 * half).zip(&t.inverse.factors[blocks..]) {
            let f = every(f);
            let (left, right) = halves(block);
            for (u, v) in left.iter_mut().zip(right) {
                inverse_butterfly(u, v, f, q);
            }
        }
        (half, blocks) = (half * 2, blocks / 2);
    }
    // The division by n is folded into the last level.
    let [of_sum, of_difference] = [every(&t.scale[0]), every(&t.scale[1])];
    let (left, right) = halves(x);
    for (u, v) in left.iter_mut().zip(right) {
        inverse_butterfly(u, v, of_difference, q);
        store(u, times(load(u), of_sum, q));
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    scalar::spread(t, bytes, out);
    forward(t, out);
}

/// A factor and its quotient by 32 bits, in every lane or one for each.
#[derive(Clone, Copy)]
struct Factors {
    w: __m256i,
    quotient: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn every(f: &Factor) -> Factors {
    Factors { w: _mm256_set1_epi64x(f.w as i64), quotient: _mm256_set1_epi64x((f.quotient >> 20) as i64) }
}

/// The factors of the left and of the right half of a row of eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes(f: &LaneFactors) -> [Factors; 2] {
    let (w, quotient) = (f.w.as_chunks::<4>().0, f.quotient.as_chunks::<4>().0);
    [
        Factors { w: load(&w[0]), quotient: _mm256_srli_epi64::<20>(load(&quotient[0])) },
        Factors { w: load(&w[1]), quotient: _mm256_srli_epi64::<20>(load(&quotient[1])) },
    ]
}

fn halves(block: &mut [u64]) -> (&mut [Row], &mut [Row]) {
    let rows = block.as_chunks_mut::<4>().0;
    rows.split_at_mut(rows.len() / 2)
}

#[inline]
#[target_feature(enable = "avx2")]
fn forward_butterfly(u: &mut Row, v: &mut Row, f: Factors, q: __m256i) {
    let (a, b) = (load(u), times(load(v), f, q));
    store(u, once(_mm256_add_epi64(a, b), q));
    store(v, back(_mm256_sub_epi64(a, b), q));
}

#[inline]
#[target_feature(enable = "avx2")]
fn inverse_butterfly(u: &mut Row, v: &mut Row, f: Factors, q: __m256i) {
    let (a, b) = (load(u), load(v));
    store(u, once(_mm256_add_epi64(a, b), q));
    store(v, times(back(_mm256_sub_epi64(a, b), q), f, q));
}

/// `x w`, reduced, for `x` below 2^32.
#[inline]
#[target_feature(enable = "avx2")]
fn times(x: __m256i, f: Factors, q: __m256i) -> __m256i {
    let quotient = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, f.quotient));
    once(_mm256_sub_epi64(_mm256_mul_epu32(x, f.w), _mm256_mul_epu32(quotient, q)), q)
}

/// `x - q` where that is not negative, else `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn once(x: __m256i, q: __m256i) -> __m256i {
    back(_mm256_sub_epi64(x, q), q)
}

/// `x + q` where `x` is negative, else `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn back(x: __m256i, q: __m256i) -> __m256i {
    let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
    _mm256_add_epi64(x, _mm256_and_si256(negative, q))
}
