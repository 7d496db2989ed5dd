//! 16-byte registers, alone and in pairs: NEON, which every 64-bit ARM processor has.

mod aes;
mod compare;
mod registers;
mod scan;
mod select;

use super::args::ModulusPair;
use super::args::tiles::WordFormat;
use super::shapes::{ScanShape, SelectShape, TilesShape};
use super::{Blocks, Kernels, scalar};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
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

compiled_kernels!(Neon, "neon", scan::scan, aes::NeonAes);
compiled_kernels!(NeonDot, "neondot", scan::scan_dot, aes::NeonAes);
