//! The negacyclic number-theoretic transform, and products under it.
//!
//! For a prime `q` with `q = 1 mod 2n`, or a product of two such primes, a polynomial of
//! `Z_q[X]/(X^n + 1)` is transformed to its values at the `n` odd powers of a root of unity of
//! order `2n`, where the product of polynomials is a product slot by slot. The algorithm is the
//! merged transform of Longa and Naehrig (2016), with the multiplication by constants of Shoup as
//! given by Harvey (2014), but with 52-bit quotients, which AVX-512 IFMA computes. Products of 2^50
//! or more are *wide*: they have 64-bit quotients and kernels of their own.
//!
//! **Slot order.** Let `psi` be the root and `brev` the reversal of the `log2 n` index bits. Slot
//! `64 b + 8 i + j` (with `i, j` in `0..8`) holds the value at `psi^(2 brev(64 b + 8 j + i) + 1)`:
//! the usual bit-reversed order, with each run of 64 slots seen as an 8 by 8 square and transposed.
//! The last three levels of the transform work inside of vector registers, and go across lanes
//! instead once the square is transposed; transposing back would only cost time. All backends keep
//! this order, and [`NttPlan::exponent`] returns it.

mod slots;

use crate::modulus::Modulus;
use crate::modulus_pair::{ModulusPair, ResidueLift};
pub use crate::simd::args::Accumulator;
pub use crate::simd::args::ntt::Automorphism;
use crate::simd::args::ntt::{Tables, transpose};
use crate::simd::{self, Kernels};
pub use slots::substitute;

/// The precomputed tables for transforms of one length modulo one modulus.
///
/// ```
/// use sotto_math::modulus::Modulus;
/// use sotto_math::ntt::NttPlan;
///
/// let q = Modulus::new(268_369_921).ok_or("not a prime")?;
/// let plan = NttPlan::new(64, q).ok_or("no transform of this length")?;
/// let coefficients: Vec<u64> = (0..64).collect();
/// let mut slots = coefficients.clone();
/// plan.forward(&mut slots);
///
/// // Each slot is the polynomial's value at an odd power of the root.
/// let x = q.pow(plan.root(), plan.exponent(9) as u64);
/// let value = coefficients.iter().rev().fold(0, |sum, c| q.add(q.mul(sum, x), *c));
/// assert_eq!(slots[9], value);
///
/// plan.inverse(&mut slots);
/// assert_eq!(slots, coefficients);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone)]
pub struct NttPlan {
    tables: Tables,
}

impl NttPlan {
    /// Makes a plan for length `n`; `None` unless `n` is a power of two in 64..=16384 and
    /// `q = 1 mod 2n`, for a product both primes.
    pub fn new(n: usize, q: Modulus) -> Option<Self> {
        Tables::new(n, q).map(|tables| NttPlan { tables })
    }

    /// The length of the polynomials.
    pub fn n(&self) -> usize {
        self.tables.n
    }

    /// The modulus.
    pub fn modulus(&self) -> &Modulus {
        &self.tables.modulus
    }

    /// The root of unity of order `2n` whose odd powers are the points.
    pub fn root(&self) -> u64 {
        self.tables.root
    }

    /// The power of the root at which a slot holds the polynomial's value.
    pub fn exponent(&self, slot: usize) -> usize {
        2 * self.tables.brev(transpose(slot)) + 1
    }

    /// The slots in the order of two cycles: for each position, cycle after cycle, the number of
    /// its slot.
    ///
    /// The odd numbers modulo `2n` are the powers of 5 and their negatives. Position `i` of the
    /// first cycle has the value at `psi^(5^i)`, position `i` of the second that at `psi^(-5^i)`.
    /// Under `X -> X^(5^k)` position `i` receives the value of position `i + k`, in both;
    /// `X -> X^-1` swaps them (Gentry, Halevi and Smart, EUROCRYPT 2012).
    pub fn cycles(&self) -> Vec<usize> {
        let order = 2 * self.n();
        let mut slot_of = vec![0; order];
        (0..self.n()).for_each(|slot| slot_of[self.exponent(slot)] = slot);
        let powers = std::iter::successors(Some(1), |power| Some(power * 5 % order)).take(self.n() / 2);
        let powers: Vec<usize> = powers.collect();
        let negatives = powers.iter().map(|power| order - power);
        powers.iter().copied().chain(negatives).map(|exponent| slot_of[exponent]).collect()
    }

    /// Transforms reduced coefficients to reduced slots, in place.
    ///
    /// # Panics
    /// If `x` is not `n` long.
    pub fn forward(&self, x: &mut [u64]) {
        self.forward_with(simd::kernels(), x);
    }

    /// Transforms reduced slots to reduced coefficients, in place.
    ///
    /// # Panics
    /// If `x` is not `n` long.
    pub fn inverse(&self, x: &mut [u64]) {
        self.inverse_with(simd::kernels(), x);
    }

    /// Transforms residues modulo a pair's special modulus, taken as numbers, to reduced slots
    /// modulo its other one.
    ///
    /// # Panics
    /// If the pair's other modulus is not the plan's, or `x` or `out` is not `n` long.
    pub fn forward_from(&self, pair: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
        self.forward_from_with(simd::kernels(), pair, carry, x, out);
    }

