//! Arithmetic between slots: products in floating point, four to a register, by the reasoning of
//! the transform in [doubles](super::ntt); the rest is scalar code, compiled for AVX2.

use super::lanes::{load, store};
use super::ntt::{Constants, from_integers, to_integers};
use crate::ntt::Tables;
use crate::simd::scalar;
use core::arch::x86_64::*;

type Row = [u64; 4];

/// So many products, each at most 7/8 q, are summed with `out` before they are reduced.
const PRODUCTS: usize = 7;

#[target_feature(enable = "avx2,fma")]
pub(super) fn add(t: &Tables, x: &mut [u64], y: &[u64]) {
    scalar::add(t, x, y);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn sub(t: &Tables, x: &mut [u64], y: &[u64]) {
    scalar::sub(t, x, y);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn mul(t: &Tables, x: &mut [u64], y: &[u64]) {
    if t.wide {
        return scalar::mul(t, x, y);
    }
    let c = Constants::new(t);
    for (x, y) in x.as_chunks_mut::<4>().0.iter_mut().zip(y.as_chunks::<4>().0) {
        store(x, to_integers(c, c.reduced(product(c, x, y))));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn split(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
    odd.copy_from_slice(c);
    sub(t, odd, s);
    mul(t, odd, m);
    add(t, c, s);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn sum_of_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
    if t.wide {
        return scalar::sum_of_products(t, a, b, add, out);
    }
    if !add {
        out.fill(0);
    }
    let c = Constants::new(t);
    for (a, b) in a.chunks(PRODUCTS).zip(b.chunks(PRODUCTS)) {
        for (i, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut sum = from_integers(load(out));
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (&a.as_chunks::<4>().0[i], &b.as_chunks::<4>().0[i]);
                sum = _mm256_add_pd(sum, product(c, a, b));
            }
            store(out, to_integers(c, c.reduced(sum)));
        }
    }
}

/// `a b` modulo q, of either sign. The quotient is wrong by less than 3/8 before it is rounded.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn product(c: Constants, a: &Row, b: &Row) -> __m256d {
    c.times(from_integers(load(a)), c.factors(from_integers(load(b))))
}
