//! Loads and stores of whole registers through arrays, whose length the compiler checks.

use crate::simd::generic::Number;
use core::arch::x86_64::*;

/// Eight 32-bit or four 64-bit lanes from 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load<T: Number, const N: usize>(from: &[T; N]) -> __m256i {
    const { assert!(size_of::<[T; N]>() == 32) }
    // SAFETY: the array is 32 bytes, and this load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// 32 bytes from a register.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store<T: Number, const N: usize>(to: &mut [T; N], value: __m256i) {
    const { assert!(size_of::<[T; N]>() == 32) }
    // SAFETY: the array is 32 bytes of integers, for which every pattern is valid, and this
    // store needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}

/// Sixteen signed bytes as 16-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn widen(from: &[u8; 16]) -> __m256i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(from.as_ptr().cast()) })
}
