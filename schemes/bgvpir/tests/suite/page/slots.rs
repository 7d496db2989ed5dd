//! Plaintexts: numbers in slots, and the coefficients of the polynomial that has them there.

use crate::page::ring::power;
use std::sync::LazyLock;

const T: u64 = 65537;

/// The coefficients modulo t of the polynomial with these slots, cycle after cycle; most of them zero.
pub(crate) fn coefficients(is_pow2: bool, slots: &[u64]) -> Vec<u64> {
    let filled = slots.iter().enumerate().filter(|(_, x)| **x != 0);
    if is_pow2 {
        // c_j = 1/8192 sum of v_k psi^(-j e_k), since the odd powers of psi are all there are.
        let (powers, scale) = (roots(), power(8192, T - 2, T));
        let mut out = vec![0; 8192];
        for (slot, x) in filled {
            let e = odd(slot);
            for (j, c) in out.iter_mut().enumerate() {
                *c = (*c + x * powers[(16384 - j * e % 16384) % 16384]) % T;
            }
        }
        return out.iter().map(|c| c * scale % T).collect();
    }
    // c_j = Tr(a z^(-j e)), j to 8190; the last by X^8190 = 1 + X + ... + X^8189.
    let traces: Vec<u64> = (0..1 << 13).map(trace).collect();
    let mut out = vec![0; 8191];
    for (slot, x) in filled {
        let e = exponent(slot);
        for (j, c) in out.iter_mut().enumerate() {
            *c ^= traces[times(*x, at(8191 - j * e % 8191)) as usize];
        }
    }
    let last = out.pop().unwrap();
    out.iter().map(|c| c ^ last).collect()
}

/// The value of a polynomial's slot.
pub(crate) fn slot(is_pow2: bool, coefficients: &[u64], slot: usize) -> u64 {
    let filled = coefficients.iter().enumerate().filter(|(_, c)| **c != 0);
    if is_pow2 {
        let (powers, e) = (roots(), odd(slot));
        return filled.map(|(j, c)| c * powers[j * e % 16384] % T).sum::<u64>() % T;
    }
    let e = exponent(slot);
    filled.fold(0, |sum, (j, _)| sum ^ at(j * e % 8191))
}

/// The powers of the least root psi modulo 65537 of order 16384.
fn roots() -> &'static [u64] {
    static POWERS: LazyLock<Vec<u64>> = LazyLock::new(|| {
        let root = (2..T).map(|g| power(g, (T - 1) / 16384, T)).find(|root| power(*root, 8192, T) == T - 1);
        std::iter::successors(Some(1), |x| Some(x * root.unwrap() % T)).take(16384).collect()
    });
    &POWERS
}

/// 5^i for slot i of the first cycle, -5^i for that of the second, modulo 16384.
fn odd(slot: usize) -> usize {
    let e = (0..slot % 4096).fold(1, |e, _| e * 5 % 16384);
    if slot < 4096 { e } else { 16384 - e }
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