    /// Transforms reduced slots to reduced coefficients in another buffer.
    ///
    /// # Panics
    /// If `x` or `out` is not `n` long.
    pub fn inverse_to(&self, x: &[u64], out: &mut [u64]) {
        self.inverse_to_with(simd::kernels(), x, out);
    }

    /// Transforms signed bytes, the coefficients of a polynomial, to its reduced slots.
    ///
    /// # Panics
    /// If `bytes` or `out` is not `n` long.
    pub fn forward_i8(&self, bytes: &[i8], out: &mut [u64]) {
        self.forward_i8_with(simd::kernels(), bytes, out);
    }

    /// Computes `acc[i] = acc[i] + a[i] * b[i]`, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long.
    pub fn mul_acc(&self, acc: &mut [u64], a: &[u64], b: &[u64]) {
        self.mul_acc_with(simd::kernels(), acc, a, b);
    }

    /// Makes a zero accumulator for [`mul_acc_wide`](Self::mul_acc_wide).
    pub fn accumulator(&self) -> Accumulator {
        Accumulator::new(self.tables.n)
    }

    /// Adds the products `a[i] * b[i]` to an accumulator, without reducing.
    ///
    /// Factors need not be reduced, only below 2^52, or below 2^60 if the modulus is 2^50 or more.
    ///
    /// # Panics
    /// If `a` or `b` is not `n` long, or the accumulator is of another length.
    pub fn mul_acc_wide(&self, acc: &mut Accumulator, a: &[u64], b: &[u64]) {
        self.mul_acc_wide_with(simd::kernels(), acc, a, b);
    }

    /// Does [`forward_i8`](Self::forward_i8), then [`mul_acc_wide`](Self::mul_acc_wide) with `b`,
    /// without storing the transform in between.
    ///
    /// This is the step that makes hints: for each block of `n` bytes of a matrix row, one call
    /// with the transform of that block of the public matrix.
    ///
    /// # Panics
    /// If `bytes` or `b` is not `n` long, or the accumulator is of another length.
    pub fn forward_i8_mul_acc(&self, bytes: &[i8], b: &[u64], acc: &mut Accumulator) {
        self.forward_i8_mul_acc_with(simd::kernels(), bytes, b, acc);
    }

    /// Reduces an accumulator into `out`, and zeroes it for the next use.
    ///
    /// # Panics
    /// If `out` is not `n` long, or the accumulator is of another length.
    pub fn take(&self, acc: &mut Accumulator, out: &mut [u64]) {
        acc.take(&self.tables, out);
    }
}

// Variants with the backend named, for the tests that compare backends.
impl NttPlan {
    pub(crate) fn forward_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        self.check(x.len());
        kernels.ntt_forward(&self.tables, x);
    }

    pub(crate) fn inverse_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        self.check(x.len());
        kernels.ntt_inverse(&self.tables, x);
    }

    pub(crate) fn forward_from_with(
        &self,
        kernels: &dyn Kernels,
        pair: &ModulusPair,
        carry: ResidueLift,
        x: &[u64],
        out: &mut [u64],
    ) {
        assert_eq!(pair.modulus(), self.modulus(), "a pair of the plan's modulus");
        self.check(x.len());
        self.check(out.len());
        kernels.ntt_forward_from(&self.tables, pair, carry, x, out);
    }

    pub(crate) fn inverse_to_with(&self, kernels: &dyn Kernels, x: &[u64], out: &mut [u64]) {
        self.check(x.len());
        self.check(out.len());
        kernels.ntt_inverse_to(&self.tables, x, out);
    }

    pub(crate) fn forward_i8_with(&self, kernels: &dyn Kernels, bytes: &[i8], out: &mut [u64]) {
        self.check(bytes.len());
        self.check(out.len());
        kernels.ntt_forward_i8(&self.tables, bytes, out);
    }

    pub(crate) fn mul_acc_with(&self, kernels: &dyn Kernels, acc: &mut [u64], a: &[u64], b: &[u64]) {
        self.check(acc.len());
        self.check(a.len());
        self.check(b.len());
        kernels.mul_acc(&self.tables, acc, a, b);
    }

    pub(crate) fn mul_acc_wide_with(
        &self,
        kernels: &dyn Kernels,
        acc: &mut Accumulator,
        a: &[u64],
        b: &[u64],
    ) {
        self.check(a.len());
        self.check(b.len());
        kernels.mul_acc_wide(&self.tables, a, b, acc.reserve(&self.tables));
    }

    pub(crate) fn forward_i8_mul_acc_with(
        &self,
        kernels: &dyn Kernels,
        bytes: &[i8],
        b: &[u64],
        acc: &mut Accumulator,
    ) {
        self.check(bytes.len());
        self.check(b.len());
        kernels.ntt_forward_i8_mul_acc(&self.tables, bytes, b, acc.reserve(&self.tables));
    }

    fn check(&self, len: usize) {
        assert_eq!(len, self.tables.n, "a slice of the plan's length");
    }
}

#[cfg(test)]
mod tests;
