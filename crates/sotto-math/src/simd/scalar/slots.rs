//! Arithmetic between slots, one slot at a time.

use crate::simd::args::ntt::Automorphism;

use crate::simd::args::ntt::Tables;

/// Number of products below 2^120 whose sum fits 128 bits.
const ROOM: usize = 1 << 8;

pub(in crate::simd) fn permute(a: &Automorphism, x: &[u64], out: &mut [u64]) {
    let x = x.as_chunks::<64>().0;
    for (out, origin) in out.as_chunks_mut::<64>().0.iter_mut().zip(&a.squares) {
        let from = &x[origin.square as usize];
        for (out, &slot) in out.iter_mut().zip(&a.orders[usize::from(origin.carry)]) {
            *out = from[usize::from(slot % 64)];
        }
    }
}

#[inline(always)]
pub(in crate::simd) fn add(t: &Tables, x: &mut [u64], y: &[u64]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x = t.modulus.add(*x, y);
    }
}

#[inline(always)]
pub(in crate::simd) fn sub(t: &Tables, x: &mut [u64], y: &[u64]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x = t.modulus.sub(*x, y);
    }
}

pub(in crate::simd) fn mul(t: &Tables, x: &mut [u64], y: &[u64]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x = t.modulus.mul(*x, y);
    }
}

pub(in crate::simd) fn split(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
    let q = &t.modulus;
    for (((c, &s), &m), odd) in c.iter_mut().zip(s).zip(m).zip(odd) {
        *odd = q.mul(q.sub(*c, s), m);
        *c = q.add(*c, s);
    }
}

pub(in crate::simd) fn sum_of_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
    if !add {
        out.fill(0);
    }
    for (a, b) in a.chunks(ROOM - 1).zip(b.chunks(ROOM - 1)) {
        for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut sums = out.map(u128::from);
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (&a.as_chunks::<8>().0[i], &b.as_chunks::<8>().0[i]);
                for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                    *sum += u128::from(a) * u128::from(b);
                }
            }
            *out = sums.map(|sum| t.reduce(sum));
        }
    }
}

pub(in crate::simd) fn paired_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], out: [&mut [u64]; 2]) {
    let [first, second] = out;
    first.fill(0);
    second.fill(0);
    for (a, b) in a.iter().zip(b) {
        let products = a.iter().zip(*b).zip(&mut *first).zip(&mut *second);
        for (((&a, &b), first), second) in products {
            *first += a * (b & u64::from(u32::MAX));
            *second += a * (b >> 32);
        }
    }
    for sum in first.iter_mut().chain(second) {
        *sum = t.reduce(u128::from(*sum));
    }
}
