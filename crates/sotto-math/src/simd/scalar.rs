//! Plain Rust: the definition of every kernel, and the fallback everywhere.

mod aes;
mod affine;
mod cyclic;
mod digits;
mod dot;
mod find;
mod fold;
mod gather;
mod gauss;
mod ntt;
mod rank;
mod read;
mod scan;
mod select;
pub(super) mod sha256;
mod slots;
mod tiles;

use super::Kernels;
use super::shapes::{ScanShape, SelectShape, TilesShape};
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::{LANES, PartitionRows, Planes, RowPicks, RowSources, SelectionMatrices};

// The part that vector backends leave to scalar code: the rest that does not fill a register, and
// what their instructions do not make faster.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use aes::Pairs;
pub(super) use aes::ScalarAes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use affine::affine;
pub(super) use cyclic::cyclic;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use digits::decompose_64;
pub(super) use digits::{carried, centered, decompose, decompose_pair, lower};
#[cfg(target_arch = "x86_64")]
pub(super) use digits::{decompose_from, decompose_pair_from};
pub(super) use find::either16;
pub(super) use fold::places;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use gauss::gauss;
pub(super) use ntt::mul_acc_wide;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use ntt::{forward, inverse, mul_acc, spread};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use rank::tally;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use read::read;
#[cfg(target_feature = "simd128")]
pub(super) use scan::scan;
pub(super) use select::matrices;
#[cfg(any(target_arch = "x86_64", target_feature = "simd128"))]
pub(super) use select::select;
pub(super) use sha256::nodes;
pub(super) use slots::{add, mul, paired_products, permute, split, sub, sum_of_products};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use tiles::tiles;

pub(crate) struct Scalar;

impl Scalar {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        Some(&Scalar)
    }
}

impl Kernels for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn scan(&self, _: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
        scan::scan(groups, queries, sums);
    }

    fn ntt_forward(&self, t: &Tables, x: &mut [u64]) {
        ntt::forward(t, x);
    }

    fn ntt_inverse(&self, t: &Tables, x: &mut [u64]) {
        ntt::inverse(t, x);
    }

    fn ntt_forward_i8(&self, t: &Tables, bytes: &[i8], out: &mut [u64]) {
        ntt::forward_i8(t, bytes, out);
    }

    fn mul_acc(&self, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
        ntt::mul_acc(t, acc, a, b);
    }

    fn dot(&self, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
        dot::dot(h, n, s, y);
    }

    fn tiles(&self, _: &TilesShape, form: &WordFormat, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]) {
        tiles::tiles(form, block, sums);
    }

    fn select(
        &self,
        _: &SelectShape,
        blocks: &[[u8; 64]],
        queries: usize,
        selections: &[SelectionMatrices],
        sums: &mut [[u8; 64]],
    ) {
        select::select(blocks, queries, selections, sums);
    }

    fn affine(&self, factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
        affine::affine(factors, terms, x, out);
    }

    fn read(&self, bytes: &[u8]) -> u64 {
        read::read(bytes)
    }

    fn gauss(&self, thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
        gauss::gauss(thresholds, uniform, out);
    }

    fn gather(&self, rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]) {
        gather::gather(rows, picks, parities);
    }

    fn tally(&self, values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
        rank::tally(values, x, equal)
    }

    fn compare(&self, values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
        rank::compare(values, bounds, less, equal);
    }

    fn add_rows(&self, from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
        fold::add_rows(from, places, parities);
    }
}
