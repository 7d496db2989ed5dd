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
mod tests {
    use super::*;
    use crate::fixture::{
        SIGMA, approximate, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings,
        secret, with_errors,
    };
    use crate::noise::steps;

    #[test]
    fn an_automorphism_acts_on_the_message() {
        let n = 256;
        for ring in rings(n) {
            for level in [ModulusLevel::Full, ModulusLevel::Main] {
                for (k, gadget) in [
                    (n + 1, exact(&ring, level, 4)),
                    (3, approximate(&ring, level, 2)),
                    (2 * n - 1, exact(&ring, level, 10)),
                    (n / 64 + 1, approximate(&ring, level, 3)),
                ] {
                    let s = secret(&ring, 1);
                    let bodies = with_errors(3, |errors| {
                        AutomorphismKey::generate(&ring, level, &gadget, k, &s, masks(0), errors)
                    });
                    let key = AutomorphismKey::assemble(&ring, level, &gadget, k, &bodies, masks(0)).unwrap();
                    let scale = ring.modulus(level) / 1000;
                    let (coefficients, slots) = message(&ring, level, 1, scale);
                    let c = encrypted(&ring, level, &s, &slots, 0);
                    let mut out = Ciphertext::zero(&ring, level, 1);
                    key.apply(&ring, &c, &mut out, &mut Scratch::new(&ring));
                    let mut hoisted = Ciphertext::zero(&ring, level, 1);
                    let scratch = &mut Scratch::new(&ring);
                    key.apply_hoisted(&ring, &key.hoist(&ring, &c), &mut hoisted, scratch);
                    let mut expected = vec![0; n];
                    for (i, x) in coefficients.iter().enumerate() {
                        let place = i * k % (2 * n);
                        expected[place % n] = if place < n { *x } else { -x };
                    }
                    let norm = norm(n);
                    let switch =
                        steps::key_switch(n, &digits(&gadget), ring.log2_q(level), SIGMA * SIGMA, norm);
                    let predicted = (SIGMA * SIGMA + switch).log2() / 2.0;
                    for out in [out, hoisted] {
                        let noise = noise_log2(&ring, level, &phases(&ring, &[&s], &out)[0], &expected);
                        assert!((noise - predicted).abs() < 0.4, "{noise} {predicted} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn even_and_large_exponents_are_refused() {
        let ring = &rings(64)[0];
        let gadget = exact(ring, ModulusLevel::Full, 2);
        for k in [0, 2, 64, 128, 129] {
            let bodies = vec![vec![0; ring.words(ModulusLevel::Full)]; 2];
            assert!(
                AutomorphismKey::assemble(ring, ModulusLevel::Full, &gadget, k, &bodies, masks(0)).is_none(),
                "{k}"
            );
        }
    }
}
