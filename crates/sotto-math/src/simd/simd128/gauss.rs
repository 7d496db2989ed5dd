//! Sampling by the cumulative table: 16 samples against one entry at a time.

use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::wasm32::*;

/// Registers of two samples.
const VECTORS: usize = 8;

pub(super) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    let r = Register16::new();
    let (words, words_tail) = uniform.as_chunks::<{ 2 * VECTORS }>();
    let (samples, samples_tail) = out.as_chunks_mut::<{ 2 * VECTORS }>();
    let all = u64x2_splat(thresholds.len() as u64);
    for (words, samples) in words.iter().zip(samples) {
        let mut t = [r.zero(); VECTORS];
        for (t, words) in t.iter_mut().zip(words.as_chunks::<2>().0) {
            *t = u64x2_shr(r.load(words), 1);
        }
        let mut magnitude = [all; VECTORS];
        for &bound in thresholds {
            // Both sides are below 2^63, so a signed comparison suffices. It gives -1 for each
            // threshold that is not reached.
            let bound = u64x2_splat(bound);
            for (magnitude, t) in magnitude.iter_mut().zip(t) {
                *magnitude = i64x2_add(*magnitude, i64x2_gt(bound, t));
            }
        }
        let pairs = magnitude.as_chunks::<2>().0.iter().zip(words.as_chunks::<4>().0);
        for ((pair, words), samples) in pairs.zip(samples.as_chunks_mut::<4>().0) {
            let magnitude = i32x4_shuffle::<0, 2, 4, 6>(pair[0], pair[1]);
            let words = i32x4_shuffle::<0, 2, 4, 6>(r.load(&words[..2]), r.load(&words[2..]));
            let sign = i32x4_neg(v128_and(words, i32x4_splat(1)));
            r.store(samples, i32x4_sub(v128_xor(magnitude, sign), sign));
        }
    }
    crate::simd::scalar::gauss(thresholds, words_tail, samples_tail);
}
