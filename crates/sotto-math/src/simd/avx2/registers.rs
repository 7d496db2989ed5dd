//! Registers of 32 and of 16 bytes, for what is [generic](crate::simd::generic) in them.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::{Multiplier, Number, Register};
use core::arch::x86_64::*;

/// Proof that this processor has AVX2: 32 bytes.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Ymm(());

impl Ymm {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::simd) fn new() -> Self {
        Ymm(())
    }
}

impl Register for Ymm {
    type Value = __m256i;
    const BYTES: usize = 32;
    const MOST: usize = 4;

    #[inline(always)]
    fn zero(self) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn load<T: Number>(self, from: &[T]) -> __m256i {
        assert!(size_of_val(from) == 32, "a register's worth");
        // SAFETY: self proves AVX2; these are the 32 bytes that this load reads, and it needs no alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<T: Number>(self, to: &mut [T], value: __m256i) {
        assert!(size_of_val(to) == 32, "a register's worth");
        // SAFETY: self proves AVX2; these are the 32 bytes of numbers that this store writes, for which every pattern is
        // valid, and it needs no alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    fn xor_if(self, bit: u8, sum: __m256i, x: __m256i) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_xor_si256(sum, _mm256_and_si256(x, _mm256_set1_epi8(0i8.wrapping_sub(bit as i8)))) }
    }
}

impl Multiplier for Ymm {
    #[inline(always)]
    fn splat(self, x: i32) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_set1_epi32(x) }
    }

    #[inline(always)]
    fn times_even(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_mul_epi32(a, b) }
    }

    #[inline(always)]
    fn odd(self, x: __m256i) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_srli_epi64::<32>(x) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: self proves AVX2.
        unsafe { _mm256_add_epi64(a, b) }
    }

    #[inline(always)]
    fn sum_lanes(self, x: __m256i) -> i64 {
        let mut lanes = [0i64; 4];
        self.store(&mut lanes, x);
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }
}

/// 16 bytes, which every processor has that this is compiled for; and proof of what else it has.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Xmm<P = ()>(pub(in crate::simd) P);

impl<P: Copy> Register for Xmm<P> {
    type Value = __m128i;
    const BYTES: usize = 16;
    const MOST: usize = 4;

    #[inline(always)]
    fn zero(self) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    fn load<T: Number>(self, from: &[T]) -> __m128i {
        assert!(size_of_val(from) == 16, "a register's worth");
        // SAFETY: these are the 16 bytes that this load reads, and it needs no alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<T: Number>(self, to: &mut [T], value: __m128i) {
        assert!(size_of_val(to) == 16, "a register's worth");
        // SAFETY: these are the 16 bytes of numbers that this store writes, for which every pattern is valid, and it needs
        // no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_xor_si128(a, b) }
    }

    #[inline(always)]
    fn xor_if(self, bit: u8, sum: __m128i, x: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_xor_si128(sum, _mm_and_si128(x, _mm_set1_epi8(0i8.wrapping_sub(bit as i8)))) }
    }
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
