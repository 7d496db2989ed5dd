//! Products of ciphertexts, and sums of such products, before relinearization.
//!
//! `(a0 + a1 s) (b0 + b1 s)` is a ciphertext of three parts. With phases `m / t + e` the product is
//! the product of the messages over `t^2`: so it is multiplied by `t`, once for a whole sum. This
//! is BGV's multiplication, which differs from BFV's.

use super::ciphertext::Ciphertext;
use super::ring::SlotRing;
use super::rns::RnsRing;
use crate::scratch::sum_of_products;

/// Computes `out = sum over i of a[i] b[i]`, with three parts.
///
/// # Panics
/// If the ciphertexts do not have two parts each, `out` does not have three, or they are not all of
/// one level.
pub fn tensor<R: SlotRing>(rns: &RnsRing<R>, pairs: &[[&Ciphertext; 2]], out: &mut Ciphertext) {
    let level = out.level();
    assert_eq!(out.parts(), 3, "room for three parts");
    let fits = |c: &&Ciphertext| (c.level(), c.parts()) == (level, 2);
    assert!(pairs.iter().flatten().all(fits), "ciphertexts of two parts and one level");
    for (limb, plan) in rns.plans(level).enumerate() {
        let products =
            |i: usize, j: usize| pairs.iter().map(move |[a, b]| (a.limb(i, limb), b.limb(j, limb)));
        sum_of_products(plan, products(0, 0), out.limb_mut(0, limb), false);
        sum_of_products(plan, products(0, 1).chain(products(1, 0)), out.limb_mut(1, limb), false);
        sum_of_products(plan, products(1, 1), out.limb_mut(2, limb), false);
    }
    (0..3).for_each(|part| rns.mul_plain_modulus(level, out.part_mut(part)));
}

#[cfg(test)]
mod tests;
