//! 32-byte registers: AVX2, FMA and POPCNT, which every x86 processor of the last ten years has.

pub(super) mod aes;
mod bytes;
mod compare;
pub(super) mod registers;
mod scan;
mod select;

use generic::{cyclic, digits, ntt, slots, tiles};

use super::args::ModulusPair;
use super::args::tiles::WordFormat;
use super::shapes::{ScanShape, SelectShape, TilesShape};
use super::{Blocks, Kernels, scalar};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
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

compiled_kernels!(Avx2, "avx2", scan::scan, aes::AesNi);
compiled_kernels!(AvxVnni, "avxvnni", bytes::scan, aes::AesNi);
