//! Every formula of `bgv::noise`, measured with the key in hand, on the primes that schemes use.
//!
//! Measured and predicted standard deviations may differ by 0.3 bits. Seeds are fixed, so a test that passes will.

#![allow(clippy::unwrap_used)]

mod setting;

use setting::{Setting, m8191, pow2};
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Answer, AnswerBits, Cipher, Scratch, SlotRing};

const TOLERANCE: f64 = 0.3;

#[track_caller]
fn check(step: &str, measured: f64, predicted: f64) {
    let off = (measured.log2() - predicted.log2()) / 2.0;
    println!("{step:28} 2^{:6.2} off by {off:+.2}", predicted.log2() / 2.0);
    assert!(off.abs() <= TOLERANCE, "{step}: off by {off:.2} bits");
}

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
    let (rns, model) = (setting.rns.clone(), setting.model.clone());
    let mut scratch = Scratch::new(&rns);
    let key = setting.rotation_key(1);
    let plain = setting.plain();
    let mut c = setting.encrypt(rns.top(), &plain);
    check("fresh", setting.measured(&c), model.fresh());
    let times = 8;
    for _ in 0..times {
        let mut out = Cipher::zero(&rns, rns.top(), 2);
        key.apply(&rns, &c, &mut out, &mut scratch);
        c = out;
    }
    let mut variance = model.rotated(model.fresh(), times, rns.top());
    check("eight rotations", setting.measured(&c), variance);
    while let Some(below) = c.level().below() {
        let mut out = Cipher::zero(&rns, below, 2);
        lower(&rns, &c, &mut out, &mut scratch);
        variance = model.lowered(variance, c.level());
        check("lowered", setting.measured(&out), variance);
        let mut turned = out.clone();
        key.apply(&rns, &out, &mut turned, &mut scratch);
        variance = model.rotated(variance, 1, below);
        check("rotated further down", setting.measured(&turned), variance);
        c = turned;
    }
}

/// Two leaves on a side, as a tree of selectors has them: rows, products, relinearisation, a prime less.
fn products<R: SlotRing>(mut setting: Setting<R>) {
    let (rns, model) = (setting.rns.clone(), setting.model.clone());
    let mut scratch = Scratch::new(&rns);
    let key = setting.square_key();
    let level = rns.level(2).unwrap();
    let count = 3;
    let selectors: Vec<Cipher> = (0..2 * count)
        .map(|_| {
            let plain = setting.plain();
            setting.encrypt(level, &plain)
        })
        .collect();
    let (u, v) = selectors.split_at(count);
    let sums: Vec<Cipher> = (0..count)
        .map(|_| {
            let mut sum = Cipher::zero(&rns, level, 2);
            for v in v {
                let mut c = v.clone();
                c.mul(&rns, &rns.from_plain(level, &setting.plain()));
                sum.add(&rns, &c);
            }
            sum
        })
        .collect();
    let rows = model.rows(model.fresh(), count as f64);
    check("rows", setting.measured(&sums[0]), rows);
    let pairs: Vec<[&Cipher; 2]> = u.iter().zip(&sums).map(<[&Cipher; 2]>::from).collect();
    let mut product = Cipher::zero(&rns, level, 3);
    tensor(&rns, &pairs, &mut product);
    let variance = model.tensor(model.fresh(), rows, count as f64);
    check("products", setting.measured(&product), variance);
    let mut short = Cipher::zero(&rns, level, 2);
    key.relinearise(&rns, &product, &mut short, &mut scratch);
    check("relinearised", setting.measured(&short), variance + model.key_switch(level));
    let mut last = Cipher::zero(&rns, level.below().unwrap(), 2);
    lower(&rns, &short, &mut last, &mut scratch);
    check("lowered", setting.measured(&last), model.lowered(variance, level));
    // Nothing but key switching: a product with what is almost zero.
    let mut tiny = Cipher::zero(&rns, level, 3);
    tiny.part_mut(2).copy_from_slice(u[0].part(1));
    let mut switched = Cipher::zero(&rns, level, 2);
    key.relinearise(&rns, &tiny, &mut switched, &mut scratch);
    switched.sub(&rns, &setting.opened_square(&tiny));
    check("key switch of the square", setting.measured(&switched), model.key_switch(level));
}

fn answers<R: SlotRing>(mut setting: Setting<R>) {
    let (rns, model) = (setting.rns.clone(), setting.model.clone());
    let last = rns.level(1).unwrap();
    let step = (rns.ring().plain() as f64).log2().ceil() as u32;
    for (body, mask) in [(step + 9, step + 9), (step + 3, step + 9), (step + 12, step + 15)] {
        let bits = AnswerBits::new(&rns, body, mask).unwrap();
        let plain = setting.plain();
        let c = setting.encrypt(last, &plain);
        let answer = Answer::new(&rns, bits, &c);
        let measured = setting.mean_square(&answer.errors(&rns, bits, &setting.secret));
        check(&format!("answer of {body} and {mask} bits"), measured, model.answer(model.fresh(), bits));
    }
}
