use super::*;
use crate::fixture::{
    SIGMA, approximate, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings, secret,
    with_errors,
};
use crate::noise::steps;

#[test]
fn an_automorphism_acts_on_the_message() {
    let n = 256;
    for ring in rings(n) {
        for level in [ModulusLevel::Full, ModulusLevel::Main] {
            for (k, gadget) in [
                (n + 1, exact(&ring, level, 4)),
                (3, approximate(&ring, level, 2)),
                (2 * n - 1, exact(&ring, level, 10)),
                (n / 64 + 1, approximate(&ring, level, 3)),
            ] {
                let s = secret(&ring, 1);
                let bodies = with_errors(3, |errors| {
                    AutomorphismKey::generate(&ring, level, &gadget, k, &s, masks(0), errors)
                });
                let key = AutomorphismKey::assemble(&ring, level, &gadget, k, &bodies, masks(0)).unwrap();
                let scale = ring.modulus(level) / 1000;
                let (coefficients, slots) = message(&ring, level, 1, scale);
                let c = encrypted(&ring, level, &s, &slots, 0);
                let mut out = Ciphertext::zero(&ring, level, 1);
                key.apply(&ring, &c, &mut out, &mut Scratch::new(&ring));
                let mut hoisted = Ciphertext::zero(&ring, level, 1);
                let scratch = &mut Scratch::new(&ring);
                key.apply_hoisted(&ring, &key.hoist(&ring, &c), &mut hoisted, scratch);
                let mut expected = vec![0; n];
                for (i, x) in coefficients.iter().enumerate() {
                    let place = i * k % (2 * n);
                    expected[place % n] = if place < n { *x } else { -x };
                }
                let norm = norm(n);
                let switch = steps::key_switch(n, &digits(&gadget), ring.log2_q(level), SIGMA * SIGMA, norm);
                let predicted = (SIGMA * SIGMA + switch).log2() / 2.0;
                for out in [out, hoisted] {
                    let noise = noise_log2(&ring, level, &phases(&ring, &[&s], &out)[0], &expected);
                    assert!((noise - predicted).abs() < 0.4, "{noise} {predicted} {k}");
                }
            }
        }
    }
}

#[test]
fn even_and_large_exponents_are_refused() {
    let ring = &rings(64)[0];
    let gadget = exact(ring, ModulusLevel::Full, 2);
    for k in [0, 2, 64, 128, 129] {
        let bodies = vec![vec![0; ring.words(ModulusLevel::Full)]; 2];
        assert!(
            AutomorphismKey::assemble(ring, ModulusLevel::Full, &gadget, k, &bodies, masks(0)).is_none(),
            "{k}"
        );
    }
}
