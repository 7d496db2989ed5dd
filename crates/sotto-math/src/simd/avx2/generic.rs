//! The [generic](crate::simd::generic) kernels, compiled for AVX2.

use super::registers::{Xmm, Ymm};
use crate::simd::args::gadget::GadgetDigits;
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::modulus_pair::ModulusPair;
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::{LANES, PartitionRows, RowPicks, RowSources};
use crate::simd::shapes::TilesShape;
use crate::simd::{generic, scalar};

compiled_generic!("avx2", Ymm::new(), Ymm::new(), Xmm(()));
compiled_32!("avx2,fma", Ymm::with_fma());
compiled_tiles!("avx2,fma", Ymm::with_fma());
