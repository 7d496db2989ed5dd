//! The transform of moduli from 2^31 to 2^50, in floating point, four slots to a register.
//!
//! AVX2 has no products of 64-bit integers, but fused multiply-adds of 53-bit ones: they give
//! the lower half of a product exactly, as what is missing from the rounded one. So slots are
//! doubles on the way, integers of either sign (van der Hoeven, Lecerf and Quintin, "Modular
//! SIMD arithmetic in Mathemagix", section 3.3).
//!
//! **Bounds**, in multiples of q below 2^50. Rounding makes the quotient of `x w` wrong by up to
//! `x / 4`, so that a product is at most `1/2 + x / 4`. Forward, the summand of a butterfly is
//! reduced to 1/2, and values stay below `b = 1/2 + 1/2 + b / 4`, 4/3. Inverse, the sum is
//! reduced, and values stay below `b = 1/2 + 2 b / 4`, 1. All that is ever added up is below 2^53, and exact.

use super::{Row, load, store};
use crate::modulus::Modulus;
use crate::ntt::{Factor, Tables};
use crate::simd::scalar;
use core::arch::x86_64::*;

/// A factor, and the factor over q, in every lane or one for each.
#[derive(Clone, Copy)]
pub(in crate::simd::avx2) struct Factors {
    w: __m256d,
    over_q: __m256d,
}

