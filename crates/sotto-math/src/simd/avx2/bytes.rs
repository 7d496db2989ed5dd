//! Byte products of AVX-VNNI (`vpdpbusd`). Laptops often have it without AVX-512.

use super::registers::Ymm;
use crate::simd::args::Planes;
use crate::simd::generic::bytes::Bytes;
use crate::simd::generic::{self, proven};
use core::arch::x86_64::*;

/// Proof that this processor has AVX-VNNI.
#[derive(Clone, Copy)]
struct Vnni(());

#[target_feature(enable = "avx2,avxvnni")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    generic::bytes::scan(Ymm(Vnni(())), groups, queries, sums);
}

/// The instruction multiplies signed bytes by unsigned ones, so no bits are flipped and no
/// correction is counted.
impl Bytes for Ymm<Vnni> {
    type Query = [__m256i; 4];
    type Sums = __m256i;
    type Along = ();

    proven! {
        fn query<const K: usize>(words: &[u32; K]) -> [__m256i; 4] {{
            let mut query = [_mm256_setzero_si256(); 4];
            for (query, word) in query.iter_mut().zip(words) {
                *query = _mm256_set1_epi32(*word as i32);
            }
            query
        }}
        fn no_sums() -> (__m256i, ()) { (_mm256_setzero_si256(), ()) }
        fn add_bytes(sums: __m256i, rows: __m256i, query: [__m256i; 4], k: usize) -> __m256i {
            _mm256_dpbusd_avx_epi32(sums, query[k], rows)
        }
        fn add_sums(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
    }

    #[inline(always)]
    fn rows(self, x: __m256i) -> __m256i {
        x
    }

    #[inline(always)]
    fn count(self, (): (), _: [__m256i; 4]) {}

    #[inline(always)]
    fn total(self, sums: __m256i, (): (), _: usize) -> __m256i {
        sums
    }
}
