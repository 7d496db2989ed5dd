//! Arithmetic between slots: products in [floating point](super::doubles), four per register; the
//! rest is scalar code, compiled for the backend.

use super::doubles::{Constants, Doubles};
use crate::simd::args::ntt::Tables;
use crate::simd::scalar;

type Row = [u64; 4];

/// Number of products, each at most 7/8 q, that are summed with `out` before they are reduced.
const PRODUCTS: usize = 7;
/// Slots that are summed together.
const SLOTS: usize = 16;

#[inline(always)]
pub(in crate::simd) fn mul<R: Doubles>(r: R, t: &Tables, x: &mut [u64], y: &[u64]) {
    if t.wide {
        return scalar::mul(t, x, y);
    }
    let c = Constants::new(r, t);
    for (x, y) in x.as_chunks_mut::<4>().0.iter_mut().zip(y.as_chunks::<4>().0) {
        c.put(x, product(c, x, y));
    }
}

#[inline(always)]
pub(in crate::simd) fn mul_acc<R: Doubles>(r: R, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
    if t.wide {
        return scalar::mul_acc(t, acc, a, b);
    }
    let c = Constants::new(r, t);
    let factors = a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0);
    for (acc, (a, b)) in acc.as_chunks_mut::<4>().0.iter_mut().zip(factors) {
        c.put(acc, c.reduced(r.plus(c.take(acc), product(c, a, b))));
    }
}

#[inline(always)]
pub(in crate::simd) fn split<R: Doubles>(
    r: R,
    t: &Tables,
    c: &mut [u64],
    s: &[u64],
    m: &[u64],
    odd: &mut [u64],
) {
    odd.copy_from_slice(c);
    scalar::sub(t, odd, s);
    mul(r, t, odd, m);
    scalar::add(t, c, s);
}

#[inline(always)]
pub(in crate::simd) fn sum_of_products<R: Doubles>(
    r: R,
    t: &Tables,
    a: &[&[u64]],
    b: &[&[u64]],
    add: bool,
    out: &mut [u64],
) {
    if t.wide {
        return scalar::sum_of_products(t, a, b, add, out);
    }
    if !add {
        out.fill(0);
    }
    let c = Constants::new(r, t);
    for (a, b) in a.chunks(PRODUCTS).zip(b.chunks(PRODUCTS)) {
        for (i, out) in out.as_chunks_mut::<SLOTS>().0.iter_mut().enumerate() {
            let mut sums = [c.q; SLOTS / 4];
            for (sum, out) in sums.iter_mut().zip(out.as_chunks::<4>().0) {
                *sum = c.take(out);
            }
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (&a.as_chunks::<SLOTS>().0[i], &b.as_chunks::<SLOTS>().0[i]);
                for (sum, (a, b)) in
                    sums.iter_mut().zip(a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0))
                {
                    *sum = r.plus(*sum, product(c, a, b));
                }
            }
            for (out, sum) in out.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
                c.put(out, c.reduced(sum));
            }
        }
    }
}

/// Computes `a b` modulo q, of either sign: at most 7/8 q, since the quotient is wrong by less than
/// 3/8 before it is rounded.
#[inline(always)]
fn product<R: Doubles>(c: Constants<R>, a: &Row, b: &Row) -> R::Doubles {
    c.product(c.take(a), c.take(b))
}
