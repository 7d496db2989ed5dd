//! The noise of words that are read with a rounded mask, for any table.
//!
//! In units of a query's modulus 2^b, the error of a client's phase is
//!
//! ```text
//!   sum_j D_j (2^b / Q) e_j            e_j: error, |D_j| <= 128
//! + sum_k r_k s_k                      r_k: rounding of the mask's word k, at most 2^(b - h) / 2; s_k: secret
//! + sum_j D_j rho_j                    rho_j: rounding of query word j
//! + answer rounding, step rounding     as in `lwe::bound`; the rounding of an exact mask that is taken as 2^32 of Q
//! ```
//!
//! and a byte is read right if that stays below 2^(b - 9).
//!
//! **Errors and masks.** A hint is a function of the table and of public numbers; the products of a
//! query are a function of that query too, whose secret is another one. In both cases D, and the
//! rounding of D A, are fixed before the client draws this query's secret and errors, and depend on
//! neither. So both sums are of independent sub-Gaussian numbers with known factors, whatever these
//! are, and their proxies add: `128² m (sigma 2^b / Q)²` and `n (2^(b - h) / 2)² sigma²`.
//!
//! **Roundings of words** follow from ring-LWE samples. As in [`crate::bound`], nothing is known of
//! them together with errors and secrets, so they have a tail and a share of the margin of their
//! own.

use crate::lwe::bound::proxies;
use crate::lwe::ring::{N, Q, SIGMA};
use sotto_lattice::noise::failure_apart_log2;

/// The sizes that determine the noise of words.
#[derive(Debug, Clone, Copy)]
pub struct WordNoise {
    /// Columns of the matrix, m.
    pub columns: u64,
    /// Bits of a query's word, b.
    pub query_bits: u8,
    /// Bits of an answer's word.
    pub answer_bits: u8,
    /// Bits of a mask's word, h; none if masks are exact.
    pub mask_bits: Option<u8>,
}

/// Variance proxies of errors with masks, and of the roundings of words; and the margin for both.
pub fn variances_and_margin(words: &WordNoise) -> ([f64; 2], f64) {
    let power = |exponent: i32| f64::from(exponent).exp2();
    let (b, t) = (i32::from(words.query_bits), i32::from(words.answer_bits));
    let scale = power(b) / f64::from(Q);
    let [roundings, errors] = proxies(words.columns, scale);
    let (mask, exact) = match words.mask_bits {
        Some(h) => (N as f64 * (power(b - i32::from(h) - 1) * SIGMA).powi(2), 0.0),
        None => (0.0, power(b - 33)),
    };
    let answer = if t < b { power(b - t - 1) } else { 0.0 };
    ([errors + mask, roundings], power(b - 9) - answer - exact - scale / 2.0)
}

/// Bound on log2 of the probability that any of `count` bytes comes out wrong.
pub fn failure_log2(count: u64, words: &WordNoise) -> f64 {
    let (variances, margin) = variances_and_margin(words);
    if margin > 0.0 { failure_apart_log2(margin, variances, count as f64) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gibibyte_by_hand() {
        // m = 2^16, b = 26: 128 * 256 * (11 / 64) and 128 * 256 / sqrt(12), and 32 * 2 * 11 for the
        // mask.
        let words = WordNoise { columns: 1 << 16, query_bits: 26, answer_bits: 16, mask_bits: Some(24) };
        let ([errors, roundings], margin) = variances_and_margin(&words);
        assert!(
            (errors.sqrt() - (5632.0f64.powi(2) + 704.0 * 704.0).sqrt()).abs() < 0.1,
            "{}",
            errors.sqrt()
        );
        assert!((roundings.sqrt() - 9459.3).abs() < 0.1, "{}", roundings.sqrt());
        assert!((margin - (131_072.0 - 512.0)).abs() < 0.1, "{margin}");
        assert!(failure_log2(1, &words) < -50.0);
    }

    #[test]
    fn more_bits_never_fail_oftener() {
        let at = |query_bits, answer_bits, mask_bits| {
            failure_log2(64, &WordNoise { columns: 1 << 15, query_bits, answer_bits, mask_bits })
        };
        for b in 24..32 {
            for t in 9..b {
                assert!(at(b, t + 1, None) <= at(b, t, None));
                assert!(at(b + 1, t, None) <= at(b, t, None));
                assert!(at(b, t, Some(21)) <= at(b, t, Some(20)));
            }
        }
        assert_eq!(at(26, 16, Some(15)), 0.0);
    }
}
