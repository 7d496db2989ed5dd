//! Digits, and conversions between two moduli, in 128-bit integers.

use crate::modulus::Modulus;
use crate::simd::args::ModulusPair;
use crate::simd::args::gadget::{Gadget, GadgetDigits, PairDigits};

pub(in crate::simd) fn decompose(d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
    decompose_from(0, d, x, out);
}

/// Decomposes numbers from index `start` on, where a backend leaves what does not fill a register.
pub(in crate::simd) fn decompose_from(start: usize, d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
    let n = x.len();
    let half = d.modulus.value() / 2;
    if d.fits_64() {
        return decompose_64(start, d, x, out);
    }
    for (i, &x) in x.iter().enumerate().skip(start) {
        let u = u128::from(d.modulus.add(x, half)) + d.offset;
        for j in 0..d.gadget.digits() {
            out[j as usize * n + i] = residue(&d.modulus, &d.gadget, digit(&d.gadget, u, j));
        }
    }
}

/// Decomposes numbers digit by digit, in 64 bits: compilers put several numbers in a register.
#[inline(always)]
pub(in crate::simd) fn decompose_64(start: usize, d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
    let q = d.modulus.value();
    let base = 1 << d.gadget.base_log2();
    let offset = d.offset as u64;
    for (j, out) in (0..d.gadget.digits()).zip(out.chunks_exact_mut(x.len().max(1))) {
        let down = d.gadget.drop_log2() + j * d.gadget.base_log2();
        let mask = if j + 1 < d.gadget.digits() { base - 1 } else { u64::MAX };
        for (&x, out) in x[start..].iter().zip(&mut out[start..]) {
            let u = d.modulus.add(x, q / 2) + offset;
            let digit = (u >> down & mask).wrapping_sub(base / 2);
            *out = digit.min(digit.wrapping_add(q));
        }
    }
}

pub(in crate::simd) fn decompose_pair(d: &PairDigits, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
    decompose_pair_from(0, d, x, out);
}

/// Decomposes numbers modulo a pair from index `start` on.
pub(in crate::simd) fn decompose_pair_from(
    start: usize,
    d: &PairDigits,
    x: [&[u64]; 2],
    out: [&mut [u64]; 2],
) {
    let [x, x_special] = x;
    let [out, out_special] = out;
    let n = x.len();
    let (q, special) = (d.pair.modulus(), d.pair.special());
    let halves = [q, special].map(|q| q.value() / 2);
    for (i, (&x, &x_special)) in x.iter().zip(x_special).enumerate().skip(start) {
        let u = d.pair.lift(q.add(x, halves[0]), special.add(x_special, halves[1])) + d.offset;
        for j in 0..d.gadget.digits() {
            let digit = digit(&d.gadget, u, j);
            out[j as usize * n + i] = residue(q, &d.gadget, digit);
            out_special[j as usize * n + i] = residue(special, &d.gadget, digit);
        }
    }
}

/// Digit `j` of a number that was made positive; the last digit keeps all bits above it.
fn digit(g: &Gadget, u: u128, j: u32) -> i64 {
    let above = u >> (g.drop_log2() + j * g.base_log2());
    let base = 1u64 << g.base_log2();
    let raw = if j + 1 < g.digits() { above as u64 & (base - 1) } else { above as u64 };
    raw as i64 - (base / 2) as i64
}

/// Converts a digit to a residue modulo q.
fn residue(q: &Modulus, g: &Gadget, digit: i64) -> u64 {
    if g.is_small(q) { (digit + (digit >> 63 & q.value() as i64)) as u64 } else { q.reduce_i64(digit) }
}

pub(in crate::simd) fn centered(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus(), p.special());
    let small = special.value() / 2 < q.value();
    for (out, &x) in out.iter_mut().zip(x) {
        let x = special.centered(x);
        *out = if small { (x + (x >> 63 & q.value() as i64)) as u64 } else { q.reduce_i64(x) };
    }
}

pub(in crate::simd) fn carried(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let q = p.modulus();
    for (out, &x) in out.iter_mut().zip(x) {
        *out = q.reduce(x);
    }
}

pub(in crate::simd) fn lower(p: &ModulusPair, x: &mut [u64], correction: &[u64]) {
    let q = p.modulus();
    for (x, &correction) in x.iter_mut().zip(correction) {
        *x = p.special_inverse.times(q.sub(*x, correction), q.value());
    }
}
