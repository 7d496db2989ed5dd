//! The [generic](crate::simd::generic) kernels, compiled for NEON.

use super::registers::{Register16, Register32};
use crate::gadget::GadgetDigits;
use crate::gather::{PartitionRows, RowPicks};
use crate::modulus_pair::ModulusPair;
use crate::ntt::Tables;
use crate::parities::{LANES, RowSources};
use crate::rader::{Cells, Grid, Spectrum};
use crate::simd::shapes::TilesShape;
use crate::simd::{generic, scalar};
use crate::tiles::{Block, WordFormat};

compiled_generic!("neon", Register32::new(), Register32::new(), Register16::new());
compiled_32!("neon", Register32::new());
compiled_tiles!("neon", Register32::new());