/// The modulus and its inverse, in every lane.
#[derive(Clone, Copy)]
pub(in crate::simd::avx2) struct Constants {
    q: __m256d,
    inverse: __m256d,
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    let c = Constants::new(t);
    to_doubles(x);
    let (mut half, mut blocks) = (t.n / 2, 1);
    while half >= 64 {
        for (block, &f) in x.chunks_exact_mut(2 * half).zip(&t.forward.factors[blocks..]) {
            forward_level(block, c, c.every(f));
        }
        (half, blocks) = (half / 2, blocks * 2);
    }
    for (square, f) in x.as_chunks_mut::<64>().0.iter_mut().zip(&t.forward.squares) {
        for (distance, factors) in [(4, &f.rows[..1]), (2, &f.rows[1..3]), (1, &f.rows[3..])] {
            for (block, &f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                forward_level(block, c, c.every(f));
            }
        }
        scalar::transpose_squares(square);
        for (distance, factors) in [(4, &f.lanes[..1]), (2, &f.lanes[1..3]), (1, &f.lanes[3..])] {
            for (block, f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                let f = c.lanes(&f.w);
                let (left, right) = halves(block);
                for (i, (u, v)) in left.iter_mut().zip(right).enumerate() {
                    forward_butterfly(u, v, c, f[i % 2]);
                }
            }
        }
        for row in square.as_chunks_mut::<4>().0 {
            store(row, to_integers(c, c.reduced(doubles(row))));
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    let c = Constants::new(t);
    to_doubles(x);
    for (square, f) in x.as_chunks_mut::<64>().0.iter_mut().zip(&t.inverse.squares) {
        for (distance, factors) in [(1, &f.lanes[3..]), (2, &f.lanes[1..3]), (4, &f.lanes[..1])] {
            for (block, f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                let f = c.lanes(&f.w);
                let (left, right) = halves(block);
                for (i, (u, v)) in left.iter_mut().zip(right).enumerate() {
                    inverse_butterfly(u, v, c, f[i % 2]);
                }
            }
        }
        scalar::transpose_squares(square);
        for (distance, factors) in [(1, &f.rows[3..]), (2, &f.rows[1..3]), (4, &f.rows[..1])] {
            for (block, &f) in square.chunks_exact_mut(16 * distance).zip(factors) {
                inverse_level(block, c, c.every(f));
            }
        }
    }
    let (mut half, mut blocks) = (64, t.n / 128);
    while blocks >= 1 {
        for (block, &f) in x.chunks_exact_mut(2 * half).zip(&t.inverse.factors[blocks..]) {
            inverse_level(block, c, c.every(f));
        }
        (half, blocks) = (half * 2, blocks / 2);
    }
    let scale = c.every(t.scale[0]);
    for row in x.as_chunks_mut::<4>().0 {
        // Once more: a product may be anything up to 3/4 q, and has to be at most half of it.
        store(row, to_integers(c, c.reduced(c.times(doubles(row), scale))));
    }
}

/// All butterflies of a block.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_level(block: &mut [u64], c: Constants, f: Factors) {
    let (left, right) = halves(block);
    for (u, v) in left.iter_mut().zip(right) {
        forward_butterfly(u, v, c, f);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_level(block: &mut [u64], c: Constants, f: Factors) {
    let (left, right) = halves(block);
    for (u, v) in left.iter_mut().zip(right) {
        inverse_butterfly(u, v, c, f);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_butterfly(u: &mut Row, v: &mut Row, c: Constants, f: Factors) {
    let (a, b) = (c.reduced(doubles(u)), c.times(doubles(v), f));
    store(u, _mm256_castpd_si256(_mm256_add_pd(a, b)));
    store(v, _mm256_castpd_si256(_mm256_sub_pd(a, b)));
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_butterfly(u: &mut Row, v: &mut Row, c: Constants, f: Factors) {
    let (a, b) = (doubles(u), doubles(v));
    store(u, _mm256_castpd_si256(c.reduced(_mm256_add_pd(a, b))));
    store(v, _mm256_castpd_si256(c.times(_mm256_sub_pd(a, b), f)));
}

impl Factors {
    /// A factor and the same over q, in every lane.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn every(w: f64, over_q: f64) -> Self {
        Factors { w: _mm256_set1_pd(w), over_q: _mm256_set1_pd(over_q) }
    }
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn new(t: &Tables) -> Self {
        Self::of(&t.modulus)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn of(modulus: &Modulus) -> Self {
        // Below 2^50, so that the conversion is exact.
        let q = modulus.value() as f64;
        Constants { q: _mm256_set1_pd(q), inverse: _mm256_set1_pd(1.0 / q) }
    }

    /// One factor in every lane.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn every(self, f: Factor) -> Factors {
        self.factors(_mm256_set1_pd(f.w as f64))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn factors(self, w: __m256d) -> Factors {
        Factors { w, over_q: _mm256_mul_pd(w, self.inverse) }
    }

    /// The factors of the left and of the right half of a row of eight lanes.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn lanes(self, w: &[u64; 8]) -> [Factors; 2] {
        let halves = w.as_chunks::<4>().0;
        let [left, right] = [from_integers(load(&halves[0])), from_integers(load(&halves[1]))];
        [self.factors(left), self.factors(right)]
    }

    /// `x w` modulo q. The upper part of the product less the quotient's multiple of q is exact,
    /// and so is adding the lower part to it, because both are small integers.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn times(self, x: __m256d, f: Factors) -> __m256d {
        let upper = _mm256_mul_pd(x, f.w);
        let lower = _mm256_fmsub_pd(x, f.w, upper);
        let quotient = nearest(_mm256_mul_pd(x, f.over_q));
        _mm256_add_pd(_mm256_fnmadd_pd(quotient, self.q, upper), lower)
    }

    /// `x` modulo q, from -q/2 to q/2.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn reduced(self, x: __m256d) -> __m256d {
        _mm256_fnmadd_pd(nearest(_mm256_mul_pd(x, self.inverse)), self.q, x)
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn nearest(x: __m256d) -> __m256d {
    _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn to_doubles(x: &mut [u64]) {
    for row in x.as_chunks_mut::<4>().0 {
        store(row, _mm256_castpd_si256(from_integers(load(row))));
    }
}

/// 2^52 as a double: its last bit counts 1, so that it takes integers below 2^52 as they are.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn two_52() -> __m256d {
    _mm256_set1_pd((1u64 << 52) as f64)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::simd::avx2) fn from_integers(x: __m256i) -> __m256d {
    let shifted = _mm256_or_si256(x, _mm256_castpd_si256(two_52()));
    _mm256_sub_pd(_mm256_castsi256_pd(shifted), two_52())
}

/// The residues of integers from -q/2 to q/2.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::simd::avx2) fn to_integers(c: Constants, x: __m256d) -> __m256i {
    let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd());
    let x = _mm256_add_pd(x, _mm256_and_pd(negative, c.q));
    _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(x, two_52()), two_52()))
}

/// A row of doubles, as they are between the ends of a transform.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn doubles(row: &Row) -> __m256d {
    _mm256_castsi256_pd(load(row))
}

fn halves(block: &mut [u64]) -> (&mut [Row], &mut [Row]) {
    let rows = block.as_chunks_mut::<4>().0;
    rows.split_at_mut(rows.len() / 2)
}
