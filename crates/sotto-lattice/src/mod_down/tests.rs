use super::*;
use crate::fixture::{SIGMA, encrypted, message, noise_log2, norm, phases, rings, secret};
use crate::noise::steps;

#[test]
fn lowering_divides_by_the_special_modulus() {
    let n = 1024;
    for ring in rings(n) {
        let s = secret(&ring, 1);
        let special = ring.special_plan().map_or(1, |plan| plan.modulus().value());
        let scale = ring.modulus(ModulusLevel::Main) / 1000;
        let (expected, _) = message(&ring, ModulusLevel::Main, 1, scale);
        let (_, slots) = message(&ring, ModulusLevel::Full, 1, scale * u128::from(special));
        let c = encrypted(&ring, ModulusLevel::Full, &s, &slots, 0);
        let mut out = Ciphertext::zero(&ring, ModulusLevel::Main, 1);
        lower(&ring, &c, &mut out, &mut Scratch::new(&ring));
        let noise = noise_log2(&ring, ModulusLevel::Main, &phases(&ring, &[&s], &out)[0], &expected);
        let norm = norm(n);
        let predicted = match ring.pair() {
            Some(_) => steps::lowered(SIGMA * SIGMA, (special as f64).log2(), norm),
            None => SIGMA * SIGMA,
        };
        assert!((noise - predicted.log2() / 2.0).abs() < 0.3, "{noise} {predicted}");
    }
}
