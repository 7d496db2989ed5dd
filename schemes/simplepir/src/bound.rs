//! The noise bound, for *any* table of the shape.
//!
//! In units of the query modulus 2^b, a client's phase for row r is off by
//!
//! ```text
//!   sum_j D[r][j] * ( (2^b / Q) e_j + rho_j )      e_j: error, rho_j: rounding of query word j
//! + answer rounding, at most 2^(b-t) / 2           (nothing if t = b)
//! + mask rounding,   at most 2^(b-32) / 2
//! + step rounding,   at most 128 (2^b / Q) / 256   Q/256 is no integer, but within 1/256 of one
//! ```
//!
//! and a byte is read right if that stays below half a plaintext step, 2^(b-8) / 2. With |D| <= 128 the
//! sum has variance proxy `128² m (sigma² (2^b / Q)² + 1/12)`. The three roundings below it are bounded,
//! not random, and simply shorten the margin. A union bound over the l bytes of a record ends it.
//!
//! Two things are assumed. The rounding errors rho_j behave like independent uniform variables on
//! [-1/2, 1/2]: they are a fixed function of the words of A s + e, which are indistinguishable from
//! uniform under the same assumption the privacy rests on, but that is a heuristic for independence and
//! not a proof. And the sampler is a discrete Gaussian. Its table is exact to 2^-63 in each of some hundred
//! entries, so a sample is within 2^-56 of one. With up to 2^10 columns that adds less than 2^-46 to the
//! failure; with more, the bound uses moment generating functions only so close to 0 that they move by a
//! factor within 1 + 2^-50, and the bound by less than 2^-30 of itself. So a figure far below 2^-46 says
//! that noise will not be the reason, not that the probability is known to that many digits.

use crate::ring::{Q, SIGMA};
use sotto_lattice::noise;

/// Smallest and largest word of a query, in bits. Below 24 there is no plane to save.
pub const QUERY_BITS: std::ops::RangeInclusive<u8> = 24..=32;

/// Smallest word of an answer, in bits: at 8 the rounding alone uses up the whole margin.
pub const LEAST_ANSWER_BITS: u8 = 9;

/// Standard deviation bound of the noise of one byte, and the margin it must stay below, both in units of
/// the query modulus 2^`query_bits`.
pub fn deviation_and_margin(columns: u64, query_bits: u8, answer_bits: u8) -> (f64, f64) {
    let power = |exponent: i32| f64::from(exponent).exp2();
    let (b, t) = (i32::from(query_bits), i32::from(answer_bits));
    let error = SIGMA * power(b) / f64::from(Q);
    let variance = power(14) * columns as f64 * (error * error + noise::uniform(1.0));
    let answer_rounding = if t < b { power(b - t - 1) } else { 0.0 };
    let step_rounding = power(b - 1) / f64::from(Q);
    (variance.sqrt(), power(b - 9) - answer_rounding - power(b - 33) - step_rounding)
}

/// Bound on log2 of the probability that any byte of one record comes out wrong.
pub fn failure_log2(record_bytes: u64, columns: u64, query_bits: u8, answer_bits: u8) -> f64 {
    let (deviation, margin) = deviation_and_margin(columns, query_bits, answer_bits);
    noise::failure_log2(margin, deviation * deviation, record_bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gibibyte_square_by_hand() {
        // b = 26, t = 10, m = l = 2^15: proxy 2^29 (121 * 2^-12 + 1/12), margin 2^17 - 2^15.
        let (deviation, margin) = deviation_and_margin(1 << 15, 26, 10);
        assert!((deviation - (2f64.powi(29) * (121.0 / 4096.0 + 1.0 / 12.0)).sqrt()).abs() < 0.5);
        assert!((margin - 98304.0).abs() < 0.1);
        let log2 = failure_log2(1 << 15, 1 << 15, 26, 10);
        assert!(
            (log2 - (16.0 - (98304.0f64 / 7785.0).powi(2) / 2.0 * std::f64::consts::LOG2_E)).abs() < 0.2,
            "{log2}"
        );
    }

    #[test]
    fn every_coordinate_is_monotone() {
        for b in QUERY_BITS {
            for t in LEAST_ANSWER_BITS..=b {
                let at = |l, m, b, t| failure_log2(l, m, b, t);
                assert!(at(64, 1 << 15, b, t) <= at(65, 1 << 15, b, t));
                assert!(at(64, 1 << 15, b, t) <= at(64, (1 << 15) + 1, b, t));
                assert!(t == b || at(64, 1 << 15, b, t + 1) <= at(64, 1 << 15, b, t));
                assert!(b == 32 || at(64, 1 << 15, b + 1, t) <= at(64, 1 << 15, b, t));
            }
        }
    }

    #[test]
    fn eight_answer_bits_leave_no_margin() {
        assert_eq!(failure_log2(1, 1, 32, 8), 0.0);
    }
}
