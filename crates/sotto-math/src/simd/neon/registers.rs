//! Registers of 16 bytes, and pairs of them, for what is [generic](crate::simd::generic) in them.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::doubles::Doubles;
use crate::simd::generic::ntt::Words;
use crate::simd::generic::tiles::Products;
use crate::simd::generic::{Multiplier, Number, Register, multiplier, proven, register};
use core::arch::aarch64::*;

/// Proof that this processor has NEON, and of what else it has: 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct One<P = ()>(P);

/// The same of two registers that go together: 32 bytes.
#[derive(Clone, Copy)]
pub(super) struct Two<P = ()>(pub(super) P);

impl One {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        One(())
    }
}

impl Two {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        Two(())
    }
}

register! {
    One of 16 bytes in uint8x16_t, 8 sums:
    zero, vld1q_u8, vst1q_u8, veorq_u8,
    |bit, sum, x| veorq_u8(sum, vandq_u8(x, vdupq_n_u8(0u8.wrapping_sub(bit))))
}

type Pair = [uint8x16_t; 2];

register! {
    Two of 32 bytes in Pair, 4 sums:
    zeros, load, store, xor,
    |bit, sum, x| xor(sum, both(x, |x| vandq_u8(x, vdupq_n_u8(0u8.wrapping_sub(bit)))))
}

multiplier! {
    Two: |x| [vreinterpretq_u8_s32(vdupq_n_s32(x)); 2],
    |[low, high], a, b| {
        let (low, high, a, b) = (signed_64(low), signed_64(high), signed(a), signed(b));
        let add = |i: usize| vmlal_s32(low[i], vget_low_s32(a[i]), vget_low_s32(b[i]));
        let add_high = |i: usize| vmlal_high_s32(high[i], a[i], b[i]);
        [[add(0), add(1)], [add_high(0), add_high(1)]].map(|sums| sums.map(|x| vreinterpretq_u8_s64(x)))
    },
    |[low, high]| {
        let ([a, b], [c, d]) = (signed_64(low), signed_64(high));
        vaddvq_s64(vaddq_s64(vaddq_s64(a, b), vaddq_s64(c, d)))
    }
}

type Four = [float64x2_t; 2];

impl<P: Copy> Doubles for Two<P> {
    type Doubles = Four;

    proven! {
        fn doubles(bits: Pair) -> Four { bits.map(|x| vreinterpretq_f64_u8(x)) }
        fn bits(x: Four) -> Pair { x.map(|x| vreinterpretq_u8_f64(x)) }
        fn every(x: f64) -> Four { [vdupq_n_f64(x); 2] }
        fn plus(a: Four, b: Four) -> Four { [vaddq_f64(a[0], b[0]), vaddq_f64(a[1], b[1])] }
        fn minus(a: Four, b: Four) -> Four { [vsubq_f64(a[0], b[0]), vsubq_f64(a[1], b[1])] }
        fn product(a: Four, b: Four) -> Four { [vmulq_f64(a[0], b[0]), vmulq_f64(a[1], b[1])] }
        fn plus_product(sum: Four, a: Four, b: Four) -> Four {
            [vfmaq_f64(sum[0], a[0], b[0]), vfmaq_f64(sum[1], a[1], b[1])]
        }
        fn minus_product(sum: Four, a: Four, b: Four) -> Four {
            [vfmsq_f64(sum[0], a[0], b[0]), vfmsq_f64(sum[1], a[1], b[1])]
        }
        fn rest(product: Four, a: Four, b: Four) -> Four {
            [vnegq_f64(vfmsq_f64(product[0], a[0], b[0])), vnegq_f64(vfmsq_f64(product[1], a[1], b[1]))]
        }
        fn nearest(x: Four) -> Four { x.map(|x| vrndnq_f64(x)) }
        fn from_integers(x: Pair) -> Four { x.map(|x| vcvtq_f64_u64(vreinterpretq_u64_u8(x))) }
        fn to_integers(x: Four, q: Four) -> Pair {
            [positive(x[0], q[0]), positive(x[1], q[1])].map(|x| vreinterpretq_u8_u64(vcvtq_u64_f64(x)))
        }
        fn transpose(rows: [Four; 4]) -> [Four; 4] { transpose(rows) }
        fn splat_64(x: u64) -> Pair { [vreinterpretq_u8_u64(vdupq_n_u64(x)); 2] }
        fn add_64(a: Pair, b: Pair) -> Pair {{
            let (a, b) = (a.map(|x| vreinterpretq_u64_u8(x)), b.map(|x| vreinterpretq_u64_u8(x)));
            [vaddq_u64(a[0], b[0]), vaddq_u64(a[1], b[1])].map(|x| vreinterpretq_u8_u64(x))
        }}
        fn and(a: Pair, b: Pair) -> Pair { [vandq_u8(a[0], b[0]), vandq_u8(a[1], b[1])] }
        fn down<const BITS: i32>(x: Pair) -> Pair {
            x.map(|x| vreinterpretq_u8_u64(vshrq_n_u64::<BITS>(vreinterpretq_u64_u8(x))))
        }
        fn greater(a: Pair, b: Pair) -> Pair {{
            let (a, b) = (signed_64(a), signed_64(b));
            [vcgtq_s64(a[0], b[0]), vcgtq_s64(a[1], b[1])].map(|x| vreinterpretq_u8_u64(x))
        }}
    }
}

