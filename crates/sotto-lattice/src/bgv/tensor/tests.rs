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
