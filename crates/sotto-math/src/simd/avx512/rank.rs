//! Comparisons of bytes, straight into masks.

use super::lanes::load;
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> usize {
    let (lines, tail) = values.as_chunks::<64>();
    let bound = _mm512_set1_epi8(x as i8);
    let mut below = 0;
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let line = load(line);
        below += _mm512_cmplt_epu8_mask(line, bound).count_ones() as usize;
        *equal = _mm512_cmpeq_epu8_mask(line, bound);
    }
    below + crate::simd::scalar::tally(tail, x, last)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
        let values = unsafe { _mm_loadu_si128(values.as_ptr().cast()) };
        let bound = _mm_set1_epi8(bound as i8);
        *less = _mm_cmplt_epu8_mask(values, bound);
        *equal = _mm_cmpeq_epu8_mask(values, bound);
    }
}
