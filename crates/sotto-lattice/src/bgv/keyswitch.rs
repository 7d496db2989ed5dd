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
//!
//! Division by a prime with rounding is [`lower`], by which a ciphertext loses a level, and how key
//! switching removes the special prime. Each coefficient `x` becomes `(x - r) / q`, where `r` is
//! its residue modulo `q`, centered around zero. Rounding errors of both parts add the variance `(1
//! + h) / 12` to the phase, where `h` is the squared norm of the secret, and everything else in the
//! phase is divided by `q`. The message, which is scaled by the product of the primes, keeps its
//! position: see [`rns`](super::rns).

use super::encrypt::{Ciphertext, SecretKey, body};
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::scratch::sum_of_products;
use sotto_math::modulus_pair::ResidueLift;
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

/// Computes `out = c / q`, for the last prime `q` of the level of `c`.
///
/// # Panics
/// If `out` is not one level below, or has another number of parts.
pub fn lower<R: SlotRing>(rns: &RnsRing<R>, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
    let level = c.level();
    assert_eq!((level.below(), c.parts()), (Some(out.level()), out.parts()), "an output one level below");
    let words = rns.words(out.level());
    for part in 0..c.parts() {
        let (rest, last) = c.part(part).split_at(words);
        out.part_mut(part).copy_from_slice(rest);
        leave(rns, out.level(), level.primes() - 1, out.part_mut(part), last, &mut scratch.limbs);
    }
}

/// Computes `x = (x - r) / q`, for a polynomial of a level and its residues modulo the prime of
/// index `from`, all as values.
pub(super) fn leave<R: SlotRing>(
    rns: &RnsRing<R>,
    level: Level,
    from: usize,
    x: &mut [u64],
    residues: &[u64],
    limbs: &mut Limbs,
) {
    let Limbs { coefficients, moved } = limbs;
    rns.ring().inverse_to(from, residues, coefficients);
    for (prime, x) in rns.primes(level).zip(x.chunks_exact_mut(rns.ring().words())) {
        if let Some(pair) = rns.pair(prime, from) {
            rns.ring().forward_from(prime, pair, ResidueLift::Centered, coefficients, moved);
            pair.lower(x, moved);
        }
    }
}

/// Working memory for the digits of one polynomial of the top level, and for a ciphertext modulo
/// all primes.
#[derive(Debug)]
pub struct Scratch {
    pub(super) digits: Digits,
    /// Parts of a ciphertext, each with its special limb after the others.
    pub(super) parts: [AlignedWords; 2],
    pub(super) limbs: Limbs,
}

/// The digits of one polynomial.
#[derive(Debug)]
pub(super) struct Digits {
    limb: usize,
    /// Digits: that of prime `j` modulo the prime of limb `i` is number `i primes + j`, except for
    /// `i = j`.
    words: AlignedWords,
}

/// Two limbs: coefficients, and the same coefficients modulo another prime.
#[derive(Debug)]
pub(super) struct Limbs {
    pub(super) coefficients: AlignedWords,
    pub(super) moved: AlignedWords,
}

impl Scratch {
    /// Allocates working memory for a ring.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>) -> Self {
        let (limb, primes, all) = (rns.ring().words(), rns.top().primes(), rns.words(rns.full()));
        Scratch {
            digits: Digits { limb, words: AlignedWords::zero(primes * all) },
            parts: [AlignedWords::zero(all), AlignedWords::zero(all)],
            limbs: Limbs { coefficients: AlignedWords::zero(limb), moved: AlignedWords::zero(limb) },
        }
    }

    /// Splits a polynomial, given as values, into digits: its residues modulo each prime, centered
    /// around zero.
    ///
    /// A digit modulo its own prime is the residue itself, which exists already; only the others
    /// are computed.
    pub(super) fn split<R: SlotRing>(&mut self, rns: &RnsRing<R>, level: Level, x: &[u64]) {
        self.split_by(rns, level, x, ResidueLift::Centered);
    }

    /// Splits a polynomial into digits that are its residues as numbers from 0 on.
    pub(super) fn split_carried<R: SlotRing>(&mut self, rns: &RnsRing<R>, level: Level, x: &[u64]) {
        self.split_by(rns, level, x, ResidueLift::Unsigned);
    }

    fn split_by<R: SlotRing>(&mut self, rns: &RnsRing<R>, level: Level, x: &[u64], carry: ResidueLift) {
        let (words, primes) = (rns.ring().words(), level.primes());
        let coefficients = &mut self.limbs.coefficients;
        for (j, residue) in x.chunks_exact(words).enumerate().take(primes) {
            rns.ring().inverse_to(j, residue, coefficients);
            for (limb, prime) in rns.primes(level.raised()).enumerate() {
                if let Some(pair) = rns.pair(prime, j) {
                    let digit = &mut self.digits.words[(limb * primes + j) * words..][..words];
                    rns.ring().forward_from(prime, pair, carry, coefficients, digit);
                }
            }
        }
    }
}

impl Digits {
    /// The digits of `x` modulo the prime of one limb.
    pub(super) fn of_limb<'a>(
        &'a self,
        x: &'a [u64],
        level: Level,
        limb: usize,
    ) -> impl Iterator<Item = &'a [u64]> {
        let (words, primes) = (self.limb, level.primes());
        let made = self.words[limb * primes * words..].chunks_exact(words);
        let residues = x.chunks_exact(words).take(primes);
        made.zip(residues).enumerate().map(move |(j, (made, residue))| if j == limb { residue } else { made })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::encrypt::{decrypt, errors};
    use crate::bgv::fixture::{
        encrypted, levels, masks, on_every_ring, opened, plaintexts, secret, slots, slotwise, square_key,
    };
    use crate::bgv::tensor::tensor;

    on_every_ring!(
        relinearized_products_are_products,
        keys_need_all_bodies,
        messages_stay,
        each_product_takes_a_level
    );

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

    fn messages_stay<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let mut scratch = Scratch::new(rns);
        for plaintext in plaintexts(rns) {
            let mut c = encrypted(rns, rns.top(), &secret, &plaintext, 0);
            for level in levels(rns).skip(1) {
                let mut out = Ciphertext::zero(rns, level, 2);
                lower(rns, &c, &mut out, &mut scratch);
                assert_eq!(*decrypt(rns, &secret, &out), plaintext);
                c = out;
            }
            // What is left is rounding: at most half a unit in the body, and half for each coefficient of the secret.
            let bound = (rns.ring().degree() + 2) as f64;
            assert!(errors(rns, &secret, &c).iter().all(|x| x.abs() < bound));
        }
    }

    /// Computes squares of squares, down to the last level.
    fn each_product_takes_a_level<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let key = square_key(rns, &secret);
        let mut scratch = Scratch::new(rns);
        let plaintext = &plaintexts(rns)[0];
        let mut expected = slots(rns, plaintext);
        let mut c = encrypted(rns, rns.top(), &secret, plaintext, 0);
        for level in levels(rns).filter(|level| level.primes() > 1) {
            let mut product = Ciphertext::zero(rns, level, 3);
            tensor(rns, &[[&c, &c]], &mut product);
            let mut short = Ciphertext::zero(rns, level, 2);
            key.relinearize(rns, &product, &mut short, &mut scratch);
            let mut out = Ciphertext::zero(rns, level.below().unwrap(), 2);
            lower(rns, &short, &mut out, &mut scratch);
            expected = slotwise(rns, 1, &expected, &expected);
            assert_eq!(opened(rns, &secret, &out), expected, "{level:?}");
            c = out;
        }
        assert_eq!(c.level().primes(), 1);
    }
}
