//! The transform, one butterfly at a time, values always reduced.

use crate::modulus::Modulus;
use crate::simd::args::Cell;
use crate::simd::args::ntt::{Factor, Tables, transpose};

pub(in crate::simd) fn forward(t: &Tables, x: &mut [u64]) {
    if t.wide { forward_by::<64>(t, x) } else { forward_by::<52>(t, x) }
}

pub(in crate::simd) fn inverse(t: &Tables, x: &mut [u64]) {
    if t.wide { inverse_by::<64>(t, x) } else { inverse_by::<52>(t, x) }
}

fn forward_by<const BITS: u32>(t: &Tables, x: &mut [u64]) {
    let q = &t.modulus;
    let mut half = t.n / 2;
    let mut blocks = 1;
    while half > 0 {
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let f = t.forward.factors[blocks + i];
            let (left, right) = block.split_at_mut(half);
            for (u, v) in left.iter_mut().zip(right) {
                let product = times::<BITS>(q, *v, f);
                (*u, *v) = (q.add(*u, product), q.sub(*u, product));
            }
        }
        half /= 2;
        blocks *= 2;
    }
    transpose_squares(x);
}

fn inverse_by<const BITS: u32>(t: &Tables, x: &mut [u64]) {
    let q = &t.modulus;
    transpose_squares(x);
    let mut half = 1;
    let mut blocks = t.n / 2;
    while blocks > 1 {
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let f = t.inverse.factors[blocks + i];
            let (left, right) = block.split_at_mut(half);
            for (u, v) in left.iter_mut().zip(right) {
                (*u, *v) = (q.add(*u, *v), times::<BITS>(q, q.sub(*u, *v), f));
            }
        }
        half *= 2;
        blocks /= 2;
    }
    // The division by n is folded into the last level.
    let (left, right) = x.split_at_mut(half);
    for (u, v) in left.iter_mut().zip(right) {
        (*u, *v) = (times::<BITS>(q, q.add(*u, *v), t.scale[0]), times::<BITS>(q, q.sub(*u, *v), t.scale[1]));
    }
}

pub(in crate::simd) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    spread(t, bytes, out);
    forward(t, out);
}

/// Converts signed bytes to reduced numbers.
pub(in crate::simd) fn spread(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    // No plan takes a prime below 257, so one addition makes any byte positive.
    let q = t.modulus.value() as i64;
    for (out, &byte) in out.iter_mut().zip(bytes) {
        let byte = i64::from(byte);
        *out = (byte + (byte >> 63 & q)) as u64;
    }
}

pub(in crate::simd) fn mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let q = &t.modulus;
    for ((acc, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        *acc = q.add(*acc, q.mul(a, b));
    }
}

pub(in crate::simd) fn mul_acc_wide(t: &Tables, a: &[u64], b: &[u64], cells: &mut [Cell]) {
    if t.wide {
        return mul_acc_128(a, b, cells);
    }
    let factors = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    for ((a, b), cell) in factors.zip(cells) {
        for (((&a, &b), lo), hi) in a.iter().zip(b).zip(&mut cell.lo).zip(&mut cell.hi) {
            let product = u128::from(a) * u128::from(b);
            *lo += product as u64 & ((1 << 52) - 1);
            *hi += (product >> 52) as u64;
        }
    }
}

/// Adds products to halves of 64 bits, with a carry between them.
fn mul_acc_128(a: &[u64], b: &[u64], cells: &mut [Cell]) {
    let factors = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    for ((a, b), cell) in factors.zip(cells) {
        for (((&a, &b), lo), hi) in a.iter().zip(b).zip(&mut cell.lo).zip(&mut cell.hi) {
            let sum = (u128::from(*hi) << 64 | u128::from(*lo)) + u128::from(a) * u128::from(b);
            (*lo, *hi) = (sum as u64, (sum >> 64) as u64);
        }
    }
}

/// Computes `x w`, reduced, for `x` below 2 to the power of the quotient's bits.
#[inline]
fn times<const BITS: u32>(q: &Modulus, x: u64, f: Factor) -> u64 {
    let quotient = ((u128::from(x) * u128::from(f.quotient)) >> BITS) as u64;
    let r = x.wrapping_mul(f.w).wrapping_sub(quotient.wrapping_mul(q.value()));
    r.min(r.wrapping_sub(q.value()))
}

/// Reorders runs of 64 slots from bit-reversed order to the documented one, and back.
fn transpose_squares(x: &mut [u64]) {
    for square in x.chunks_exact_mut(64) {
        for i in 0..64 {
            let j = transpose(i);
            if i < j {
                square.swap(i, j);
            }
        }
    }
}
