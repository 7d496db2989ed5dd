//! A whole answer: the composition of the steps' formulas, against the measured result.
//!
//! Steps are measured on fresh ciphertexts elsewhere. Here selectors and bits come from one query
//! and one set of keys, so that their errors are not independent of each other, and plaintexts and
//! digits have to spread them.

use crate::noise::setting::{SIGMA, Setting, digits, settings};
use rand_core::Rng;
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::expand::{Expansion, SelectorCounts};
use sotto_lattice::keyswitch::lower;
use sotto_lattice::noise::steps;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_math::gadget::Gadget;
use std::ops::Range;

const P_LOG2: u32 = 8;
const ROWS: usize = 32;
const BITS: u32 = 3;
/// The requested row and column.
const WANTED: (usize, usize) = (21, 5);

fn keys(setting: &mut Setting, gadget: Gadget, rounds: Range<u32>, first: u64) -> Vec<AutomorphismKey> {
    rounds.map(|round| setting.automorphism(&gadget, round, first)).collect()
}

/// Computes `value / 2^rounds` modulo Q, which is odd.
fn halved(setting: &Setting, value: u128, rounds: u32) -> u128 {
    let modulus = setting.ring.modulus(ModulusLevel::Full);
    (0..rounds).fold(value, |x, _| if x % 2 == 0 { x / 2 } else { x.midpoint(modulus) })
}

/// Makes the query for the requested position, expanded and switched to q: selectors, and the rows
/// of the bits.
fn expanded(setting: &mut Setting) -> (Vec<Ciphertext>, Vec<Ciphertext>) {
    let powers = setting.fold.powers();
    let counts = SelectorCounts { left: ROWS, right: BITS as usize * powers.len() };
    let expansion = Expansion::new(&setting.ring, counts).unwrap();
    let (left, right) = (expansion.left_rounds(), expansion.right_rounds());
    let mut query = vec![0; setting.ring.n()];
    let step = setting.ring.modulus(ModulusLevel::Full) >> P_LOG2;
    query[2 * WANTED.0] = halved(setting, step, left.end);
    for d in (0..BITS as usize).filter(|d| WANTED.1 >> d & 1 == 1) {
        for (j, power) in powers.iter().enumerate() {
            let value = power * u128::from(setting.special());
            query[2 * (d * powers.len() + j) + 1] = halved(setting, value, right.end);
        }
    }
    let query = setting.ring.from_integers(ModulusLevel::Full, &query);
    let query = setting.encrypt(ModulusLevel::Full, &query, 0);
    let left = keys(setting, setting.left, left, 0);
    let right = keys(setting, setting.right, right, 100);
    expansion.run(&left, &right, query, |_, c| c.clone())
}

/// Predicts the variance of the result of [`answer`].
fn predicted(setting: &Setting) -> f64 {
    let (n, log2_q) = (setting.ring.n(), setting.ring.log2_q(ModulusLevel::Main));
    let switches =
        [setting.left, setting.right].map(|gadget| setting.predicted_switch(&gadget, setting.norm));
    let rounds = |switch: f64, count: usize| {
        let first = steps::expansion_round(SIGMA * SIGMA, switches[1]);
        (0..count.next_power_of_two().trailing_zeros())
            .fold(first, |variance, _| steps::expansion_round(variance, switch))
    };
    let selector = setting.lowered(rounds(switches[0], ROWS));
    let bit = rounds(switches[1], BITS as usize * setting.fold.digits() as usize);
    let square = setting.predicted_switch(&setting.right, steps::squared(setting.norm));
    let rows = [steps::conversion(setting.norm, bit, square), bit].map(|variance| setting.lowered(variance));
    let choice = steps::external_product(n, 1, [&digits(&setting.fold); 2], log2_q, rows, setting.norm);
    steps::first_dimension(n, ROWS as u64, P_LOG2, selector) + f64::from(BITS) * choice
}

/// Scans and folds random data; returns the ciphertext of the requested record, and that record
/// scaled as expected.
fn answer(setting: &mut Setting) -> (Ciphertext, Vec<u64>) {
    let (selectors, bits) = expanded(setting);
    let conversion = setting.conversion();
    let (ring, fold) = (setting.ring.clone(), setting.fold);
    let mut scratch = Scratch::new(&ring);
    let bits: Vec<RgswCiphertext> = bits
        .chunks(fold.digits() as usize)
        .map(|rows| conversion.convert(&ring, &fold, rows, &mut scratch).unwrap())
        .collect();
    let mut columns = vec![Ciphertext::zero(&ring, ModulusLevel::Main, 1); 1 << BITS];
    let mut expected = Vec::new();
    for (row, selector) in selectors.iter().enumerate() {
        let mut low = Ciphertext::zero(&ring, ModulusLevel::Main, 1);
        lower(&ring, selector, &mut low, &mut scratch);
        for (col, sum) in columns.iter_mut().enumerate() {
            let half = 1 << (P_LOG2 - 1);
            let data: Vec<i32> =
                (0..ring.n()).map(|_| (setting.rng.next_u32() >> (32 - P_LOG2)) as i32 - half).collect();
            let slots = ring.from_small(ModulusLevel::Main, &data);
            let mut product = low.clone();
            product.mul(&ring, &slots);
            sum.add(&ring, &product);
            if (row, col) == WANTED {
                expected = slots;
            }
        }
    }
    for bit in bits.iter().rev() {
        let ones = columns.split_off(columns.len() / 2);
        columns.iter_mut().zip(&ones).for_each(|(zero, one)| bit.cmux(&ring, zero, one, &mut scratch));
    }
    ring.scale(ModulusLevel::Main, &mut expected, ring.modulus(ModulusLevel::Main) >> P_LOG2);
    (columns.remove(0), expected)
}

#[test]
fn whole_answers() {
    for (name, mut setting) in settings() {
        let (answer, expected) = answer(&mut setting);
        let measured = setting.measured(&answer, &expected);
        crate::noise::check(name, "whole answer", measured, predicted(&setting));
    }
}
