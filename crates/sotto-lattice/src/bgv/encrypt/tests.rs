use super::*;
use crate::bgv::fixture::{
    SEED, checksum, encrypted, levels, masks, on_every_ring, opened, plaintexts, pow2, secret, slots,
    slotwise,
};
use crate::bgv::keyswitch::SwitchKey;
use crate::bgv::wire::put_body;
use crate::fixture::{SIGMA, with_errors};

on_every_ring!(plaintexts_come_back, plaintexts_add_and_multiply, errors_are_those_that_were_drawn);

fn plaintexts_come_back<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    for level in levels(rns) {
        for (index, plaintext) in (0..).zip(plaintexts(rns)) {
            let c = encrypted(rns, level, &secret, &plaintext, index);
            assert_eq!(*decrypt(rns, &secret, &c), plaintext, "{index} at {level:?}");
        }
    }
}

fn plaintexts_add_and_multiply<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let all = plaintexts(rns);
    for level in levels(rns) {
        for (a, b) in all.iter().zip(all.iter().cycle().skip(1)) {
            let (x, y) = (slots(rns, a), slots(rns, b));
            let c = encrypted(rns, level, &secret, a, 0);
            let mut sum = c.clone();
            sum.add(rns, &encrypted(rns, level, &secret, b, 1));
            assert_eq!(opened(rns, &secret, &sum), slotwise(rns, 0, &x, &y));
            sum.sub(rns, &encrypted(rns, level, &secret, b, 2));
            assert_eq!(opened(rns, &secret, &sum), x);
            let mut product = c;
            product.mul(rns, &rns.from_plain(level, b));
            assert_eq!(opened(rns, &secret, &product), slotwise(rns, 1, &x, &y));
        }
    }
}

fn errors_are_those_that_were_drawn<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    for level in levels(rns) {
        let plaintext = &plaintexts(rns)[0];
        let found = errors(rns, &secret, &encrypted(rns, level, &secret, plaintext, 7));
        let mut drawn = vec![0; rns.ring().degree()];
        with_errors(57, |errors| errors.law.fill(errors.rng, &mut drawn));
        assert!(found.iter().zip(&drawn).all(|(found, drawn)| *found == f64::from(*drawn)));
        let square = found.iter().map(|x| x * x).sum::<f64>() / found.len() as f64;
        assert!((square.sqrt() / SIGMA - 1.0).abs() < 0.2, "{square}");
    }
}

/// A change of one of these values changes what clients send, or derives their keys from other
/// randomness.
#[test]
fn known_bytes() {
    let rns = pow2();
    let secret = secret(&rns);
    let plaintext = &plaintexts(&rns)[0];
    let level = rns.top();
    let mask = rns.mask(level, &SEED, "ciphertext", 0);
    let body = with_errors(50, |errors| encrypt(&rns, level, &secret, &mask, plaintext, errors));
    let mut query = Vec::new();
    put_body(&rns, level, &body, &mut query);
    let bodies = with_errors(2, |errors| SwitchKey::generate_square(&rns, &secret, masks("square"), errors));
    let mut key = Vec::new();
    bodies.iter().for_each(|body| put_body(&rns, rns.full(), body, &mut key));
    let known = [&query, &key].map(|bytes| (bytes.len(), checksum(bytes)));
    assert_eq!(known, [(4800, 1890277578836888802), (19200, 4115333278663238039)]);
}
