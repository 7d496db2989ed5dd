//! Sampling by the cumulative table: 32 samples against one entry at a time.

use super::registers::load;
use core::arch::x86_64::*;

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
