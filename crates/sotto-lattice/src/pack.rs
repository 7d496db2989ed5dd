//! Packing of `k` ring-LWE ciphertexts under one secret into one of rank `k` under `k` secrets.
//!
//! The mask is what makes small answers long. After packing, `k` messages share one: `k + 1`
//! polynomials are sent instead of `2 k` (Spiral, section 4.3 of the paper; its scalar-to-matrix
//! key is the same map). Packing key `i` encrypts `-s~ g_j` at position `i` and zero elsewhere, so
//! that it switches a ciphertext under `s~` to position `i`.

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::keyswitch::SwitchKey;
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use zeroize::Zeroizing;

/// Makes the packing key for position `place` (counted from 1): the bodies of its rows, row by row,
/// secret by secret.
///
/// # Panics
/// If `place` is not one of the secrets'.
pub fn generate(
    ring: &Ring,
    level: ModulusLevel,
    gadget: &Gadget,
    (from, place): (&SecretKey, usize),
    secrets: &[&SecretKey],
    masks: MaskSource<'_>,
    errors: &mut ErrorSource<'_>,
) -> Vec<Vec<u64>> {
    assert!((1..=secrets.len()).contains(&place), "a place of the target's");
    let mut source = Zeroizing::new(from.slots(ring, level).to_vec());
    ring.negate(level, &mut source);
    let zero = vec![0; source.len()];
    let at = |i| if i == place { source.as_slice() } else { zero.as_slice() };
    let sources: Vec<&[u64]> = (1..=secrets.len()).map(at).collect();
    SwitchKey::generate(ring, level, gadget, &sources, secrets, masks, errors)
}

/// Adds the message of a ciphertext of rank 1 to position `place` of `out`.
///
/// # Panics
/// If levels or ranks do not fit.
pub fn add_at(
    ring: &Ring,
    key: &SwitchKey,
    place: usize,
    c: &Ciphertext,
    out: &mut Ciphertext,
    scratch: &mut Scratch,
) {
    ring.add(key.level(), out.comp_mut(place), c.comp(1));
    key.add_switched(ring, c.comp(0), out, scratch);
}

/// Packs ciphertexts of rank 1, with one key for each position, in order.
///
/// # Panics
/// If the numbers differ, or levels or ranks do not fit.
pub fn pack(ring: &Ring, keys: &[SwitchKey], ciphers: &[Ciphertext], scratch: &mut Scratch) -> Ciphertext {
    assert_eq!(keys.len(), ciphers.len(), "one packing key per ciphertext");
    let level = keys.first().map_or(ModulusLevel::Main, SwitchKey::level);
    let mut out = Ciphertext::zero(ring, level, keys.len());
    for ((key, c), place) in keys.iter().zip(ciphers).zip(1..) {
        add_at(ring, key, place, c, &mut out, scratch);
    }
    out
}

#[cfg(test)]
mod tests;
