//! What is [generic](crate::simd::generic) in registers, compiled for NEON.

use super::registers::{One, Two};
use crate::basis::Pair;
use crate::fold::{LANES, Sources};
use crate::gadget::Digits;
use crate::gather::{Picks, Rows};
use crate::ntt::Tables;
use crate::rader::{Cells, Grid, Spectrum};
use crate::simd::shapes::TilesShape;
use crate::simd::{generic, scalar};
use crate::tiles::{Block, Words};

compiled_generic!("neon", Two::new(), Two::new(), One::new());
compiled_32!("neon", Two::new());
compiled_tiles!("neon", Two::new());
