//! Registers of 16 bytes, and pairs of them, for the [generic](crate::simd::generic) kernels.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::doubles::{Doubles, FusedMultiplyAdd};
use crate::simd::generic::ntt::Words;
use crate::simd::generic::tiles::Products;
use crate::simd::generic::{Multiplier, Number, Register, each, multiplier, proven, register};
use core::arch::aarch64::*;

/// Registers of 16 bytes: proof that this processor has NEON, and whatever `P` proves.
#[derive(Clone, Copy)]
pub(super) struct Register16<P = ()>(P);

/// Pairs of registers that act as one of 32 bytes: proof that this processor has NEON, and whatever
/// `P` proves.
#[derive(Clone, Copy)]
pub(super) struct Register32<P = ()>(pub(super) P);

impl Register16 {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        Register16(())
    }
}

impl Register32 {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        Register32(())
    }
}

register! {
    Register16 of 16 bytes in uint8x16_t, 8 sums:
    zero, vld1q_u8, vst1q_u8, veorq_u8,
    |bit, sum, x| veorq_u8(sum, vandq_u8(x, vdupq_n_u8(0u8.wrapping_sub(bit))))
}

type Pair = [uint8x16_t; 2];

/// Applies an instruction to each of two registers that hold words of 32 bits.
macro_rules! on_words {
    ($f:ident($a:ident, $b:ident)) => {{
        let (a, b) = (each!(vreinterpretq_u32_u8($a)), each!(vreinterpretq_u32_u8($b)));
        let out = each!($f(a, b));
        each!(vreinterpretq_u8_u32(out))
    }};
}

register! {
    Register32 of 32 bytes in Pair, 4 sums:
    zeros, load, store, xor,
    |bit, sum, x| {
        let mask = vdupq_n_u8(0u8.wrapping_sub(bit));
        [veorq_u8(sum[0], vandq_u8(x[0], mask)), veorq_u8(sum[1], vandq_u8(x[1], mask))]
    }
}

multiplier! {
    Register32: |x| [vreinterpretq_u8_s32(vdupq_n_s32(x)); 2],
    |[low, high], a, b| {
        let (low, high) = (each!(vreinterpretq_s64_u8(low)), each!(vreinterpretq_s64_u8(high)));
        let (a, b) = (each!(vreinterpretq_s32_u8(a)), each!(vreinterpretq_s32_u8(b)));
        let low = [add_low(low[0], a[0], b[0]), add_low(low[1], a[1], b[1])];
        let high = each!(vmlal_high_s32(high, a, b));
        [each!(vreinterpretq_u8_s64(low)), each!(vreinterpretq_u8_s64(high))]
    },
    |[low, high]| {
        let ([a, b], [c, d]) = (each!(vreinterpretq_s64_u8(low)), each!(vreinterpretq_s64_u8(high)));
        vaddvq_s64(vaddq_s64(vaddq_s64(a, b), vaddq_s64(c, d)))
    }
}

type Four = [float64x2_t; 2];

impl<P: Copy> Doubles for Register32<P> {
    type Doubles = Four;

    proven! {
        fn doubles(bits: Pair) -> Four { each!(vreinterpretq_f64_u8(bits)) }
        fn bits(x: Four) -> Pair { each!(vreinterpretq_u8_f64(x)) }
        fn every(x: f64) -> Four { [vdupq_n_f64(x); 2] }
        fn plus(a: Four, b: Four) -> Four { each!(vaddq_f64(a, b)) }
        fn minus(a: Four, b: Four) -> Four { each!(vsubq_f64(a, b)) }
        fn product(a: Four, b: Four) -> Four { each!(vmulq_f64(a, b)) }
        fn minus_product(sum: Four, a: Four, b: Four) -> Four { each!(vfmsq_f64(sum, a, b)) }
        fn remainder(a: Four, b: Four, quotient: Four, q: Four) -> Four { each!(remainder(a, b, quotient, q)) }
        fn nearest(x: Four) -> Four { each!(vrndnq_f64(x)) }
        fn of_integers(x: Pair) -> Four {{
            let x = each!(vreinterpretq_u64_u8(x));
            each!(vcvtq_f64_u64(x))
        }}
        fn to_integers(x: Four, q: Four) -> Pair {{
            let x = each!(positive(x, q));
            let x = each!(vcvtq_u64_f64(x));
            each!(vreinterpretq_u8_u64(x))
        }}
        fn transpose(rows: [Four; 4]) -> [Four; 4] { transpose(rows) }
        fn splat_64(x: u64) -> Pair { [vreinterpretq_u8_u64(vdupq_n_u64(x)); 2] }
        fn add_64(a: Pair, b: Pair) -> Pair {{
            let (a, b) = (each!(vreinterpretq_u64_u8(a)), each!(vreinterpretq_u64_u8(b)));
            let sums = each!(vaddq_u64(a, b));
            each!(vreinterpretq_u8_u64(sums))
        }}
        fn and(a: Pair, b: Pair) -> Pair { each!(vandq_u8(a, b)) }
        fn greater(a: Pair, b: Pair) -> Pair {{
            let (a, b) = (each!(vreinterpretq_u64_u8(a)), each!(vreinterpretq_u64_u8(b)));
            let greater = each!(vcgtq_u64(a, b));
            each!(vreinterpretq_u8_u64(greater))
        }}
    }
}

