//! Registers of 16 bytes, and pairs of them, for the [generic](crate::simd::generic) kernels.

use crate::simd::generic::doubles::Doubles;
use crate::simd::generic::ntt::Words;
use crate::simd::generic::{Multiplier, Number, Register, each, multiplier, proven, register};
use core::arch::wasm32::*;

/// Registers of 16 bytes in a build with vectors; `P` is further knowledge.
#[derive(Clone, Copy)]
pub(super) struct Register16<P = ()>(P);

/// Pairs of registers that act as one of 32 bytes; `P` is further knowledge.
#[derive(Clone, Copy)]
pub(super) struct Register32<P = ()>(P);

impl Register16 {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Register16(())
    }
}

impl Register32 {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Register32(())
    }
}

register! {
    Register16 of 16 bytes in v128, 8 sums:
    zero, v128_load, v128_store, v128_xor,
    |bit, sum, x| v128_xor(sum, v128_and(x, u8x16_splat(0u8.wrapping_sub(bit))))
}

type Pair = [v128; 2];

register! {
    Register32 of 32 bytes in Pair, 4 sums:
    zeros, load, store, xor,
    |bit, sum, x| {
        let mask = u8x16_splat(0u8.wrapping_sub(bit));
        [v128_xor(sum[0], v128_and(x[0], mask)), v128_xor(sum[1], v128_and(x[1], mask))]
    }
}

multiplier! {
    Register32: |x| [i32x4_splat(x); 2],
    |[low, high], a, b| {
        let (lows, highs) = (each!(i64x2_extmul_low_i32x4(a, b)), each!(i64x2_extmul_high_i32x4(a, b)));
        [each!(i64x2_add(low, lows)), each!(i64x2_add(high, highs))]
    },
    |[low, high]| {
        let sums = i64x2_add(i64x2_add(low[0], low[1]), i64x2_add(high[0], high[1]));
        i64x2_extract_lane::<0>(sums).wrapping_add(i64x2_extract_lane::<1>(sums))
    }
}

/// Constants that split numbers in two halves: doubles from the first on up to twice as many are
/// multiples of 2^26, and from the second on, of 2^25.
const HALVES: [f64; 2] = [(3u128 << 77) as f64, (3u128 << 76) as f64];

impl<P: Copy> Doubles for Register32<P> {
    type Doubles = Pair;

    proven! {
        fn doubles(bits: Pair) -> Pair { bits }
        fn bits(x: Pair) -> Pair { x }
        fn every(x: f64) -> Pair { [f64x2_splat(x); 2] }
        fn plus(a: Pair, b: Pair) -> Pair { each!(f64x2_add(a, b)) }
        fn minus(a: Pair, b: Pair) -> Pair { each!(f64x2_sub(a, b)) }
        fn product(a: Pair, b: Pair) -> Pair { each!(f64x2_mul(a, b)) }
        fn minus_product(sum: Pair, a: Pair, b: Pair) -> Pair {{
            let products = each!(f64x2_mul(a, b));
            each!(f64x2_sub(sum, products))
        }}
        fn remainder(a: Pair, b: Pair, quotient: Pair, q: Pair) -> Pair { each!(remainder(a, b, quotient, q)) }
        fn nearest(x: Pair) -> Pair { each!(f64x2_nearest(x)) }
        fn of_integers(x: Pair) -> Pair {{
            let x = [v128_or(x[0], two_52()), v128_or(x[1], two_52())];
            [f64x2_sub(x[0], two_52()), f64x2_sub(x[1], two_52())]
        }}
        fn to_integers(x: Pair, q: Pair) -> Pair {{
            let x = each!(positive(x, q));
            [v128_xor(f64x2_add(x[0], two_52()), two_52()), v128_xor(f64x2_add(x[1], two_52()), two_52())]
        }}
        fn transpose(rows: [Pair; 4]) -> [Pair; 4] { transpose(rows) }
        fn splat_64(x: u64) -> Pair { [u64x2_splat(x); 2] }
        fn add_64(a: Pair, b: Pair) -> Pair { each!(i64x2_add(a, b)) }
        fn and(a: Pair, b: Pair) -> Pair { each!(v128_and(a, b)) }
        fn greater(a: Pair, b: Pair) -> Pair { each!(i64x2_gt(a, b)) }
    }
}

impl<P: Copy> Words for Register32<P> {
    proven! {
        fn splat_word(x: u32) -> Pair { [u32x4_splat(x); 2] }
        fn add_words(a: Pair, b: Pair) -> Pair { each!(i32x4_add(a, b)) }
        fn sub_words(a: Pair, b: Pair) -> Pair { each!(i32x4_sub(a, b)) }
        fn min_words(a: Pair, b: Pair) -> Pair { each!(u32x4_min(a, b)) }
        fn mul_words(a: Pair, b: Pair) -> Pair { each!(i32x4_mul(a, b)) }
        fn quotients(x: Pair, ready: Pair) -> Pair {{
            let (low, high) = (each!(u64x2_extmul_low_u32x4(x, ready)), each!(u64x2_extmul_high_u32x4(x, ready)));
            each!(uppers(low, high))
        }}
        fn pack(x: [Pair; 2]) -> Pair {
            [i32x4_shuffle::<0, 2, 4, 6>(x[0][0], x[0][1]), i32x4_shuffle::<0, 2, 4, 6>(x[1][0], x[1][1])]
        }
        fn unpack(x: Pair) -> [Pair; 2] {
            [
                [u64x2_extend_low_u32x4(x[0]), u64x2_extend_high_u32x4(x[0])],
                [u64x2_extend_low_u32x4(x[1]), u64x2_extend_high_u32x4(x[1])],
            ]
        }
        fn transpose_words(rows: [Pair; 8]) -> [Pair; 8] { transpose_words(rows) }
    }

