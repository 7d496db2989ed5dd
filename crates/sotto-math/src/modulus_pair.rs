//! Pairs of moduli: numbers modulo `Q = q q'` as their residues, and division by one modulus with
//! rounding.
//!
//! A number modulo `Q` is stored as its residues modulo `q` and modulo the *special* modulus `q'`.
//! Switching to `q` divides by the special modulus: the ciphertext `c` modulo `Q` becomes
//! `round(c / q')` modulo `q`, which shrinks the noise with it. In residues that is
//! `(c - [c]) / q'` modulo `q`, where `[c]` is the residue modulo `q'` *centered*; the paper's code
//! takes it from `0..q'`, which rounds down instead and costs a bit of noise (design notes on
//! FSpiral, section 1.1). In slots: the inverse transform of the special residues,
//! [`ModulusPair::centered`], the forward transform modulo `q`, [`ModulusPair::lower`].

use crate::modulus::Modulus;
pub use crate::simd::args::modulus_pair::{ModulusPair, ResidueLift};
use crate::simd::{self, Kernels};

impl ModulusPair {
    /// Converts residues modulo the special modulus, each as the number nearest to zero, to
    /// residues modulo `q`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn centered(&self, x_special: &[u64], out: &mut [u64]) {
        self.centered_with(simd::kernels(), x_special, out);
    }

    /// Converts residues modulo the special modulus, each as a number in `0..q'`, to residues
    /// modulo `q`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn carried(&self, x_special: &[u64], out: &mut [u64]) {
        self.carried_with(simd::kernels(), x_special, out);
    }

    /// Computes `x = (x - correction) / q'` modulo `q`, slot by slot or coefficient by coefficient.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn lower(&self, x: &mut [u64], correction: &[u64]) {
        self.lower_with(simd::kernels(), x, correction);
    }

    pub(crate) fn centered_with(&self, kernels: &dyn Kernels, x_special: &[u64], out: &mut [u64]) {
        assert_eq!(x_special.len(), out.len(), "slices of one length");
        kernels.centered(self, x_special, out);
    }

    pub(crate) fn carried_with(&self, kernels: &dyn Kernels, x_special: &[u64], out: &mut [u64]) {
        assert_eq!(x_special.len(), out.len(), "slices of one length");
        kernels.carried(self, x_special, out);
    }

    pub(crate) fn lower_with(&self, kernels: &dyn Kernels, x: &mut [u64], correction: &[u64]) {
        assert_eq!(x.len(), correction.len(), "slices of one length");
        kernels.lower(self, x, correction);
    }
}

/// Computes `round(x 2^bits / q)` modulo 2^bits, exactly, as an answer sends each coefficient.
///
/// # Panics
/// If the slices differ in length, or `bits` is more than 63.
pub fn round_to_bits(q: &Modulus, x: &[u64], bits: u32, out: &mut [u64]) {
    assert_eq!(x.len(), out.len(), "slices of one length");
    assert!(bits < 64, "at most 63 bits");
    let reciprocal = (1 << (bits + 64)) / u128::from(q.value());
    let half = q.value() / 2;
    for (out, &x) in out.iter_mut().zip(x) {
        // q is odd, so no quotient is halfway: rounding is floor((x 2^bits + q/2) / q). The
        // estimate omits less than 1/16 by the reciprocal, 1 by rounding down and 1/2 by q/2, so it
        // is at most one too low.
        let estimate = ((u128::from(x) * reciprocal) >> 64) as u64;
        let numerator = (x << bits).wrapping_add(half);
        let remainder = numerator.wrapping_sub(estimate.wrapping_mul(q.value()));
        *out = (estimate + u64::from(remainder >= q.value())) & ((1 << bits) - 1);
    }
}

#[cfg(test)]
mod tests;
