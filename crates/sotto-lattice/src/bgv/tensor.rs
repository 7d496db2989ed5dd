//! Products of ciphertexts, and sums of such products, before relinearization.
//!
//! `(a0 + a1 s) (b0 + b1 s)` is a ciphertext of three parts. With phases `m / t + e` the product is
//! the product of the messages over `t^2`: so it is multiplied by `t`, once for a whole sum. This
//! is BGV's multiplication, which differs from BFV's.

use super::encrypt::Ciphertext;
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
    assert_eq!(out.parts(), 3, "an output of three parts");
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
mod tests {
    use super::*;
    use crate::bgv::fixture::{encrypted, on_every_ring, opened, plaintexts, secret, slots, slotwise};

    on_every_ring!(sums_of_products, no_products_are_zero);

    /// Tests more pairs than are passed to a kernel at a time.
    fn sums_of_products<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let all = plaintexts(rns);
        let level = rns.level(2).unwrap();
        let ciphers: Vec<Ciphertext> =
            (0..).zip(&all).map(|(i, a)| encrypted(rns, level, &secret, a, i)).collect();
        for count in [1, 2, 19] {
            let index = |i: usize| [i % all.len(), (3 * i + 1) % all.len()];
            let pairs: Vec<[&Ciphertext; 2]> = (0..count).map(|i| index(i).map(|i| &ciphers[i])).collect();
            let mut out = encrypted(rns, level, &secret, &all[0], 9);
            out = Ciphertext::new(rns, level, &[out.part(0), out.part(1), out.part(0)]);
            tensor(rns, &pairs, &mut out);
            let expected = (0..count).fold(slots(rns, &all[2]), |sum, i| {
                let [a, b] = index(i).map(|i| slots(rns, &all[i]));
                slotwise(rns, 0, &sum, &slotwise(rns, 1, &a, &b))
            });
            assert_eq!(opened(rns, &secret, &out), expected, "{count} products");
        }
    }

    fn no_products_are_zero<R: SlotRing>(rns: &RnsRing<R>) {
        let mut out = Ciphertext::zero(rns, rns.top(), 3);
        out.part_mut(1).fill(1);
        tensor(rns, &[], &mut out);
        assert!((0..3).all(|part| out.part(part).iter().all(|x| *x == 0)));
    }
}
