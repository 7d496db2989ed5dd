use super::*;
use crate::bgv::encrypt::{decrypt, errors};
use crate::bgv::fixture::{
    encrypted, levels, on_every_ring, opened, plaintexts, secret, slots, slotwise, square_key,
};
use crate::bgv::tensor::tensor;

on_every_ring!(messages_stay, each_product_takes_a_level);

fn messages_stay<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let mut scratch = Scratch::new(rns);
    for plaintext in plaintexts(rns) {
        let mut c = encrypted(rns, rns.top(), &secret, &plaintext, 0);
        for level in levels(rns).skip(1) {
            let mut out = Ciphertext::zero(rns, level, 2);
            lower(rns, &c, &mut out, &mut scratch);
            assert_eq!(*decrypt(rns, &secret, &out), plaintext);
            c = out;
        }
        // What is left is rounding: at most half a unit in the body, and half for each coefficient of the secret.
        let bound = (rns.ring().degree() + 2) as f64;
        assert!(errors(rns, &secret, &c).iter().all(|x| x.abs() < bound));
    }
}

/// Computes squares of squares, down to the last level.
fn each_product_takes_a_level<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let key = square_key(rns, &secret);
    let mut scratch = Scratch::new(rns);
    let plaintext = &plaintexts(rns)[0];
    let mut expected = slots(rns, plaintext);
    let mut c = encrypted(rns, rns.top(), &secret, plaintext, 0);
    for level in levels(rns).filter(|level| level.primes() > 1) {
        let mut product = Ciphertext::zero(rns, level, 3);
        tensor(rns, &[[&c, &c]], &mut product);
        let mut short = Ciphertext::zero(rns, level, 2);
        key.relinearize(rns, &product, &mut short, &mut scratch);
        let mut out = Ciphertext::zero(rns, level.below().unwrap(), 2);
        lower(rns, &short, &mut out, &mut scratch);
        expected = slotwise(rns, 1, &expected, &expected);
        assert_eq!(opened(rns, &secret, &out), expected, "{level:?}");
        c = out;
    }
    assert_eq!(c.level().primes(), 1);
}
