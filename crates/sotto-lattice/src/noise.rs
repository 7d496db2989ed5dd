//! Sub-Gaussian tails: from a variance proxy to a failure probability, in log2.
//!
//! A centred variable X has *variance proxy* V if E exp(uX) <= exp(u² V / 2) for all u. Proxies of
//! independent variables add, a factor c multiplies by c², and Chernoff gives
//! P(|X| > t) <= 2 exp(-t² / 2V). Which variables here have one:
//!
//! - a discrete Gaussian of parameter sigma centred on an integer: V = sigma² (Canonne, Kamath, Steinke,
//!   NeurIPS 2020, corollary 17; Micciancio, Peikert, EUROCRYPT 2012, lemma 2.8);
//! - a uniform variable on an interval of width w: V = w² / 12, its variance (see [`uniform`]);
//! - a variable bounded by b in absolute value: V = b² (Hoeffding's lemma).
//!
//! [`steps`] has the variances that ring protocols add, step by step.
//!
//! Everything is computed as logarithms, so no probability is too small to be written down.

pub mod steps;

use std::f64::consts::LOG2_E;

/// Variance proxy of a uniform variable on an interval of this width, centred at 0.
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

/// As [`failure_log2`], for sums of two variables of these proxies of which nothing is known *together*.
///
/// Each gets a share of the margin in proportion to its deviation, and the sum is beyond the margin only if one of
/// them is beyond its share.
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
    // Nothing is added to what is infinite, and two times nothing is nothing.
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
    fn logarithms_of_sums() {
        assert_eq!(log2_sum(-40.0, -40.0), -39.0);
        assert_eq!(log2_sum(-2000.0, -2000.0), -1999.0);
        assert_eq!(log2_sum(-40.0, f64::NEG_INFINITY), -40.0);
        assert_eq!(log2_sum(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(log2_sum(f64::INFINITY, 3.0), f64::INFINITY);
    }

    #[test]
    fn apart_costs_what_the_deviations_lose_by_adding_up() {
        // Deviations 3 and 4: 7 in the place of 5, and one factor 2.
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
