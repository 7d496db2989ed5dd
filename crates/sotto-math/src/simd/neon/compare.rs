//! Comparisons of bytes.
//!
//! Sampling compares with a cumulative table: 16 samples against one entry at a time.

use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::aarch64::*;

#[target_feature(enable = "neon")]
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let r = Register16::new();
    let (lines, tail) = values.as_chunks::<64>();
    let bound = vdupq_n_u8(x);
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let parts = line.as_chunks::<16>().0;
        let [a, b, c, d] = [r.load(&parts[0]), r.load(&parts[1]), r.load(&parts[2]), r.load(&parts[3])];
        let is = [vceqq_u8(a, bound), vceqq_u8(b, bound), vceqq_u8(c, bound), vceqq_u8(d, bound)];
        counts[0] += count([vcltq_u8(a, bound), vcltq_u8(b, bound), vcltq_u8(c, bound), vcltq_u8(d, bound)]);
        counts[1] += count(is);
        *equal = bits(is);
    }
    let [less, equal] = crate::simd::scalar::tally(tail, x, last);
    [counts[0] + less, counts[1] + equal]
}

#[target_feature(enable = "neon")]
pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    let r = Register16::new();
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let (values, bound) = (r.load(values), vdupq_n_u8(bound));
        [*less, *equal] = bits_of_two(vcltq_u8(values, bound), vceqq_u8(values, bound));
    }
}

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

/// Packs a bit for each byte of four registers, whose bytes are all ones or all zeros.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn bits([a, b, c, d]: [uint8x16_t; 4]) -> u64 {
    // Each byte keeps its own bit, and three sums of neighbors combine those of eight.
    let own = own();
    let (ab, cd) =
        (vpaddq_u8(vandq_u8(a, own), vandq_u8(b, own)), vpaddq_u8(vandq_u8(c, own), vandq_u8(d, own)));
    let all = vpaddq_u8(ab, cd);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(all, all)))
}

/// Packs a bit for each byte of two registers, whose bytes are all ones or all zeros.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn bits_of_two(a: uint8x16_t, b: uint8x16_t) -> [u16; 2] {
    let own = own();
    let pairs = vpaddq_u8(vandq_u8(a, own), vandq_u8(b, own));
    let fours = vpaddq_u8(pairs, pairs);
    let all = vreinterpretq_u32_u8(vpaddq_u8(fours, fours));
    let all = vgetq_lane_u32::<0>(all);
    [all as u16, (all >> 16) as u16]
}

/// Counts the bytes of four registers that are all ones, if the others are zeros.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn count([a, b, c, d]: [uint8x16_t; 4]) -> usize {
    let sums = vaddq_u8(vaddq_u8(a, b), vaddq_u8(c, d));
    // Each sum is minus the count, at most 64 together.
    usize::from(vaddvq_u8(sums).wrapping_neg())
}

/// The bit of each byte of eight.
#[inline]
#[target_feature(enable = "neon")]
fn own() -> uint8x16_t {
    vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201))
}
