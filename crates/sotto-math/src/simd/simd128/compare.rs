//! Comparisons of bytes, whose masks one instruction packs to bits.
//!
//! Sampling compares with a cumulative table: 16 samples against one entry at a time.

use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::wasm32::*;

pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let (r, bound) = (Register16::new(), u8x16_splat(x));
    let (lines, tail) = values.as_chunks::<64>();
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let mut less = 0;
        *equal = 0;
        for (part, at) in line.as_chunks::<16>().0.iter().zip([0, 16, 32, 48]) {
            let part = r.load(part);
            less |= u64::from(u8x16_bitmask(u8x16_lt(part, bound))) << at;
            *equal |= u64::from(u8x16_bitmask(u8x16_eq(part, bound))) << at;
        }
        counts[0] += less.count_ones() as usize;
        counts[1] += equal.count_ones() as usize;
    }
    let [less, equal] = crate::simd::scalar::tally(tail, x, last);
    [counts[0] + less, counts[1] + equal]
}

pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    let r = Register16::new();
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let (values, bound) = (r.load(values), u8x16_splat(bound));
        (*less, *equal) = (u8x16_bitmask(u8x16_lt(values, bound)), u8x16_bitmask(u8x16_eq(values, bound)));
    }
}

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
