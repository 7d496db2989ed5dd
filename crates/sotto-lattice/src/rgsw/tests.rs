use super::*;
use crate::encrypt::mask;
use crate::fixture::{
    SEED, SIGMA, approximate, digits, exact, masks, message, noise_log2, norm, phases, rings, rng, secret,
    with_errors,
};
use crate::noise::steps;
use sotto_math::sample::Gaussian;

const N: usize = 256;

fn bit(
    ring: &Ring,
    level: ModulusLevel,
    gadgets: [&Gadget; 2],
    secrets: &[&SecretKey],
    bit: i32,
) -> RgswCiphertext {
    let mut one = vec![0; N];
    one[0] = bit;
    let slots = ring.from_small(level, &one);
    let bodies = with_errors(9, |errors| {
        RgswCiphertext::generate(ring, level, gadgets, secrets, &slots, masks(0), errors)
    });
    RgswCiphertext::assemble(ring, level, gadgets, secrets.len(), &bodies, masks(0))
}

/// Makes a ciphertext of one message per secret, and returns the messages.
fn cipher(
    ring: &Ring,
    level: ModulusLevel,
    secrets: &[&SecretKey],
    index: usize,
) -> (Vec<Vec<i128>>, Ciphertext) {
    let scale = ring.modulus(level) / 1000;
    let (coefficients, slots): (Vec<_>, Vec<_>) =
        (0..secrets.len()).map(|i| message(ring, level, i + index, scale)).unzip();
    let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
    let a = mask(ring, level, &SEED, "cipher", index as u64);
    let b = encrypt(ring, level, secrets, &a, &slots, &Gaussian::new(SIGMA), &mut rng(50 + index as u8));
    (coefficients, Ciphertext::new(ring, level, &a, b.iter().map(Vec::as_slice)))
}

#[test]
fn products_and_choices() {
    for ring in rings(N) {
        let s: Vec<SecretKey> = (0..3).map(|i| secret(&ring, i)).collect();
        for rank in [1u32, 2, 3] {
            let secrets: Vec<&SecretKey> = s.iter().take(rank as usize).collect();
            let level = ModulusLevel::Main;
            let [five, two, many] =
                [exact(&ring, level, 5), approximate(&ring, level, 2), exact(&ring, level, 18)];
            for gadgets in [[&five; 2], [&two; 2], [&many; 2], [&five, &two]] {
                let norm = norm(N);
                let rows = [SIGMA * SIGMA; 2];
                let laws = gadgets.map(digits);
                let laws = [&laws[0], &laws[1]];
                let product = steps::external_product(N, rank, laws, ring.log2_q(level), rows, norm);
                let mut scratch = Scratch::new(&ring);
                let (zero, zero_cipher) = cipher(&ring, level, &secrets, 0);
                let (one, one_cipher) = cipher(&ring, level, &secrets, 1);
                for (choice, chosen) in [(0, &zero), (1, &one)] {
                    let c = bit(&ring, level, gadgets, &secrets, choice);
                    let mut out = zero_cipher.clone();
                    c.external_product(&ring, &one_cipher, &mut out, &mut scratch);
                    let mut picked = zero_cipher.clone();
                    c.cmux(&ring, &mut picked, &one_cipher, &mut scratch);
                    let (out, picked) = (phases(&ring, &secrets, &out), phases(&ring, &secrets, &picked));
                    // Residuals are present only where the message is not zero.
                    let residual = norm * laws[0].dropped() + laws[1].dropped();
                    let residual = residual * f64::from(1 - choice);
                    let fresh = SIGMA * SIGMA;
                    for i in 0..secrets.len() {
                        let scaled: Vec<i128> = one[i].iter().map(|x| x * i128::from(choice)).collect();
                        let noise = noise_log2(&ring, level, &out[i], &scaled);
                        let predicted = product - residual + fresh * f64::from(choice);
                        assert!((noise - predicted.log2() / 2.0).abs() < 0.4, "{noise} {predicted}");
                        let noise = noise_log2(&ring, level, &picked[i], &chosen[i]);
                        let predicted = product - residual + fresh;
                        assert!((noise - predicted.log2() / 2.0).abs() < 0.4, "{noise} {predicted}");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let ring = &rings(64)[0];
    let gadget = exact(ring, ModulusLevel::Main, 2);
    let row = |level, rank| Ciphertext::zero(ring, level, rank);
    assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 1); 4]).is_some());
    assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 2); 6]).is_some());
    assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 1); 3]).is_none());
    assert!(RgswCiphertext::from_rows([&gadget; 2], vec![]).is_none());
    let wide = exact(ring, ModulusLevel::Main, 3);
    assert!(RgswCiphertext::from_rows([&wide, &gadget], vec![row(ModulusLevel::Main, 1); 5]).is_some());
    assert!(RgswCiphertext::from_rows([&wide, &gadget], vec![row(ModulusLevel::Main, 1); 4]).is_none());
    let mut mixed = vec![row(ModulusLevel::Main, 1); 4];
    mixed[2] = row(ModulusLevel::Full, 1);
    assert!(RgswCiphertext::from_rows([&gadget; 2], mixed).is_none());
}
