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
    assert!((1..=secrets.len()).contains(&place), "a position among the secrets");
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
mod tests {
    use super::*;
    use crate::fixture::{
        SIGMA, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings, secret, with_errors,
    };
    use crate::noise::steps;

    #[test]
    fn packed_messages_are_at_their_places() {
        let (n, level) = (256, ModulusLevel::Main);
        for ring in rings(n) {
            for rank in [1, 2, 4] {
                let from = secret(&ring, 20);
                let targets: Vec<SecretKey> = (0..rank).map(|i| secret(&ring, i)).collect();
                let targets: Vec<&SecretKey> = targets.iter().collect();
                let gadget = exact(&ring, level, 4);
                let key = |place: usize| {
                    let masks = masks(100 * place as u64);
                    let bodies = with_errors(place as u8, |errors| {
                        generate(&ring, level, &gadget, (&from, place), &targets, masks, errors)
                    });
                    SwitchKey::assemble(&ring, level, &gadget, targets.len(), &bodies, masks)
                };
                let keys: Vec<SwitchKey> = (1..=targets.len()).map(key).collect();
                let scale = ring.modulus(level) / 1000;
                let (messages, ciphers): (Vec<Vec<i128>>, Vec<Ciphertext>) = (0..targets.len())
                    .map(|i| {
                        let (coefficients, slots) = message(&ring, level, i, scale);
                        (coefficients, encrypted(&ring, level, &from, &slots, i as u64))
                    })
                    .unzip();
                let packed = pack(&ring, &keys, &ciphers, &mut Scratch::new(&ring));
                let norm = norm(n);
                let row = SIGMA * SIGMA;
                let switch = steps::packing(n, rank.into(), &digits(&gadget), ring.log2_q(level), row, norm);
                for (phase, expected) in phases(&ring, &targets, &packed).iter().zip(&messages) {
                    let noise = noise_log2(&ring, level, phase, expected);
                    assert!((noise - (SIGMA * SIGMA + switch).log2() / 2.0).abs() < 0.4, "{noise} {switch}");
                }
            }
        }
    }
}
