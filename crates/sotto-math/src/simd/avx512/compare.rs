//! Comparisons of bytes, by mask registers.
//!
//! Sampling compares with a cumulative table: 32 samples against one entry at a time.

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

const VECTORS: usize = 4;

#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    let (words, words_tail) = uniform.as_chunks::<{ 8 * VECTORS }>();
    let (samples, samples_tail) = out.as_chunks_mut::<{ 8 * VECTORS }>();
    let one = _mm512_set1_epi64(1);
    for (words, samples) in words.iter().zip(samples) {
        let mut words8 = [_mm512_setzero_si512(); VECTORS];
        let mut t = words8;
        for ((v, t), w) in words8.iter_mut().zip(&mut t).zip(words.as_chunks::<8>().0) {
            *v = load(w);
            *t = _mm512_srli_epi64::<1>(*v);
        }
        let mut magnitude = [_mm512_setzero_si512(); VECTORS];
        for &bound in thresholds {
            let bound = _mm512_set1_epi64(bound as i64);
            for (m, t) in magnitude.iter_mut().zip(t) {
                // The mask is data, never a branch.
                *m = _mm512_mask_add_epi64(*m, _mm512_cmpge_epu64_mask(t, bound), *m, one);
            }
        }
        for ((m, word), sample) in magnitude.iter().zip(words8).zip(samples.as_chunks_mut::<8>().0) {
            let negative = _mm512_test_epi64_mask(word, one);
            let signed = _mm512_mask_sub_epi64(*m, negative, _mm512_setzero_si512(), *m);
            // SAFETY: the array is the 32 bytes that this store writes; it needs no alignment.
            unsafe { _mm256_storeu_si256(sample.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(signed)) }
        }
    }
    crate::simd::scalar::gauss(thresholds, words_tail, samples_tail);
}
