//! 32-byte registers: AVX2, FMA and POPCNT, which every x86 processor of the last ten years has.

pub(super) mod aes;
mod bytes;
mod gauss;
mod rank;
pub(super) mod registers;
mod scan;
mod select;

use generic::{cyclic, digits, ntt, slots, tiles};

use super::shapes::{ScanShape, SelectShape, TilesShape};
use super::{Blocks, Kernels, scalar};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::modulus_pair::ModulusPair;
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::{LANES, PartitionRows, Planes, RowPicks, RowSources, SelectionMatrices};

/// The [generic](crate::simd::generic) kernels, compiled for AVX2.
mod generic {
    use super::registers::{Xmm, Ymm};
    use super::*;
    use crate::simd::generic;

    compiled_generic!("avx2", Ymm::new(), Ymm::new(), Xmm(()));
    compiled_32!("avx2,fma", Ymm::with_fma());
    compiled_tiles!("avx2,fma", Ymm::with_fma());
}

/// Proof that this processor has AVX2, FMA and POPCNT. Only the probe makes one.
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: Avx2 = Avx2(());
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt");
        has.then_some(&PROVEN)
    }
}

/// Proof that this processor has AVX2, FMA, POPCNT and AVX-VNNI. Only the probe makes one.
pub(crate) struct AvxVnni(());

impl AvxVnni {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: AvxVnni = AvxVnni(());
        (Avx2::probe().is_some() && is_x86_feature_detected!("avxvnni")).then_some(&PROVEN)
    }
}

/// One implementation of [`Kernels`] for both backends, which differ in the scan alone.
macro_rules! kernels {
    ($backend:ident, $name:literal, $scan:path) => {
        impl Kernels for $backend {
            fn name(&self) -> &'static str {
                $name
            }

            fn scan(&self, _: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
                // SAFETY: self proves the features.
                unsafe { $scan(groups, queries, sums) }
            }

            fn select(
                &self,
                _: &SelectShape,
                blocks: &[[u8; 64]],
                queries: usize,
                selections: &[SelectionMatrices],
                sums: &mut [[u8; 64]],
            ) {
                // SAFETY: self proves the features.
                unsafe { select::select(blocks, queries, selections, sums) }
            }

            compiled_by_all!();
            compiled! {
                cyclic::cyclic as cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells);
                slots::mul_acc as mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]);
            }

            fn aes(&self) -> &'static dyn Blocks {
                aes::AesNi::probe().unwrap_or(&scalar::ScalarAes)
            }
        }
    };
}

kernels!(Avx2, "avx2", scan::scan);
kernels!(AvxVnni, "avxvnni", bytes::scan);
