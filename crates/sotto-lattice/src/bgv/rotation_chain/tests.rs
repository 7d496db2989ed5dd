use super::*;
use crate::bgv::fixture::{SEED, encrypted, masks, on_every_ring, plaintexts, secret};
use crate::bgv::rotate::RotationKey;
use crate::fixture::with_errors;
use std::cell::RefCell;

on_every_ring!(a_chain_is_rotations_one_after_the_other);

fn a_chain_is_rotations_one_after_the_other<R: SlotRing>(rns: &RnsRing<R>) {
    let (secret, count) = (secret(rns), TOGETHER + 7);
    let chain = RotationChain::new(rns, count).unwrap();
    let table = RefCell::new(vec![0u8; chain.bytes() as usize]);
    let put = |at: u64, bytes: &[u8]| {
        table.borrow_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok::<_, ()>(())
    };
    let keys = masks("rotation");
    let mask = rns.mask(rns.top(), &SEED, "ciphertext", 0);
    let prepared = chain.prepare(rns, ChainMasks { mask: &mask, keys }, put).unwrap();
    // Two clients: two plaintexts, and two keys of one secret.
    let clients: Vec<(Ciphertext, Vec<Vec<u64>>)> = (0..2)
        .map(|i| {
            let c = encrypted(rns, rns.top(), &secret, &plaintexts(rns)[i], 0);
            let key = with_errors(9 + i as u8, |errors| RotationKey::generate(rns, 1, &secret, keys, errors));
            (c, key)
        })
        .collect();
    let views: Vec<(&[u64], &[Vec<u64>])> = clients.iter().map(|(c, key)| (c.part(0), &key[..])).collect();
    let chains = chain.bodies(rns, &table.borrow(), &views);
    assert_eq!((prepared.len(), chains.len()), (count, 2));
    for ((first, bodies), chain) in clients.iter().zip(&chains) {
        let key = RotationKey::assemble(rns, rns.ring().turn(1), bodies, keys).unwrap();
        let (mut scratch, mut c, mut next) = (Scratch::new(rns), first.clone(), first.clone());
        assert_eq!(chain.len(), count);
        for (body, mask) in chain.iter().zip(&prepared) {
            assert!(body.part(0) == c.part(0) && mask == c.part(1));
            key.apply(rns, &c, &mut next, &mut scratch);
            std::mem::swap(&mut c, &mut next);
        }
    }
    assert!(RotationChain::new(rns, 1).is_none() && RotationChain::new(rns, 0).is_none());
}
