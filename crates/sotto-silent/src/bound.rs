//! The noise bound of silent schemes, from sizes to a failure probability.
//!
//! In units of 1 modulo q, the error of a packed number's phase is
//!
//! ```text
//!   sum_j D_j (e_j + rho_j)      e_j: error, rho_j: rounding of query word j, |D_j| <= PlainModulus::most
//! + sum of n - 1 key switches    of n numbers packed together: digits times errors of keys and their
//!                                dropped bits; dropped bits of digits times the secret
//! + step rounding                at most |D_j| / 2 for each of the ones of a query: at most 128 numbers are added
//! + mask rounding                (q / 2^mask) s r, |r| <= 1/2
//! + body rounding                at most q / 2^(body + 1)
//! + numbers at lower scales      at most PlainModulus::lower_scales units of q / p; of one record, since
//!                                tables at several scales are asked for no sums
//! ```
//!
//! and a number is read right if that stays below q / 2 p. Proxies of variance add as in
//! `sotto_lattice::noise`.
//!
//! Where several packed ciphertexts, the *terms*, are rotated and added to one, all but the last
//! two lines occur once for each term. Their words and keys are the same, and a table may have the
//! same digits in all of them, so deviations add, not variances.
//!
//! **For any table.** The client draws errors after the table exists, and a rounded mask meets a
//! fresh secret, for which a ternary number's proxy is its variance. The truncated bits of words
//! and keys follow from ring-LWE samples: they are uniform for anyone who cannot distinguish those
//! from uniform, and whether a given table makes them large is quickly tested. But nothing is known
//! of them *together* with the errors, so each of the two has its own tail and its own share of the
//! margin.
//!
//! **What is heuristic.** Digits of switches are assumed to be independent and uniform, as in the
//! works that this follows. They are a function of the table and of public numbers alone. Anyone
//! who fills a table such that they are not has found short numbers that a random linear map modulo
//! q takes to values of their choice: ring-SIS.

use crate::lattice::{N, NORM, Q, Q_BITS, SIGMA};
use crate::one_hot;
use crate::plain_modulus::PlainModulus;
use crate::unit_vector::MessageBits;
use sotto_lattice::noise::{failure_apart_log2, steps};

/// Variance proxies of errors with secrets, and of the truncated bits of words and keys; and the
/// margin that the bounded terms leave to both.
pub fn variances_and_margin(
    words: u64,
    plain: PlainModulus,
    terms: u64,
    bits: MessageBits,
) -> ([f64; 2], f64) {
    of_samples(N, words, plain, terms, bits)
}

/// [`variances_and_margin`] for groups of `samples` numbers that are packed together, of one term.
pub fn few_variances_and_margin(
    samples: usize,
    words: u64,
    plain: PlainModulus,
    bits: MessageBits,
) -> ([f64; 2], f64) {
    of_samples(samples, words, plain, 1, bits)
}

fn of_samples(
    samples: usize,
    words: u64,
    plain: PlainModulus,
    terms: u64,
    bits: MessageBits,
) -> ([f64; 2], f64) {
    let q = Q as f64;
    let unit = |kept: u32| q * (-f64::from(kept)).exp2();
    let terms = terms as f64;
    let vector = words as f64 * plain.most() * plain.most();
    let digits = plain.packing().digits;
    let switches = |error: f64, norm: f64| steps::inspiring_few(N, samples, &digits, q.log2(), error, norm);
    let mask = unit(bits.mask).powi(2) * NORM / 4.0;
    let errors = terms * terms * (vector * SIGMA * SIGMA + switches(SIGMA * SIGMA, NORM)) + mask;
    let lost = |dropped| steps::truncated(0.0, dropped);
    // A key's coefficient stands for a number that is half above the middle, which adds a quarter
    // to the square of the truncated part.
    let cut = |dropped| lost(dropped) + if dropped == 0 { 0.0 } else { 0.25 };
    let roundings = vector * lost(bits.dropped()) + switches(cut(Q_BITS.saturating_sub(bits.keys)), 0.0);
    let roundings = terms * terms * roundings;
    let margin = (0.5 - plain.lower_scales()) * q / plain.modulus() as f64
        - unit(bits.body + 1)
        - terms * f64::from(one_hot::MAX) * plain.most() / 2.0;
    ([errors, roundings], margin)
}

/// Bound on log2 of the probability that any of `numbers` numbers comes out wrong, for full groups.
pub fn number_failure_log2(numbers: u64, words: u64, plain: PlainModulus, bits: MessageBits) -> f64 {
    few_failure_log2(N, numbers, words, plain, bits)
}

/// [`number_failure_log2`] for numbers that are packed in small groups.
pub fn few_failure_log2(
    samples: usize,
    numbers: u64,
    words: u64,
    plain: PlainModulus,
    bits: MessageBits,
) -> f64 {
    let (variances, margin) = few_variances_and_margin(samples, words, plain, bits);
    if margin > 0.0 { failure_apart_log2(margin, variances, numbers as f64) } else { 0.0 }
}
