//! Words: the stored form of slots.
//!
//! Modulo a number below 2^50 the word is the residue. Modulo a larger product of two primes below
//! 2^28 it is both residues, `(x mod q1) + 2^32 (x mod q2)`: a product of words is then two 32-bit
//! multiplications, and 32 such products are summed before anything is reduced.

use super::packing::WordPacking;
use crate::modulus::Modulus;

/// The form in which slots modulo some number are stored. Only numbers that have a form have a
/// value of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordFormat {
    form: WordForm,
}

/// Both forms of words, each with the constants of its reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordForm {
    Residue(OneResidue),
    Pair(TwoResidues),
}

/// Residues modulo one number below 2^50.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneResidue {
    pub(crate) modulus: Modulus,
    /// 2^52 mod q.
    pub(crate) two_52: u64,
    /// 2^49 and 2^75 mod q.
    pub(crate) folds: [u64; 2],
}

/// Residues modulo two primes below 2^28, the first in the lower half of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TwoResidues {
    pub(crate) moduli: [Modulus; 2],
    /// floor((2^64 - 1) / q), for each prime.
    quotients: [u64; 2],
    /// The inverse of the first modulo the second.
    inverse: u64,
}

impl WordFormat {
    /// Finds the form for slots modulo `q`; `None` if there is none: `q` is 2^50 or more, and not
    /// the product of two primes below 2^28.
    pub fn new(q: &Modulus) -> Option<Self> {
        if q.value() < 1 << 50 {
            return Some(WordFormat { form: WordForm::Residue(OneResidue::new(q)) });
        }
        let [first, second] = q.factors()?.map(Modulus::new);
        Self::pair(first?, second?)
    }

    /// Makes the form for slots modulo `first * second`.
    ///
    /// `None` unless both are distinct and below 2^28.
    pub fn pair(first: Modulus, second: Modulus) -> Option<Self> {
        let moduli = [first, second];
        let distinct = first != second && moduli.iter().all(|q| q.bits() <= 28);
        distinct.then(|| {
            let inverse = second.inv(second.reduce(first.value()));
            WordFormat {
                form: WordForm::Pair(TwoResidues {
                    moduli,
                    quotients: moduli.map(|q| u64::MAX / q.value()),
                    inverse,
                }),
            }
        })
    }

    /// How the words share lines.
    pub fn packing(&self) -> WordPacking {
        match self.form {
            WordForm::Residue(_) => WordPacking::Residues,
            WordForm::Pair(_) => WordPacking::Pairs,
        }
    }

    pub(crate) fn form(&self) -> &WordForm {
        &self.form
    }

    /// Converts reduced slots to stored words, in place.
    pub fn store(&self, slots: &mut [u64]) {
        if let WordForm::Pair(pair) = &self.form {
            slots.iter_mut().for_each(|x| *x = pair.split(*x));
        }
    }

    /// Converts stored words to reduced slots, in place.
    pub fn restore(&self, words: &mut [u64]) {
        if let WordForm::Pair(pair) = &self.form {
            words.iter_mut().for_each(|x| *x = pair.join(*x));
        }
    }
}

impl OneResidue {
    fn new(q: &Modulus) -> Self {
        let folds = [49, 75].map(|e| q.reduce_u128(1 << e));
        OneResidue { modulus: *q, two_52: q.reduce(1 << 52), folds }
    }

    /// Reduces any number below 2^116.
    pub(crate) fn reduce(&self, x: u128) -> u64 {
        let q = &self.modulus;
        let (lo, hi) = (x as u64 & ((1 << 52) - 1), (x >> 52) as u64);
        q.add(q.mul(q.reduce(hi), self.two_52), q.reduce(lo))
    }
}

impl TwoResidues {
    /// Adds any numbers below 2^63, one modulo each prime, to a stored word.
    pub(crate) fn add(&self, word: u64, [low, high]: [u64; 2]) -> u64 {
        let (x1, x2) = (word & u64::from(u32::MAX), word >> 32);
        self.residue(0, low + x1) | self.residue(1, high + x2) << 32
    }

    fn split(&self, x: u64) -> u64 {
        self.residue(0, x) | self.residue(1, x) << 32
    }

    /// Reduces any number modulo one of the primes.
    fn residue(&self, i: usize, x: u64) -> u64 {
        // With m = floor((2^64 - 1) / q), x m / 2^64 is less than x / q by less than 2.
        let q = self.moduli[i].value();
        let quotient = ((u128::from(x) * u128::from(self.quotients[i])) >> 64) as u64;
        let r = x - quotient * q;
        let r = r.min(r.wrapping_sub(q));
        r.min(r.wrapping_sub(q))
    }

    /// Joins residues by the Chinese remainder theorem: `x1 + q1 ((x2 - x1) / q1 mod q2)`.
    fn join(&self, word: u64) -> u64 {
        let [first, second] = &self.moduli;
        let (x1, x2) = (word & u64::from(u32::MAX), word >> 32);
        // Both factors are below 2^28.
        let lift = self.residue(1, second.sub(x2, self.residue(1, x1)) * self.inverse);
        x1 + first.value() * lift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_hold_both_residues_and_come_back() {
        for (q1, q2) in [(268369921, 249561089), (249561089, 268369921), (3, 268369921), (12289, 5)] {
            let words = WordFormat::pair(Modulus::new(q1).unwrap(), Modulus::new(q2).unwrap()).unwrap();
            let q = q1 * q2;
            let edges = [0, 1, q1 - 1, q1, q2 - 1, q2, q / 2, q - q1, q - q2, q - 1].map(|x| x % q);
            let mut slots: Vec<u64> = (0..2000).map(|i| crate::matrix::mix(i) % q).chain(edges).collect();
            let before = slots.clone();
            words.store(&mut slots);
            for (word, x) in slots.iter().zip(&before) {
                assert_eq!(*word, (x % q1) | (x % q2) << 32, "{x}");
            }
            words.restore(&mut slots);
            assert_eq!(slots, before);
        }
    }

    #[test]
    fn a_residue_below_two_to_the_fifty_is_its_own_word() {
        let words = WordFormat::new(&Modulus::new(1125899904679937).unwrap()).unwrap();
        let mut slots = [0, 1, 1125899904679936];
        words.store(&mut slots);
        assert_eq!(slots, [0, 1, 1125899904679936]);
        words.restore(&mut slots);
        assert_eq!(slots, [0, 1, 1125899904679936]);
    }

    #[test]
    fn primes_of_a_pair_are_small_and_distinct() {
        let [a, b, wide] = [268369921, 249561089, 4294828033].map(|q| Modulus::new(q).unwrap());
        assert!(WordFormat::pair(a, b).is_some());
        assert_eq!(WordFormat::new(&Modulus::composite(a, b).unwrap()), WordFormat::pair(a, b));
        assert_eq!(WordFormat::new(&Modulus::composite(a, wide).unwrap()), None);
        assert_eq!(WordFormat::pair(a, a), None);
        assert_eq!(WordFormat::pair(a, wide), None);
    }
}
