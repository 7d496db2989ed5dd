use super::*;
use crate::encrypt::mask;
use crate::fixture::{
    SEED, SIGMA, approximate, digits, exact, masks, noise_log2, norm, phases, rings, secret, with_errors,
};
use crate::noise::steps;

#[test]
fn a_switched_polynomial_is_multiplied_by_the_sources() {
    for ring in rings(256) {
        for (level, rank) in [(ModulusLevel::Full, 1), (ModulusLevel::Main, 1), (ModulusLevel::Main, 3)] {
            for gadget in [exact(&ring, level, 7), exact(&ring, level, 19), approximate(&ring, level, 2)] {
                let (sources, secrets): (Vec<SecretKey>, Vec<SecretKey>) =
                    (0..rank).map(|i| (secret(&ring, i), secret(&ring, i + 10))).unzip();
                let secrets: Vec<&SecretKey> = secrets.iter().collect();
                let slots: Vec<&[u64]> = sources.iter().map(|s| s.slots(&ring, level)).collect();
                let bodies = with_errors(1, |errors| {
                    SwitchKey::generate(&ring, level, &gadget, &slots, &secrets, masks(5), errors)
                });
                let key = SwitchKey::assemble(&ring, level, &gadget, secrets.len(), &bodies, masks(5));
                let a = mask(&ring, level, &SEED, "switched", 0);
                let mut out = Ciphertext::zero(&ring, level, secrets.len());
                key.add_switched(&ring, &a, &mut out, &mut Scratch::new(&ring));
                let norm = norm(256);
                let variance =
                    steps::key_switch(256, &digits(&gadget), ring.log2_q(level), SIGMA * SIGMA, norm);
                for (phase, source) in phases(&ring, &secrets, &out).iter().zip(&slots) {
                    let mut expected = a.clone();
                    ring.mul(level, &mut expected, source);
                    let expected: Vec<i128> =
                        ring.to_integers(level, &mut expected).iter().map(|x| *x as i128).collect();
                    let noise = noise_log2(&ring, level, phase, &expected);
                    assert!((noise - variance.log2() / 2.0).abs() < 0.4, "{noise} {variance} {gadget:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_in_the_output_stays_there() {
    for ring in rings(64) {
        let level = ModulusLevel::Full;
        let gadget = exact(&ring, level, 5);
        let s = secret(&ring, 1);
        let bodies = with_errors(1, |errors| {
            SwitchKey::generate(&ring, level, &gadget, &[s.slots(&ring, level)], &[&s], masks(0), errors)
        });
        let key = SwitchKey::assemble(&ring, level, &gadget, 1, &bodies, masks(0));
        let (a, b) = (mask(&ring, level, &SEED, "a", 0), mask(&ring, level, &SEED, "b", 0));
        let mut scratch = Scratch::new(&ring);
        let mut sum = Ciphertext::new(&ring, level, &b, [a.as_slice()].into_iter());
        let before = sum.clone();
        key.add_switched(&ring, &a, &mut sum, &mut scratch);
        sum.sub(&ring, &before);
        let mut alone = Ciphertext::zero(&ring, level, 1);
        key.add_switched(&ring, &a, &mut alone, &mut scratch);
        assert!(sum.components().eq(alone.components()));
        // A mask that will be overwritten counts as zero.
        let mut put = Ciphertext::new(&ring, level, &b, [vec![0; b.len()].as_slice()].into_iter());
        key.put_mask_add_bodies(&ring, &mut put, &scratch);
        assert!(put.components().eq(alone.components()));
    }
}
