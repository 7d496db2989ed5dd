//! The noise bound of SimplePIR's lattice, for *any* table of the shape.
//!
//! In units of the query modulus 2^b, the error of a client's phase for row r is
//!
//! ```text
//!   sum_j D[r][j] * ( (2^b / Q) e_j + rho_j )      e_j: error, rho_j: rounding of query word j
//! + answer rounding, at most 2^(b-t) / 2           (nothing if t = b)
//! + mask rounding,   at most 2^(b-32) / 2
//! + step rounding,   at most 128 (2^b / Q) / 256   Q/256 is no integer, but within 1/256 of one; for each of 128 ones of a query
//! ```
//!
//! and a byte is read right if that stays below half a plaintext step, 2^(b-8) / 2. With |D| <= 128
//! the sum has variance proxy `128² m (sigma² (2^b / Q)² + 1/12)`. The three roundings below it are
//! bounded, not random, and simply shorten the margin. A union bound over the l bytes of a record
//! completes the argument.
//!
//! **Why the proxies add.** Let A be drawn at random, after the table. Then the following is a
//! theorem, over A and the client's coins (Q is odd, and X^n + 1 splits modulo Q):
//!
//! 1. Where s vanishes at none of the n roots, a_k s is uniform whatever s and e are. So the words
//!    x_j = (A s + e)_j + step are uniform, independent of each other and *of e*.
//! 2. Multiplying by 2^b permutes the residues modulo Q, so the rounding rho_j of a uniform word is uniform on the
//!    fractions k / Q in [-1/2, 1/2]. Such a number plus a small uniform one is uniform on the interval, so by Jensen's
//!    inequality its moment generating function is below the interval's: proxy 1/12.
//! 3. Where s vanishes at z roots, the last n - z words of a block are still uniform and independent of e: the first
//!    z follow from them by a Vandermonde system. Those z are bounded by 1/2 each, and shorten the margin by 64 z
//!    for every block (`Z` cases; all above count as failures).
//! 4. s vanishes at z roots with probability at most C(n, z) / Q^z: the s that vanish at z given roots form an ideal of
//!    norm Q^z, and width 11 is far above the smoothing parameter of an ideal of so small a norm. (Its dual has no
//!    vector shorter than Q^(-z/n) > 0.85; Banaszczyk's bound for the others is below 2^-800.)
//!
//! Assumptions: A comes from a fixed seed, a digest of a sentence, by a generator that is modeled
//! as a random function, and the table does not depend on A. The probability is over A too: an A
//! that is worse for a given table by a factor 2^k has probability 2^-k at most.
//!
//! **A table made against A.** Ring-LWE says that x is indistinguishable from uniform, but not that
//! (x, e) is. So an error of width 11 is modeled as a sum of one of width `HIDDEN` and one of width
//! sqrt(121 - 4), which it is up to a distance of 2^-108 a column (Peikert, CRYPTO 2010, theorem
//! 3.1). Under ring-LWE with errors of width `HIDDEN` alone, x is uniform for anyone who knows the
//! other part. So the roundings and the other part have their tail together, up to the advantage of
//! a distinguisher that multiplies once by D (`ADVANTAGE_LOG2`). The hidden part, which D does not
//! depend on, has its own tail, and [`against_log2`] divides the margin between the two. That
//! assumption is weaker than 128 bits (a test has the figure), but only correctness rests on it,
//! not privacy. (The first bound would hold unchanged if ring-LWE samples stayed indistinguishable
//! from uniform given one number `sum D[r][j] e_j`: extended LWE. That is proved for plain LWE, by
//! Alperin-Sheriff and Peikert, PKC 2012, and not for these rings.)
//!
//! The sampler is assumed to be a discrete Gaussian. Its table is exact to 2^-63 in each of some
//! hundred entries, so a sample is within 2^-56 of one. For the secret, and with up to 2^10
//! columns, that adds less than 2^-46 each to the failure probability. With more columns, the bound
//! uses moment generating functions only so close to 0 that they change by a factor within 1 +
//! 2^-50, and the bound by less than 2^-30 of itself. So a figure far below 2^-46 says that noise
//! will not be the reason of a failure, not that the probability is known to that many digits.

use super::ring::{N, Q, SIGMA};
use crate::one_hot;
use sotto_lattice::noise;

/// The range of the bits of a query's word. Below 24 bits there is no byte plane to save.
pub const QUERY_BITS: std::ops::RangeInclusive<u8> = 24..=32;

/// Minimum bits of an answer's word: at 8 bits the rounding alone uses up the whole margin.
pub const MIN_ANSWER_BITS: u8 = 9;

/// Numbers of roots at which the bound lets a secret vanish: 0 to 7.
const Z: u32 = 8;

/// Width of the part of an error that hides the rest, in the proof for tables made against A. It is
/// the smallest width for which a sum of two discrete Gaussians is practically a discrete Gaussian
/// again.
const HIDDEN: f64 = 2.0;

/// log2 of the probability that the proof adds for adversaries who might break ring-LWE with errors
/// of width [`HIDDEN`], and for sums that are no discrete Gaussians: an instance of 100 bits,
/// attacked in the 2^46 gates of a product with the largest table.
const ADVANTAGE_LOG2: f64 = -54.0;

