//! The [generic](crate::simd::generic) kernels, compiled for AVX-512.

use super::registers::Zmm;
use crate::simd::args::{LANES, PartitionRows, RowPicks, RowSources};
use crate::simd::avx2::registers::{Xmm, Ymm};
use crate::simd::{generic, scalar};

compiled_generic!("avx512f,avx512vl", Zmm::new(), Ymm::new(), Xmm(()));
