//! Comparisons of bytes: a byte that is at least the bound is the maximum of the two.
//!
//! Sampling compares with a cumulative table: 16 samples against one entry at a time.

use super::registers::{load, store};
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

const VECTORS: usize = 4;

#[target_feature(enable = "avx2")]
pub(super) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    let (words, words_tail) = uniform.as_chunks::<{ 4 * VECTORS }>();
    let (samples, samples_tail) = out.as_chunks_mut::<{ 4 * VECTORS }>();
    let all = _mm256_set1_epi64x(thresholds.len() as i64);
    for (words, samples) in words.iter().zip(samples) {
        let mut t = [_mm256_setzero_si256(); VECTORS];
        for (t, w) in t.iter_mut().zip(words.as_chunks::<4>().0) {
            *t = _mm256_srli_epi64::<1>(load(w));
        }
        let mut magnitude = [all; VECTORS];
        for &bound in thresholds {
            // Both sides are below 2^63, so a signed comparison suffices. It gives -1 for each
            // threshold that is not reached.
            let bound = _mm256_set1_epi64x(bound as i64);
            for (m, t) in magnitude.iter_mut().zip(t) {
                *m = _mm256_add_epi64(*m, _mm256_cmpgt_epi64(bound, t));
            }
        }
        let groups = words.as_chunks::<4>().0.iter().zip(samples.as_chunks_mut::<4>().0);
        for (m, (word, sample)) in magnitude.iter().zip(groups) {
            let bit = _mm256_and_si256(load(word), _mm256_set1_epi64x(1));
            let sign = _mm256_sub_epi64(_mm256_setzero_si256(), bit);
            let mut signed = [0i64; 4];
            store(&mut signed, _mm256_sub_epi64(_mm256_xor_si256(*m, sign), sign));
            for (sample, signed) in sample.iter_mut().zip(signed) {
                *sample = signed as i32;
            }
        }
    }
    crate::simd::scalar::gauss(thresholds, words_tail, samples_tail);
}
