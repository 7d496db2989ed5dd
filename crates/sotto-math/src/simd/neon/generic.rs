//! The [generic](crate::simd::generic) kernels, compiled for NEON.

use super::registers::{Register16, Register32};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::modulus_pair::ModulusPair;
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::{LANES, PartitionRows, RowPicks, RowSources};
use crate::simd::shapes::TilesShape;
use crate::simd::{generic, scalar};

compiled_generic!("neon", Register32::new(), Register32::new(), Register16::new());
compiled_32!("neon", Register32::new());
compiled_tiles!("neon", Register32::new());
