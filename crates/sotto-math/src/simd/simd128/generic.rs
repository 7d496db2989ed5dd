//! What is [generic](crate::simd::generic) in registers, compiled for the vectors of WebAssembly.

use super::registers::{One, Two};
use crate::basis::Pair;
use crate::fold::{LANES, Sources};
use crate::gadget::Digits;
use crate::gather::{Picks, Rows};
use crate::ntt::Tables;
use crate::rader::{Cells, Grid, Spectrum};
use crate::simd::{generic, scalar};

compiled_generic!("simd128", Two::new(), Two::new(), One::new());
compiled_32!("simd128", Two::new());

/// Only servers go through tiles.
pub(super) mod tiles {
    use crate::simd::scalar;
    use crate::simd::shapes::TilesShape;
    use crate::tiles::{Block, Words};

    pub(in crate::simd) fn tiles(
        _: &TilesShape,
        form: &Words,
        block: Block<'_>,
        sums: &mut [&mut [[u64; 8]]],
    ) {
        scalar::tiles(form, block, sums);
    }
}
