//! Loads and stores of whole registers through arrays, whose length the compiler checks.

use super::registers::Zmm;
use crate::simd::generic::{Number, Register};
use core::arch::asm;
use core::arch::x86_64::*;

/// Loads sixteen 32-bit or eight 64-bit lanes from 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load<T: Number, const N: usize>(from: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == 64) }
    Zmm::new().load(from)
}

/// Stores the 64 bytes of a register.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store<T: Number, const N: usize>(to: &mut [T; N], value: __m512i) {
    const { assert!(size_of::<[T; N]>() == 64) }
    Zmm::new().store(to, value);
}

/// Loads eight signed bytes as 64-bit lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn widen(from: &[i8; 8]) -> __m512i {
    // SAFETY: the array is the 8 bytes that this load reads, and it needs no alignment.
    _mm512_cvtepi8_epi64(unsafe { _mm_loadl_epi64(from.as_ptr().cast()) })
}

/// Adds the products of four bytes with those of each lane of the tile to `sum`.
///
/// Written in assembly, since the compiler would load the bytes once for four tiles and keep them:
/// where all registers are used by sums, it then moves these to memory and back.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn add_products(sum: __m512i, bytes: &u32, tile: __m512i) -> __m512i {
    let mut sum = sum;
    // SAFETY: two instructions on registers, the first of which reads the four bytes of the reference.
    unsafe {
        asm!(
            "vpbroadcastd {x}, dword ptr [{bytes}]",
            "vpdpbusd {sum}, {x}, {tile}",
            x = out(zmm_reg) _,
            bytes = in(reg) bytes,
            sum = inout(zmm_reg) sum,
            tile = in(zmm_reg) tile,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    sum
}
