//! Division by a prime with rounding, by which a ciphertext loses a level and key switching removes
//! the special prime.
//!
//! Each coefficient `x` becomes `(x - r) / q`, where `r` is its residue modulo `q`, centered around
//! zero. Rounding errors of both parts add the variance `(1 + h) / 12` to the phase, where `h` is
//! the squared norm of the secret, and everything else in the phase is divided by `q`. The message,
//! which is scaled by the product of the primes, keeps its position: see [`rns`](super::rns).

use super::ciphertext::Ciphertext;
use super::level::Level;
use super::ring::SlotRing;
use super::rns::RnsRing;
use super::scratch::{Limbs, Scratch};
use sotto_math::modulus_pair::ResidueLift;

/// Computes `out = c / q`, for the last prime `q` of the level of `c`.
///
/// # Panics
/// If `out` is not one level below, or has another number of parts.
pub fn lower<R: SlotRing>(rns: &RnsRing<R>, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
    let level = c.level();
    assert_eq!(
        (level.below(), c.parts()),
        (Some(out.level()), out.parts()),
        "a level to leave, and room below"
    );
    let words = rns.words(out.level());
    for part in 0..c.parts() {
        let (kept, last) = c.part(part).split_at(words);
        out.part_mut(part).copy_from_slice(kept);
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
mod tests;
