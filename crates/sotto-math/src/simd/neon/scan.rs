//! Byte products: four added to each sum by one instruction where the processor has it (`udot`),
//! otherwise two at a time.

use super::registers::{Register16, Register32};
use crate::simd::args::Planes;
use crate::simd::generic::bytes::Bytes;
use crate::simd::generic::{self, Register, proven};
use core::arch::aarch64::*;
use core::arch::asm;

/// Proof that this processor has products of bytes, four to a sum.
#[derive(Clone, Copy)]
struct Dot(());

/// Sums of four rows, and of the halves of their groups.
type Halves = [uint32x4_t; 2];

#[target_feature(enable = "neon")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    generic::bytes::scan(Register32::new(), groups, queries, sums);
}

#[target_feature(enable = "neon,dotprod")]
pub(super) fn scan_dot(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    generic::bytes::scan(Register32(Dot(())), groups, queries, sums);
}

/// The common part of both implementations: queries are in one register, and rows are flipped.
macro_rules! flipped {
    () => {
        type Query = uint8x16_t;
        type Along = uint32x4_t;

        proven! {
            fn query<const K: usize>(words: &[u32; K]) -> uint8x16_t {{
                let mut four = [0; 4];
                four[..K].copy_from_slice(words);
                Register16::new().load(&four)
            }}
            fn rows(x: [uint8x16_t; 2]) -> [uint8x16_t; 2] {
                [veorq_u8(x[0], vdupq_n_u8(0x80)), veorq_u8(x[1], vdupq_n_u8(0x80))]
            }
            fn add_sums(a: [uint8x16_t; 2], b: [uint8x16_t; 2]) -> [uint8x16_t; 2] {{
                [add(a[0], b[0]), add(a[1], b[1])]
            }}
        }
    };
}

impl Bytes for Register32<Dot> {
    type Sums = [uint32x4_t; 2];

    flipped!();

    proven! {
        fn no_sums() -> ([uint32x4_t; 2], uint32x4_t) { ([vdupq_n_u32(0); 2], vdupq_n_u32(0)) }
        fn add_bytes(sums: [uint32x4_t; 2], rows: [uint8x16_t; 2], query: uint8x16_t, k: usize) -> [uint32x4_t; 2] {
            [dot_lane(sums[0], rows[0], query, k), dot_lane(sums[1], rows[1], query, k)]
        }
        fn count(along: uint32x4_t, query: uint8x16_t) -> uint32x4_t { dot(along, query, vdupq_n_u8(0x80)) }
        fn total(sums: [uint32x4_t; 2], along: uint32x4_t, k: usize) -> [uint8x16_t; 2] {{
            let along = lane(along, k);
            [vreinterpretq_u8_u32(vsubq_u32(sums[0], along)), vreinterpretq_u8_u32(vsubq_u32(sums[1], along))]
        }}
    }
}

impl Bytes for Register32 {
    type Sums = [Halves; 2];

    flipped!();

    proven! {
        fn no_sums() -> ([Halves; 2], uint32x4_t) { ([[vdupq_n_u32(0); 2]; 2], vdupq_n_u32(0)) }
        fn add_bytes(sums: [Halves; 2], rows: [uint8x16_t; 2], query: uint8x16_t, k: usize) -> [Halves; 2] {{
            let query = vreinterpretq_u8_u32(lane(vreinterpretq_u32_u8(query), k));
            [products(sums[0], rows[0], query), products(sums[1], rows[1], query)]
        }}
        fn count(along: uint32x4_t, query: uint8x16_t) -> uint32x4_t {
            vpadalq_u16(along, vshlq_n_u16::<7>(vpaddlq_u8(query)))
        }
        fn total(sums: [Halves; 2], along: uint32x4_t, k: usize) -> [uint8x16_t; 2] {{
            let along = lane(along, k);
            let [a, b] = [vpaddq_u32(sums[0][0], sums[0][1]), vpaddq_u32(sums[1][0], sums[1][1])];
            [vreinterpretq_u8_u32(vsubq_u32(a, along)), vreinterpretq_u8_u32(vsubq_u32(b, along))]
        }}
    }
}

/// Computes products of 16 bits, which are added in pairs.
#[inline]
#[target_feature(enable = "neon")]
fn products([low, high]: Halves, rows: uint8x16_t, query: uint8x16_t) -> Halves {
    [
        vpadalq_u16(low, vmull_u8(vget_low_u8(rows), vget_low_u8(query))),
        vpadalq_u16(high, vmull_high_u8(rows, query)),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn add(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))
}

/// Repeats one lane in all.
#[inline]
#[target_feature(enable = "neon")]
fn lane(x: uint32x4_t, k: usize) -> uint32x4_t {
    match k {
        0 => vdupq_laneq_u32::<0>(x),
        1 => vdupq_laneq_u32::<1>(x),
        2 => vdupq_laneq_u32::<2>(x),
        _ => vdupq_laneq_u32::<3>(x),
    }
}

/// Computes `udot`, whose intrinsic is not stable.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot(mut sums: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
    // SAFETY: the processor has the instruction, which works on these registers alone.
    unsafe {
        asm!("udot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
             options(pure, nomem, nostack, preserves_flags));
    }
    sums
}

/// Computes `udot` with four bytes, of those in `b`, for all sums.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_lane(sums: uint32x4_t, a: uint8x16_t, b: uint8x16_t, k: usize) -> uint32x4_t {
    match k {
        0 => dot_at::<0>(sums, a, b),
        1 => dot_at::<1>(sums, a, b),
        2 => dot_at::<2>(sums, a, b),
        _ => dot_at::<3>(sums, a, b),
    }
}

#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_at<const K: usize>(mut sums: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
    // SAFETY: the processor has the instruction, which works on these registers alone.
    unsafe {
        asm!("udot {0:v}.4s, {1:v}.16b, {2:v}.4b[{k}]", inout(vreg) sums, in(vreg) a, in(vreg) b, k = const K,
             options(pure, nomem, nostack, preserves_flags));
    }
    sums
}
