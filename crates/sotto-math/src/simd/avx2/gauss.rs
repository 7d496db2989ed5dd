//! Sampling by the cumulative table: 16 samples against one entry at a time.

use super::registers::{load, store};
use core::arch::x86_64::*;

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
