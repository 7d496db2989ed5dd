//! Sampling by the cumulative table: 16 samples against one entry at a time.

use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::aarch64::*;

/// Registers of four samples.
const VECTORS: usize = 4;

#[target_feature(enable = "neon")]
pub(super) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    let r = Register16::new();
    let (words, words_tail) = uniform.as_chunks::<{ 4 * VECTORS }>();
    let (samples, samples_tail) = out.as_chunks_mut::<{ 4 * VECTORS }>();
    let all = vdupq_n_u32(thresholds.len() as u32);
    for (words, samples) in words.iter().zip(samples) {
        let mut t = [[vdupq_n_u64(0); 2]; VECTORS];
        for (t, words) in t.iter_mut().zip(words.as_chunks::<4>().0) {
            let (low, high) =
                (vreinterpretq_u64_u8(r.load(&words[..2])), vreinterpretq_u64_u8(r.load(&words[2..])));
            *t = [vshrq_n_u64::<1>(low), vshrq_n_u64::<1>(high)];
        }
        let mut missed = [vdupq_n_u32(0); VECTORS];
        for &bound in thresholds {
            // Both sides are below 2^63, so the sign of the difference says whether a threshold is
            // not reached. It is in the upper half, and only upper halves of four differences are
            // kept.
            let bound = vdupq_n_u64(bound);
            for (missed, [low, high]) in missed.iter_mut().zip(t) {
                let upper = vsubhn_high_u64(vsubhn_u64(low, bound), high, bound);
                *missed = vsraq_n_u32::<31>(*missed, upper);
            }
        }
        let groups = words.as_chunks::<4>().0.iter().zip(samples.as_chunks_mut::<4>().0);
        for (missed, (words, samples)) in missed.into_iter().zip(groups) {
            let (low, high) =
                (vreinterpretq_u32_u8(r.load(&words[..2])), vreinterpretq_u32_u8(r.load(&words[2..])));
            let bit = vandq_u32(vuzp1q_u32(low, high), vdupq_n_u32(1));
            let sign = vnegq_s32(vreinterpretq_s32_u32(bit));
            let magnitude = vreinterpretq_s32_u32(vsubq_u32(all, missed));
            r.store(samples, vreinterpretq_u8_s32(vsubq_s32(veorq_s32(magnitude, sign), sign)));
        }
    }
    crate::simd::scalar::gauss(thresholds, words_tail, samples_tail);
}