    #[inline(always)]
    fn ready(self, quotient: Pair) -> Pair {
        quotient
    }
}

#[inline(always)]
fn zero() -> v128 {
    u64x2_splat(0)
}

#[inline(always)]
fn zeros() -> Pair {
    [zero(); 2]
}

/// # Safety
/// There are 32 bytes to read.
#[inline(always)]
unsafe fn load(from: *const v128) -> Pair {
    // SAFETY: the caller says so, and they need no alignment.
    unsafe { [v128_load(from), v128_load(from.add(1))] }
}

/// # Safety
/// There are 32 bytes to write.
#[inline(always)]
unsafe fn store(to: *mut v128, [low, high]: Pair) {
    // SAFETY: the caller says so, and they need no alignment.
    unsafe {
        v128_store(to, low);
        v128_store(to.add(1), high);
    }
}

#[inline(always)]
fn xor(a: Pair, b: Pair) -> Pair {
    each!(v128_xor(a, b))
}

/// Packs the upper words of all lanes.
#[inline(always)]
fn uppers(low: v128, high: v128) -> v128 {
    i32x4_shuffle::<1, 3, 5, 7>(low, high)
}

#[inline(always)]
fn two_52() -> v128 {
    f64x2_splat((1u64 << 52) as f64)
}

/// Adds q to the negative ones of numbers between `-q` and `q`.
#[inline(always)]
fn positive(x: v128, q: v128) -> v128 {
    f64x2_add(x, v128_and(f64x2_lt(x, zero()), q))
}

/// Computes `a b - quotient q` for a remainder below 2^51: without fused multiply-adds, by the
/// halves of all four, whose products are exact (Dekker 1971, except that numbers are split where
/// it suits the sums, not in the middle of their bits).
///
/// `a` is at most 2^53 and the quotient 2^52, which are split at 2^26; `b` and `q` are at most
/// 2^50, which are split at 2^25. Products of halves have at most 52 bits. Of the upper ones only
/// the difference is needed, a multiple of 2^51 that is what the others leave of the remainder, so
/// at most 2^78. The middle ones are multiples of 2^25 and sum up to less than 2^78. With both
/// together no more is left than the remainder and the lower ones, at most 2^50: so every sum is
/// exact.
#[inline(always)]
fn remainder(a: v128, b: v128, quotient: v128, q: v128) -> v128 {
    let ([a, a_low], [quotient, quotient_low]) = (split(a, HALVES[0]), split(quotient, HALVES[0]));
    let ([b, b_low], [q, q_low]) = (split(b, HALVES[1]), split(q, HALVES[1]));
    let upper = f64x2_sub(f64x2_mul(a, b), f64x2_mul(quotient, q));
    let middle = f64x2_add(
        f64x2_sub(f64x2_mul(a, b_low), f64x2_mul(quotient, q_low)),
        f64x2_sub(f64x2_mul(a_low, b), f64x2_mul(quotient_low, q)),
    );
    let lower = f64x2_sub(f64x2_mul(a_low, b_low), f64x2_mul(quotient_low, q_low));
    f64x2_add(f64x2_add(upper, middle), lower)
}

/// Splits `x` into the nearest multiple of the value of `at`'s last bit, and the rest.
#[inline(always)]
fn split(x: v128, at: f64) -> [v128; 2] {
    let at = f64x2_splat(at);
    let upper = f64x2_sub(f64x2_add(x, at), at);
    [upper, f64x2_sub(x, upper)]
}

/// Transposes 4 by 4 lanes in two rows at a time, of which there are four pairs.
#[inline(always)]
fn transpose([a, b, c, d]: [Pair; 4]) -> [Pair; 4] {
    [
        [firsts(a[0], b[0]), firsts(c[0], d[0])],
        [seconds(a[0], b[0]), seconds(c[0], d[0])],
        [firsts(a[1], b[1]), firsts(c[1], d[1])],
        [seconds(a[1], b[1]), seconds(c[1], d[1])],
    ]
}

/// Transposes 8 by 8 words by four transpositions of 4 by 4, of which the outer two are swapped.
#[inline(always)]
fn transpose_words([a, b, c, d, e, f, g, h]: [Pair; 8]) -> [Pair; 8] {
    let [i, j, k, l] = transpose_quarter([a[0], b[0], c[0], d[0]]);
    let [m, n, o, p] = transpose_quarter([e[0], f[0], g[0], h[0]]);
    let [q, r, s, t] = transpose_quarter([a[1], b[1], c[1], d[1]]);
    let [u, v, w, x] = transpose_quarter([e[1], f[1], g[1], h[1]]);
    [[i, m], [j, n], [k, o], [l, p], [q, u], [r, v], [s, w], [t, x]]
}

/// Transposes 4 by 4 words: pairs of words, then pairs of pairs.
#[inline(always)]
fn transpose_quarter([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let (ab, cd) = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<0, 4, 1, 5>(c, d));
    let (ab_high, cd_high) = (i32x4_shuffle::<2, 6, 3, 7>(a, b), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [firsts(ab, cd), seconds(ab, cd), firsts(ab_high, cd_high), seconds(ab_high, cd_high)]
}

#[inline(always)]
fn firsts(a: v128, b: v128) -> v128 {
    i64x2_shuffle::<0, 2>(a, b)
}

#[inline(always)]
fn seconds(a: v128, b: v128) -> v128 {
    i64x2_shuffle::<1, 3>(a, b)
}
