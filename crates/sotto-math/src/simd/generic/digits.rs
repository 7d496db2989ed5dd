//! Conversions between two moduli, four numbers per register.

use super::doubles::{Constants, Doubles};
use crate::simd::args::ModulusPair;
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::scalar;

/// Centers numbers below 2^60, so that a signed comparison suffices.
#[inline(always)]
pub(in crate::simd) fn centered<R: Doubles>(r: R, p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus().value(), p.special().value());
    if special / 4 >= q {
        return scalar::centered(p, x, out);
    }
    let half = r.splat_64(special / 2);
    let (rows, tail) = x.as_chunks::<4>();
    let (out_rows, out_tail) = out.as_chunks_mut::<4>();
    if special / 2 < q {
        let down = r.splat_64(q.wrapping_sub(special));
        for (out, x) in out_rows.iter_mut().zip(rows) {
            let x = r.load(x);
            r.store(out, r.add_64(x, r.and(r.greater(x, half), down)));
        }
    } else {
        // From -2q to 2q, with 2q added so that it is not negative; then as in `carried`.
        let (twice, down) = (r.splat_64(2 * q), r.splat_64(special.wrapping_neg()));
        let steps = [2 * q, q].map(|by| [r.splat_64(by - 1), r.splat_64(by.wrapping_neg())]);
        for (out, x) in out_rows.iter_mut().zip(rows) {
            let x = r.load(x);
            let mut x = r.add_64(r.add_64(x, twice), r.and(r.greater(x, half), down));
            for [bound, minus] in steps {
                x = r.add_64(x, r.and(r.greater(x, bound), minus));
            }
            r.store(out, x);
        }
    }
    scalar::centered(p, tail, out_tail);
}

/// Reduces numbers modulo a special modulus up to four times the other: subtracts 2q from those of
/// 2q or more, then q from those of q or more.
#[inline(always)]
pub(in crate::simd) fn carried<R: Doubles>(r: R, p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus().value(), p.special().value());
    if special / 4 >= q {
        return scalar::carried(p, x, out);
    }
    let steps = [2 * q, q].map(|by| [r.splat_64(by - 1), r.splat_64(by.wrapping_neg())]);
    let (rows, tail) = x.as_chunks::<4>();
    let (out_rows, out_tail) = out.as_chunks_mut::<4>();
    for (out, x) in out_rows.iter_mut().zip(rows) {
        let mut x = r.load(x);
        for [bound, minus] in steps {
            x = r.add_64(x, r.and(r.greater(x, bound), minus));
        }
        r.store(out, x);
    }
    scalar::carried(p, tail, out_tail);
}

/// Divides by products in floating point, by the reasoning of the transform in
/// [doubles](super::ntt): a difference is at most q in absolute value, so its product with a
/// reduced factor is at most 3/4 q.
#[inline(always)]
pub(in crate::simd) fn lower<R: Doubles>(r: R, p: &ModulusPair, x: &mut [u64], correction: &[u64]) {
    if p.modulus().bits() > 50 {
        return scalar::lower(p, x, correction);
    }
    let c = Constants::of(r, p.modulus());
    let inverse = c.factors_of(p.special_inverse.w as f64);
    let (rows, tail) = x.as_chunks_mut::<4>();
    let (corrections, correction_tail) = correction.as_chunks::<4>();
    for (x, correction) in rows.iter_mut().zip(corrections) {
        let difference = r.minus(c.take(x), c.take(correction));
        c.put(x, c.times(difference, inverse));
    }
    scalar::lower(p, tail, correction_tail);
}

#[inline(always)]
pub(in crate::simd) fn decompose(d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
    if d.fits_64() {
        return scalar::decompose_64(0, d, x, out);
    }
    scalar::decompose(d, x, out);
}
