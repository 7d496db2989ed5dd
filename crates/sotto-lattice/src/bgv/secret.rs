//! Secret keys: dense ternary polynomials, and nothing else.
//!
//! Sparse secrets would make less noise, but hybrid attacks on them are outside what the security
//! estimate covers.

use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::secret::ternary;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A secret key, overwritten when dropped.
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i32>>,
    /// Values modulo all primes, the special one last.
    values: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// Draws a secret with coefficients uniform in {-1, 0, 1}, in time that does not depend on it.
    pub fn sample<R: SlotRing>(rns: &RnsRing<R>, rng: &mut dyn CryptoRng) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; rns.ring().words()]);
        ternary(rng, &mut coefficients[..rns.ring().degree()]);
        Self::from_coefficients(rns, coefficients)
    }

    /// Restores a secret that was drawn before; `None` unless there is one limb of coefficients,
    /// all in {-1, 0, 1}. The time does not depend on coefficients in that range.
    pub fn again<R: SlotRing>(rns: &RnsRing<R>, coefficients: Zeroizing<Vec<i32>>) -> Option<Self> {
        let strays = coefficients.iter().fold(0, |strays, x| strays | ((x + 1) as u32 > 2) as u32);
        if strays > 0 || coefficients.len() != rns.ring().words() {
            return None;
        }
        Some(Self::from_coefficients(rns, coefficients))
    }

    /// Returns the secret under a rotation.
    pub(super) fn rotated<R: SlotRing>(&self, rns: &RnsRing<R>, rotation: &R::Rotation) -> Self {
        Self::from_coefficients(rns, Zeroizing::new(rns.ring().rotate_small(rotation, &self.coefficients)))
    }

    fn from_coefficients<R: SlotRing>(rns: &RnsRing<R>, coefficients: Zeroizing<Vec<i32>>) -> Self {
        let wide = Zeroizing::new(coefficients.iter().map(|x| i64::from(*x)).collect::<Vec<i64>>());
        let values = rns.from_small(rns.full(), &wide);
        SecretKey { coefficients, values }
    }

    /// The coefficients of the secret, one limb.
    pub fn coefficients(&self) -> &[i32] {
        &self.coefficients
    }

    /// The values of the secret, at the top level with or without the special prime, or at a lower
    /// one.
    pub(super) fn values<R: SlotRing>(&self, rns: &RnsRing<R>, level: Level) -> &[u64] {
        &self.values[..rns.words(level)]
    }

    /// The square of the secret, as values.
    pub(super) fn square<R: SlotRing>(&self, rns: &RnsRing<R>, level: Level) -> Zeroizing<Vec<u64>> {
        let mut out = Zeroizing::new(self.values(rns, level).to_vec());
        rns.mul(level, &mut out, self.values(rns, level));
        out
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
