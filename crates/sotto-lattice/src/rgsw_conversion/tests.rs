use super::*;
use crate::fixture::{encrypted, exact, masks, message, noise_log2, phases, rings, secret, with_errors};
use crate::pack;

const N: usize = 256;

/// Makes ciphertexts of `bit g_j q'`, which modulus switching turns into `bit g_j`.
fn digits(ring: &Ring, gadget: &Gadget, secret: &SecretKey, bit: u128) -> Vec<Ciphertext> {
    let special = ring.special_plan().map_or(1, |plan| u128::from(plan.modulus().value()));
    let encrypt = |(j, power): (u64, u128)| {
        let mut one = vec![0; N];
        one[0] = bit * power * special;
        encrypted(ring, ModulusLevel::Full, secret, &ring.from_integers(ModulusLevel::Full, &one), j)
    };
    (0..).zip(gadget.powers()).map(encrypt).collect()
}

fn check(ring: &Ring, key: &ConversionKey, from: &SecretKey, targets: &[&SecretKey]) {
    let gadget = exact(ring, ModulusLevel::Main, 6);
    let scale = ring.modulus(ModulusLevel::Main) / 1000;
    let mut scratch = Scratch::new(ring);
    for bit in 0..2 {
        let ciphers = digits(ring, &gadget, from, bit);
        let gsw = key.convert(ring, &gadget, &ciphers, &mut scratch).unwrap();
        assert!(key.convert(ring, &gadget, &ciphers[1..], &mut scratch).is_none());
        let mut one = Ciphertext::zero(ring, ModulusLevel::Main, targets.len());
        let mut messages = Vec::new();
        for place in 1..=targets.len() {
            let (coefficients, slots) = message(ring, ModulusLevel::Main, place, scale);
            one.comp_mut(place).copy_from_slice(&slots);
            messages.push(coefficients);
        }
        // A ciphertext without a mask is a valid one, and a mask makes the secret's rows work.
        let mut hidden = one.clone();
        for target in 1..=targets.len() {
            let mut product = targets[target - 1].slots(ring, ModulusLevel::Main).to_vec();
            ring.mul(ModulusLevel::Main, &mut product, one.comp(1));
            ring.add(ModulusLevel::Main, hidden.comp_mut(target), &product);
        }
        hidden.comp_mut(0).copy_from_slice(one.comp(1));
        let mut out = Ciphertext::zero(ring, ModulusLevel::Main, targets.len());
        gsw.external_product(ring, &hidden, &mut out, &mut scratch);
        for (phase, message) in phases(ring, targets, &out).iter().zip(&messages) {
            let expected: Vec<i128> = message.iter().map(|x| x * bit as i128).collect();
            let noise = noise_log2(ring, ModulusLevel::Main, phase, &expected);
            assert!(noise < ring.log2_q(ModulusLevel::Main) - 14.0, "{noise}");
        }
    }
}

#[test]
fn converted_ciphertexts_multiply() {
    for ring in rings(N) {
        let s = secret(&ring, 1);
        let gadget = exact(&ring, ModulusLevel::Full, 8);
        let bodies = with_errors(7, |errors| {
            ConversionKey::generate(&ring, ModulusLevel::Full, &gadget, &s, &[&s], masks(0), errors)
        });
        let square = SwitchKey::assemble(&ring, ModulusLevel::Full, &gadget, 1, &bodies, masks(0));
        check(&ring, &ConversionKey::plain(square).unwrap(), &s, &[&s]);
    }
}

#[test]
fn converted_ciphertexts_of_higher_rank_multiply() {
    for ring in rings(N) {
        let level = ModulusLevel::Full;
        let from = secret(&ring, 1);
        let targets = [secret(&ring, 2), secret(&ring, 3)];
        let targets: Vec<&SecretKey> = targets.iter().collect();
        let gadget = exact(&ring, level, 8);
        let bodies = with_errors(7, |errors| {
            ConversionKey::generate(&ring, level, &gadget, &from, &targets, masks(0), errors)
        });
        let products = SwitchKey::assemble(&ring, level, &gadget, 2, &bodies, masks(0));
        let packing = |place: usize| {
            let masks = masks(1000 * place as u64);
            let bodies = with_errors(place as u8, |errors| {
                pack::generate(&ring, level, &gadget, (&from, place), &targets, masks, errors)
            });
            SwitchKey::assemble(&ring, level, &gadget, 2, &bodies, masks)
        };
        let packing: Vec<SwitchKey> = (1..=2).map(packing).collect();
        assert!(ConversionKey::packed(products.clone(), packing[1..].to_vec().into()).is_none());
        assert!(ConversionKey::plain(products.clone()).is_none());
        check(&ring, &ConversionKey::packed(products, packing.into()).unwrap(), &from, &targets);
    }
}
