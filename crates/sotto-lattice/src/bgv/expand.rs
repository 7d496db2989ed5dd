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

use super::ciphertext::Ciphertext;
use super::pow2::Pow2;
use super::ring::SlotRing;
use super::rns::RnsRing;
use super::rotate::RotationKey;
use super::scratch::Scratch;
use super::secret::SecretKey;
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
        let turn = rns.ring().power(element(rns.ring().degree(), round));
        let monomial = rns.plans(rns.top()).flat_map(|plan| plan.monomial(-(1i64 << round))).collect();
        Some(ExpansionRound { key: RotationKey::assemble(rns, turn, bodies, masks)?, monomial })
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
mod tests;
