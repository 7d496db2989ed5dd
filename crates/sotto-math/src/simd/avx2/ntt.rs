//! The transform without products of 64-bit integers, which AVX2 lacks.
//!
//! | modulus | slots |
//! |---|---|
//! | below 2^31 | [integers of 32 bits](eight), eight to a register |
//! | up to 2^50 | [doubles](double), four to a register |
//! | wide | left to the scalar transform |

mod double;
mod eight;

use super::lanes::{load, store};
use crate::ntt::Tables;
use crate::simd::scalar;
pub(super) use double::{Constants, Factors, from_integers, to_integers, transpose};

type Row = [u64; 4];

#[target_feature(enable = "avx2,fma")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    match t.modulus.bits() {
        ..32 => eight::forward(t, x),
        32..51 => double::forward(t, x),
        _ => scalar::forward(t, x),
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    match t.modulus.bits() {
        ..32 => eight::inverse(t, x),
        32..51 => double::inverse(t, x),
        _ => scalar::inverse(t, x),
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    scalar::spread(t, bytes, out);
    forward(t, out);
}
