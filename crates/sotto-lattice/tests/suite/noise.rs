//! Measures every formula of `noise::steps` with the secret key, on parameters that schemes use.
//!
//! Measured and predicted standard deviations may differ by 0.3 bits. Seeds are fixed, so the tests
//! are deterministic.

mod chain;
mod setting;

use rand_core::Rng;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_lattice::expand::{Expansion, SelectorCounts};
use sotto_lattice::keyswitch::{SwitchKey, lower};
use sotto_lattice::noise::steps;
use sotto_lattice::pack;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_lattice::secret::{Distribution, SecretKey};
use sotto_math::sample::Gaussian;

use setting::{SEED, SIGMA, digits, settings};

const TOLERANCE: f64 = 0.3;

#[track_caller]
fn check(setting: &str, step: &str, measured: f64, predicted: f64) {
    let off = (measured.log2() - predicted.log2()) / 2.0;
    println!("{setting:32} {step:28} 2^{:6.2} off by {off:+.2}", predicted.log2() / 2.0);
    assert!(off.abs() <= TOLERANCE, "{setting}: {step}: off by {off:.2} bits");
}

#[test]
fn key_switches() {
    for (name, mut setting) in settings() {
        let gadgets = [setting.left, setting.right];
        for (gadget, side) in gadgets.iter().zip(["left", "right"]) {
            // One key's errors, times the mean of the digits, are a random walk over the
            // coefficients: a few keys are needed for an average where digits have one bit.
            let keys = 8;
            let zero = setting.constant(ModulusLevel::Full, 0);
            let mut measured = 0.0;
            for i in 0..keys {
                let key = setting.automorphism(gadget, 3, 1000 * i);
                let c = setting.encrypt(ModulusLevel::Full, &zero, i);
                let mut out = Ciphertext::zero(&setting.ring, ModulusLevel::Full, 1);
                key.apply(&setting.ring, &c, &mut out, &mut Scratch::new(&setting.ring));
                measured += setting.measured(&out, &zero) / keys as f64;
            }
            let predicted = SIGMA * SIGMA + setting.predicted_switch(gadget, setting.norm);
            check(name, &format!("automorphism, {side}"), measured, predicted);
        }
    }
}

#[test]
fn expansion_and_lowering() {
    for (name, mut setting) in settings() {
        let expansion = Expansion::new(&setting.ring, SelectorCounts { left: 32, right: 12 }).unwrap();
        let (left, right) = (setting.left, setting.right);
        let left_keys: Vec<_> =
            expansion.left_rounds().map(|round| setting.automorphism(&left, round, 0)).collect();
        let right_keys: Vec<_> =
            expansion.right_rounds().map(|round| setting.automorphism(&right, round, 100)).collect();
        let zero = setting.constant(ModulusLevel::Full, 0);
        let query = setting.encrypt(ModulusLevel::Full, &zero, 0);
        let switches = [left, right].map(|gadget| setting.predicted_switch(&gadget, setting.norm));
        let (left, right) = expansion.run(&left_keys, &right_keys, query, |_, c| {
            let mut low = Ciphertext::zero(&setting.ring, ModulusLevel::Main, 1);
            lower(&setting.ring, c, &mut low, &mut Scratch::new(&setting.ring));
            let low_zero = setting.constant(ModulusLevel::Main, 0);
            (setting.measured(c, &zero), setting.measured(&low, &low_zero))
        });
        // Round 0 switches with the right key on both sides.
        let first = steps::expansion_round(SIGMA * SIGMA, switches[1]);
        for ((leaves, switch), (rounds, side)) in
            [(left, switches[0]), (right, switches[1])].into_iter().zip([(5, "left"), (4, "right")])
        {
            let predicted = (0..rounds).fold(first, |variance, _| steps::expansion_round(variance, switch));
            let mean = |f: fn(&(f64, f64)) -> f64| leaves.iter().map(f).sum::<f64>() / leaves.len() as f64;
            check(name, &format!("expansion, {side}"), mean(|(full, _)| *full), predicted);
            check(name, &format!("lowered, {side}"), mean(|(_, low)| *low), setting.lowered(predicted));
        }
    }
}

