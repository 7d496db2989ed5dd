//! A search, 32 words at a time, straight into masks.

use super::lanes::load;
use super::registers::Zmm;
use crate::find::Either;
use crate::simd::generic::Register;
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn either16(sought: &Either<'_>, hits: &mut [u64]) {
    let r = Zmm::new();
    let (a, a_tail) = sought.a.as_chunks::<64>();
    let (b, b_tail) = sought.b.as_chunks::<64>();
    let mask = _mm512_set1_epi16(sought.mask as i16);
    let (x, y) = (_mm512_set1_epi16(sought.x as i16), _mm512_set1_epi16(sought.y as i16));
    let (whole, last) = hits.split_at_mut(a.len());
    for ((a, b), hits) in a.iter().zip(b).zip(whole) {
        *hits = 0;
        for ((a, b), at) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0).zip([0, 32]) {
            let half = _mm512_cmpeq_epi16_mask(_mm512_and_si512(r.load(a.as_flattened()), mask), x)
                | _mm512_cmpeq_epi16_mask(load(b), y);
            *hits |= u64::from(half) << at;
        }
    }
    crate::simd::scalar::either16(&Either { a: a_tail, b: b_tail, ..*sought }, last);
}
