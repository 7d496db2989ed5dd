//! Key switching: replaces a ciphertext under a source key by one under the target secret.
//!
//! A polynomial `x` modulo the primes of a level is the sum over `j` of its residue modulo prime
//! `j` times `e_j`, the number that is 1 modulo that prime and 0 modulo the others: so its digits
//! are its residues, centered around zero (Bajard, Eynard, Hasan and Zucca, SAC 2016). A key has
//! one row for each prime, an encryption of `P e_j` times the source modulo all primes and the
//! special prime `P`. Digits times rows make `P x` times the source, with errors that become `P`
//! times smaller in the division by `P` (Gentry, Halevi and Smart, CRYPTO 2012, appendix D).
//!
//! Wherever it is needed, `e_j` is the same at every level: so one key serves all levels, with the
//! limbs and rows of the remaining primes.

use super::ciphertext::Ciphertext;
use super::encrypt::body;
use super::mod_down::leave;
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use super::scratch::Scratch;
use super::secret::SecretKey;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::scratch::sum_of_products;
use zeroize::Zeroizing;

/// A switching key as the server holds it.
#[derive(Debug, Clone)]
pub struct SwitchKey {
    rows: Vec<Ciphertext>,
}

impl SwitchKey {
    /// Makes the bodies of a key's rows, as values. The masks are derived from the seed.
    pub(super) fn generate<R: SlotRing>(
        rns: &RnsRing<R>,
        source: &[u64],
        target: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let mask = |prime| rns.mask(rns.full(), masks.seed, masks.label, masks.first + prime as u64);
        (0..rns.top().primes())
            .map(|prime| Self::generate_row(rns, prime, source, target, &mask(prime), errors))
            .collect()
    }

    /// Makes the body of one row of a key under a mask.
    pub(super) fn generate_row<R: SlotRing>(
        rns: &RnsRing<R>,
        prime: usize,
        source: &[u64],
        target: &SecretKey,
        mask: &[u64],
        errors: &mut ErrorSource<'_>,
    ) -> Vec<u64> {
        let (level, words) = (rns.full(), rns.ring().words());
        let mut message = Zeroizing::new(vec![0; rns.words(level)]);
        let limb = prime * words..(prime + 1) * words;
        message[limb.clone()].copy_from_slice(&source[limb.clone()]);
        rns.mul_special(prime, &mut message[limb]);
        body(rns, level, target, mask, &message, errors)
    }

    /// Makes the relinearization key, from the square of a secret to the secret: one body for each
    /// prime, modulo all primes.
    pub fn generate_square<R: SlotRing>(
        rns: &RnsRing<R>,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        Self::generate(rns, &secret.square(rns, rns.top()), secret, masks, errors)
    }

    /// Assembles a key from its bodies and the seed of its masks; `None` if there is not one body
    /// for each prime.
    ///
    /// # Panics
    /// If a body is not a polynomial modulo all primes.
    pub fn assemble<R: SlotRing>(
        rns: &RnsRing<R>,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Option<Self> {
        let level = rns.full();
        if bodies.len() != rns.top().primes() {
            return None;
        }
        let row = |(j, body): (u64, &Vec<u64>)| {
            let mask = rns.mask(level, masks.seed, masks.label, masks.first + j);
            Ciphertext::new(rns, level, &[body, &mask])
        };
        Some(SwitchKey { rows: (0..).zip(bodies).map(row).collect() })
    }

    /// Writes both parts of an encryption of `x` times the source to the scratch memory, which
    /// already holds the digits of `x`.
    pub(super) fn sum<R: SlotRing>(&self, rns: &RnsRing<R>, level: Level, x: &[u64], scratch: &mut Scratch) {
        let words = rns.ring().words();
        let Scratch { digits, parts, limbs } = scratch;
        // Limb by limb, so that the digits modulo one prime, which both parts read, are still in a
        // cache.
        for (limb, (prime, plan)) in rns.primes(level.raised()).zip(rns.plans(level.raised())).enumerate() {
            for (part, out) in parts.iter_mut().enumerate() {
                let rows = self.rows.iter().map(|row| row.limb(part, prime));
                let products = digits.of_limb(x, level, limb).zip(rows);
                sum_of_products(plan, products, &mut out[limb * words..][..words], false);
            }
        }
        for x in parts {
            let (main, special) = x.split_at_mut(rns.words(level));
            leave(rns, level, rns.special(), main, &special[..words], limbs);
        }
    }

    /// Computes `out = (c0, c1) + KS(c2)`, from a ciphertext of three parts to one of two, where
    /// this key's source is the square of the secret.
    ///
    /// # Panics
    /// If `c` does not have three parts, or `out` two of the same level.
    pub fn relinearize<R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        c: &Ciphertext,
        out: &mut Ciphertext,
        scratch: &mut Scratch,
    ) {
        let level = c.level();
        assert_eq!((c.parts(), out.parts(), out.level()), (3, 2, level), "three parts in, two parts out");
        scratch.split(rns, level, c.part(2));
        self.sum(rns, level, c.part(2), scratch);
        for part in 0..2 {
            let x = out.part_mut(part);
            x.copy_from_slice(c.part(part));
            rns.add(level, x, &scratch.parts[part][..rns.words(level)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{
        encrypted, levels, masks, on_every_ring, opened, plaintexts, secret, slots, slotwise, square_key,
    };
    use crate::bgv::tensor::tensor;

    on_every_ring!(relinearized_products_are_products, keys_need_all_bodies);

    fn relinearized_products_are_products<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let key = square_key(rns, &secret);
        let mut scratch = Scratch::new(rns);
        let all = plaintexts(rns);
        // One prime has no room for a product.
        for level in levels(rns).filter(|level| level.primes() > 1) {
            for (a, b) in all.iter().zip(all.iter().cycle().skip(1)) {
                let [x, y] = [(a, 0), (b, 1)].map(|(a, index)| encrypted(rns, level, &secret, a, index));
                let mut product = Ciphertext::zero(rns, level, 3);
                tensor(rns, &[[&x, &y]], &mut product);
                let mut out = Ciphertext::zero(rns, level, 2);
                key.relinearize(rns, &product, &mut out, &mut scratch);
                assert_eq!(opened(rns, &secret, &out), slotwise(rns, 1, &slots(rns, a), &slots(rns, b)));
            }
        }
    }

    fn keys_need_all_bodies<R: SlotRing>(rns: &RnsRing<R>) {
        let body = vec![0; rns.words(rns.full())];
        let count = rns.top().primes();
        assert!(SwitchKey::assemble(rns, &vec![body.clone(); count], masks("key")).is_some());
        assert!(SwitchKey::assemble(rns, &vec![body.clone(); count - 1], masks("key")).is_none());
        assert!(SwitchKey::assemble(rns, &vec![body; count + 1], masks("key")).is_none());
    }
}
