//! Numbers modulo a prime below 2^50 as doubles, four per register.
//!
//! Vector units without products of 64-bit integers have fused multiply-adds of 53-bit ones: they
//! give the lower half of a product exactly, as the difference from the rounded one (van der
//! Hoeven, Lecerf and Quintin, "Modular SIMD arithmetic in Mathemagix", section 3.3). Those that
//! lack both use [another method](Doubles::remainder).

use super::Register;
use crate::modulus::Modulus;
use crate::simd::args::ntt::Tables;

/// Registers of 32 bytes with arithmetic on four doubles.
pub(in crate::simd) trait Doubles: Register {
    /// Four doubles.
    type Doubles: Copy;

    /// Reinterprets bits as doubles.
    fn doubles(self, bits: Self::Value) -> Self::Doubles;

    /// Reinterprets doubles as bits.
    fn bits(self, x: Self::Doubles) -> Self::Value;

    /// Repeats a double in every lane.
    fn every(self, x: f64) -> Self::Doubles;

    /// Computes the sums.
    fn plus(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;

    /// Computes the differences.
    fn minus(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;

    /// Computes the products, rounded.
    fn product(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;

    /// Computes `sum - a b`, for an exact product.
    fn minus_product(self, sum: Self::Doubles, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;

    /// Computes `a b - quotient q`, exactly, where that is below 2^51; `a` at most 2^53, `quotient`
    /// 2^52, the others 2^50.
    fn remainder(
        self,
        a: Self::Doubles,
        b: Self::Doubles,
        quotient: Self::Doubles,
        q: Self::Doubles,
    ) -> Self::Doubles;

    /// Rounds to the nearest integers.
    fn nearest(self, x: Self::Doubles) -> Self::Doubles;

    /// Converts integers below 2^52 to doubles.
    fn of_integers(self, x: Self::Value) -> Self::Doubles;

    /// Converts doubles that are integers between `-q` and `q` to integers modulo q.
    fn to_integers(self, x: Self::Doubles, q: Self::Doubles) -> Self::Value;

    /// Transposes 4 by 4 doubles.
    fn transpose(self, rows: [Self::Doubles; 4]) -> [Self::Doubles; 4];

    /// Repeats a 64-bit number in every lane.
    fn splat_64(self, x: u64) -> Self::Value;

    /// Computes the sums of 64-bit lanes.
    fn add_64(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Computes the bitwise and.
    fn and(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// All ones in the 64-bit lanes in which `a` is greater than `b`, both below 2^63.
    fn greater(self, a: Self::Value, b: Self::Value) -> Self::Value;
}

/// Registers with fused multiply-adds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(in crate::simd) trait FusedMultiplyAdd: Doubles {
    /// Computes `sum + a b`, rounded once.
    fn plus_product(self, sum: Self::Doubles, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;

    /// Shifts 64-bit lanes down by `BITS` bits.
    fn down<const BITS: i32>(self, x: Self::Value) -> Self::Value;
}

/// A factor, and the factor over q, in every lane or one for each.
#[derive(Clone, Copy)]
pub(super) struct Factors<R: Doubles> {
    pub(super) w: R::Doubles,
    pub(super) over_q: R::Doubles,
}

/// The modulus and its inverse, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Constants<R: Doubles> {
    pub(super) r: R,
    pub(super) q: R::Doubles,
    inverse: R::Doubles,
}

impl<R: Doubles> Factors<R> {
    /// Makes a factor and the same over q, in every lane.
    #[inline(always)]
    pub(super) fn every(r: R, w: f64, over_q: f64) -> Self {
        Factors { w: r.every(w), over_q: r.every(over_q) }
    }
}

impl<R: Doubles> Constants<R> {
    #[inline(always)]
    pub(super) fn new(r: R, t: &Tables) -> Self {
        Self::of(r, &t.modulus)
    }

    #[inline(always)]
    pub(super) fn of(r: R, modulus: &Modulus) -> Self {
        // Below 2^50, so that the conversion is exact.
        let q = modulus.value() as f64;
        Constants { r, q: r.every(q), inverse: r.every(1.0 / q) }
    }

    #[inline(always)]
    pub(super) fn factors(self, w: R::Doubles) -> Factors<R> {
        Factors { w, over_q: self.r.product(w, self.inverse) }
    }

    /// Makes the factors of a number, in every lane.
    #[inline(always)]
    pub(super) fn factors_of(self, w: f64) -> Factors<R> {
        self.factors(self.r.every(w))
    }

    /// Computes `x w` modulo q.
    #[inline(always)]
    pub(super) fn times(self, x: R::Doubles, f: Factors<R>) -> R::Doubles {
        let quotient = self.r.nearest(self.r.product(x, f.over_q));
        self.r.remainder(x, f.w, quotient, self.q)
    }

    /// Computes `a b` modulo q, where the factor over q is not known: the quotient comes from the
    /// upper part.
    #[inline(always)]
    pub(super) fn product(self, a: R::Doubles, b: R::Doubles) -> R::Doubles {
        let r = self.r;
        let quotient = r.nearest(r.product(r.product(a, b), self.inverse));
        r.remainder(a, b, quotient, self.q)
    }

    /// Reduces `x` modulo q, to -q/2 to q/2.
    #[inline(always)]
    pub(super) fn reduced(self, x: R::Doubles) -> R::Doubles {
        let r = self.r;
        r.minus_product(x, r.nearest(r.product(x, self.inverse)), self.q)
    }

    /// Loads four reduced integers.
    #[inline(always)]
    pub(super) fn take(self, row: &[u64; 4]) -> R::Doubles {
        self.r.of_integers(self.r.load(row))
    }

    /// Stores integers between -q and q, reduced.
    #[inline(always)]
    pub(super) fn put(self, row: &mut [u64; 4], x: R::Doubles) {
        self.r.store(row, self.r.to_integers(x, self.q));
    }

    /// Loads four doubles that [`keep`](Self::keep) stored.
    #[inline(always)]
    pub(super) fn kept(self, row: &[u64; 4]) -> R::Doubles {
        self.r.doubles(self.r.load(row))
    }

    /// Stores doubles as they are between the ends of a transform.
    #[inline(always)]
    pub(super) fn keep(self, row: &mut [u64; 4], x: R::Doubles) {
        self.r.store(row, self.r.bits(x));
    }
}
