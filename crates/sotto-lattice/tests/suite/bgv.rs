//! Measures every formula of `bgv::noise` with the secret key, on the primes that schemes use.
//!
//! Measured and average standard deviations may differ by 0.3 bits, and no coefficient may exceed
//! the bound that one in 2^20 ciphertexts exceeds. Seeds are fixed, so the tests are deterministic.

mod expansion;
mod setting;

use setting::{Setting, m8191, pow2};
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::noise::Noise;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Answer, AnswerBits, Ciphertext, Scratch, SlotRing};

#[test]
fn rotations_and_levels_pow2() {
    rotations_and_levels(pow2());
}

#[test]
fn rotations_and_levels_m8191() {
    rotations_and_levels(m8191());
}

#[test]
fn products_pow2() {
    products(pow2());
}

#[test]
fn products_m8191() {
    products(m8191());
}

#[test]
fn answers_pow2() {
    answers(pow2());
}

#[test]
fn answers_m8191() {
    answers(m8191());
}

fn rotations_and_levels<R: SlotRing>(mut setting: Setting<R>) {
    let (rns, models) = (setting.rns.clone(), setting.models.clone());
    let mut scratch = Scratch::new(&rns);
    let key = setting.rotation_key(1);
    let plain = setting.plain();
    let mut c = setting.encrypt(rns.top(), &plain);
    setting.check("fresh", &c, models.each_ref().map(Noise::fresh));
    let times = 8;
    for _ in 0..times {
        let mut out = Ciphertext::zero(&rns, rns.top(), 2);
        key.apply(&rns, &c, &mut out, &mut scratch);
        c = out;
    }
    let mut variances = models.each_ref().map(|model| model.rotated(model.fresh(), times, rns.top()));
    setting.check("eight rotations", &c, variances);
    while let Some(below) = c.level().below() {
        let mut out = Ciphertext::zero(&rns, below, 2);
        lower(&rns, &c, &mut out, &mut scratch);
        variances = [0, 1].map(|i| models[i].lowered(variances[i], c.level()));
        setting.check("lowered", &out, variances);
        let mut turned = out.clone();
        key.apply(&rns, &out, &mut turned, &mut scratch);
        variances = [0, 1].map(|i| models[i].rotated(variances[i], 1, below));
        setting.check("rotated further down", &turned, variances);
        c = turned;
    }
}

/// Measures three leaves on a side, as in a tree of selectors: rows, products, relinearization, one
/// prime less.
fn products<R: SlotRing>(mut setting: Setting<R>) {
    let (rns, models) = (setting.rns.clone(), setting.models.clone());
    let mut scratch = Scratch::new(&rns);
    let key = setting.square_key();
    let level = rns.level(2).unwrap();
    let count = 3;
    let selectors: Vec<Ciphertext> = (0..2 * count)
        .map(|_| {
            let plain = setting.plain();
            setting.encrypt(level, &plain)
        })
        .collect();
    let (u, v) = selectors.split_at(count);
    let sums: Vec<Ciphertext> = (0..count)
        .map(|_| {
            let mut sum = Ciphertext::zero(&rns, level, 2);
            for v in v {
                let mut c = v.clone();
                c.mul(&rns, &rns.from_plain(level, &setting.plain()));
                sum.add(&rns, &c);
            }
            sum
        })
        .collect();
    let rows = models.each_ref().map(|model| model.rows(model.fresh(), count as f64));
    setting.check("rows", &sums[0], rows);
    let pairs: Vec<[&Ciphertext; 2]> = u.iter().zip(&sums).map(<[&Ciphertext; 2]>::from).collect();
    let mut product = Ciphertext::zero(&rns, level, 3);
    tensor(&rns, &pairs, &mut product);
    let variances = [0, 1].map(|i| models[i].tensor(models[i].fresh(), rows[i], count as f64));
    setting.check("products", &product, variances);
    let mut short = Ciphertext::zero(&rns, level, 2);
    key.relinearize(&rns, &product, &mut short, &mut scratch);
    let switch = models.each_ref().map(|model| model.key_switch(level));
    setting.check("relinearized", &short, [0, 1].map(|i| variances[i] + switch[i]));
    let mut last = Ciphertext::zero(&rns, level.below().unwrap(), 2);
    lower(&rns, &short, &mut last, &mut scratch);
    setting.check("lowered", &last, [0, 1].map(|i| models[i].lowered(variances[i] + switch[i], level)));
    // Key switching alone: the rest when the square itself is subtracted.
    let mut square = Ciphertext::zero(&rns, level, 3);
    square.part_mut(2).copy_from_slice(u[0].part(1));
    let mut switched = Ciphertext::zero(&rns, level, 2);
    key.relinearize(&rns, &square, &mut switched, &mut scratch);
    switched.sub(&rns, &setting.opened_square(&square));
    setting.check("key switch of the square", &switched, switch);
}

fn answers<R: SlotRing>(mut setting: Setting<R>) {
    let (rns, models) = (setting.rns.clone(), setting.models.clone());
    let last = rns.level(1).unwrap();
    let step = (rns.ring().plain() as f64).log2().ceil() as u32;
    for (body, mask) in [(step + 9, step + 9), (step + 3, step + 9), (step + 12, step + 15)] {
        let bits = AnswerBits::new(&rns, body, mask).unwrap();
        let plain = setting.plain();
        let c = setting.encrypt(last, &plain);
        let found = Answer::new(&rns, bits, &c).errors(&rns, bits, &setting.secret);
        let variances = models.each_ref().map(|model| model.answer(model.fresh(), bits));
        setting.check_errors(&format!("answer of {body} and {mask} bits"), &found, variances);
    }
}
