//! Loads and stores of whole registers through arrays, whose length the compiler checks.

use super::registers::Zmm;
use crate::simd::generic::{Number, Register};
use core::arch::x86_64::*;

/// Sixteen 32-bit or eight 64-bit lanes from 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load<T: Number, const N: usize>(from: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == 64) }
    Zmm::new().load(from)
}

/// 64 bytes from a register.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store<T: Number, const N: usize>(to: &mut [T; N], value: __m512i) {
    const { assert!(size_of::<[T; N]>() == 64) }
    Zmm::new().store(to, value);
}

/// Eight signed bytes as 64-bit lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn widen(from: &[i8; 8]) -> __m512i {
    // SAFETY: the array is the 8 bytes that this load reads, and it needs no alignment.
    _mm512_cvtepi8_epi64(unsafe { _mm_loadl_epi64(from.as_ptr().cast()) })
}
