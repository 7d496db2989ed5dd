//! The working memory of key switching, so that no step allocates.

use super::level::Level;
use super::ring::SlotRing;
use super::rns::RnsRing;
use crate::aligned_words::AlignedWords;
use sotto_math::modulus_pair::ResidueLift;

/// Room for the digits of one polynomial of the top level, and for a ciphertext modulo all primes.
#[derive(Debug)]
pub struct Scratch {
    pub(super) digits: Digits,
    /// The two parts of a ciphertext, with the special limb of each after the others.
    pub(super) parts: [AlignedWords; 2],
    pub(super) limbs: Limbs,
}

/// The digits of one polynomial.
#[derive(Debug)]
pub(super) struct Digits {
    limb: usize,
    /// The digit of prime `j` modulo the prime of limb `i` is number `i primes + j`, but for `i = j`.
    words: AlignedWords,
}

/// One limb of coefficients, and one of the same modulo another prime.
#[derive(Debug)]
pub(super) struct Limbs {
    pub(super) coefficients: AlignedWords,
    pub(super) moved: AlignedWords,
}

impl Scratch {
    /// Working memory for a ring.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>) -> Self {
        let (limb, primes, all) = (rns.ring().words(), rns.top().primes(), rns.words(rns.full()));
        Scratch {
            digits: Digits { limb, words: AlignedWords::zero(primes * all) },
            parts: [AlignedWords::zero(all), AlignedWords::zero(all)],
            limbs: Limbs { coefficients: AlignedWords::zero(limb), moved: AlignedWords::zero(limb) },
        }
    }

    /// Splits a polynomial, given as values, into digits: its residues modulo each prime, nearest to zero.
    ///
    /// A digit modulo its own prime is the residue itself, which is there already; only the others are made.
    pub(super) fn split<R: SlotRing>(&mut self, rns: &RnsRing<R>, level: Level, x: &[u64]) {
        self.split_by(rns, level, x, ResidueLift::Centered);
    }

    /// The same with the digits as the numbers from 0 on that the residues are.
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
