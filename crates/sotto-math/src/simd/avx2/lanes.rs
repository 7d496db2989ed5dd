//! Loads and stores of whole registers through arrays, whose length the compiler checks.

use super::registers::Ymm;
use crate::simd::generic::{Number, Register};
use core::arch::x86_64::*;

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
