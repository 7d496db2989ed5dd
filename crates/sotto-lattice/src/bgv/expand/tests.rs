use super::*;
use crate::bgv::encrypt::{decrypt, encrypt_divided};
use crate::bgv::fixture::{SEED, masks, pow2, secret};
use crate::fixture::with_errors;
use sotto_math::modulus::Modulus;

/// Assembles the rounds of a client's keys.
fn assembled(rns: &RnsRing<Pow2>, secret: &SecretKey, count: u32) -> Vec<ExpansionRound> {
    let round = |j: u32| {
        let masks = MaskSource { first: 10 * u64::from(j), ..masks("round") };
        let bodies = with_errors(j as u8, |errors| generate(rns, j, secret, masks, errors));
        ExpansionRound::assemble(rns, j, &bodies, masks).unwrap()
    };
    (0..count).map(round).collect()
}

/// Rings with slots and without: a plain modulus that is a power of two has no inverse of 2.
fn rings() -> [RnsRing<Pow2>; 2] {
    let primes: Vec<Modulus> =
        [34359697409, 34359451649, 68719403009].map(|q| Modulus::new(q).unwrap()).to_vec();
    [pow2(), RnsRing::new(Pow2::of_coefficients(256, 1024, &primes).unwrap()).unwrap()]
}

#[test]
fn leaves_are_the_coefficients() {
    for rns in rings() {
        let secret = secret(&rns);
        let t = rns.ring().plain();
        for (values, level) in [(1, rns.top()), (5, rns.top()), (8, rns.level(1).unwrap()), (256, rns.top())]
        {
            let rounds = assembled(&rns, &secret, rounds(values));
            let mut plain = vec![0; rns.ring().words()];
            (0u64..).zip(&mut plain[..values]).for_each(|(i, x)| *x = (i * i * 7919 + 1) % t);
            let mask = rns.mask(level, &SEED, "query", values as u64);
            let divided = (plain.as_slice(), rounds.len() as u32);
            let body = with_errors(9, |errors| encrypt_divided(&rns, level, &secret, &mask, divided, errors));
            let mut leaves = vec![Ciphertext::new(&rns, level, &[&body, &mask])];
            let mut scratch = Scratch::new(&rns);
            for round in &rounds {
                let odd: Vec<Ciphertext> =
                    leaves.iter_mut().map(|c| round.split(&rns, c, &mut scratch)).collect();
                leaves.extend(odd);
            }
            for (c, value) in leaves.iter().zip(&plain).take(values) {
                let found = decrypt(&rns, &secret, c);
                assert_eq!((found[0], found[1..].iter().any(|x| *x > 0)), (*value, false));
            }
        }
    }
}

#[test]
fn a_half_that_is_not_wanted_is_not_made() {
    for rns in rings() {
        let secret = secret(&rns);
        let round = &assembled(&rns, &secret, 1)[0];
        let mask = rns.mask(rns.top(), &SEED, "query", 0);
        let mut plain = vec![0; rns.ring().words()];
        plain[..4].copy_from_slice(&[3, 4, 5, 6]);
        let body =
            with_errors(9, |errors| encrypt_divided(&rns, rns.top(), &secret, &mask, (&plain, 1), errors));
        let mut both = Ciphertext::new(&rns, rns.top(), &[&body, &mask]);
        let (mut even, mut scratch) = (both.clone(), Scratch::new(&rns));
        round.split(&rns, &mut both, &mut scratch);
        round.fold(&rns, &mut even, &mut scratch);
        assert_eq!(decrypt(&rns, &secret, &even)[..4], [3, 0, 5, 0]);
        assert!((0..2).all(|part| even.part(part) == both.part(part)));
    }
}
