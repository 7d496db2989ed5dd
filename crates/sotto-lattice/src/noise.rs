//! Sub-Gaussian tails: from a variance proxy to a failure probability, in log2.
//!
//! A centered variable X has *variance proxy* V if E exp(uX) <= exp(u² V / 2) for all u. Proxies of
//! independent variables add, a factor c multiplies by c², and Chernoff gives
//! P(|X| > t) <= 2 exp(-t² / 2V). Which variables here have one:
//!
//! - a discrete Gaussian of parameter sigma centered on an integer: V = sigma² (Canonne, Kamath, Steinke,
//!   NeurIPS 2020, corollary 17; Micciancio, Peikert, EUROCRYPT 2012, lemma 2.8);
//! - a uniform variable on an interval of width w: V = w² / 12, its variance (see [`uniform`]);
//! - a variable bounded by b in absolute value: V = b² (Hoeffding's lemma).
//!
//! [`steps`] has the variances that ring protocols add, step by step.
//!
//! Everything is computed as logarithms, so no probability is too small to be written down.

pub mod steps;

use std::f64::consts::LOG2_E;

/// Variance proxy of a uniform variable on an interval of this width, centered at 0.
///
/// Its moment generating function sinh(uw/2) / (uw/2) is at most exp(u² w² / 24), term by term of the two
/// series, so here the proxy equals the variance.
pub fn uniform(width: f64) -> f64 {
    width * width / 12.0
}

/// Bound on log2 P(|X| > `margin`) for X of variance proxy `variance`; never above 0.
///
/// A margin that is not positive gives 0: failure is certain for all this bound knows.
pub fn tail_log2(margin: f64, variance: f64) -> f64 {
    failure_log2(margin, variance, 1.0)
}

/// Bound on log2 of the probability that any of `count` variables exceeds `margin`; never above 0.
///
/// The variables need not be independent: this is the union bound.
pub fn failure_log2(margin: f64, variance: f64, count: f64) -> f64 {
    // Written so that a NaN ends here too.
    if !(margin > 0.0 && variance >= 0.0 && count >= 0.0) {
        return 0.0;
    }
    if variance == 0.0 || count == 0.0 {
        return f64::NEG_INFINITY;
    }
    // (margin / sqrt(V))² rather than margin² / V: the square alone could overflow.
    let deviations = margin / variance.sqrt();
    (1.0 + count.log2() - deviations * deviations / 2.0 * LOG2_E).min(0.0)
}

/// Inverse of the largest share of a column's summands that may be written under one whitening
/// seed. A larger share would be of little use: by then re-encoding the table costs hardly more
/// than the changes did.
pub const WRITTEN_SHARE: u64 = 8;

/// The largest number of summands of a column that may be written by somebody who knows the
/// whitening stream: as many as are `reliable`, and at most one in [`WRITTEN_SHARE`]. `reliable`
/// must be monotonic: what holds for more summands holds for fewer.
pub fn max_writes(summands: u64, reliable: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, summands.div_ceil(WRITTEN_SHARE) + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reliable(middle) { low = middle } else { high = middle }
    }
    low
}

/// Bound of [`failure_log2`] for a variance that depends in part on a secret: `fixed`, and
/// `aligned` times a factor whose mean is 1. The probability is also over the drawing of the
/// secret, and over `count` variables.
///
/// Data that somebody chose meets a secret as the squared norm of their product, a quadratic form
/// of the secret's coefficients whose eigenvalues come in equal pairs, one for each two conjugate
/// roots. In the worst case there is one pair: all of the data's weight is on one frequency. See
/// [`alignment`].
pub fn aligned_failure_log2(margin: f64, fixed: f64, aligned: f64, count: f64) -> f64 {
    if aligned == 0.0 {
        return failure_log2(margin, fixed, count);
    }
    // The mean over the factor: for each interval of x, the probability to be past its start times
    // the tail at its end. Values past the last interval count as certain failure.
    let (mut sum, mut x) = (0.0, 0.0f64);
    while (-x).exp() > sum * ENOUGH && x < MAX_X {
        let next = x + STEP;
        sum += (-x).exp() * failure_log2(margin, fixed + aligned * alignment(next), count).exp2();
        x = next;
    }
    (sum + (-x).exp()).log2().min(0.0)
}

