//! The [generic](crate::simd::generic) kernels, compiled for the vectors of WebAssembly.

use super::registers::{Register16, Register32};
use crate::gadget::GadgetDigits;
use crate::gather::{PartitionRows, RowPicks};
use crate::modulus_pair::ModulusPair;
use crate::ntt::Tables;
use crate::parities::{LANES, RowSources};
use crate::rader::{Cells, Grid, Spectrum};
use crate::simd::{generic, scalar};

compiled_generic!("simd128", Register32::new(), Register32::new(), Register16::new());
compiled_32!("simd128", Register32::new());

/// Only servers run the pass over tiles.
pub(super) mod tiles {
    use crate::simd::scalar;
    use crate::simd::shapes::TilesShape;
    use crate::tiles::{Block, WordFormat};

    pub(in crate::simd) fn tiles(
        _: &TilesShape,
        form: &WordFormat,
        block: Block<'_>,
        sums: &mut [&mut [[u64; 8]]],
    ) {
        scalar::tiles(form, block, sums);
    }
}
