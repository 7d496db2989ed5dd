//! The noise bound: `sotto_silent::bound` for t packed ciphertexts that are rotated and added, plus
//! the t - 1 products by the selector. Each of these adds, in units of 1 modulo q,
//!
//! ```text
//!   digits of mask and body    times errors of the selector's rows and their dropped bits
//! + dropped bits of the mask   times the secret
//! + dropped bits of the body
//! ```
//!
//! and later products only rotate it. **For any table**: the sum of t rotated numbers is at most t
//! times the largest number, since only the sum modulo p is small, not the sum.
//!
//! **What is heuristic**, besides the digits of packing: digits of the selector's factors are
//! assumed to be uniform and independent of errors, and their dropped and rounded bits to be
//! independent of the secret.

use crate::numbers::PLAIN;
use crate::selector::{BODY_DIGITS, MASK_DIGITS};
use sotto_lattice::noise::{failure_apart_log2, steps};
use sotto_silent::lattice::{N, NORM, Q, Q_BITS, SIGMA};
use sotto_silent::{bound, unit_vector::MessageBits};

/// Variance proxies of errors with secrets, and of the rounded bits of words, keys and selectors;
/// and the margin for both.
pub fn variances_and_margin(
    columns: u64,
    places: u64,
    bits: MessageBits,
    selector_bits: [u32; 2],
) -> ([f64; 2], f64) {
    let ([errors, roundings], margin) = bound::variances_and_margin(columns, PLAIN, places, bits);
    let products = places.saturating_sub(1) as f64;
    let product = |rows, norm| {
        let digits = [&MASK_DIGITS, &BODY_DIGITS];
        steps::external_product(N, 1, digits, (Q as f64).log2(), rows, norm)
    };
    let lost = selector_bits.map(|kept| steps::truncated(0.0, Q_BITS.saturating_sub(kept)));
    let errors = errors + products * product([SIGMA * SIGMA; 2], NORM);
    // The dropped bits were counted once.
    let roundings = roundings + products * (product(lost, 0.0) - product([0.0; 2], 0.0));
    ([errors, roundings], margin)
}

/// Bound on log2 of the probability that any of `numbers` numbers comes out wrong.
pub fn failure_log2(
    numbers: u64,
    columns: u64,
    places: u64,
    bits: MessageBits,
    selector_bits: [u32; 2],
) -> f64 {
    let (variances, margin) = variances_and_margin(columns, places, bits, selector_bits);
    if margin > 0.0 { failure_apart_log2(margin, variances, numbers as f64) } else { 0.0 }
}
