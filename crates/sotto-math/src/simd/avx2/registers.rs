//! Registers of 32 and of 16 bytes, for the [generic](crate::simd::generic) kernels.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::doubles::{Doubles, FusedMultiplyAdd};
use crate::simd::generic::ntt::Words;
use crate::simd::generic::tiles::Products;
use crate::simd::generic::{Multiplier, Number, Register, multiplier, proven, register};
use core::arch::x86_64::*;

/// Registers of 32 bytes: proof that this processor has AVX2, and whatever `P` proves.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Ymm<P = ()>(pub(super) P);

impl Ymm {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::simd) fn new() -> Self {
        Ymm(())
    }
}

register! {
    Ymm of 32 bytes in __m256i, 4 sums:
    _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
    |bit, sum, x| _mm256_xor_si256(sum, _mm256_and_si256(x, _mm256_set1_epi8(0i8.wrapping_sub(bit as i8))))
}

multiplier! {
    Ymm: _mm256_set1_epi32,
    |[even, odd], a, b| {
        let odds = _mm256_mul_epi32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        [_mm256_add_epi64(even, _mm256_mul_epi32(a, b)), _mm256_add_epi64(odd, odds)]
    },
    |[even, odd]| {
        let x = _mm256_add_epi64(even, odd);
        let halves = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
        _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)))
    }
}

/// Proof that this processor has fused multiply-adds.
#[derive(Clone, Copy)]
pub(super) struct Fma(());

impl Ymm<Fma> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn with_fma() -> Self {
        Ymm(Fma(()))
    }
}

impl Doubles for Ymm<Fma> {
    type Doubles = __m256d;

    proven! {
        fn doubles(bits: __m256i) -> __m256d { _mm256_castsi256_pd(bits) }
        fn bits(x: __m256d) -> __m256i { _mm256_castpd_si256(x) }
        fn every(x: f64) -> __m256d { _mm256_set1_pd(x) }
        fn plus(a: __m256d, b: __m256d) -> __m256d { _mm256_add_pd(a, b) }
        fn minus(a: __m256d, b: __m256d) -> __m256d { _mm256_sub_pd(a, b) }
        fn product(a: __m256d, b: __m256d) -> __m256d { _mm256_mul_pd(a, b) }
        fn minus_product(sum: __m256d, a: __m256d, b: __m256d) -> __m256d { _mm256_fnmadd_pd(a, b, sum) }
        fn remainder(a: __m256d, b: __m256d, quotient: __m256d, q: __m256d) -> __m256d {{
            // The upper part of the product minus the quotient's multiple of q is exact, and so is
            // adding the lower part to it, because both are small integers.
            let upper = _mm256_mul_pd(a, b);
            let lower = _mm256_fmsub_pd(a, b, upper);
            _mm256_add_pd(_mm256_fnmadd_pd(quotient, q, upper), lower)
        }}
        fn nearest(x: __m256d) -> __m256d {
            _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
        }
        fn of_integers(x: __m256i) -> __m256d {
            _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, _mm256_castpd_si256(two_52()))), two_52())
        }
        fn to_integers(x: __m256d, q: __m256d) -> __m256i {{
            let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd());
            let x = _mm256_add_pd(x, _mm256_and_pd(negative, q));
            _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(x, two_52()), two_52()))
        }}
        fn transpose(rows: [__m256d; 4]) -> [__m256d; 4] { transpose(rows) }
        fn splat_64(x: u64) -> __m256i { _mm256_set1_epi64x(x as i64) }
        fn add_64(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi64(a, b) }
        fn and(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        fn greater(a: __m256i, b: __m256i) -> __m256i { _mm256_cmpgt_epi64(a, b) }
    }
}

impl FusedMultiplyAdd for Ymm<Fma> {
    proven! {
        fn plus_product(sum: __m256d, a: __m256d, b: __m256d) -> __m256d { _mm256_fmadd_pd(a, b, sum) }
        fn down<const BITS: i32>(x: __m256i) -> __m256i { _mm256_srli_epi64::<BITS>(x) }
    }
}

impl<P: Copy> Words for Ymm<P> {
    proven! {
        fn splat_word(x: u32) -> __m256i { _mm256_set1_epi32(x as i32) }
        fn add_words(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        fn sub_words(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
        fn min_words(a: __m256i, b: __m256i) -> __m256i { _mm256_min_epu32(a, b) }
        fn mul_words(a: __m256i, b: __m256i) -> __m256i { _mm256_mullo_epi32(a, b) }
        fn quotients(x: __m256i, ready: __m256i) -> __m256i {{
            // Even and odd lanes are computed separately.
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, ready));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(ready));
            _mm256_blend_epi32::<0b1010_1010>(even, odd)
        }}
        fn pack(x: [__m256i; 2]) -> __m256i {{
            // The lower words of both, in the order of 128-bit halves, then of registers.
            let (a, b) = (_mm256_castsi256_ps(x[0]), _mm256_castsi256_ps(x[1]));
            let halves = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves))
        }}
        fn unpack(x: __m256i) -> [__m256i; 2] {{
            let upper = _mm256_extracti128_si256::<1>(x);
            [_mm256_cvtepu32_epi64(_mm256_castsi256_si128(x)), _mm256_cvtepu32_epi64(upper)]
        }}
        fn transpose_words(rows: [__m256i; 8]) -> [__m256i; 8] { transpose_words(rows) }
    }

    #[inline(always)]
    fn ready(self, quotient: __m256i) -> __m256i {
        quotient
    }
}

