//! Truncated bodies for the wire: the top bits of each coefficient.
//!
//! The dropped bits are one more error, uniform and of variance `4^d / 12` for `d` dropped bits.
//! Keys and queries modulo `Q` can afford it, since the switch down to `q` divides it by `q'`
//! again.
//!
//! The middle of `2^d` integers is not an integer: to whichever neighbor a coefficient is restored,
//! the error has the mean 1/2 or -1/2. Balanced digits have the mean -1/2 too, and both in all
//! coefficients would add up in a key switch, to `l n / 7` for `l` digits: sixteen times the noise
//! of a key with one-bit digits. So coefficients with odd index use the lower neighbor and the
//! others the upper one, and the means cancel.

use crate::ring::{ModulusLevel, Ring};

/// Truncates the coefficients of a body to their top `kept_bits` bits, out of as many as the
/// modulus has.
///
/// # Panics
/// If `b` is not as long as the level requires.
pub fn truncate(ring: &Ring, level: ModulusLevel, b: &[u64], kept_bits: u32) -> Vec<u128> {
    let dropped = ring.bits(level).saturating_sub(kept_bits);
    let mut integers = ring.to_integers(level, &mut b.to_vec());
    integers.iter_mut().for_each(|x| *x >>= dropped);
    integers
}

/// Restores a body from the top bits of its coefficients, each to the middle of its possible
/// values: for `d` dropped bits `t` stands for `t 2^d + 2^(d-1)` at even indices and one less at
/// odd ones, but never for more than the largest coefficient.
///
/// `None` if there are not `n` words, or a word is not the truncation of any coefficient.
pub fn restore(ring: &Ring, level: ModulusLevel, words: &[u128], kept_bits: u32) -> Option<Vec<u64>> {
    let dropped = ring.bits(level).saturating_sub(kept_bits);
    let last = ring.modulus(level) - 1;
    if words.len() != ring.n() || words.iter().any(|word| *word > last >> dropped) {
        return None;
    }
    let half = (1u128 << dropped) >> 1;
    // Below 2^110 and a little, so nothing is shifted out. Without dropped bits, half is zero and
    // nothing is subtracted.
    let middles = [half, half.saturating_sub(1)].into_iter().cycle();
    let restored = words.iter().zip(middles).map(|(word, middle)| ((word << dropped) + middle).min(last));
    let integers: Vec<u128> = restored.collect();
    Some(ring.from_integers(level, &integers))
}