/// Steps of the sum over x; its end, at a probability of 2^-288; and a cutoff below which terms do
/// not matter.
const STEP: f64 = 0.25;
const MAX_X: f64 = 200.0;
const ENOUGH: f64 = 1e-3;

/// The factor by which a quadratic form of independent sub-Gaussian numbers exceeds its mean with
/// probability at most e^-x, if it has two equal eigenvalues and no others: 1 + sqrt(2 x) + x (Hsu,
/// Kakade and Zhang, 2012). With more or smaller eigenvalues it is less.
pub fn alignment(x: f64) -> f64 {
    1.0 + (2.0 * x).sqrt() + x
}

/// Bound of [`failure_log2`] for sums of two variables of these proxies whose joint distribution is
/// unknown.
///
/// Each variable gets a share of the margin in proportion to its deviation, and the sum exceeds the
/// margin only if one of them exceeds its share.
pub fn failure_apart_log2(margin: f64, variances: [f64; 2], count: f64) -> f64 {
    let deviations = variances.map(f64::sqrt);
    let share = margin / (deviations[0] + deviations[1]);
    let part = |i: usize| match variances[i] {
        // A constant 0 needs no share.
        0.0 => f64::NEG_INFINITY,
        variance => failure_log2(share * deviations[i], variance, count),
    };
    log2_sum(part(0), part(1)).min(0.0)
}

/// log2 (2^a + 2^b): two probabilities, or two costs, in log2.
pub fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    // An infinite term decides the sum, and twice zero is zero.
    if high.is_infinite() { high } else { high + (low - high).exp2().ln_1p() * LOG2_E }
}

