//! What is [generic](crate::simd::generic) in registers, compiled for AVX-512.

use super::registers::Zmm;
use crate::fold::{LANES, Sources};
use crate::gather::{Picks, Rows};
use crate::simd::avx2::registers::{Xmm, Ymm};
use crate::simd::{generic, scalar};

compiled_generic!("avx512f,avx512vl", Zmm::new(), Ymm::new(), Xmm(()));
