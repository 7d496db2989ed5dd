//! The transform without products of 64-bit integers.
//!
//! | modulus | slots |
//! |---|---|
//! | below 2^31 | [integers of 32 bits](eight), eight to a register |
//! | up to 2^50 | [doubles](double), four to a register |
//! | wide | left to the scalar transform |

mod double;
mod eight;

use super::doubles::Doubles;
use crate::simd::args::ntt::Tables;
use crate::simd::scalar;
pub(in crate::simd) use eight::Words;

#[inline(always)]
pub(in crate::simd) fn forward<R: Doubles + Words>(r: R, t: &Tables, x: &mut [u64]) {
    match t.modulus.bits() {
        ..32 => eight::forward(r, t, x),
        32..51 => double::forward(r, t, x),
        _ => scalar::forward(t, x),
    }
}

#[inline(always)]
pub(in crate::simd) fn inverse<R: Doubles + Words>(r: R, t: &Tables, x: &mut [u64]) {
    match t.modulus.bits() {
        ..32 => eight::inverse(r, t, x),
        32..51 => double::inverse(r, t, x),
        _ => scalar::inverse(t, x),
    }
}
