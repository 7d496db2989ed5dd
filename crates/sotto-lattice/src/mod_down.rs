//! Modulus switching from `Q = q q'` to `q`: a ciphertext divided by the special modulus.
//!
//! Each coefficient `x` becomes `x / q'`, rounded: with `r` its residue modulo `q'`, centered
//! around zero, that is `(x - r) / q'`, exact modulo `q`. Rounding errors of mask and body add the
//! variance `(H + 1) / 12` to the phase, where `H` is the squared norm of the secret, and
//! everything else in the phase is divided by `q'`. FSpiral's program does not center, which costs
//! it about one bit.

use crate::ciphertext::Ciphertext;
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;

/// Computes `out = c / q'`, from level `Full` to level `Main`; a copy if there is no special
/// modulus.
///
/// # Panics
/// If the levels are others, or the ranks differ.
pub fn lower(ring: &Ring, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
    let shape = (c.level(), out.level(), out.rank());
    assert_eq!(
        shape,
        (ModulusLevel::Full, ModulusLevel::Main, c.rank()),
        "a ciphertext modulo Q, and its output modulo q"
    );
    for (x, out) in c.components().zip(out.components_mut()) {
        let (main, special) = x.split_at(ring.n());
        out.copy_from_slice(main);
        if let Some((plan, pair)) = ring.special_plan().zip(ring.pair()) {
            let (correction, residues) = scratch.poly(ring, ModulusLevel::Full).split_at_mut(ring.n());
            residues.copy_from_slice(special);
            plan.inverse(residues);
            pair.centered(residues, correction);
            ring.plan().forward(correction);
            pair.lower(out, correction);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SIGMA, encrypted, message, noise_log2, norm, phases, rings, secret};
    use crate::noise::steps;

    #[test]
    fn lowering_divides_by_the_special_modulus() {
        let n = 1024;
        for ring in rings(n) {
            let s = secret(&ring, 1);
            let special = ring.special_plan().map_or(1, |plan| plan.modulus().value());
            let scale = ring.modulus(ModulusLevel::Main) / 1000;
            let (expected, _) = message(&ring, ModulusLevel::Main, 1, scale);
            let (_, slots) = message(&ring, ModulusLevel::Full, 1, scale * u128::from(special));
            let c = encrypted(&ring, ModulusLevel::Full, &s, &slots, 0);
            let mut out = Ciphertext::zero(&ring, ModulusLevel::Main, 1);
            lower(&ring, &c, &mut out, &mut Scratch::new(&ring));
            let noise = noise_log2(&ring, ModulusLevel::Main, &phases(&ring, &[&s], &out)[0], &expected);
            let norm = norm(n);
            let predicted = match ring.pair() {
                Some(_) => steps::lowered(SIGMA * SIGMA, (special as f64).log2(), norm),
                None => SIGMA * SIGMA,
            };
            assert!((noise - predicted.log2() / 2.0).abs() < 0.3, "{noise} {predicted}");
        }
    }
}