impl<P: Copy> FusedMultiplyAdd for Register32<P> {
    proven! {
        fn plus_product(sum: Four, a: Four, b: Four) -> Four { each!(vfmaq_f64(sum, a, b)) }
        fn down<const BITS: i32>(x: Pair) -> Pair {{
            let x = each!(vreinterpretq_u64_u8(x));
            let x = [vshrq_n_u64::<BITS>(x[0]), vshrq_n_u64::<BITS>(x[1])];
            each!(vreinterpretq_u8_u64(x))
        }}
    }
}

impl<P: Copy> Words for Register32<P> {
    proven! {
        fn splat_word(x: u32) -> Pair { [vreinterpretq_u8_u32(vdupq_n_u32(x)); 2] }
        fn add_words(a: Pair, b: Pair) -> Pair { on_words!(vaddq_u32(a, b)) }
        fn sub_words(a: Pair, b: Pair) -> Pair { on_words!(vsubq_u32(a, b)) }
        fn min_words(a: Pair, b: Pair) -> Pair { on_words!(vminq_u32(a, b)) }
        fn mul_words(a: Pair, b: Pair) -> Pair { on_words!(vmulq_u32(a, b)) }
        fn ready(quotient: Pair) -> Pair {{
            let quotient = each!(vreinterpretq_u32_u8(quotient));
            let half = [vshrq_n_u32::<1>(quotient[0]), vshrq_n_u32::<1>(quotient[1])];
            each!(vreinterpretq_u8_u32(half))
        }}
        fn quotients(x: Pair, ready: Pair) -> Pair {{
            // Both are positive as signed words: the upper half of twice their product is all of it
            // but 31 bits.
            let (x, ready) = (each!(vreinterpretq_s32_u8(x)), each!(vreinterpretq_s32_u8(ready)));
            let quotients = each!(vqdmulhq_s32(x, ready));
            each!(vreinterpretq_u8_s32(quotients))
        }}
        fn pack(x: [Pair; 2]) -> Pair {{
            let [a, b] = [each!(vreinterpretq_u32_u8(x[0])), each!(vreinterpretq_u32_u8(x[1]))];
            [vreinterpretq_u8_u32(vuzp1q_u32(a[0], a[1])), vreinterpretq_u8_u32(vuzp1q_u32(b[0], b[1]))]
        }}
        fn unpack(x: Pair) -> [Pair; 2] {{
            let [a, b] = each!(vreinterpretq_u32_u8(x));
            let [a, b] = [[vmovl_u32(vget_low_u32(a)), vmovl_high_u32(a)], [vmovl_u32(vget_low_u32(b)), vmovl_high_u32(b)]];
            [each!(vreinterpretq_u8_u64(a)), each!(vreinterpretq_u8_u64(b))]
        }}
        fn transpose_words(rows: [Pair; 8]) -> [Pair; 8] { transpose_words(rows) }
    }
}

impl<P: Copy> Products for Register32<P> {
    proven! {
        fn add_products(sums: [Pair; 2], a: Pair, b: Pair) -> [Pair; 2] {{
            let [low, high] = sums;
            let (low, high) = (each!(vreinterpretq_u64_u8(low)), each!(vreinterpretq_u64_u8(high)));
            let (a, b) = (each!(vreinterpretq_u32_u8(a)), each!(vreinterpretq_u32_u8(b)));
            let low = [
                vmlal_u32(low[0], vget_low_u32(a[0]), vget_low_u32(b[0])),
                vmlal_u32(low[1], vget_low_u32(a[1]), vget_low_u32(b[1])),
            ];
            let high = each!(vmlal_high_u32(high, a, b));
            [each!(vreinterpretq_u8_u64(low)), each!(vreinterpretq_u8_u64(high))]
        }}
    }

