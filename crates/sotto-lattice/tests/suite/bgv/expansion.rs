//! The noise of expansion on the rings that schemes expand in: with one prime, and with two.

use super::setting::Setting;
use sotto_lattice::bgv::encrypt::{encrypt_divided, errors};
use sotto_lattice::bgv::expand::{ExpansionRound, generate};
use sotto_lattice::bgv::{Ciphertext, Pow2, RnsRing, Scratch, SlotRing};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;

const SEED: PublicSeed = PublicSeed([8; 32]);
const ROUNDS: u32 = 7;

#[test]
fn with_one_prime() {
    expansion(&[1125899904679937, 1125899903991809]);
}

#[test]
fn with_two_primes() {
    expansion(&[34359697409, 34359451649, 68719403009]);
}

/// Checks that the mean square over all leaves is within 0.3 bits of the average, and no leaf's
/// above the bound.
fn expansion(primes: &[u64]) {
    let primes: Vec<Modulus> = primes.iter().map(|q| Modulus::new(*q).unwrap()).collect();
    let mut setting = Setting::new(Pow2::of_coefficients(4096, 1024, &primes).unwrap());
    let rns: RnsRing<Pow2> = setting.rns.clone();
    let level = rns.top();
    let masks = |first| MaskSource { seed: &SEED, label: "expansion", first };
    let law = Gaussian::new(3.2);
    let mut round = |j: u32| {
        let masks = masks(u64::from(8 * j));
        let mut errors = ErrorSource { law: &law, rng: &mut setting.rng };
        let bodies = generate(&rns, j, &setting.secret, masks, &mut errors);
        ExpansionRound::assemble(&rns, j, &bodies, masks).unwrap()
    };
    let rounds: Vec<ExpansionRound> = (0..ROUNDS).map(&mut round).collect();
    let plain = setting.plain();
    let mut only = vec![0; plain.len()];
    only[..1 << ROUNDS].copy_from_slice(&plain[..1 << ROUNDS]);
    let mask = rns.mask(level, &SEED, "query", 0);
    let mut fresh = ErrorSource { law: &law, rng: &mut setting.rng };
    let body = encrypt_divided(&rns, level, &setting.secret, &mask, &only, ROUNDS, &mut fresh);
    let mut leaves = vec![Ciphertext::new(&rns, level, &[&body, &mask])];
    let mut scratch = Scratch::new(&rns);
    for round in &rounds {
        let odd: Vec<Ciphertext> = leaves.iter_mut().map(|c| round.split(&rns, c, &mut scratch)).collect();
        leaves.extend(odd);
    }
    let degree = rns.ring().degree() as f64;
    let squares =
        leaves.iter().map(|c| errors(&rns, &setting.secret, c).iter().map(|x| x * x).sum::<f64>() / degree);
    let squares: Vec<f64> = squares.collect();
    let [average, bound] =
        setting.models.each_ref().map(|model| model.expanded(model.fresh(), ROUNDS, level));
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    let largest = squares.iter().fold(0f64, |largest, x| largest.max(*x));
    let off = (mean.log2() - average.log2()) / 2.0;
    println!(
        "2^{:.2}, off by {off:+.2}, largest 2^{:.2} of 2^{:.2}",
        average.log2() / 2.0,
        largest.log2() / 2.0,
        bound.log2() / 2.0
    );
    assert!(off.abs() <= 0.3, "off by {off:.2} bits");
    // The slack of the model is multiplied along by what takes the norm.
    assert!(largest < bound * sotto_lattice::bgv::noise::slack(4096, -40.0), "{largest} is beyond {bound}");
}