impl<P: Copy> Words for Two<P> {
    proven! {
        fn splat_word(x: u32) -> Pair { bytes([vdupq_n_u32(x); 2]) }
        fn add_words(a: Pair, b: Pair) -> Pair { on_words(a, b, |a, b| vaddq_u32(a, b)) }
        fn sub_words(a: Pair, b: Pair) -> Pair { on_words(a, b, |a, b| vsubq_u32(a, b)) }
        fn min_words(a: Pair, b: Pair) -> Pair { on_words(a, b, |a, b| vminq_u32(a, b)) }
        fn mul_words(a: Pair, b: Pair) -> Pair { on_words(a, b, |a, b| vmulq_u32(a, b)) }
        fn ready(quotient: Pair) -> Pair { bytes(words(quotient).map(|x| vshrq_n_u32::<1>(x))) }
        fn quotients(x: Pair, ready: Pair) -> Pair {{
            // Both are positive as signed words: the upper half of twice their product is all of it but 31 bits.
            let (x, ready) = (signed(x), signed(ready));
            [vqdmulhq_s32(x[0], ready[0]), vqdmulhq_s32(x[1], ready[1])].map(|x| vreinterpretq_u8_s32(x))
        }}
        fn pack(x: [Pair; 2]) -> Pair {
            bytes(x.map(|x| { let [a, b] = words(x); vuzp1q_u32(a, b) }))
        }
        fn unpack(x: Pair) -> [Pair; 2] {
            words(x).map(|x| {
                [vmovl_u32(vget_low_u32(x)), vmovl_high_u32(x)].map(|x| vreinterpretq_u8_u64(x))
            })
        }
        fn transpose_words(rows: [Pair; 8]) -> [Pair; 8] { transpose_words(rows) }
    }
}

impl<P: Copy> Products for Two<P> {
    proven! {
        fn add_products(sums: [Pair; 2], a: Pair, b: Pair) -> [Pair; 2] {{
            let [low, high] = sums.map(|x| x.map(|x| vreinterpretq_u64_u8(x)));
            let (a, b) = (words(a), words(b));
            let add = |i: usize| vmlal_u32(low[i], vget_low_u32(a[i]), vget_low_u32(b[i]));
            let add_high = |i: usize| vmlal_high_u32(high[i], a[i], b[i]);
            [[add(0), add(1)], [add_high(0), add_high(1)]].map(|sums| sums.map(|x| vreinterpretq_u8_u64(x)))
        }}
    }

    #[inline(always)]
    fn sums(self, sums: [Pair; 2]) -> [[u64; 2]; 4] {
        // Of slots 0 and 2, and of 1 and 3.
        let [even, odd] = sums.map(|x| {
            let mut sums = [[0; 2]; 2];
            self.store(&mut sums, x);
            sums
        });
        [even[0], odd[0], even[1], odd[1]]
    }
}

/// Proof that this processor has AES.
#[derive(Clone, Copy)]
pub(super) struct Aes(());

impl One<Aes> {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) fn with_aes() -> Self {
        One(Aes(()))
    }
}

/// ARM's instruction adds a key first, and none at the end: compilers give it the key that was added before.
impl Blocks for One<Aes> {
    proven! {
        fn splat(x: i32) -> uint8x16_t { vreinterpretq_u8_s32(vdupq_n_s32(x)) }
        fn firsts(x: u8) -> uint8x16_t { vsetq_lane_u8::<0>(x, zero()) }
        fn round(x: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
            veorq_u8(mixed(x), key)
        }
        fn last_round(x: uint8x16_t, key: uint8x16_t) -> uint8x16_t { veorq_u8(substituted(x), key) }
        fn turned(x: uint8x16_t) -> uint8x16_t {{
            let word = vdupq_laneq_u32::<3>(vreinterpretq_u32_u8(x));
            vreinterpretq_u8_u32(vsriq_n_u32::<8>(vshlq_n_u32::<24>(word), word))
        }}
        fn sums(x: uint8x16_t) -> uint8x16_t {{
            let sums = veorq_u8(x, vextq_u8::<12>(zero(), x));
            veorq_u8(sums, vextq_u8::<8>(zero(), sums))
        }}
    }
}