    #[inline(always)]
    fn sums(self, [low, high]: [Pair; 2]) -> [[u64; 2]; 4] {
        // Of slots 0 and 2, and of 1 and 3.
        let [mut even, mut odd] = [[[0; 2]; 2]; 2];
        self.store(&mut even, low);
        self.store(&mut odd, high);
        [even[0], odd[0], even[1], odd[1]]
    }
}

/// Proof that this processor has AES.
#[derive(Clone, Copy)]
pub(super) struct Aes(());

impl Register16<Aes> {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) fn with_aes() -> Self {
        Register16(Aes(()))
    }
}

/// ARM's instruction adds a key first, and none at the end: compilers give it the key that was
/// added before.
impl Blocks for Register16<Aes> {
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

/// Computes SubBytes and ShiftRows.
#[inline]
#[target_feature(enable = "neon,aes")]
fn substituted(x: uint8x16_t) -> uint8x16_t {
    vaeseq_u8(x, zero())
}

/// Computes SubBytes, ShiftRows and MixColumns.
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

/// Adds the products of the lower halves.
#[inline]
#[target_feature(enable = "neon")]
fn add_low(sums: int64x2_t, a: int32x4_t, b: int32x4_t) -> int64x2_t {
    vmlal_s32(sums, vget_low_s32(a), vget_low_s32(b))
}

/// Computes `a b - quotient q`. The upper part of the product minus the quotient's multiple of q is
/// exact, and so is subtracting the negative lower part from it, because both are small integers.
#[inline]
#[target_feature(enable = "neon")]
fn remainder(a: float64x2_t, b: float64x2_t, quotient: float64x2_t, q: float64x2_t) -> float64x2_t {
    let upper = vmulq_f64(a, b);
    let negative = vfmsq_f64(upper, a, b);
    vsubq_f64(vfmsq_f64(upper, quotient, q), negative)
}

/// Adds q to the negative ones of numbers between `-q` and `q`.
#[inline]
#[target_feature(enable = "neon")]
fn positive(x: float64x2_t, q: float64x2_t) -> float64x2_t {
    let q = vandq_u64(vcltzq_f64(x), vreinterpretq_u64_f64(q));
    vaddq_f64(x, vreinterpretq_f64_u64(q))
}

/// Transposes 4 by 4 lanes in two rows at a time, of which there are four pairs.
#[inline]
#[target_feature(enable = "neon")]
fn transpose([a, b, c, d]: [Four; 4]) -> [Four; 4] {
    [
        [vzip1q_f64(a[0], b[0]), vzip1q_f64(c[0], d[0])],
        [vzip2q_f64(a[0], b[0]), vzip2q_f64(c[0], d[0])],
        [vzip1q_f64(a[1], b[1]), vzip1q_f64(c[1], d[1])],
        [vzip2q_f64(a[1], b[1]), vzip2q_f64(c[1], d[1])],
    ]
}

/// Transposes 8 by 8 words by four transpositions of 4 by 4, of which the outer two are swapped.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_words([a, b, c, d, e, f, g, h]: [Pair; 8]) -> [Pair; 8] {
    let [i, j, k, l] = transpose_quarter([a[0], b[0], c[0], d[0]]);
    let [m, n, o, p] = transpose_quarter([e[0], f[0], g[0], h[0]]);
    let [q, r, s, t] = transpose_quarter([a[1], b[1], c[1], d[1]]);
    let [u, v, w, x] = transpose_quarter([e[1], f[1], g[1], h[1]]);
    [[i, m], [j, n], [k, o], [l, p], [q, u], [r, v], [s, w], [t, x]]
}

/// Transposes 4 by 4 words: pairs of lanes, then pairs of pairs.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_quarter([a, b, c, d]: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
    let [a, b] = [vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)];
    let [c, d] = [vreinterpretq_u32_u8(c), vreinterpretq_u32_u8(d)];
    let ab = [vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(a, b))];
    let cd = [vreinterpretq_u64_u32(vtrn1q_u32(c, d)), vreinterpretq_u64_u32(vtrn2q_u32(c, d))];
    let (low, high) = (each!(vtrn1q_u64(ab, cd)), each!(vtrn2q_u64(ab, cd)));
    let (low, high) = (each!(vreinterpretq_u8_u64(low)), each!(vreinterpretq_u8_u64(high)));
    [low[0], low[1], high[0], high[1]]
}
