//! The [generic](crate::simd::generic) kernels, compiled for the vectors of WebAssembly.

use super::registers::{Register16, Register32};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::modulus_pair::ModulusPair;
use crate::simd::args::ntt::Tables;
use crate::simd::args::{LANES, PartitionRows, RowPicks, RowSources};
use crate::simd::{generic, scalar};

compiled_generic!("simd128", Register32::new(), Register32::new(), Register16::new());
compiled_32!("simd128", Register32::new());

/// Only servers run the pass over tiles.
pub(super) mod tiles {
    use crate::simd::args::tiles::Block;
    use crate::simd::args::tiles::words::WordFormat;
    use crate::simd::scalar;
    use crate::simd::shapes::TilesShape;

    pub(in crate::simd) fn tiles(
        _: &TilesShape,
        form: &WordFormat,
        block: Block<'_>,
        sums: &mut [&mut [[u64; 8]]],
    ) {
        scalar::tiles(form, block, sums);
    }
}
