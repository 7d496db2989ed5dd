//! How often a lookup fails, and how many hints that takes.
//!
//! A hint has one of the w rows of each partition, every one with the same probability. So it contains a given row with probability 1/w, and
//! README.md proves that this stays so, for every hint on its own, whatever was asked before.

use std::f64::consts::LN_2;

/// log2 of a bound on the probability that there is a query, of all a client makes, whose row no hint contains.
pub(crate) fn failure_log2(hints: u64, queries: u64, partition_rows: u64) -> f64 {
    let missed = (-1.0 / partition_rows as f64).ln_1p() / LN_2;
    (queries as f64).log2() + hints as f64 * missed
}

/// The fewest hints that keep [`failure_log2`] at `log2`.
pub(crate) fn least_hints(queries: u64, log2: f64, partition_rows: u64) -> u64 {
    let missed = (-1.0 / partition_rows as f64).ln_1p() / LN_2;
    // Both are negative, and the quotient is far below 2^53.
    ((log2 - (queries as f64).log2()) / missed).ceil() as u64
}

/// What security rests on.
pub(crate) fn security_model() -> String {
    "128-bit seeds of trees, each under an AES-128 key of its own as an ideal cipher (Matyas-Meyer-Oseas), if the servers do not \
     collude"
    .into()
}
