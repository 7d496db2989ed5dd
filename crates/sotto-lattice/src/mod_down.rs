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
        "a ciphertext to lower, and room for it"
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
mod tests;