#[test]
fn conversion_folding_and_packing() {
    for (name, mut setting) in settings() {
        let (n, level) = (setting.ring.n(), ModulusLevel::Main);
        let log2_q = setting.ring.log2_q(level);
        let key = setting.conversion();
        let mut scratch = Scratch::new(&setting.ring);
        let powers = setting.fold.powers();
        let special = u128::from(setting.special());
        let ciphers: Vec<Ciphertext> = (0..)
            .zip(&powers)
            .map(|(j, power)| {
                let message = setting.constant(ModulusLevel::Full, power * special);
                setting.encrypt(ModulusLevel::Full, &message, j)
            })
            .collect();
        let gsw = key.convert(&setting.ring, &setting.fold, &ciphers, &mut scratch).unwrap();

        // Rows of both kinds.
        let switch = setting.predicted_switch(&setting.right, steps::squared(setting.norm));
        let predicted = [
            setting.lowered(steps::conversion(setting.norm, SIGMA * SIGMA, switch)),
            setting.lowered(SIGMA * SIGMA),
        ];
        for (i, (predicted, kind)) in predicted.into_iter().zip(["0", "1"]).enumerate() {
            let mean = powers.iter().enumerate().map(|(j, power)| {
                let mut message = setting.constant(level, *power);
                if i == 0 {
                    setting.ring.mul(level, &mut message, setting.secret.slots(&setting.ring, level));
                    setting.ring.negate(level, &mut message);
                }
                setting.measured(&gsw.rows()[i * powers.len() + j], &message)
            });
            let mean = mean.sum::<f64>() / powers.len() as f64;
            check(name, &format!("conversion, row {kind}"), mean, predicted);
        }

        // A choice between two ciphertexts, by a bit that is one.
        let message = setting.constant(level, 12345);
        let mut zero = setting.encrypt(level, &setting.constant(level, 0), 20);
        let one = setting.encrypt(level, &message, 21);
        gsw.cmux(&setting.ring, &mut zero, &one, &mut scratch);
        let product =
            steps::external_product(n, 1, [&digits(&setting.fold); 2], log2_q, predicted, setting.norm);
        check(name, "choice", setting.measured(&zero, &message), SIGMA * SIGMA + product);
    }
}

#[test]
fn uploaded_rows() {
    for (name, mut setting) in settings() {
        let (n, level) = (setting.ring.n(), ModulusLevel::Main);
        let masks = MaskSource { seed: &SEED, label: "gsw", first: 0 };
        let (ring, fold, bit) = (setting.ring.clone(), setting.fold, setting.constant(level, 1));
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut setting.rng };
        let b =
            RgswCiphertext::generate(&ring, level, [&fold; 2], &[&setting.secret], &bit, masks, &mut errors);
        let gsw = RgswCiphertext::assemble(&ring, level, [&fold; 2], 1, &b, masks);
        let message = setting.constant(level, 77);
        let c = setting.encrypt(level, &message, 0);
        let mut out = Ciphertext::zero(&ring, level, 1);
        gsw.external_product(&ring, &c, &mut out, &mut Scratch::new(&ring));
        let rows = [SIGMA * SIGMA; 2];
        let product =
            steps::external_product(n, 1, [&digits(&fold); 2], ring.log2_q(level), rows, setting.norm);
        check(name, "external product", setting.measured(&out, &message), SIGMA * SIGMA + product);
    }
}

#[test]
fn sums_with_plaintexts_and_packing() {
    for (name, mut setting) in settings() {
        let (ring, level, p_log2) = (setting.ring.clone(), ModulusLevel::Main, 16);
        let n = ring.n();
        let count = 8;
        let zero = setting.constant(level, 0);
        let mut sum = Ciphertext::zero(&ring, level, 1);
        for i in 0..count {
            let mut c = setting.encrypt(level, &zero, i);
            let small: Vec<i32> = (0..n)
                .map(|_| (setting.rng.next_u32() >> (32 - p_log2)) as i32 - (1 << (p_log2 - 1)))
                .collect();
            c.mul(&ring, &ring.from_small(level, &small));
            sum.add(&ring, &c);
        }
        let predicted = steps::first_dimension(n, count, p_log2, SIGMA * SIGMA);
        check(name, "first dimension", setting.measured(&sum, &zero), predicted);

        let targets: Vec<SecretKey> =
            (0..3).map(|_| SecretKey::sample(&ring, Distribution::Ternary, &mut setting.rng)).collect();
        let targets: Vec<&SecretKey> = targets.iter().collect();
        let gadget = setting.fold;
        let key = |place: usize| {
            let masks = MaskSource { seed: &SEED, label: "packing", first: 100 * place as u64 };
            let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut setting.rng };
            let from = (&setting.secret, place);
            let b = pack::generate(&ring, level, &gadget, from, &targets, masks, &mut errors);
            SwitchKey::assemble(&ring, level, &gadget, 3, &b, masks)
        };
        let keys: Vec<SwitchKey> = (1..=3).map(key).collect();
        let ciphers: Vec<Ciphertext> = (0..3).map(|i| setting.encrypt(level, &zero, 100 + i)).collect();
        let packed = pack::pack(&ring, &keys, &ciphers, &mut Scratch::new(&ring));
        let row = SIGMA * SIGMA;
        let added = steps::packing(n, 3, &digits(&gadget), ring.log2_q(level), row, setting.norm);
        let measured =
            (0..3).map(|i| setting.measured_under(targets[i], &packed, i + 1, &zero)).sum::<f64>() / 3.0;
        check(name, "packing", measured, SIGMA * SIGMA + added);
    }
}
