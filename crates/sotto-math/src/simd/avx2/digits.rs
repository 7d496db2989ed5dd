//! The moves between two moduli, four numbers to a register.

use super::lanes::{load, store};
use super::ntt::{Constants, from_integers, to_integers};
use crate::basis::Pair;
use crate::gadget::Digits;
use crate::simd::scalar;
use core::arch::x86_64::*;

/// Numbers below 2^60, so that a signed comparison will do.
#[target_feature(enable = "avx2,fma")]
pub(super) fn centred(p: &Pair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus().value(), p.special().value());
    if special / 2 >= q {
        return scalar::centred(p, x, out);
    }
    let half = _mm256_set1_epi64x((special / 2) as i64);
    let down = _mm256_set1_epi64x(q.wrapping_sub(special) as i64);
    let (rows, tail) = x.as_chunks::<4>();
    let (out_rows, out_tail) = out.as_chunks_mut::<4>();
    for (out, x) in out_rows.iter_mut().zip(rows) {
        let x = load(x);
        let upper = _mm256_cmpgt_epi64(x, half);
        store(out, _mm256_add_epi64(x, _mm256_and_si256(upper, down)));
    }
    scalar::centred(p, tail, out_tail);
}

/// Products in floating point, by the reasoning of the transform in [doubles](super::ntt): a difference is at most q in
/// absolute value, so that its product with a reduced factor is at most 3/4 q.
#[target_feature(enable = "avx2,fma")]
pub(super) fn lower(p: &Pair, x: &mut [u64], correction: &[u64]) {
    if p.modulus().bits() > 50 {
        return scalar::lower(p, x, correction);
    }
    let c = Constants::of(p.modulus());
    let inverse = c.factors(_mm256_set1_pd(p.special_inverse.w as f64));
    let (rows, tail) = x.as_chunks_mut::<4>();
    let (corrections, correction_tail) = correction.as_chunks::<4>();
    for (x, correction) in rows.iter_mut().zip(corrections) {
        let difference = _mm256_sub_pd(from_integers(load(x)), from_integers(load(correction)));
        store(x, to_integers(c, c.reduced(c.times(difference, inverse))));
    }
    scalar::lower(p, tail, correction_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn decompose(d: &Digits, x: &[u64], out: &mut [u64]) {
    if d.fits_64() {
        return scalar::decompose_64(0, d, x, out);
    }
    scalar::decompose(d, x, out);
}
