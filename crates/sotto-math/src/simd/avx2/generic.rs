//! The [generic](crate::simd::generic) kernels, compiled for AVX2.

use super::registers::{Xmm, Ymm};
use crate::gadget::GadgetDigits;
use crate::gather::{PartitionRows, RowPicks};
use crate::modulus_pair::ModulusPair;
use crate::ntt::Tables;
use crate::parities::{LANES, RowSources};
use crate::rader::{Cells, Grid, Spectrum};
use crate::simd::shapes::TilesShape;
use crate::simd::{generic, scalar};
use crate::tiles::{Block, WordFormat};

compiled_generic!("avx2", Ymm::new(), Ymm::new(), Xmm(()));
compiled_32!("avx2,fma", Ymm::with_fma());
compiled_tiles!("avx2,fma", Ymm::with_fma());
