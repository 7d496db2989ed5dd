//! Automorphisms `tau_k : X -> X^k` of ciphertexts, for odd `k`.
//!
//! Applied to a ciphertext under `s`, `tau_k` gives one of `tau_k(m)` under `tau_k(s)`. A switching key with the source
//! `-tau_k(s)` brings it back: `(0, tau(b)) + sum_j digit_j(tau(a)) row_j` has phase `tau(b) - tau(a) tau(s)` plus
//! errors. On slots `tau_k` is a permutation, so only the mask ever leaves them.

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::keyswitch::SwitchKey;
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::ntt::{Automorphism, substitute};
use zeroize::Zeroizing;

/// The switching key of one automorphism.
#[derive(Debug, Clone)]
pub struct AutomorphismKey {
    slots: Automorphism,
    key: SwitchKey,
}

/// A ciphertext together with the digits of its mask (hoisting: Halevi and Shoup, CRYPTO 2018).
///
/// The image of a digit under an automorphism is as small as the digit, and the images are digits
/// of the image of the mask.
#[derive(Debug)]
pub struct HoistedCiphertext<'a> {
    c: &'a Ciphertext,
    by: &'a SwitchKey,
    digits: Scratch,
}

impl AutomorphismKey {
    /// Makes the key of `X -> X^k`: one body for each digit.
    ///
    /// # Panics
    /// If `k` is even or not below `2n`.
    pub fn generate(
        ring: &Ring,
        level: ModulusLevel,
        gadget: &Gadget,
        k: usize,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let image = Zeroizing::new(substitute(k, secret.coefficients()));
        let mut source = Zeroizing::new(ring.from_small(level, &image));
        ring.negate(level, &mut source);
        SwitchKey::generate(ring, level, gadget, &[source.as_slice()], &[secret], masks, errors)
    }

    /// Assembles the key from its bodies and the seed of its masks; `None` if `k` is even or not
    /// below `2n`.
    ///
    /// # Panics
    /// If there is not one body of the level's length for each digit.
    pub fn assemble(
        ring: &Ring,
        level: ModulusLevel,
        gadget: &Gadget,
        k: usize,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Option<Self> {
        let slots = ring.plan().automorphism(k)?;
        Some(AutomorphismKey { slots, key: SwitchKey::assemble(ring, level, gadget, 1, bodies, masks) })
    }

    /// Computes `out = tau_k(c)`, under the same secret as `c`.
    ///
    /// # Panics
    /// If `c` or `out` is not of rank 1 and of the key's level.
    pub fn apply(&self, ring: &Ring, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
        self.key.check(c);
        let level = self.key.level();
        // The slots of all moduli are in one order, so the same permutation serves every limb.
        self.permute(ring, c.comp(0), scratch.poly(ring, level));
        self.permute(ring, c.comp(1), out.comp_mut(1));
        self.key.split(ring, scratch);
        self.key.put_mask_add_bodies(ring, out, scratch);
    }

    /// Splits the mask of a ciphertext into digits, for several automorphisms by keys of this level
    /// and gadget.
    ///
    /// # Panics
    /// If `c` is not of rank 1 and of the key's level.
    pub fn hoist<'a>(&'a self, ring: &Ring, c: &'a Ciphertext) -> HoistedCiphertext<'a> {
        self.key.check(c);
        let mut digits = Scratch::new(ring);
        digits.poly(ring, self.key.level()).copy_from_slice(c.comp(0));
        self.key.split(ring, &mut digits);
        HoistedCiphertext { c, by: &self.key, digits }
    }

    /// Applies the automorphism to a hoisted ciphertext, with the result of [`apply`](Self::apply).
    ///
    /// # Panics
    /// If the ciphertext was hoisted for keys of another level or gadget, or `out` is not of rank 1
    /// and of the key's level.
    pub fn apply_hoisted(
        &self,
        ring: &Ring,
        c: &HoistedCiphertext<'_>,
        out: &mut Ciphertext,
        scratch: &mut Scratch,
    ) {
        assert!(self.key.splits_like(c.by), "digits of this key's gadget");
        self.key.take(ring, scratch, &c.digits, |x, out| self.slots.apply(x, out));
        self.permute(ring, c.c.comp(1), out.comp_mut(1));
        self.key.put_mask_add_bodies(ring, out, scratch);
    }

    fn permute(&self, ring: &Ring, x: &[u64], out: &mut [u64]) {
        let limbs = x.chunks_exact(ring.n()).zip(out.chunks_exact_mut(ring.n()));
        limbs.for_each(|(x, out)| self.slots.apply(x, out));
    }
}

#[cfg(test)]
mod tests;