/// Standard deviation bound of the noise of one byte, and the margin it must stay below, both in units of
/// the query modulus 2^`query_bits`.
pub fn deviation_and_margin(columns: u64, query_bits: u8, answer_bits: u8) -> (f64, f64) {
    let power = |exponent: i32| f64::from(exponent).exp2();
    let (b, t) = (i32::from(query_bits), i32::from(answer_bits));
    let [rounding, error] = proxies(columns, power(b) / f64::from(Q));
    let answer_rounding = if t < b { power(b - t - 1) } else { 0.0 };
    let step_rounding = f64::from(one_hot::MAX) * power(b - 1) / f64::from(Q);
    ((rounding + error).sqrt(), power(b - 9) - answer_rounding - power(b - 33) - step_rounding)
}

/// Variance proxies of the roundings of query words and of the errors; `scale` is what an error of 1 is worth.
pub(crate) fn proxies(columns: u64, scale: f64) -> [f64; 2] {
    let squares = 14f64.exp2() * columns as f64;
    [squares * noise::uniform(1.0), squares * (SIGMA * scale).powi(2)]
}

/// Bound on log2 of the probability that any byte of one record comes out wrong, for a table that was not made
/// against A.
pub fn failure_log2(record_bytes: u64, columns: u64, query_bits: u8, answer_bits: u8) -> f64 {
    let (deviation, margin) = deviation_and_margin(columns, query_bits, answer_bits);
    let blocks = columns.div_ceil(N as u64) as f64;
    let vanishing = |z: u32| {
        let margin = margin - 64.0 * f64::from(z) * blocks;
        noise::failure_log2(margin, deviation * deviation, record_bytes as f64) + vanishes_log2(N, Q, z)
    };
    (0..Z).map(vanishing).fold(vanishes_log2(N, Q, Z), noise::log2_sum).min(0.0)
}

/// [`deviation_and_margin`] in units of 1, for answers in words modulo Q (`verisimplepir/1`), where
/// only the record is rounded, at the end.
pub fn exact_deviation_and_margin(columns: u64) -> (f64, f64) {
    let [_, error] = proxies(columns, 1.0);
    // A byte d is read from `sum D e + d (Q - 1) / 256`, and is right if `|256 sum - d| < Q / 2`.
    (error.sqrt(), f64::from(Q) / 512.0 - 0.5)
}

/// Bound on log2 of the probability that any byte of one record comes out wrong where words are
/// modulo Q throughout.
///
/// The noise is `sum_j D[r][j] e_j`, and the errors of a query are drawn when it is made, after the
/// table. So their proxies add for any table, made against A or not, and the only assumption is the
/// sampler.
pub fn exact_failure_log2(record_bytes: u64, columns: u64) -> f64 {
    let (deviation, margin) = exact_deviation_and_margin(columns);
    noise::failure_log2(margin, deviation * deviation, record_bytes as f64)
}

/// Bound on log2 of the probability that a secret vanishes at `z` or more of the `n` roots.
fn vanishes_log2(n: usize, q: u32, z: u32) -> f64 {
    let choices: f64 = (0..z).map(|i| ((n as f64 - f64::from(i)) / f64::from(i + 1)).log2()).sum();
    choices - f64::from(z) * f64::from(q).log2()
}

/// Bound on log2 of the probability that any byte of one record comes out wrong, for a table that
/// *was* made against A by someone who cannot break ring-LWE with errors of width 2. No requirement
/// is checked against it.
pub fn against_log2(record_bytes: u64, columns: u64, query_bits: u8, answer_bits: u8) -> f64 {
    let (_, margin) = deviation_and_margin(columns, query_bits, answer_bits);
    let parts = against(proxies(columns, f64::from(query_bits).exp2() / f64::from(Q)));
    noise::log2_sum(noise::failure_apart_log2(margin, parts, record_bytes as f64), ADVANTAGE_LOG2).min(0.0)
}

