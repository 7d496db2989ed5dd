//! Tests on tables of this project: what is encrypted decrypts again. Tests of compatibility with
//! other implementations, bit for bit, are where their messages are decoded.

use super::product::BaseExtension;
use super::{GaloisKey, PackedSwitchKey, decrypt, encrypt, generate_square, relinearize, split};
use crate::bgv::keyswitch::lower;
use crate::bgv::{Ciphertext, Pow2, RnsRing, Scratch, SecretKey, SlotRing};
use crate::fixture::{SEED, rng, with_errors};
use sotto_math::modulus::Modulus;

const PRIMES: [u64; 3] = [134176769, 268369921, 268361729];

fn ring(t: u64) -> RnsRing<Pow2> {
    let primes = PRIMES.map(|q| Modulus::new(q).unwrap());
    RnsRing::of_any_primes(Pow2::of_coefficients(256, t, &primes).unwrap()).unwrap()
}

fn fresh(rns: &RnsRing<Pow2>, secret: &SecretKey, plain: &[u64], seed: u8) -> Ciphertext {
    let mask = rns.mask(rns.top(), &SEED, "ciphertext", u64::from(seed));
    let body = with_errors(seed, |errors| encrypt(rns, secret, &mask, plain, errors));
    Ciphertext::new(rns, rns.top(), &[&body, &mask])
}

fn opened(rns: &RnsRing<Pow2>, secret: &SecretKey, c: &Ciphertext) -> Vec<u64> {
    let mut low = Ciphertext::zero(rns, rns.level(1).unwrap(), 2);
    lower(rns, c, &mut low, &mut Scratch::new(rns));
    (0..2).for_each(|part| rns.ring().inverse(0, low.part_mut(part)));
    decrypt(rns, secret, [low.part(0), low.part(1)]).to_vec()
}

fn masks(rns: &RnsRing<Pow2>, first: u64) -> Vec<Vec<u64>> {
    (0..2).map(|i| rns.mask(rns.full(), &SEED, "key", first + i)).collect()
}

fn rows(rns: &RnsRing<Pow2>, bodies: &[Vec<u64>], masks: &[Vec<u64>]) -> Vec<Ciphertext> {
    bodies.iter().zip(masks).map(|(body, mask)| Ciphertext::new(rns, rns.full(), &[body, mask])).collect()
}

fn plaintext(t: u64, seed: u64) -> Vec<u64> {
    (0..256u64).map(|i| (i * i * 7919 + i * seed + seed) % t).collect()
}

/// Multiplies polynomials modulo `X^n + 1` and `t`.
fn multiplied(t: u64, a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len()];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let at = &mut out[(i + j) % a.len()];
            *at = (*at + if i + j < a.len() { x * y } else { t * t - x * y }) % t;
        }
    }
    out
}

#[test]
fn what_is_encrypted_comes_back() {
    for t in [11, 17, 37, 4099, 65537] {
        let rns = ring(t);
        let secret = SecretKey::sample(&rns, &mut rng(1));
        for plain in
            [plaintext(t, 3), vec![0; 256], vec![t - 1; 256], vec![t / 2; 256], vec![t.div_ceil(2); 256]]
        {
            assert_eq!(opened(&rns, &secret, &fresh(&rns, &secret, &plain, 1)), plain);
        }
    }
}

#[test]
fn automorphisms_and_halves() {
    let rns = ring(17);
    let secret = SecretKey::sample(&rns, &mut rng(1));
    let mut scratch = Scratch::new(&rns);
    let plain = plaintext(17, 5);
    for element in [3, 5, 257, 511] {
        let masks = masks(&rns, element as u64);
        let bodies = with_errors(7, |errors| GaloisKey::generate(&rns, element, &secret, &masks, errors));
        let key = GaloisKey::of_rows(&rns, element, &rows(&rns, &bodies, &masks)).unwrap();
        let mut c = fresh(&rns, &secret, &plain, 2);
        let mut image = Ciphertext::zero(&rns, rns.top(), 2);
        key.apply(&rns, &c, &mut image, &mut scratch);
        let mut expected = vec![0; 256];
        for (i, x) in plain.iter().enumerate() {
            let at = i * element % 512;
            expected[at % 256] = if at < 256 { *x } else { (17 - x) % 17 };
        }
        assert_eq!(opened(&rns, &secret, &image), expected, "{element}");
        if element == 257 {
            let monomial: Vec<u64> = rns.plans(rns.top()).flat_map(|plan| plan.monomial(-1)).collect();
            let mut odd = Ciphertext::zero(&rns, rns.top(), 2);
            split(&rns, &mut c, &image, &monomial, &mut odd);
            for (half, first) in [(&c, 0), (&odd, 1)] {
                let found = opened(&rns, &secret, half);
                for i in 0..128 {
                    assert_eq!((found[2 * i], found[2 * i + 1]), (2 * plain[2 * i + first] % 17, 0));
                }
            }
        }
    }
    let masks = masks(&rns, 0);
    assert!(GaloisKey::of_rows(&rns, 4, &rows(&rns, &masks, &masks)).is_none());
    assert!(GaloisKey::of_rows(&rns, 513, &rows(&rns, &masks, &masks)).is_none());
    assert!(GaloisKey::of_rows(&rns, 3, &rows(&rns, &masks[..1], &masks)).is_none());
}

#[test]
fn sums_of_products() {
    for t in [11, 17, 37] {
        let rns = ring(t);
        let secret = SecretKey::sample(&rns, &mut rng(1));
        let masks = masks(&rns, 40);
        let bodies = with_errors(7, |errors| generate_square(&rns, &secret, &masks, errors));
        let square = PackedSwitchKey::of_rows(&rns, &rows(&rns, &bodies, &masks)).unwrap();
        let extension = BaseExtension::new(&rns).unwrap();
        let mut sum = extension.zero(&rns);
        let mut expected = vec![0; 256];
        for seed in 0..3 {
            let (a, b) = (plaintext(t, seed), plaintext(t, 10 + seed));
            let product = multiplied(t, &a, &b);
            expected.iter_mut().zip(product).for_each(|(sum, x)| *sum = (*sum + x) % t);
            let (a, b) = (fresh(&rns, &secret, &a, seed as u8), fresh(&rns, &secret, &b, 10 + seed as u8));
            extension.add_product(&rns, &extension.raise(&rns, a), &extension.raise(&rns, b), &mut sum);
        }
        let product = extension.divided(&rns, sum);
        let mut out = Ciphertext::zero(&rns, rns.top(), 2);
        relinearize(&rns, &square, &product, &mut out, &mut Scratch::new(&rns));
        assert_eq!(opened(&rns, &secret, &out), expected, "{t}");
    }
}

#[test]
fn an_extension_needs_small_numbers() {
    let primes = [1125899904679937, 1125899903991809].map(|q| Modulus::new(q).unwrap());
    let large = RnsRing::of_any_primes(Pow2::of_coefficients(256, 17, &primes).unwrap()).unwrap();
    assert!(BaseExtension::new(&large).is_none());
    assert!(BaseExtension::new(&ring(1 << 28)).is_none());
}
