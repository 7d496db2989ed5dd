//! 16-byte registers, alone and in pairs: NEON, which every 64-bit ARM processor has.

mod aes;
mod gauss;
mod lanes;
mod rank;
mod registers;
mod scan;
mod select;

use super::shapes::{ScanShape, SelectShape, TilesShape};
use super::{Blocks, Kernels, scalar};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::modulus_pair::ModulusPair;
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::{LANES, PartitionRows, Planes, RowPicks, RowSources, SelectionMatrices};
use generic::{cyclic, digits, ntt, slots, tiles};
use std::arch::is_aarch64_feature_detected;

/// The [generic](crate::simd::generic) kernels, compiled for NEON.
mod generic {
    use super::registers::{Register16, Register32};
    use super::*;
    use crate::simd::generic;

    compiled_generic!("neon", Register32::new(), Register32::new(), Register16::new());
    compiled_32!("neon", Register32::new());
    compiled_tiles!("neon", Register32::new());
}

/// Proof that this processor has NEON. Only the probe makes one.
pub(crate) struct Neon(());

impl Neon {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: Neon = Neon(());
        is_aarch64_feature_detected!("neon").then_some(&PROVEN)
    }
}

/// Proof that this processor has NEON and its products of bytes, four to a sum. Only the probe makes one.
pub(crate) struct NeonDot(());

impl NeonDot {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: NeonDot = NeonDot(());
        (Neon::probe().is_some() && is_aarch64_feature_detected!("dotprod")).then_some(&PROVEN)
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
                aes::NeonAes::probe().unwrap_or(&scalar::ScalarAes)
            }
        }
    };
}

kernels!(Neon, "neon", scan::scan);
kernels!(NeonDot, "neondot", scan::scan_dot);
