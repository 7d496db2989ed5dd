//! A search, 32 words at a time: masks of words, packed into masks of bytes.

use super::lanes::load;
use super::registers::Ymm;
use crate::find::Either;
use crate::simd::generic::Register;
use core::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn either16(sought: &Either<'_>, hits: &mut [u64]) {
    let r = Ymm::new();
    let (a, a_tail) = sought.a.as_chunks::<64>();
    let (b, b_tail) = sought.b.as_chunks::<64>();
    let mask = _mm256_set1_epi16(sought.mask as i16);
    let (x, y) = (_mm256_set1_epi16(sought.x as i16), _mm256_set1_epi16(sought.y as i16));
    let (whole, last) = hits.split_at_mut(a.len());
    let hit = |a: &[[u8; 2]; 16], b: &[u16; 16]| {
        let a = _mm256_cmpeq_epi16(_mm256_and_si256(r.load(a.as_flattened()), mask), x);
        _mm256_or_si256(a, _mm256_cmpeq_epi16(load(b), y))
    };
    for ((a, b), hits) in a.iter().zip(b).zip(whole) {
        *hits = 0;
        let pairs =
            a.as_chunks::<16>().0.as_chunks::<2>().0.iter().zip(b.as_chunks::<16>().0.as_chunks::<2>().0);
        for (([a, a_next], [b, b_next]), at) in pairs.zip([0, 32]) {
            // Packing goes by halves of registers, so that the middle two come out in each other's place.
            let packed = _mm256_packs_epi16(hit(a, b), hit(a_next, b_next));
            let half = _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
            *hits |= u64::from(half as u32) << at;
        }
    }
    crate::simd::scalar::either16(&Either { a: a_tail, b: b_tail, ..*sought }, last);
}
