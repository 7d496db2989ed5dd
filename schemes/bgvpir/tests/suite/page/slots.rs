//! Plaintexts: numbers in slots, and the coefficients of the polynomial that has them there.

use sotto_testkit::naive_ring::{decode, encode};
use std::sync::LazyLock;

const T: u64 = 65537;

/// The coefficients modulo t of the polynomial with these slots, cycle after cycle; most of them zero.
pub(crate) fn coefficients(is_pow2: bool, slots: &[u64]) -> Vec<u64> {
    if is_pow2 {
        return encode(T, slots);
    }
    // c_j = Tr(a z^(-j e)), j to 8190; the last by X^8190 = 1 + X + ... + X^8189.
    let traces: Vec<u64> = (0..1 << 13).map(trace).collect();
    let mut out = vec![0; 8191];
    for (slot, x) in slots.iter().enumerate().filter(|(_, x)| **x != 0) {
        let e = exponent(slot);
        for (j, c) in out.iter_mut().enumerate() {
            *c ^= traces[times(*x, at(8191 - j * e % 8191)) as usize];
        }
    }
    let last = out.pop().unwrap();
    out.iter().map(|c| c ^ last).collect()
}

/// The values of some of a polynomial's slots.
pub(crate) fn read(is_pow2: bool, coefficients: &[u64], slots: &[usize]) -> Vec<u64> {
    if is_pow2 {
        let all = decode(T, coefficients);
        return slots.iter().map(|slot| all[*slot]).collect();
    }
    let filled = || coefficients.iter().enumerate().filter(|(_, c)| **c != 0);
    let value = |slot: &usize| {
        let e = exponent(*slot);
        filled().fold(0, |sum, (j, _)| sum ^ at(j * e % 8191))
    };
    slots.iter().map(value).collect()
}

/// 17^(13 i) modulo 8191.
fn exponent(slot: usize) -> usize {
    (0..13 * slot).fold(1, |e, _| e * 17 % 8191)
}

/// The product in GF(2)[z] modulo z^13 + z^4 + z^3 + z + 1.
fn times(a: u64, b: u64) -> u64 {
    let mut long = (0..13).filter(|k| b >> k & 1 == 1).fold(0, |sum, k| sum ^ a << k);
    (13..26).rev().for_each(|k| {
        if long >> k & 1 == 1 {
            long ^= 0b10_0000_0001_1011 << (k - 13);
        }
    });
    long
}

/// z to a power.
fn at(exponent: usize) -> u64 {
    static POWERS: LazyLock<Vec<u64>> =
        LazyLock::new(|| std::iter::successors(Some(1), |x| Some(times(*x, 2))).take(8191).collect());
    POWERS[exponent % 8191]
}

/// a + a^2 + a^4 + ... + a^(2^12), which is 0 or 1.
fn trace(a: u64) -> u64 {
    std::iter::successors(Some(a), |x| Some(times(*x, *x))).take(13).fold(0, |sum, x| sum ^ x)
}
