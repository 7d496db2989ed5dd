//! Digits, and conversions between two moduli, eight numbers per register.

use super::products::{Constants, Factors, below, times};
use super::registers::{load, store};
use super::slots::difference;
use crate::modulus::Modulus;
use crate::simd::args::ModulusPair;
use crate::simd::args::gadget::{Gadget, GadgetDigits, PairDigits};
use crate::simd::args::ntt::Factor;
use crate::simd::scalar;
use core::arch::x86_64::*;

/// Rows whose digits are extracted together, so that the constants are computed once for all.
const TOGETHER: usize = 4;
const NUMBERS: usize = 8 * TOGETHER;

type Rows = [[u64; 8]; TOGETHER];

/// Decomposes numbers modulo q, whether narrow or wide, as long as they fit 62 bits with their
/// offset.
#[target_feature(enable = "avx512f")]
pub(super) fn decompose(d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
    if !d.fits_64() {
        return scalar::decompose(d, x, out);
    }
    let n = x.len();
    let q = every(d.modulus.value());
    let half = every(d.modulus.value() / 2);
    let offset = every(d.offset as u64);
    let blocks = x.as_chunks::<8>().0.as_chunks::<TOGETHER>().0;
    for (i, x) in blocks.iter().enumerate() {
        let mut u = [offset; TOGETHER];
        for (u, x) in u.iter_mut().zip(x) {
            *u = _mm512_add_epi64(*u, below(_mm512_add_epi64(load(x), half), q));
        }
        for j in 0..d.gadget.digits() {
            let cut = Cut::new(&d.gadget, j);
            for (out, u) in rows(out, j as usize * n + i * NUMBERS).iter_mut().zip(u) {
                store(out, negative_plus(cut.digit(_mm512_srlv_epi64(u, cut.down)), q));
            }
        }
    }
    scalar::decompose_from(NUMBERS * blocks.len(), d, x, out);
}

/// Decomposes numbers modulo two moduli, of which the special one is narrow, lifted to two limbs of
/// 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn decompose_pair(d: &PairDigits, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
    let (q, special) = (d.pair.modulus(), d.pair.special());
    if d.gadget.bits() > 112 || special.bits() > 50 || !d.gadget.is_small(q) || !d.gadget.is_small(special) {
        return scalar::decompose_pair(d, x, out);
    }
    if q.bits() > 50 {
        decompose_by(d, Lift::<true>::new(&d.pair, d.offset), x, out);
    } else {
        decompose_by(d, Lift::<false>::new(&d.pair, d.offset), x, out);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn decompose_by<const WIDE: bool>(d: &PairDigits, lift: Lift<WIDE>, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
    let n = x[0].len();
    let blocks = x[0].as_chunks::<8>().0.as_chunks::<TOGETHER>().0;
    let special_blocks = x[1].as_chunks::<8>().0.as_chunks::<TOGETHER>().0;
    let [out, out_special] = out;
    for (i, (x, x_special)) in blocks.iter().zip(special_blocks).enumerate() {
        let mut u = [[_mm512_setzero_si512(); 2]; TOGETHER];
        for (u, (x, x_special)) in u.iter_mut().zip(x.iter().zip(x_special)) {
            *u = lift.limbs(load(x), load(x_special));
        }
        for j in 0..d.gadget.digits() {
            let cut = Cut::new(&d.gadget, j);
            let at = j as usize * n + i * NUMBERS;
            let rows = rows(out, at).iter_mut().zip(rows(out_special, at));
            for ((out, out_special), u) in rows.zip(u) {
                let digit = cut.digit(cut.limbs(u));
                store(out, negative_plus(digit, lift.q));
                store(out_special, negative_plus(digit, lift.special.q));
            }
        }
    }
    scalar::decompose_pair_from(NUMBERS * blocks.len(), d, x, [out, out_special]);
}

/// The position of a digit in a number.
struct Cut {
    down: __m512i,
    /// Left shift of the upper limb. A shift by 64 or more leaves nothing, and so does a negative
    /// one, so no case is special.
    up: __m512i,
    upper_down: __m512i,
    mask: __m512i,
    half_base: __m512i,
}

impl Cut {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(g: &Gadget, j: u32) -> Self {
        let down = i64::from(g.drop_log2() + j * g.base_log2());
        let base = 1u64 << g.base_log2();
        Cut {
            down: _mm512_set1_epi64(down),
            up: _mm512_set1_epi64(52 - down),
            upper_down: _mm512_set1_epi64(down - 52),
            mask: every(if j + 1 < g.digits() { base - 1 } else { u64::MAX }),
            half_base: every(base / 2),
        }
    }

    /// The bits of two limbs from the digit's position on.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn limbs(&self, [low, high]: [__m512i; 2]) -> __m512i {
        let upper =
            _mm512_or_si512(_mm512_sllv_epi64(high, self.up), _mm512_srlv_epi64(high, self.upper_down));
        _mm512_or_si512(_mm512_srlv_epi64(low, self.down), upper)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn digit(&self, x: __m512i) -> __m512i {
        _mm512_sub_epi64(_mm512_and_si512(x, self.mask), self.half_base)
    }
}

/// The conversion of two residues to a positive number of two limbs, for a `q` that is narrow or
/// wide.
struct Lift<const WIDE: bool> {
    q: __m512i,
    /// Bits of a wide q above the 52nd.
    q_top: __m512i,
    special: Constants,
    halves: [__m512i; 2],
    positive: __m512i,
    inverse: Factors,
    offset: [__m512i; 2],
    mask: __m512i,
}

impl<const WIDE: bool> Lift<WIDE> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(p: &ModulusPair, offset: u128) -> Self {
        const LOW_52: u64 = (1 << 52) - 1;
        Lift {
            q: every(p.modulus().value()),
            q_top: every(p.modulus().value() >> 52),
            special: constants(p.special()),
            halves: [every(p.modulus().value() / 2), every(p.special().value() / 2)],
            positive: every(p.positive),
            inverse: if WIDE { super::products::every(p.inverse) } else { of_52_bits(p.inverse) },
            offset: [every(offset as u64 & LOW_52), every((offset >> 52) as u64)],
            mask: every(LOW_52),
        }
    }

    /// Applies Garner's formula, as in [`ModulusPair::lift`], after half of each modulus is added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn limbs(&self, x: __m512i, x_special: __m512i) -> [__m512i; 2] {
        let c = self.special;
        let x = below(_mm512_add_epi64(x, self.halves[0]), self.q);
        let x_special = below(_mm512_add_epi64(x_special, self.halves[1]), c.q);
        // Below 2^52 if both moduli are below 2^50.
        let difference = _mm512_sub_epi64(_mm512_add_epi64(x_special, self.positive), x);
        let v = times::<WIDE>(c, difference, self.inverse);
        let v = below(if WIDE { below(v, c.two_q) } else { c.low_52(v) }, c.q);
        let low = _mm512_madd52lo_epu64(_mm512_add_epi64(x, self.offset[0]), self.q, v);
        let mut high = _mm512_madd52hi_epu64(self.offset[1], self.q, v);
        if WIDE {
            high = _mm512_add_epi64(high, _mm512_mullo_epi64(self.q_top, v));
        }
        [_mm512_and_si512(low, self.mask), _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low))]
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn centered(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus().value(), p.special().value());
    if special / 4 >= q {
        return scalar::centered(p, x, out);
    }
    let half = every(special / 2);
    let (rows, tail) = x.as_chunks::<8>();
    let (out_rows, out_tail) = out.as_chunks_mut::<8>();
    if special / 2 < q {
        let down = every(q.wrapping_sub(special));
        for (out, x) in out_rows.iter_mut().zip(rows) {
            let x = load(x);
            let upper = _mm512_cmpgt_epu64_mask(x, half);
            store(out, _mm512_mask_add_epi64(x, upper, x, down));
        }
    } else {
        // From -2q to 2q, with 2q added so that it is not negative.
        let (once, twice, down) = (every(q), every(2 * q), every((2 * q).wrapping_sub(special)));
        for (out, x) in out_rows.iter_mut().zip(rows) {
            let x = load(x);
            let upper = _mm512_cmpgt_epu64_mask(x, half);
            let x = _mm512_mask_add_epi64(_mm512_add_epi64(x, twice), upper, x, down);
            store(out, below(below(x, twice), once));
        }
    }
    scalar::centered(p, tail, out_tail);
}