/// The smallest margin at which [`failure_log2`] is at most `target_log2`.
pub fn margin_for(target_log2: f64, variance: f64, count: f64) -> f64 {
    let exponent = (1.0 + count.log2() - target_log2).max(0.0) / LOG2_E;
    (2.0 * exponent * variance).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // 2 exp(-t²/2V) at t²/2V = ln 2 * 41 is 2^-40.
        let t = (2.0 * 41.0 * std::f64::consts::LN_2).sqrt();
        assert!((tail_log2(t, 1.0) + 40.0).abs() < 1e-9);
        assert!((failure_log2(3.0 * t, 9.0, 1024.0) + 30.0).abs() < 1e-9);
        assert!(
            (margin_for(-40.0, 9.0, 1024.0) - 3.0 * ((2.0 * 51.0 * std::f64::consts::LN_2).sqrt())).abs()
                < 1e-9
        );
        assert!((uniform(1.0) - 1.0 / 12.0).abs() < 1e-15);
    }

    #[test]
    fn edges_do_not_overflow() {
        assert_eq!(tail_log2(0.0, 1.0), 0.0);
        assert_eq!(tail_log2(-1.0, 1.0), 0.0);
        assert_eq!(tail_log2(f64::NAN, 1.0), 0.0);
        assert_eq!(tail_log2(1.0, f64::NAN), 0.0);
        assert_eq!(tail_log2(0.1, 1.0), 0.0);
        assert_eq!(tail_log2(1.0, 0.0), f64::NEG_INFINITY);
        assert!(failure_log2(1e200, 1e300, 1e300).is_finite());
    }

    #[test]
    fn a_simulation_stays_below_the_bound() {
        // Sums of 64 uniform words in [-1/2, 1/2] from an LCG (Knuth's MMIX); 2^16 of them.
        let mut state = 1u64;
        let mut word = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let sums: Vec<f64> = (0..1 << 16).map(|_| (0..64).map(|_| word()).sum()).collect();
        let variance = 64.0 * uniform(1.0);
        let measured = sums.iter().map(|x| x * x).sum::<f64>() / sums.len() as f64;
        assert!((measured / variance - 1.0).abs() < 0.05, "{measured} {variance}");
        for deviations in [1.5, 2.0, 2.5, 3.0, 3.5] {
            let margin = deviations * variance.sqrt();
            let beyond = sums.iter().filter(|x| x.abs() > margin).count() as f64 / sums.len() as f64;
            assert!(beyond > 0.0 && beyond.log2() <= tail_log2(margin, variance), "{deviations}: {beyond}");
        }
    }

    #[test]
    fn aligned_variance_has_a_heavier_tail_and_the_same_limits() {
        for margin in [6.0, 12.0, 24.0] {
            let [none, some, more] =
                [0.0, 0.1, 0.5].map(|share| aligned_failure_log2(margin, 1.0 - share, share, 1024.0));
            assert_eq!(none, failure_log2(margin, 1.0, 1024.0));
            assert!(
                none < some && some < more && more < 0.0 || more == 0.0,
                "{margin}: {none} {some} {more}"
            );
        }
        assert_eq!(aligned_failure_log2(0.0, 1.0, 1.0, 1.0), 0.0);
        assert_eq!(aligned_failure_log2(1.0, f64::NAN, 1.0, 1.0), 0.0);
        // Exponential and Gaussian: P(|X| > t) of a product of the two falls as exp(-t sqrt 2), and
        // the bound must not be below it.
        let far = aligned_failure_log2(30.0, 0.0, 1.0, 1.0);
        assert!(far > -30.0 * 2f64.sqrt() * LOG2_E && far < -30.0, "{far}");
    }

    /// Simulates sums of products with one secret, all at one frequency: a complex Gaussian's
    /// square times a Gaussian.
    #[test]
    fn a_simulation_of_aligned_data_stays_below_the_bound() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        let share = 0.3;
        let samples: Vec<f64> = (0..1 << 18)
            .map(|_| {
                let factor = -uniform().ln();
                let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
                normal * (1.0 - share + share * factor).sqrt()
            })
            .collect();
        for margin in [2.0, 3.0, 4.0] {
            let beyond = samples.iter().filter(|x| x.abs() > margin).count() as f64 / samples.len() as f64;
            let bound = aligned_failure_log2(margin, 1.0 - share, share, 1.0);
            assert!(beyond > 0.0 && beyond.log2() <= bound, "{margin}: {beyond} {bound}");
        }
    }

    #[test]
    fn as_many_are_written_as_are_reliable_and_at_most_an_eighth() {
        assert_eq!(max_writes(128, |_| true), 16);
        assert_eq!(max_writes(128, |written| written <= 5), 5);
        assert_eq!(max_writes(128, |written| written == 0), 0);
        assert_eq!(max_writes(3, |_| true), 1);
    }

    #[test]
    fn logarithms_of_sums() {
        assert_eq!(log2_sum(-40.0, -40.0), -39.0);
        assert_eq!(log2_sum(-2000.0, -2000.0), -1999.0);
        assert_eq!(log2_sum(-40.0, f64::NEG_INFINITY), -40.0);
        assert_eq!(log2_sum(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(log2_sum(f64::INFINITY, 3.0), f64::INFINITY);
    }

    #[test]
    fn apart_costs_what_the_deviations_lose_by_adding_up() {
        // Deviations 3 and 4: 7 instead of 5, and one factor 2.
        let apart = failure_apart_log2(70.0, [9.0, 16.0], 1.0);
        assert!((apart - (1.0 + failure_log2(50.0, 25.0, 1.0))).abs() < 1e-9);
        assert_eq!(failure_apart_log2(-1.0, [9.0, 16.0], 1.0), 0.0);
        assert_eq!(failure_apart_log2(f64::NAN, [9.0, 16.0], 1.0), 0.0);
        assert_eq!(failure_apart_log2(70.0, [9.0, 0.0], 1.0), failure_log2(70.0, 9.0, 1.0));
    }

    proptest::proptest! {
        #[test]
        fn margin_for_is_the_inverse(target in -300.0f64..-1.0, variance in 1e-6f64..1e18, count in 1.0f64..1e12) {
            let margin = margin_for(target, variance, count);
            proptest::prop_assert!((failure_log2(margin, variance, count) - target).abs() < 1e-6);
        }
    }
}
