//! 16-byte registers, alone and in pairs: the vectors of WebAssembly, if the build has them.
//!
//! Nothing is detected at run time: a program that uses vectors does not start where there are
//! none. So this is part of builds with `-C target-feature=+simd128`, is then the only backend, and
//! the loader of a program chooses between two builds.
//!
//! Browsers run the client's half. The kernels that only servers run (the scan, the pass over
//! tiles, selected records) are scalar code here, which compilers vectorize as well as they can. AES,
//! for which there are no instructions, is on bit planes: tables of sixteen bytes in registers
//! (Hamburg, CHES 2009) were slower in V8 than bit slices even in words of 64 bits.

pub(super) mod aes;
mod compare;
mod registers;

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

/// The [generic](crate::simd::generic) kernels, compiled for the vectors of WebAssembly.
mod generic {
    use super::registers::{Register16, Register32};
    use super::*;
    use crate::simd::generic;

    compiled_generic!("simd128", Register32::new(), Register32::new(), Register16::new());
    compiled_32!("simd128", Register32::new());

    /// The pass over tiles, which only servers run.
    pub(super) mod tiles {
        use super::*;

        pub(in crate::simd) fn tiles(
            _: &TilesShape,
            form: &WordFormat,
            block: Block<'_>,
            sums: &mut [&mut [[u64; 8]]],
        ) {
            scalar::tiles(form, block, sums);
        }
    }
}

/// The backend of a build with vectors. Only the probe makes one.
pub(crate) struct Simd128(());

impl Simd128 {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static BUILT: Simd128 = Simd128(());
        Some(&BUILT)
    }
}

impl Kernels for Simd128 {
    fn name(&self) -> &'static str {
        "simd128"
    }

    fn scan(&self, _: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
        scalar::scan(groups, queries, sums);
    }

    fn select(
        &self,
        _: &SelectShape,
        blocks: &[[u8; 64]],
        queries: usize,
        selections: &[SelectionMatrices],
        sums: &mut [[u8; 64]],
    ) {
        scalar::select(blocks, queries, selections, sums);
    }

    compiled_by_all!();
    compiled_by_generic!();

    fn aes(&self) -> &'static dyn Blocks {
        &aes::PlaneAes
    }
}
