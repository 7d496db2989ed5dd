use super::*;
use crate::fixture::{
    SIGMA, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings, secret, with_errors,
};
use crate::noise::steps;

#[test]
fn packed_messages_are_at_their_places() {
    let (n, level) = (256, ModulusLevel::Main);
    for ring in rings(n) {
        for rank in [1, 2, 4] {
            let from = secret(&ring, 20);
            let targets: Vec<SecretKey> = (0..rank).map(|i| secret(&ring, i)).collect();
            let targets: Vec<&SecretKey> = targets.iter().collect();
            let gadget = exact(&ring, level, 4);
            let key = |place: usize| {
                let masks = masks(100 * place as u64);
                let bodies = with_errors(place as u8, |errors| {
                    generate(&ring, level, &gadget, (&from, place), &targets, masks, errors)
                });
                SwitchKey::assemble(&ring, level, &gadget, targets.len(), &bodies, masks)
            };
            let keys: Vec<SwitchKey> = (1..=targets.len()).map(key).collect();
            let scale = ring.modulus(level) / 1000;
            let (messages, ciphers): (Vec<Vec<i128>>, Vec<Ciphertext>) = (0..targets.len())
                .map(|i| {
                    let (coefficients, slots) = message(&ring, level, i, scale);
                    (coefficients, encrypted(&ring, level, &from, &slots, i as u64))
                })
                .unzip();
            let packed = pack(&ring, &keys, &ciphers, &mut Scratch::new(&ring));
            let norm = norm(n);
            let row = SIGMA * SIGMA;
            let switch = steps::packing(n, rank.into(), &digits(&gadget), ring.log2_q(level), row, norm);
            for (phase, expected) in phases(&ring, &targets, &packed).iter().zip(&messages) {
                let noise = noise_log2(&ring, level, phase, expected);
                assert!((noise - (SIGMA * SIGMA + switch).log2() / 2.0).abs() < 0.4, "{noise} {switch}");
            }
        }
    }
}