#[target_feature(enable = "avx512f")]
pub(super) fn carried(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
    let (q, special) = (p.modulus().value(), p.special().value());
    if special / 4 >= q {
        return scalar::carried(p, x, out);
    }
    let (once, twice) = (every(q), every(2 * q));
    let (rows, tail) = x.as_chunks::<8>();
    let (out_rows, out_tail) = out.as_chunks_mut::<8>();
    for (out, x) in out_rows.iter_mut().zip(rows) {
        store(out, below(below(load(x), twice), once));
    }
    scalar::carried(p, tail, out_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn lower(p: &ModulusPair, x: &mut [u64], correction: &[u64]) {
    if p.modulus().bits() <= 50 {
        lower_by::<false>(p, of_52_bits(p.special_inverse), x, correction);
    } else {
        lower_by::<true>(p, super::products::every(p.special_inverse), x, correction);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lower_by<const WIDE: bool>(p: &ModulusPair, inverse: Factors, x: &mut [u64], correction: &[u64]) {
    let c = constants(p.modulus());
    let (rows, tail) = x.as_chunks_mut::<8>();
    let (corrections, correction_tail) = correction.as_chunks::<8>();
    for (x, correction) in rows.iter_mut().zip(corrections) {
        let r = times::<WIDE>(c, difference(load(x), load(correction), c.q), inverse);
        let r = if WIDE { below(r, c.two_q) } else { c.low_52(r) };
        store(x, below(r, c.q));
    }
    scalar::lower(p, tail, correction_tail);
}

/// Converts a digit to a residue.
#[inline]
#[target_feature(enable = "avx512f")]
fn negative_plus(digit: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu64(digit, _mm512_add_epi64(digit, q))
}

/// Makes a factor with a quotient of 52 bits from one with a quotient of 64.
#[inline]
#[target_feature(enable = "avx512f")]
fn of_52_bits(f: Factor) -> Factors {
    super::products::every(Factor { w: f.w, quotient: f.quotient >> 12 })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn constants(q: &Modulus) -> Constants {
    Constants::of(q.value(), 0)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

/// Rows of a long slice.
#[inline]
fn rows(out: &mut [u64], at: usize) -> &mut Rows {
    &mut out[at..at + NUMBERS].as_chunks_mut::<8>().0.as_chunks_mut::<TOGETHER>().0[0]
}