/// Proxies of the roundings together with the known part of the errors, and of the hidden part.
fn against([rounding, error]: [f64; 2]) -> [f64; 2] {
    let hidden = error * (HIDDEN / SIGMA).powi(2);
    [rounding + error - hidden, hidden]
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lwe::ring;
    use sotto_lattice::security::{SecretDistribution, dual, usvp};

    #[test]
    fn a_gibibyte_square_by_hand() {
        // b = 26, t = 10, m = l = 2^15: proxy 2^29 (121 * 2^-12 + 1/12), margin 2^17 - 2^15.
        let (deviation, margin) = deviation_and_margin(1 << 15, 26, 10);
        assert!((deviation - (2f64.powi(29) * (121.0 / 4096.0 + 1.0 / 12.0)).sqrt()).abs() < 0.5);
        assert!((margin - 98303.0).abs() < 0.1);
        let log2 = failure_log2(1 << 15, 1 << 15, 26, 10);
        assert!(
            (log2 - (16.0 - (98304.0f64 / 7785.0).powi(2) / 2.0 * std::f64::consts::LOG2_E)).abs() < 0.2,
            "{log2}"
        );
    }

    #[test]
    fn every_coordinate_is_monotone() {
        for b in QUERY_BITS {
            for t in MIN_ANSWER_BITS..=b {
                let at = |l, m, b, t| failure_log2(l, m, b, t);
                assert!(at(64, 1 << 15, b, t) <= at(65, 1 << 15, b, t));
                assert!(at(64, 1 << 15, b, t) <= at(64, (1 << 15) + 1, b, t));
                assert!(t == b || at(64, 1 << 15, b, t + 1) <= at(64, 1 << 15, b, t));
                assert!(b == 32 || at(64, 1 << 15, b + 1, t) <= at(64, 1 << 15, b, t));
            }
        }
    }

    #[test]
    fn vanishing_secrets_cost_next_to_nothing() {
        // Sets as they were bounded without such secrets: a figure moves by less than a thousandth
        // of a bit.
        for (l, m, b, t) in [(512, 1 << 18, 28, 11), (1 << 15, 1 << 15, 26, 10), (1 << 16, 1 << 17, 27, 10)] {
            let (deviation, margin) = deviation_and_margin(m, b, t);
            let plain = noise::failure_log2(margin, deviation * deviation, l as f64);
            let whole = failure_log2(l, m, b, t);
            assert!((0.0..1e-3).contains(&(whole - plain)), "{l} {m} {b} {t}: {plain} {whole}");
        }
        // A set with negligible noise is left with the secrets that vanish at eight roots.
        let floor = failure_log2(1, 1, 32, 32);
        assert!((floor + 191.3).abs() < 0.1, "{floor}");
    }

    #[test]
    fn a_table_made_against_the_matrix_has_a_larger_bound() {
        for (l, m, b, t) in [(512, 1 << 18, 28, 11), (1 << 15, 1 << 15, 26, 10), (1 << 16, 1 << 17, 27, 10)] {
            let (plain, against) = (failure_log2(l, m, b, t), against_log2(l, m, b, t));
            let (_, margin) = deviation_and_margin(m, b, t);
            // Deviations in units of 128 sqrt(m).
            let (scale, unit) = (f64::from(b).exp2() / f64::from(Q), 128.0 * (m as f64).sqrt());
            let deviations = (1.0 / 12.0 + 117.0 * scale * scale).sqrt() + 2.0 * scale;
            let by_hand = 2.0 + (l as f64).log2()
                - (margin / unit / deviations).powi(2) / 2.0 * std::f64::consts::LOG2_E;
            assert!(
                against > plain && (against - noise::log2_sum(by_hand, -54.0).min(0.0)).abs() < 1e-6,
                "{plain} {against} {by_hand}"
            );
        }
    }

    #[test]
    fn what_the_bound_for_made_tables_rests_on_is_hard_enough() {
        // 2^20 times 2^19 products of 2^7 gates: such a distinguisher then has an advantage of 2^-54 at most.
        let (n, log2_q) = (N, ring::LOG2_Q);
        let primal = usvp::attack(n, log2_q, HIDDEN, HIDDEN).unwrap().matzov_below();
        let dual =
            dual::attack(n, log2_q, SecretDistribution::Gaussian(HIDDEN), HIDDEN).unwrap().matzov_below();
        // Uniform secrets are no harder than these, and BDD was never more than 2 bits below uSVP.
        assert!((primal - 2.0).min(dual) > 100.0, "{primal} {dual}");
        // The two parts together make up one discrete Gaussian: smoothing, for one column.
        let joint = 1.0 / (HIDDEN.powi(-2) + 1.0 / (SIGMA * SIGMA - HIDDEN * HIDDEN));
        let distance = 1.0 - 2.0 * std::f64::consts::PI.powi(2) * joint * std::f64::consts::LOG2_E;
        assert!(distance < -108.0, "{distance}");
    }

    #[test]
    fn exact_words_by_hand() {
        // m = 2^18: 128 * 2^9 * 11 = 720896 beside Q / 512 = 8388588, which is 11.6 of them.
        let (deviation, margin) = exact_deviation_and_margin(1 << 18);
        assert!(
            (deviation - 720_896.0).abs() < 1e-6 && (margin - 8_388_587.5).abs() < 0.5,
            "{deviation} {margin}"
        );
        let by_hand = 1.0 + 10.0 - (8_388_587.5f64 / 720_896.0).powi(2) / 2.0 * std::f64::consts::LOG2_E;
        assert!((exact_failure_log2(1 << 10, 1 << 18) - by_hand).abs() < 0.01);
        // The exact bound is never worse than one with rounding, and it is monotone.
        for (l, m) in [(64, 1 << 10), (1 << 15, 1 << 15), (1 << 20, 1 << 19)] {
            assert!(exact_failure_log2(l, m) <= against_log2(l, m, 32, 32));
            assert!(exact_failure_log2(l, m) <= exact_failure_log2(l + 1, m + 1));
        }
    }

    #[test]
    fn eight_answer_bits_leave_no_margin() {
        assert_eq!(failure_log2(1, 1, 32, 8), 0.0);
    }
}
