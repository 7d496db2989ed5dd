//! The noise bound, from sizes to a failure probability.
//!
//! In units of 1 modulo q, the phase of a packed number is off by
//!
//! ```text
//!   sum_j D_j (e_j + rho_j)      e_j: error, rho_j: rounding of query word j, |D_j| <= 2^15 + 2^7
//! + sum of n - 1 key switches    digits times errors of keys and what of them was not sent; dropped bits times the secret
//! + mask rounding                (q / 2^mask) s r, |r| <= 1/2
//! + body rounding                at most q / 2^(body + 1)
//! + step rounding                at most |D_j| / 2 for each of the ones of a query: 128 numbers are added up at most
//! ```
//!
//! and a number is read right if that stays below q / 2^17. Proxies of variance add as in `sotto_lattice::noise`.
//!
//! **For any table.** Errors are drawn by the client after the table is there, and a rounded mask meets a fresh secret, for
//! which a ternary number's proxy is its variance. What was rounded away of words and keys follows from ring-LWE samples: it is
//! uniform for whoever cannot tell those from uniform, and whether a given table makes it large is quickly tested. But nothing
//! is known of it *together* with the errors, so that each of the two has a tail of its own and a share of the margin.
//!
//! **What is heuristic.** That digits of switches are independent and uniform, as in the works this follows. They are a function
//! of the table and of public numbers alone. Who fills a table so that they are others has found short numbers that a random
//! linear map modulo q takes to what he wants: ring-SIS.

use crate::lattice::{DIGITS, N, NORM, P_LOG2, Q, Q_BITS, SIGMA};
use crate::ones;
use crate::vector::Bits;
use sotto_lattice::noise::{failure_apart_log2, steps};

/// The largest number of the matrix, in absolute value.
const MOST: f64 = 32_896.0;

/// Variance proxies of errors with what comes of secrets, and of what was rounded away of words and keys; and the margin that
/// is left to both by what is merely bounded.
pub fn variances_and_margin(words: u64, bits: Bits) -> ([f64; 2], f64) {
    let q = Q as f64;
    let unit = |kept: u32| q * (-f64::from(kept)).exp2();
    let vector = words as f64 * MOST * MOST;
    let switches = |key_error: f64, norm: f64| steps::inspiring(N, &DIGITS, q.log2(), key_error, norm);
    let mask = unit(bits.mask).powi(2) * NORM / 4.0;
    let errors = vector * SIGMA * SIGMA + switches(SIGMA * SIGMA, NORM) + mask;
    let lost = |dropped| steps::truncated(0.0, dropped);
    let roundings = vector * lost(bits.dropped()) + switches(lost(Q_BITS.saturating_sub(bits.keys)), 0.0);
    let margin = unit(P_LOG2 + 1) - unit(bits.body + 1) - f64::from(ones::MOST) * MOST / 2.0;
    ([errors, roundings], margin)
}

/// Bound on log2 of the probability that any of `numbers` numbers comes out wrong.
pub fn number_failure_log2(numbers: u64, words: u64, bits: Bits) -> f64 {
    let (variances, margin) = variances_and_margin(words, bits);
    if margin > 0.0 { failure_apart_log2(margin, variances, numbers as f64) } else { 0.0 }
}