/// SubBytes and ShiftRows.
#[inline]
#[target_feature(enable = "neon,aes")]
fn substituted(x: uint8x16_t) -> uint8x16_t {
    vaeseq_u8(x, zero())
}

/// The same, and MixColumns.
#[inline]
#[target_feature(enable = "neon,aes")]
fn mixed(x: uint8x16_t) -> uint8x16_t {
    vaesmcq_u8(substituted(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> uint8x16_t {
    vdupq_n_u8(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn zeros() -> Pair {
    [vdupq_n_u8(0); 2]
}

/// # Safety
/// There are 32 bytes to read.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(from: *const u8) -> Pair {
    // SAFETY: the caller says so, and they need no alignment.
    unsafe { [vld1q_u8(from), vld1q_u8(from.add(16))] }
}

/// # Safety
/// There are 32 bytes to write.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(to: *mut u8, [low, high]: Pair) {
    // SAFETY: the caller says so, and they need no alignment.
    unsafe {
        vst1q_u8(to, low);
        vst1q_u8(to.add(16), high);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn xor(a: Pair, b: Pair) -> Pair {
    [veorq_u8(a[0], b[0]), veorq_u8(a[1], b[1])]
}

#[inline(always)]
fn both(x: Pair, f: impl Fn(uint8x16_t) -> uint8x16_t) -> Pair {
    x.map(f)
}

#[inline]
#[target_feature(enable = "neon")]
fn words(x: Pair) -> [uint32x4_t; 2] {
    x.map(|x| vreinterpretq_u32_u8(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn bytes(x: [uint32x4_t; 2]) -> Pair {
    x.map(|x| vreinterpretq_u8_u32(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn signed(x: Pair) -> [int32x4_t; 2] {
    x.map(|x| vreinterpretq_s32_u8(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn signed_64(x: Pair) -> [int64x2_t; 2] {
    x.map(|x| vreinterpretq_s64_u8(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn on_words(a: Pair, b: Pair, f: impl Fn(uint32x4_t, uint32x4_t) -> uint32x4_t) -> Pair {
    let (a, b) = (words(a), words(b));
    bytes([f(a[0], b[0]), f(a[1], b[1])])
}

/// Numbers between `-q` and `q`, plus q where they are negative.
#[inline]
#[target_feature(enable = "neon")]
fn positive(x: float64x2_t, q: float64x2_t) -> float64x2_t {
    let q = vandq_u64(vcltzq_f64(x), vreinterpretq_u64_f64(q));
    vaddq_f64(x, vreinterpretq_f64_u64(q))
}

/// Lanes of two rows at a time, of which there are four pairs.
#[inline]
#[target_feature(enable = "neon")]
fn transpose([a, b, c, d]: [Four; 4]) -> [Four; 4] {
    let first = |i: usize| [vzip1q_f64(a[i], b[i]), vzip1q_f64(c[i], d[i])];
    let second = |i: usize| [vzip2q_f64(a[i], b[i]), vzip2q_f64(c[i], d[i])];
    [first(0), second(0), first(1), second(1)]
}

/// Four transpositions of 4 by 4, of which the outer two change places.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_words(rows: [Pair; 8]) -> [Pair; 8] {
    let [a, b, c, d, e, f, g, h] = rows.map(|row| words(row));
    let quarter = |i: usize| {
        let upper = transpose_quarter([a[i], b[i], c[i], d[i]]);
        let lower = transpose_quarter([e[i], f[i], g[i], h[i]]);
        [0, 1, 2, 3].map(|row: usize| bytes([upper[row], lower[row]]))
    };
    let ([a, b, c, d], [e, f, g, h]) = (quarter(0), quarter(1));
    [a, b, c, d, e, f, g, h]
}

/// Pairs of lanes, then pairs of pairs.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_quarter([a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    let pairs = [vtrn1q_u32(a, b), vtrn2q_u32(a, b), vtrn1q_u32(c, d), vtrn2q_u32(c, d)];
    let [ab_even, ab_odd, cd_even, cd_odd] = pairs.map(|x| vreinterpretq_u64_u32(x));
    [
        vtrn1q_u64(ab_even, cd_even),
        vtrn1q_u64(ab_odd, cd_odd),
        vtrn2q_u64(ab_even, cd_even),
        vtrn2q_u64(ab_odd, cd_odd),
    ]
    .map(|x| vreinterpretq_u32_u64(x))
}
