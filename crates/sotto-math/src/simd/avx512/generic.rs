//! What is [generic](crate::simd::generic) in registers, compiled for AVX-512.

use super::registers::Zmm;
use crate::fold::{LANES, Sources};
use crate::gather::{Picks, Rows};
use crate::simd::avx2::registers::{Xmm, Ymm};
use crate::simd::generic;

#[target_feature(enable = "avx512f")]
pub(super) fn read(bytes: &[u8]) -> u64 {
    generic::read::read(Zmm::new(), bytes)
}

#[target_feature(enable = "avx512f")]
pub(super) fn dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    generic::dot::dot(Zmm::new(), h, n, s, y);
}

#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn gather(rows: Rows<'_>, picks: Picks<'_>, parities: [&mut [u8]; 2]) {
    generic::gather::gather(Zmm::new(), Ymm::new(), Xmm(()), rows, picks, parities);
}

#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn add_rows(from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    generic::fold::add_rows(Zmm::new(), Ymm::new(), Xmm(()), from, places, parities);
}
