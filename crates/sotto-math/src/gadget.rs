//! Gadget decomposition of numbers into a few small signed digits.
//!
//! The gadget is `g = A (1, B, ..., B^(l-1))` with `A = 2^drop` and `B = 2^base`. A number `x`,
//! centered, is decomposed into digits `d_j` in `[-B/2, B/2]` with `|x - sum g_j d_j| <= A/2`. The
//! decomposition is exact if `A = 1`, and leaves the lowest bits of `x` to the noise otherwise
//! (Chen, Chillotti and Song, 2019; FSpiral's approximate gadget).
//!
//! No carry runs from digit to digit: `u = x + A/2 + A sum (B/2) B^j` is positive, its bits are
//! split at multiples of `base`, and `B/2` is subtracted from each piece. The highest piece keeps
//! all bits above it, so that its digit may reach `B/2` where all others are below.

use crate::modulus::Modulus;
use crate::modulus_pair::ModulusPair;
pub use crate::simd::args::gadget::Gadget;
use crate::simd::args::gadget::{GadgetDigits, PairDigits};
use crate::simd::{self, Kernels};

impl Gadget {
    /// Decomposes reduced `x` into digits, as residues, all first digits before all second ones.
    ///
    /// # Panics
    /// If the gadget does not fit the modulus, or `out` is not as long as all digits of `x`.
    pub fn decompose(&self, q: &Modulus, x: &[u64], out: &mut [u64]) {
        self.decompose_with(simd::kernels(), q, x, out);
    }

    /// Decomposes numbers modulo the product of two moduli, given by their residues, into digits,
    /// as residues modulo each.
    ///
    /// # Panics
    /// If the gadget does not fit the product, the slices of `x` differ in length, or those of
    /// `out` are not as long as all digits of `x`.
    pub fn decompose_pair(&self, pair: &ModulusPair, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
        self.decompose_pair_with(simd::kernels(), pair, x, out);
    }

    pub(crate) fn decompose_with(&self, kernels: &dyn Kernels, q: &Modulus, x: &[u64], out: &mut [u64]) {
        assert!(self.fits(q.bits()), "a gadget that reaches the modulus");
        assert_eq!(out.len(), x.len() * self.digits() as usize, "room for all digits");
        let offset = self.constant() - u128::from(q.value() / 2);
        kernels.decompose(&GadgetDigits { gadget: *self, modulus: *q, offset }, x, out);
    }

    pub(crate) fn decompose_pair_with(
        &self,
        kernels: &dyn Kernels,
        pair: &ModulusPair,
        x: [&[u64]; 2],
        out: [&mut [u64]; 2],
    ) {
        let product = pair.product();
        assert!(self.fits(u128::BITS - product.leading_zeros()), "a gadget that reaches the product");
        assert_eq!(x[0].len(), x[1].len(), "slices of one length");
        let expected = x[0].len() * self.digits() as usize;
        assert_eq!([out[0].len(), out[1].len()], [expected; 2], "room for all digits");
        let offset = self.constant() - product / 2;
        kernels.decompose_pair(&PairDigits { gadget: *self, pair: *pair, offset }, x, out);
    }
}

#[cfg(test)]
mod tests;