impl<P: Copy> Products for Ymm<P> {
    proven! {
        fn add_products(sums: [__m256i; 2], a: __m256i, b: __m256i) -> [__m256i; 2] {{
            // The multiplication ignores the upper halves of lanes.
            let upper = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            [_mm256_add_epi64(sums[0], _mm256_mul_epu32(a, b)), _mm256_add_epi64(sums[1], upper)]
        }}
    }

    #[inline(always)]
    fn sums(self, sums: [__m256i; 2]) -> [[u64; 2]; 4] {
        let [mut low, mut high] = [[0u64; 4]; 2];
        self.store(&mut low, sums[0]);
        self.store(&mut high, sums[1]);
        [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
    }
}

/// 2^52 as a double: its last bit counts 1, so adding an integer below 2^52 puts that integer into
/// its low bits.
#[inline]
#[target_feature(enable = "avx2")]
fn two_52() -> __m256d {
    _mm256_set1_pd((1u64 << 52) as f64)
}

/// Transposes 4 by 4 lanes: pairs of lanes, then halves.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    [
        _mm256_permute2f128_pd::<LOW>(ab_low, cd_low),
        _mm256_permute2f128_pd::<LOW>(ab_high, cd_high),
        _mm256_permute2f128_pd::<HIGH>(ab_low, cd_low),
        _mm256_permute2f128_pd::<HIGH>(ab_high, cd_high),
    ]
}

/// Transposes 8 by 8 words: pairs of lanes, then pairs of pairs, then halves.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_words([a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
    let [x0, x1, x2, x3] = transpose_quarters([a, b, c, d]);
    let [y0, y1, y2, y3] = transpose_quarters([e, f, g, h]);
    [
        _mm256_permute2x128_si256::<LOW>(x0, y0),
        _mm256_permute2x128_si256::<LOW>(x1, y1),
        _mm256_permute2x128_si256::<LOW>(x2, y2),
        _mm256_permute2x128_si256::<LOW>(x3, y3),
        _mm256_permute2x128_si256::<HIGH>(x0, y0),
        _mm256_permute2x128_si256::<HIGH>(x1, y1),
        _mm256_permute2x128_si256::<HIGH>(x2, y2),
        _mm256_permute2x128_si256::<HIGH>(x3, y3),
    ]
}

/// Selects the lower halves of two registers; the constant below selects the upper ones.
const LOW: i32 = 0x20;
const HIGH: i32 = 0x31;

/// Transposes 4 by 4 words in each half.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_quarters([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_low, cd_low),
        _mm256_unpackhi_epi64(ab_low, cd_low),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Registers of 16 bytes, which every x86-64 processor has, in SSE2; and proof of whatever `P`
/// proves.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Xmm<P = ()>(pub(in crate::simd) P);

register! {
    Xmm of 16 bytes in __m128i, 4 sums:
    _mm_setzero_si128, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128,
    |bit, sum, x| _mm_xor_si128(sum, _mm_and_si128(x, _mm_set1_epi8(0i8.wrapping_sub(bit as i8))))
}

/// Proof that this processor has AES.
#[derive(Clone, Copy)]
pub(super) struct Aes(());

impl Xmm<Aes> {
    #[inline]
    #[target_feature(enable = "aes")]
    pub(super) fn with_aes() -> Self {
        Xmm(Aes(()))
    }
}

impl Blocks for Xmm<Aes> {
    #[inline(always)]
    fn splat(self, x: i32) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_set1_epi32(x) }
    }

    #[inline(always)]
    fn firsts(self, x: u8) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_cvtsi32_si128(i32::from(x)) }
    }

    #[inline(always)]
    fn round(self, x: __m128i, key: __m128i) -> __m128i {
        // SAFETY: self proves AES.
        unsafe { _mm_aesenc_si128(x, key) }
    }

    #[inline(always)]
    fn last_round(self, x: __m128i, key: __m128i) -> __m128i {
        // SAFETY: self proves AES.
        unsafe { _mm_aesenclast_si128(x, key) }
    }

    #[inline(always)]
    fn turned(self, x: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let word = _mm_shuffle_epi32::<0xFF>(x);
            _mm_or_si128(_mm_srli_epi32::<8>(word), _mm_slli_epi32::<24>(word))
        }
    }

    #[inline(always)]
    fn sums(self, x: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let sums = _mm_xor_si128(x, _mm_slli_si128::<4>(x));
            _mm_xor_si128(sums, _mm_slli_si128::<8>(sums))
        }
    }
}

/// Loads eight 32-bit or four 64-bit lanes from 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load<T: Number, const N: usize>(from: &[T; N]) -> __m256i {
    const { assert!(size_of::<[T; N]>() == 32) }
    Ymm::new().load(from)
}

/// Stores the 32 bytes of a register.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store<T: Number, const N: usize>(to: &mut [T; N], value: __m256i) {
    const { assert!(size_of::<[T; N]>() == 32) }
    Ymm::new().store(to, value);
}

/// Loads sixteen signed bytes as 16-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn widen(from: &[u8; 16]) -> __m256i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(from.as_ptr().cast()) })
}
