//! Expansion of one ciphertext of a polynomial to ciphertexts of its coefficients.
//!
//! Round `j` splits a ciphertext whose message has only powers of `X^(2^j)`. Under
//! `X -> X^(n / 2^j + 1)` its even powers (of `X^(2^j)`) stay and its odd ones change sign: with
//! `t` the image of `c`, `c + t` has twice the even ones, and `X^(-2^j) (c - t)` twice the odd
//! ones, moved to even positions (Angel, Chen, Laine and Setty, S&P 2018, section 3.3), with one
//! key switch for both as in [`crate::expand`]. So `rounds` rounds multiply by `2^rounds`, which
//! the encryption [divides by](super::encrypt::encrypt_divided).
//!
//! Rounds are sequential, and the splits of a round are independent: callers distribute them over
//! their pool.

use super::encrypt::{Ciphertext, SecretKey};
use super::keyswitch::Scratch;
use super::pow2::Pow2;
use super::ring::SlotRing;
use super::rns::RnsRing;
use super::rotate::RotationKey;
use crate::encrypt::{ErrorSource, MaskSource};

/// Number of rounds that expand a ciphertext to `values` values.
pub fn rounds(values: usize) -> u32 {
    values.next_power_of_two().trailing_zeros()
}

/// The exponent of a round's automorphism.
fn element(n: usize, round: u32) -> usize {
    (n >> round) + 1
}

/// Makes the key of a round: one body for each prime, modulo all primes.
pub fn generate(
    rns: &RnsRing<Pow2>,
    round: u32,
    secret: &SecretKey,
    masks: MaskSource<'_>,
    errors: &mut ErrorSource<'_>,
) -> Vec<Vec<u64>> {
    let order = 2 * rns.ring().degree();
    let k = element(rns.ring().degree(), round);
    // The inverse of an odd number modulo a power of two, by Newton's iteration: each step doubles
    // the correct bits.
    let inverse = (0..6).fold(k, |x, _| x.wrapping_mul(2usize.wrapping_sub(k.wrapping_mul(x)))) % order;
    RotationKey::generate_for(rns, &rns.ring().power(inverse), secret, masks, errors)
}

/// One round of an expansion, with its key.
#[derive(Debug, Clone)]
pub struct ExpansionRound {
    key: RotationKey<Pow2>,
    /// The values of `X^(-2^j)`, modulo every prime.
    monomial: Vec<u64>,
}

