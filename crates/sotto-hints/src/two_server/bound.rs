//! The failure bound of lookups, and the number of hints that it requires.
//!
//! A hint contains a given row with probability 1/w, w = 2^floor(k/2) in a table of 2^k places: as
//! one of the w rows of each partition, or as one of s members among n places, n/s = w. The
//! schemes' READMEs prove that this stays true, for every hint on its own, whatever was requested
//! before.

use std::f64::consts::LN_2;

/// log2 of a bound on the probability that any of a client's queries is for a row that no hint
/// contains.
pub fn failure_log2(hints: u64, queries: u64, w: u64) -> f64 {
    (queries as f64).log2() + hints as f64 * missed_log2(w)
}

/// The least number of hints that keeps [`failure_log2`] at or below `log2`.
pub fn least_hints(queries: u64, log2: f64, w: u64) -> u64 {
    // Both are negative, and the quotient is far below 2^53.
    ((log2 - (queries as f64).log2()) / missed_log2(w)).ceil() as u64
}

/// log2 of the probability that one hint lacks a row.
fn missed_log2(w: u64) -> f64 {
    (-1.0 / w as f64).ln_1p() / LN_2
}
