//! The noise bound, from sizes to a failure probability.
//!
//! In units of 1 modulo q, the phase of a packed number is off by
//!
//! ```text
//!   sum_j D_j (e_j + rho_j)      e_j: error, rho_j: rounding of query word j, |D_j| <= 2^15 + 2^7
//! + sum of n - 1 key switches    digits times errors of keys and what of them was not sent; dropped bits times the secret
//! + mask rounding                (q / 2^mask) s r, |r| <= 1/2
//! + body rounding                at most q / 2^(body + 1)
//! + step rounding                at most |D_j| / 2
//! ```
//!
//! and a number is read right if that stays below q / 2^17. Proxies of variance add as in `sotto_lattice::noise`. Errors are
//! drawn by the client after the table is there, and a rounded mask meets a fresh secret, for which a ternary number's proxy
//! is its variance: these hold for every table. Two things are heuristic, as in the works this follows: that roundings of
//! words and digits of switches are independent and uniform. Digits are functions of the table and of public numbers, so the
//! bound is for tables that were not made against those.

use crate::lattice::{DIGITS, N, NORM, P_LOG2, Q, Q_BITS, SIGMA};
use crate::vector::Bits;
use sotto_lattice::noise::{failure_log2, steps};

/// The largest number of the matrix, in absolute value.
const MOST: f64 = 32_896.0;

/// Variance proxy of what is random, and the margin that is left to it by what is merely bounded.
pub fn variance_and_margin(words: u64, bits: Bits) -> (f64, f64) {
    let q = Q as f64;
    let unit = |kept: u32| q * (-f64::from(kept)).exp2();
    let vector = words as f64 * MOST * MOST * steps::truncated(SIGMA, bits.dropped());
    let keys = steps::truncated(SIGMA, Q_BITS.saturating_sub(bits.keys));
    let packing = steps::inspiring(N, &DIGITS, q.log2(), keys, NORM);
    let mask = unit(bits.mask).powi(2) * NORM / 4.0;
    let margin = unit(P_LOG2 + 1) - unit(bits.body + 1) - MOST / 2.0;
    (vector + packing + mask, margin)
}

/// Bound on log2 of the probability that any of `numbers` numbers comes out wrong.
pub fn number_failure_log2(numbers: u64, words: u64, bits: Bits) -> f64 {
    let (variance, margin) = variance_and_margin(words, bits);
    failure_log2(margin, variance, numbers as f64)
}
