//! Comparisons of bytes: a byte that is at least the bound is the maximum of the two.

use super::registers::load;
use core::arch::x86_64::*;

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let (lines, tail) = values.as_chunks::<64>();
    let bound = _mm256_set1_epi8(x as i8);
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        *equal = 0;
        for (half, at) in line.as_chunks::<32>().0.iter().zip([0, 32]) {
            let half = load(half);
            let less = !_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(half, bound), half)) as u32;
            counts[0] += less.count_ones() as usize;
            *equal |= u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, bound)) as u32) << at;
        }
        counts[1] += equal.count_ones() as usize;
    }
    let [less, equal] = crate::simd::scalar::tally(tail, x, last);
    [counts[0] + less, counts[1] + equal]
}

#[target_feature(enable = "avx2")]
pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
        let values = unsafe { _mm_loadu_si128(values.as_ptr().cast()) };
        let bound = _mm_set1_epi8(bound as i8);
        *less = !_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(values, bound), values)) as u16;
        *equal = _mm_movemask_epi8(_mm_cmpeq_epi8(values, bound)) as u16;
    }
}
