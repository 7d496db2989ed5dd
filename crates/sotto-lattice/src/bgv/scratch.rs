//! The working memory of key switching, so that no step allocates.

use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;
use sotto_math::modulus_pair::ResidueLift;

/// Working memory for the digits of one polynomial of the top level, and for a ciphertext modulo
/// all primes.
#[derive(Debug)]
pub struct Scratch {
    pub(super) digits: Digits,
    /// Both parts of a ciphertext, with the special limb of each after the others.
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
