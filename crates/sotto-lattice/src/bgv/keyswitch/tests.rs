use super::*;
use crate::bgv::fixture::{
    encrypted, levels, masks, on_every_ring, opened, plaintexts, secret, slots, slotwise, square_key,
};
use crate::bgv::tensor::tensor;

on_every_ring!(relinearized_products_are_products, keys_need_all_bodies);

fn relinearized_products_are_products<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let key = square_key(rns, &secret);
    let mut scratch = Scratch::new(rns);
    let all = plaintexts(rns);
    // One prime has no room for a product.
    for level in levels(rns).filter(|level| level.primes() > 1) {
        for (a, b) in all.iter().zip(all.iter().cycle().skip(1)) {
            let [x, y] = [(a, 0), (b, 1)].map(|(a, index)| encrypted(rns, level, &secret, a, index));
            let mut product = Ciphertext::zero(rns, level, 3);
            tensor(rns, &[[&x, &y]], &mut product);
            let mut out = Ciphertext::zero(rns, level, 2);
            key.relinearize(rns, &product, &mut out, &mut scratch);
            assert_eq!(opened(rns, &secret, &out), slotwise(rns, 1, &slots(rns, a), &slots(rns, b)));
        }
    }
}

fn keys_need_all_bodies<R: SlotRing>(rns: &RnsRing<R>) {
    let body = vec![0; rns.words(rns.full())];
    let count = rns.top().primes();
    assert!(SwitchKey::assemble(rns, &vec![body.clone(); count], masks("key")).is_some());
    assert!(SwitchKey::assemble(rns, &vec![body.clone(); count - 1], masks("key")).is_none());
    assert!(SwitchKey::assemble(rns, &vec![body; count + 1], masks("key")).is_none());
}
