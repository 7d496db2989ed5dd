//! Division by a prime with rounding, by which a ciphertext loses a level and key switching removes
//! the special prime.
//!
//! Each coefficient `x` becomes `(x - r) / q`, where `r` is its residue modulo `q`, centered around
//! zero. Rounding errors of both parts add the variance `(1 + h) / 12` to the phase, where `h` is
//! the squared norm of the secret, and everything else in the phase is divided by `q`. The message,
//! which is scaled by the product of the primes, keeps its position: see [`rns`](super::rns).

use super::ciphertext::Ciphertext;
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use super::scratch::{Limbs, Scratch};
use sotto_math::modulus_pair::ResidueLift;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::encrypt::{decrypt, errors};
    use crate::bgv::fixture::{
        encrypted, levels, on_every_ring, opened, plaintexts, secret, slots, slotwise, square_key,
    };
    use crate::bgv::tensor::tensor;

    on_every_ring!(messages_stay, each_product_takes_a_level);

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
