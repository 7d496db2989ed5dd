//! Slot-wise products, eight slots at a time.

use super::registers::{load, store};
use crate::simd::args::Cell;
use crate::simd::args::ntt::{Factor, Tables};
use core::arch::x86_64::*;

/// Computes `acc + a b`, reduced.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
    if t.wide { mul_acc_by::<true>(t, acc, a, b) } else { mul_acc_by::<false>(t, acc, a, b) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn mul_acc_by<const WIDE: bool>(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let product = Product::<WIDE>::new(t);
    let slots = acc.as_chunks_mut::<8>().0.iter_mut().zip(a.as_chunks::<8>().0).zip(b.as_chunks::<8>().0);
    for ((acc, a), b) in slots {
        let r = product.reduced(load(a), load(b));
        store(acc, below(_mm512_add_epi64(load(acc), r), product.c.q));
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

/// Products of two variable factors, reduced.
pub(super) struct Product<const WIDE: bool> {
    pub(super) c: Constants,
    mu: __m512i,
    shifts: [__m512i; 2],
}

impl<const WIDE: bool> Product<WIDE> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(t: &Tables) -> Self {
        let s = i64::from(t.modulus.bits());
        let shifts = if WIDE { [64 - s, 63 - s] } else { [s - 1, 53 - s] };
        Product {
            c: Constants::new(t),
            mu: _mm512_set1_epi64(t.barrett_product as i64),
            shifts: [_mm512_set1_epi64(shifts[0]), _mm512_set1_epi64(shifts[1])],
        }
    }

    /// Computes `a b` modulo q, by Barrett's reduction.
    ///
    /// Narrow: with `q` of `s` bits, the product `p` is cut to `p >> (s - 1)`, below 2^(s + 1), and
    /// multiplied by `floor(2^(s + 51) / q)`, below 2^52. The upper half is the quotient `p / q` or
    /// at most two less, so that the remainder is below 3q.
    ///
    /// Wide: factors are shifted up to 64 bits, so that the upper half of their product holds all
    /// relevant bits of `p`; its product with `floor(2^(s + 63) / q)` is `2^(63 - s) p / q` or at
    /// most nine less, and the remainder is below 3q again.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduced(&self, a: __m512i, b: __m512i) -> __m512i {
        let c = self.c;
        let r = if WIDE {
            let high = upper(_mm512_sllv_epi64(a, self.shifts[0]), _mm512_sllv_epi64(b, self.shifts[0]));
            let quotient = _mm512_srlv_epi64(upper(high, self.mu), self.shifts[1]);
            _mm512_sub_epi64(_mm512_mullo_epi64(a, b), _mm512_mullo_epi64(quotient, c.q))
        } else {
            let zero = _mm512_setzero_si512();
            let lo = _mm512_madd52lo_epu64(zero, a, b);
            let hi = _mm512_madd52hi_epu64(zero, a, b);
            let cut =
                _mm512_or_si512(_mm512_sllv_epi64(hi, self.shifts[1]), _mm512_srlv_epi64(lo, self.shifts[0]));
            let quotient = _mm512_madd52hi_epu64(zero, cut, self.mu);
            c.low_52(_mm512_madd52lo_epu64(lo, quotient, c.minus_q))
        };
        below(below(r, c.two_q), c.q)
    }
}

/// Computes the upper 64 bits of `x y`, or up to three less.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn upper(x: __m512i, y: __m512i) -> __m512i {
    let (x_high, y_high) = (_mm512_srli_epi64::<32>(x), _mm512_srli_epi64::<32>(y));
    let left = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x_high, y));
    let right = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, y_high));
    _mm512_add_epi64(_mm512_add_epi64(_mm512_mul_epu32(x_high, y_high), left), right)
}

/// The modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    pub(super) q: __m512i,
    pub(super) two_q: __m512i,
    pub(super) four_q: __m512i,
    /// 2^52 - q: added instead of subtracting q, since products are only added.
    pub(super) minus_q: __m512i,
    pub(super) barrett: __m512i,
    mask: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(t: &Tables) -> Self {
        Self::of(t.modulus.value(), t.barrett)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn of(q: u64, barrett: u64) -> Self {
        Constants {
            q: _mm512_set1_epi64(q as i64),
            two_q: _mm512_set1_epi64(2 * q as i64),
            four_q: _mm512_set1_epi64(4 * q as i64),
            // Meaningless for a wide modulus, and not used.
            minus_q: _mm512_set1_epi64((1 << 52) - q as i64),
            barrett: _mm512_set1_epi64(barrett as i64),
            mask: _mm512_set1_epi64((1 << 52) - 1),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn low_52(self, x: __m512i) -> __m512i {
        _mm512_and_si512(x, self.mask)
    }
}

/// A factor and its quotient, in every lane or one for each.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) w: __m512i,
    pub(super) quotient: __m512i,
}

/// One factor in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn every(f: Factor) -> Factors {
    Factors { w: _mm512_set1_epi64(f.w as i64), quotient: _mm512_set1_epi64(f.quotient as i64) }
}

/// Computes `x w` modulo q. Narrow, also modulo 2^52: the low 52 bits are below 2q. Wide: below 4q.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn times<const WIDE: bool>(c: Constants, x: __m512i, f: Factors) -> __m512i {
    if WIDE {
        let quotient = upper(x, f.quotient);
        return _mm512_sub_epi64(_mm512_mullo_epi64(x, f.w), _mm512_mullo_epi64(quotient, c.q));
    }
    let zero = _mm512_setzero_si512();
    let quotient = _mm512_madd52hi_epu64(zero, x, f.quotient);
    _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, x, f.w), quotient, c.minus_q)
}

/// Returns `x` or `x - b`, whichever does not wrap.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn below(x: __m512i, b: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, b))
}