impl ExpansionRound {
    /// Assembles a round; `None` if there is not one body for each prime.
    ///
    /// # Panics
    /// If a body is not a polynomial modulo all primes.
    pub fn assemble(
        rns: &RnsRing<Pow2>,
        round: u32,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Option<Self> {
        let rotation = rns.ring().power(element(rns.ring().degree(), round));
        let monomial = rns.plans(rns.top()).flat_map(|plan| plan.monomial(-(1i64 << round))).collect();
        Some(ExpansionRound { key: RotationKey::assemble(rns, rotation, bodies, masks)?, monomial })
    }

    /// Splits `c`: the even half replaces it, and the odd half is returned.
    ///
    /// # Panics
    /// If `c` does not have two parts.
    pub fn split(&self, rns: &RnsRing<Pow2>, c: &mut Ciphertext, scratch: &mut Scratch) -> Ciphertext {
        let level = c.level();
        let mut image = Ciphertext::zero(rns, level, 2);
        let mut odd = Ciphertext::zero(rns, level, 2);
        self.key.apply(rns, c, &mut image, scratch);
        for part in 0..2 {
            for (limb, (plan, monomial)) in
                rns.plans(level).zip(self.monomial.chunks_exact(rns.ring().words())).enumerate()
            {
                plan.split(
                    c.limb_mut(part, limb),
                    image.limb(part, limb),
                    monomial,
                    odd.limb_mut(part, limb),
                );
            }
        }
        odd
    }

    /// Replaces `c` by its even half only.
    ///
    /// # Panics
    /// If `c` does not have two parts.
    pub fn fold(&self, rns: &RnsRing<Pow2>, c: &mut Ciphertext, scratch: &mut Scratch) {
        let mut image = Ciphertext::zero(rns, c.level(), 2);
        self.key.apply(rns, c, &mut image, scratch);
        c.add(rns, &image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::encrypt::{decrypt, encrypt_divided};
    use crate::bgv::fixture::{SEED, masks, pow2, secret};
    use crate::fixture::with_errors;
    use sotto_math::modulus::Modulus;

    /// Assembles the rounds of a client's keys.
    fn assembled(rns: &RnsRing<Pow2>, secret: &SecretKey, count: u32) -> Vec<ExpansionRound> {
        let round = |j: u32| {
            let masks = MaskSource { first: 10 * u64::from(j), ..masks("round") };
            let bodies = with_errors(j as u8, |errors| generate(rns, j, secret, masks, errors));
            ExpansionRound::assemble(rns, j, &bodies, masks).unwrap()
        };
        (0..count).map(round).collect()
    }

    /// Rings with slots and without: a plain modulus that is a power of two has no inverse of 2.
    fn rings() -> [RnsRing<Pow2>; 2] {
        let primes: Vec<Modulus> =
            [34359697409, 34359451649, 68719403009].map(|q| Modulus::new(q).unwrap()).to_vec();
        [pow2(), RnsRing::new(Pow2::of_coefficients(256, 1024, &primes).unwrap()).unwrap()]
    }

    #[test]
    fn leaves_are_the_coefficients() {
        for rns in rings() {
            let secret = secret(&rns);
            let t = rns.ring().plain();
            for (values, level) in
                [(1, rns.top()), (5, rns.top()), (8, rns.level(1).unwrap()), (256, rns.top())]
            {
                let rounds = assembled(&rns, &secret, rounds(values));
                let mut plain = vec![0; rns.ring().words()];
                (0u64..).zip(&mut plain[..values]).for_each(|(i, x)| *x = (i * i * 7919 + 1) % t);
                let mask = rns.mask(level, &SEED, "query", values as u64);
                let halvings = rounds.len() as u32;
                let body = with_errors(9, |errors| {
                    encrypt_divided(&rns, level, &secret, &mask, &plain, halvings, errors)
                });
                let mut leaves = vec![Ciphertext::new(&rns, level, &[&body, &mask])];
                let mut scratch = Scratch::new(&rns);
                for round in &rounds {
                    let odd: Vec<Ciphertext> =
                        leaves.iter_mut().map(|c| round.split(&rns, c, &mut scratch)).collect();
                    leaves.extend(odd);
                }
                for (c, value) in leaves.iter().zip(&plain).take(values) {
                    let found = decrypt(&rns, &secret, c);
                    assert_eq!((found[0], found[1..].iter().any(|x| *x > 0)), (*value, false));
                }
            }
        }
    }

    #[test]
    fn a_half_that_is_not_wanted_is_not_made() {
        for rns in rings() {
            let secret = secret(&rns);
            let round = &assembled(&rns, &secret, 1)[0];
            let mask = rns.mask(rns.top(), &SEED, "query", 0);
            let mut plain = vec![0; rns.ring().words()];
            plain[..4].copy_from_slice(&[3, 4, 5, 6]);
            let body =
                with_errors(9, |errors| encrypt_divided(&rns, rns.top(), &secret, &mask, &plain, 1, errors));
            let mut both = Ciphertext::new(&rns, rns.top(), &[&body, &mask]);
            let (mut even, mut scratch) = (both.clone(), Scratch::new(&rns));
            round.split(&rns, &mut both, &mut scratch);
            round.fold(&rns, &mut even, &mut scratch);
            assert_eq!(decrypt(&rns, &secret, &even)[..4], [3, 0, 5, 0]);
            assert!((0..2).all(|part| even.part(part) == both.part(part)));
        }
    }
}
