//! Rotation of all slots at once, with one key for each number of positions.
//!
//! The rotation of a ciphertext under `s` is a ciphertext under the rotated `s`, and needs a key
//! switch back. Here the switch comes first, from `s` to the secret that the rotation maps to `s`,
//! and the rotation last: so the digits are those of the original ciphertext, and several rotations
//! of one ciphertext share them (hoisting: Halevi and Shoup, CRYPTO 2018).

use super::encrypt::{Ciphertext, SecretKey};
use super::keyswitch::{Scratch, SwitchKey};
use super::ring::SlotRing;
use super::rns::RnsRing;
use crate::encrypt::{ErrorSource, MaskSource};

/// The switching key of one rotation.
#[derive(Debug, Clone)]
pub struct RotationKey<R: SlotRing> {
    rotation: R::Rotation,
    key: SwitchKey,
}

impl<R: SlotRing> RotationKey<R> {
    /// Makes the key of the rotation by `by` positions to the left: one body for each prime, modulo
    /// all primes.
    pub fn generate(
        rns: &RnsRing<R>,
        by: usize,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let slots = rns.ring().slots();
        Self::generate_for(rns, &rns.ring().rotation(slots - by % slots), secret, masks, errors)
    }

    /// Makes the key of any rotation, given its inverse.
    pub fn generate_for(
        rns: &RnsRing<R>,
        inverse: &R::Rotation,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let before = secret.rotated(rns, inverse);
        SwitchKey::generate(rns, secret.values(rns, rns.top()), &before, masks, errors)
    }

    /// Assembles the key from its bodies and the seed of its masks; `None` if there is not one body
    /// for each prime.
    ///
    /// # Panics
    /// If a body is not a polynomial modulo all primes.
    pub fn assemble(
        rns: &RnsRing<R>,
        rotation: R::Rotation,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Option<Self> {
        Some(RotationKey { rotation, key: SwitchKey::assemble(rns, bodies, masks)? })
    }

    /// Writes the ciphertext with rotated slots to `out`.
    ///
    /// # Panics
    /// If `c` does not have two parts, or `out` two of the same level.
    pub fn apply(&self, rns: &RnsRing<R>, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
        scratch.split(rns, c.level(), c.part(1));
        self.apply_digits(rns, c, out, scratch);
    }

    /// Computes several rotations of one ciphertext, which is split into digits once: `out[i]` by
    /// key `i`.
    ///
    /// # Panics
    /// As [`apply`](Self::apply), or if there is not one `out` for each key.
    pub fn apply_all(
        keys: &[&Self],
        rns: &RnsRing<R>,
        c: &Ciphertext,
        out: &mut [Ciphertext],
        scratch: &mut Scratch,
    ) {
        assert_eq!(keys.len(), out.len(), "one ciphertext a key");
        scratch.split(rns, c.level(), c.part(1));
        keys.iter().zip(out).for_each(|(key, out)| key.apply_digits(rns, c, out, scratch));
    }

    fn apply_digits(&self, rns: &RnsRing<R>, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
        let (level, words) = (c.level(), rns.ring().words());
        assert_eq!(
            (c.parts(), out.parts(), out.level()),
            (2, 2, level),
            "ciphertexts of two parts and one level"
        );
        self.key.sum(rns, level, c.part(1), scratch);
        rns.add(level, &mut scratch.parts[0][..rns.words(level)], c.part(0));
        for part in 0..2 {
            for limb in 0..level.limbs() {
                let x = &scratch.parts[part][limb * words..][..words];
                rns.ring().rotate(&self.rotation, x, out.limb_mut(part, limb));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{
        encrypted, levels, masks, on_every_ring, opened, plaintexts, pow2, rotation_key, secret, slots,
    };
    use crate::fixture::with_errors;

    on_every_ring!(slots_turn_to_the_left, rotations_follow_each_other, several_share_their_digits);

    /// Rotates the slots of each cycle to the left.
    fn rotated<R: SlotRing>(rns: &RnsRing<R>, x: &[u64], by: usize) -> Vec<u64> {
        x.chunks_exact(rns.ring().slots()).flat_map(|cycle| [&cycle[by..], &cycle[..by]].concat()).collect()
    }

    fn slots_turn_to_the_left<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let mut scratch = Scratch::new(rns);
        let all = plaintexts(rns);
        for by in [0, 1, 5, rns.ring().slots() - 1] {
            let key = rotation_key(rns, by, &secret);
            for level in levels(rns) {
                for a in &all {
                    let c = encrypted(rns, level, &secret, a, 0);
                    let mut out = Ciphertext::zero(rns, level, 2);
                    key.apply(rns, &c, &mut out, &mut scratch);
                    assert_eq!(
                        opened(rns, &secret, &out),
                        rotated(rns, &slots(rns, a), by),
                        "{by} at {level:?}"
                    );
                }
            }
        }
    }

    fn rotations_follow_each_other<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let key = rotation_key(rns, 1, &secret);
        let mut scratch = Scratch::new(rns);
        let plaintext = &plaintexts(rns)[0];
        let mut c = encrypted(rns, rns.top(), &secret, plaintext, 0);
        let mut next = c.clone();
        for _ in 0..7 {
            key.apply(rns, &c, &mut next, &mut scratch);
            std::mem::swap(&mut c, &mut next);
        }
        assert_eq!(opened(rns, &secret, &c), rotated(rns, &slots(rns, plaintext), 7));
    }

    fn several_share_their_digits<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let mut scratch = Scratch::new(rns);
        let keys = [1, 2, 9].map(|by| rotation_key(rns, by, &secret));
        for level in levels(rns) {
            let c = encrypted(rns, level, &secret, &plaintexts(rns)[1], 0);
            let mut together = vec![Ciphertext::zero(rns, level, 2); 3];
            RotationKey::apply_all(&keys.each_ref(), rns, &c, &mut together, &mut scratch);
            for (key, together) in keys.iter().zip(&together) {
                let mut out = Ciphertext::zero(rns, level, 2);
                key.apply(rns, &c, &mut out, &mut scratch);
                assert!((0..2).all(|part| out.part(part) == together.part(part)));
            }
        }
    }

    #[test]
    fn cycles_swap() {
        let rns = pow2();
        let secret = secret(&rns);
        let swap = rns.ring().swap();
        let bodies =
            with_errors(4, |errors| RotationKey::generate_for(&rns, &swap, &secret, masks("swap"), errors));
        let key = RotationKey::assemble(&rns, swap, &bodies, masks("swap")).unwrap();
        let plaintext = &plaintexts(&rns)[0];
        let c = encrypted(&rns, rns.top(), &secret, plaintext, 0);
        let mut out = Ciphertext::zero(&rns, rns.top(), 2);
        key.apply(&rns, &c, &mut out, &mut Scratch::new(&rns));
        let before = slots(&rns, plaintext);
        let (first, second) = before.split_at(rns.ring().slots());
        assert_eq!(opened(&rns, &secret, &out), [second, first].concat());
    }
}
