//! The transform of moduli from 2^31 to 2^50, in floating point, four slots to a register.
//!
//! AVX2 has no products of 64-bit integers, but fused multiply-adds of 53-bit ones: they give
//! the lower half of a product exactly, as what is missing from the rounded one. So slots are
//! doubles on the way, integers of either sign (van der Hoeven, Lecerf and Quintin, "Modular
//! SIMD arithmetic in Mathemagix", section 3.3).
//!
//! **Bounds**, in multiples of q below 2^50. Factors are at most 1/2, and rounding makes the quotient of `x w` wrong by up to
//! `x / 8`, so that a product is at most `1/2 + x / 8`. All that is ever added up is below 8, so below 2^53, and exact.
//! Forward, a level leaves at most `x + 1/2 + x / 8`: seven levels begin at 1 and end below 7.5, or eight at 1/2 below 7.6. Then
//! everything is reduced to 1/2, and the last six levels end below 5.2. Inverse, sums double: every second level, or both
//! of two, reduces them, and all is at most 1 again.
//!
//! **Order.** Polynomials are transformed block by block as the levels cut them, so that what does not fit the first cache
//! leaves it once. Two or three levels are done in registers at a time.

mod forward;
mod inverse;

use super::{Row, load, store};
use crate::modulus::Modulus;
use crate::ntt::{Doubles, Tables};
use core::arch::x86_64::*;

type Square = [u64; 64];
type Four = [__m256d; 4];
type Eight = [__m256d; 8];

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
    let plan = Plan { c: Constants::new(t), f: &t.forward.doubles, squares: t.n / 64, scale: None };
    plan.forward::<true>(x, 1);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    let c = Constants::new(t);
    let scale = t.scale.map(|f| t.modulus.centred(f.w) as f64);
    let [sum, difference] = scale;
    let scale = Some([c.factors(_mm256_set1_pd(sum)), c.factors(_mm256_set1_pd(difference))]);
    let plan = Plan { c, f: &t.inverse.doubles, squares: t.n / 64, scale };
    plan.inverse(x, 1);
    if t.n == 64 {
        // No level but those of the square, so that none has taken the scale along.
        for row in x.as_chunks_mut::<4>().0 {
            let scaled = c.times(c.reduced(from_integers(load(row))), c.factors(_mm256_set1_pd(sum)));
            store(row, to_integers(c, scaled));
        }
    }
}

/// One direction of a transform.
struct Plan<'a> {
    c: Constants,
    f: &'a Doubles,
    squares: usize,
    /// Inverse: what sums and differences of the very last level are multiplied by.
    scale: Option<[Factors; 2]>,
}

impl Plan<'_> {
    /// The factor of a block: the two blocks it falls into have the numbers `2 k` and `2 k + 1`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn factor(&self, k: usize) -> Factors {
        let [w, over_q] = self.f.factors[k];
        Factors::every(w, over_q)
    }

    /// The factors of a block, of its halves and of its quarters.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn seven(&self, k: usize) -> [Factors; 7] {
        let [a, b, c, d, e, f, g] = [k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3];
        [
            self.factor(a),
            self.factor(b),
            self.factor(c),
            self.factor(d),
            self.factor(e),
            self.factor(f),
            self.factor(g),
        ]
    }
}

/// Seven factors, each in every lane.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn every_seven(f: &[[f64; 2]; 7]) -> [Factors; 7] {
    let [a, b, c, d, e, f, g] = *f;
    let every = |[w, over_q]: [f64; 2]| Factors::every(w, over_q);
    [every(a), every(b), every(c), every(d), every(e), every(f), every(g)]
}

/// The transpose of a square, both given as the rows of its left and of its right half.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn turn([a, b, c, d, e, f, g, h]: Eight, [i, j, k, l, m, n, o, p]: Eight) -> [Eight; 2] {
    let [a, b, c, d] = transpose([a, b, c, d]);
    let [e, f, g, h] = transpose([e, f, g, h]);
    let [i, j, k, l] = transpose([i, j, k, l]);
    let [m, n, o, p] = transpose([m, n, o, p]);
    [[a, b, c, d, i, j, k, l], [e, f, g, h, m, n, o, p]]
}

/// A 4 by 4 transposition: pairs of lanes, then halves.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::simd::avx2) fn transpose([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    const LOW: i32 = 0x20;
    const HIGH: i32 = 0x31;
    [
        _mm256_permute2f128_pd::<LOW>(ab_low, cd_low),
        _mm256_permute2f128_pd::<LOW>(ab_high, cd_high),
        _mm256_permute2f128_pd::<HIGH>(ab_low, cd_low),
        _mm256_permute2f128_pd::<HIGH>(ab_high, cd_high),
    ]
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

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in crate::simd::avx2) fn factors(self, w: __m256d) -> Factors {
        Factors { w, over_q: _mm256_mul_pd(w, self.inverse) }
    }

    /// The lane factors of the left or the right half of a square.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn lanes_seven(self, lanes: &[[f64; 8]; 7], half: usize) -> [Factors; 7] {
        let [a, b, c, d, e, f, g] = lanes;
        let take =
            |lanes: &[f64; 8]| self.factors(_mm256_castsi256_pd(load(&lanes.as_chunks::<4>().0[half])));
        [take(a), take(b), take(c), take(d), take(e), take(f), take(g)]
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

/// The residues of integers between -q and q.
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

#[inline]
#[target_feature(enable = "avx2,fma")]
fn put(row: &mut Row, x: __m256d) {
    store(row, _mm256_castpd_si256(x));
}

/// The rows of all four quarters, side by side.
fn quarters(x: &mut [u64]) -> impl Iterator<Item = [&mut Row; 4]> {
    let rows = x.as_chunks_mut::<4>().0;
    let (left, right) = rows.split_at_mut(rows.len() / 2);
    let ((a, b), (c, d)) = (left.split_at_mut(left.len() / 2), right.split_at_mut(right.len() / 2));
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}
