use super::*;
use crate::bgv::fixture::{
    encrypted, levels, masks, on_every_ring, opened, plaintexts, pow2, rotation_key, secret, slots,
};
use crate::fixture::with_errors;

on_every_ring!(slots_turn_to_the_left, rotations_follow_each_other, several_share_their_digits);

/// Rotates the slots of each cycle to the left.
fn turned<R: SlotRing>(rns: &RnsRing<R>, x: &[u64], by: usize) -> Vec<u64> {
    x.chunks_exact(rns.ring().slots()).flat_map(|cycle| [&cycle[by..], &cycle[..by]].concat()).collect()
}

fn slots_turn_to_the_left<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let mut scratch = Scratch::new(rns);
    let all = plaintexts(rns);
    for by in [0, 1, 5, rns.ring().slots() - 1] {
        let key = rotation_key(rns, by, &secret);
        for level in levels(rns) {
            for a in &all {
                let c = encrypted(rns, level, &secret, a, 0);
                let mut out = Ciphertext::zero(rns, level, 2);
                key.apply(rns, &c, &mut out, &mut scratch);
                assert_eq!(opened(rns, &secret, &out), turned(rns, &slots(rns, a), by), "{by} at {level:?}");
            }
        }
    }
}

fn rotations_follow_each_other<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let key = rotation_key(rns, 1, &secret);
    let mut scratch = Scratch::new(rns);
    let plaintext = &plaintexts(rns)[0];
    let mut c = encrypted(rns, rns.top(), &secret, plaintext, 0);
    let mut next = c.clone();
    for _ in 0..7 {
        key.apply(rns, &c, &mut next, &mut scratch);
        std::mem::swap(&mut c, &mut next);
    }
    assert_eq!(opened(rns, &secret, &c), turned(rns, &slots(rns, plaintext), 7));
}

fn several_share_their_digits<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let mut scratch = Scratch::new(rns);
    let keys = [1, 2, 9].map(|by| rotation_key(rns, by, &secret));
    for level in levels(rns) {
        let c = encrypted(rns, level, &secret, &plaintexts(rns)[1], 0);
        let mut together = vec![Ciphertext::zero(rns, level, 2); 3];
        RotationKey::apply_all(&keys.each_ref(), rns, &c, &mut together, &mut scratch);
        for (key, together) in keys.iter().zip(&together) {
            let mut out = Ciphertext::zero(rns, level, 2);
            key.apply(rns, &c, &mut out, &mut scratch);
            assert!((0..2).all(|part| out.part(part) == together.part(part)));
        }
    }
}

#[test]
fn cycles_swap() {
    let rns = pow2();
    let secret = secret(&rns);
    let swap = rns.ring().swap();
    let bodies =
        with_errors(4, |errors| RotationKey::generate_for(&rns, &swap, &secret, masks("swap"), errors));
    let key = RotationKey::assemble(&rns, swap, &bodies, masks("swap")).unwrap();
    let plaintext = &plaintexts(&rns)[0];
    let c = encrypted(&rns, rns.top(), &secret, plaintext, 0);
    let mut out = Ciphertext::zero(&rns, rns.top(), 2);
    key.apply(&rns, &c, &mut out, &mut Scratch::new(&rns));
    let before = slots(&rns, plaintext);
    let (first, second) = before.split_at(rns.ring().slots());
    assert_eq!(opened(&rns, &secret, &out), [second, first].concat());
}
