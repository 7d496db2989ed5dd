//! Comparisons of bytes, by mask registers.

use super::registers::load;
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let (lines, tail) = values.as_chunks::<64>();
    let bound = _mm512_set1_epi8(x as i8);
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let line = load(line);
        counts[0] += _mm512_cmplt_epu8_mask(line, bound).count_ones() as usize;
        *equal = _mm512_cmpeq_epu8_mask(line, bound);
        counts[1] += equal.count_ones() as usize;
    }
    if let [equal] = last {
        let lanes = u64::MAX >> (64 - tail.len());
        // SAFETY: this load reads the lanes of its mask alone, which are the bytes of the slice.
        let line = unsafe { _mm512_maskz_loadu_epi8(lanes, tail.as_ptr().cast()) };
        counts[0] += _mm512_mask_cmplt_epu8_mask(lanes, line, bound).count_ones() as usize;
        *equal = _mm512_mask_cmpeq_epu8_mask(lanes, line, bound);
        counts[1] += equal.count_ones() as usize;
    }
    counts
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
