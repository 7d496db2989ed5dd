//! Registers of 32 and of 16 bytes, for what is [generic](crate::simd::generic) in them.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::{Multiplier, Number, Register, multiplier, register};
use core::arch::x86_64::*;

/// Proof that this processor has AVX2, and of what else it has: 32 bytes.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Ymm<P = ()>(P);

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
    Ymm: _mm256_set1_epi32, _mm256_mul_epi32, _mm256_srli_epi64, _mm256_add_epi64,
    |x| {
        let halves = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
        _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)))
    }
}

/// 16 bytes, which every x86-64 processor has, in SSE2; and proof of what else it has.
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
