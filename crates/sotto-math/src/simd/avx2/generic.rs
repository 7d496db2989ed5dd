//! What is [generic](crate::simd::generic) in registers, compiled for AVX2.

use super::registers::{Xmm, Ymm};
use crate::fold::{LANES, Sources};
use crate::gather::{Picks, Rows};
use crate::simd::{generic, scalar};

compiled_generic!("avx2", Ymm::new(), Ymm::new(), Xmm(()));
