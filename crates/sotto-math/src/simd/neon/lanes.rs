//! Masks of lanes as bits of a word.

use core::arch::aarch64::*;

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
