//! Slot-wise products, eight slots at a time.

use super::lanes::{load, store};
use crate::ntt::{Cell, Tables};
use core::arch::x86_64::*;

/// `acc + a b`, reduced, by Barrett's reduction in 52-bit arithmetic.
///
/// With `q` of `s` bits, the product `p` is cut to `p >> (s - 1)`, below 2^(s + 1), and
/// multiplied by `floor(2^(s + 51) / q)`, below 2^52. The upper half is the quotient `p / q`
/// or at most two less, so that what remains is below 3q.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let s = t.modulus.bits();
    let mu = _mm512_set1_epi64(t.barrett_product as i64);
    let down = _mm512_set1_epi64(i64::from(s - 1));
    let up = _mm512_set1_epi64(i64::from(53 - s));
    let c = Constants::new(t);
    let zero = _mm512_setzero_si512();
    let slots = acc.as_chunks_mut::<8>().0.iter_mut().zip(a.as_chunks::<8>().0).zip(b.as_chunks::<8>().0);
    for ((acc, a), b) in slots {
        let (a, b) = (load(a), load(b));
        let lo = _mm512_madd52lo_epu64(zero, a, b);
        let hi = _mm512_madd52hi_epu64(zero, a, b);
        let cut = _mm512_or_si512(_mm512_sllv_epi64(hi, up), _mm512_srlv_epi64(lo, down));
        let quotient = _mm512_madd52hi_epu64(zero, cut, mu);
        let r = c.low_52(_mm512_madd52lo_epu64(lo, quotient, c.minus_q));
        let r = below(below(r, c.two_q), c.q);
        store(acc, below(_mm512_add_epi64(load(acc), r), c.q));
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_acc_wide(a: &[u64], b: &[u64], cells: &mut [Cell]) {
    for ((a, b), cell) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).zip(cells) {
        add_product(load(a), b, cell);
    }
}

/// Adds both halves of one product of eight slots.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_product(a: __m512i, b: &[u64; 8], cell: &mut Cell) {
    let b = load(b);
    let (lo, hi) = (load(&cell.lo), load(&cell.hi));
    store(&mut cell.lo, _mm512_madd52lo_epu64(lo, a, b));
    store(&mut cell.hi, _mm512_madd52hi_epu64(hi, a, b));
}

/// The modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    pub(super) q: __m512i,
    pub(super) two_q: __m512i,
    /// 2^52 - q: added instead of subtracting q, since products are only added.
    pub(super) minus_q: __m512i,
    pub(super) barrett: __m512i,
    mask: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(t: &Tables) -> Self {
        let q = t.modulus.value();
        Constants {
            q: _mm512_set1_epi64(q as i64),
            two_q: _mm512_set1_epi64(2 * q as i64),
            minus_q: _mm512_set1_epi64((1 << 52) - q as i64),
            barrett: _mm512_set1_epi64(t.barrett as i64),
            mask: _mm512_set1_epi64((1 << 52) - 1),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn low_52(self, x: __m512i) -> __m512i {
        _mm512_and_si512(x, self.mask)
    }
}

/// `x` or `x - b`, whichever does not wrap.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn below(x: __m512i, b: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, b))
}
