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
use crate::vector::Bits;
use sotto_lattice::noise::{failure_apart_log2, steps};

/// The largest number of the matrix, in absolute value.
const MOST: f64 = 32_896.0;

/// Variance proxies of errors with what comes of secrets, and of what was rounded away of words and keys; and the margin that
/// is left to both by what is merely bounded.
pub fn variances_and_margin(words: u64, bits: Bits) -> ([f64; 2], f64) {
    let switches =
        |key_error: f64, norm: f64| steps::inspiring(N, &DIGITS, (Q as f64).log2(), key_error, norm);
    let ([errors, roundings], margin) = sample_variances_and_margin(words, bits);
    let lost = steps::truncated(0.0, Q_BITS.saturating_sub(bits.keys));
    ([errors + switches(SIGMA * SIGMA, NORM), roundings + switches(lost, 0.0)], margin)
}

/// The same for a sample that nobody packs.
pub fn sample_variances_and_margin(words: u64, bits: Bits) -> ([f64; 2], f64) {
    let unit = |kept: u32| Q as f64 * (-f64::from(kept)).exp2();
    let vector = words as f64 * MOST * MOST;
    let mask = unit(bits.mask).powi(2) * NORM / 4.0;
    let errors = vector * SIGMA * SIGMA + mask;
    let roundings = vector * steps::truncated(0.0, bits.dropped());
    let margin = unit(P_LOG2 + 1) - unit(bits.body + 1) - MOST / 2.0;
    ([errors, roundings], margin)
}

/// Bound on log2 of the probability that any of `numbers` numbers comes out wrong.
pub fn number_failure_log2(numbers: u64, words: u64, bits: Bits) -> f64 {
    failure_log2(numbers, variances_and_margin(words, bits))
}

/// The same for numbers of samples that nobody packs.
pub fn sample_failure_log2(numbers: u64, words: u64, bits: Bits) -> f64 {
    failure_log2(numbers, sample_variances_and_margin(words, bits))
}

fn failure_log2(numbers: u64, (variances, margin): ([f64; 2], f64)) -> f64 {
    if margin > 0.0 { failure_apart_log2(margin, variances, numbers as f64) } else { 0.0 }
}
