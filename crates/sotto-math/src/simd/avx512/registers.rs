//! Registers of 64 bytes, for the [generic](crate::simd::generic) kernels.

use crate::simd::generic::aes::Blocks;
use crate::simd::generic::{Multiplier, Number, Register, multiplier, register};
use core::arch::asm;
use core::arch::x86_64::*;

/// Registers of 64 bytes: proof that this processor has AVX-512 F, and whatever `P` proves.
#[derive(Clone, Copy)]
pub(super) struct Zmm<P = ()>(P);

impl Zmm {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Self {
        Zmm(())
    }
}

register! {
    Zmm of 64 bytes in __m512i, 8 sums:
    _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512,
    |bit, sum, x| _mm512_mask_xor_epi64(sum, 0u8.wrapping_sub(bit), sum, x)
}

multiplier! {
    Zmm: _mm512_set1_epi32,
    |[even, odd], a, b| {
        let odds = _mm512_mul_epi32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
        [_mm512_add_epi64(even, _mm512_mul_epi32(a, b)), _mm512_add_epi64(odd, odds)]
    },
    |[even, odd]| _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd))
}

/// Proof that this processor has VAES.
#[derive(Clone, Copy)]
pub(super) struct Aes(());

impl Zmm<Aes> {
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    pub(super) fn with_aes() -> Self {
        Zmm(Aes(()))
    }
}

impl Blocks for Zmm<Aes> {
    #[inline(always)]
    fn splat(self, x: i32) -> __m512i {
        // SAFETY: self proves AVX-512 F.
        unsafe { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    fn firsts(self, x: u8) -> __m512i {
        let x = i64::from(x);
        // SAFETY: self proves AVX-512 F.
        unsafe { _mm512_setr_epi64(x, 0, x, 0, x, 0, x, 0) }
    }

    #[inline(always)]
    fn round(self, x: __m512i, key: __m512i) -> __m512i {
        // SAFETY: self proves VAES.
        unsafe { _mm512_aesenc_epi128(x, key) }
    }

    #[inline(always)]
    fn last_round(self, x: __m512i, key: __m512i) -> __m512i {
        // SAFETY: self proves VAES.
        unsafe { _mm512_aesenclast_epi128(x, key) }
    }

    #[inline(always)]
    fn turned(self, x: __m512i) -> __m512i {
        // SAFETY: self proves AVX-512 F.
        unsafe { _mm512_ror_epi32::<8>(_mm512_shuffle_epi32::<0xFF>(x)) }
    }

    #[inline(always)]
    fn sums(self, x: __m512i) -> __m512i {
        // SAFETY: self proves AVX-512 F.
        unsafe {
            let sums = _mm512_xor_si512(x, _mm512_maskz_shuffle_epi32::<0x90>(0xEEEE, x));
            _mm512_xor_si512(sums, _mm512_maskz_shuffle_epi32::<0x40>(0xCCCC, sums))
        }
    }
}

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
