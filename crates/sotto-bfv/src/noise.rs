//! The noise of a lookup as a method models it, and the probability that it is too large.
//!
//! Figures are variance proxies of coefficients of the error, in units of the last place of the
//! modulus that a ciphertext has at that step: see `sotto_lattice::bgv::noise`.

use crate::layout::Layout;
use crate::rings::{Ring, SIGMA};
pub use sotto_lattice::bgv::noise::Noise as Steps;
use sotto_lattice::bgv::{AnswerBits, Level};

/// log2 of the probability that a polynomial's norm exceeds its bound. A lookup has fewer than 2^24 polynomials.
pub const NORM_LOG2: f64 = -90.0;

/// log2 of the probability that any of a lookup's polynomials exceeds its norm bound.
const NORMS_LOG2: f64 = NORM_LOG2 + 24.0;

/// Noise of ciphertexts that are rounded to few bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundedNoise {
    /// Variance before the rounding, modulo the last prime.
    pub variance: f64,
    /// Bound on the error that rows at their worst add before the rounding.
    pub chosen: f64,
    /// Number of such ciphertexts that must be correct.
    pub count: f64,
    /// Bits of a coefficient after the rounding; `None` for those of an answer.
    pub bits: Option<AnswerBits>,
}

impl RoundedNoise {
    /// The noise of `count` ciphertexts of a level that are each left with one prime and then
    /// merged with others as the layout requires: rotated one after the other, and summed.
    pub fn merged(
        steps: &Steps,
        layout: &Layout,
        level: Level,
        [variance, chosen]: [f64; 2],
        count: usize,
    ) -> Self {
        let (mut variance, mut chosen, mut level) = (variance, chosen, level);
        while let Some(below) = level.below() {
            (variance, chosen, level) =
                (steps.lowered(variance, level), steps.chosen_lowered(chosen, level), below);
        }
        let columns = layout.merged as f64;
        let variance = columns * variance + (columns - 1.0) * steps.key_switch(level);
        RoundedNoise { variance, chosen: columns * chosen, count: count as f64, bits: None }
    }
}

/// The noise of a lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Variance after each step, for a person.
    pub steps: Vec<(&'static str, f64)>,
    /// The ciphertexts that are rounded.
    pub rounded: Vec<RoundedNoise>,
    /// log2 of the probability that noise exceeds half a step of the message before the rounding.
    pub inner_log2: f64,
}

/// The bounds of each step in a ring.
pub fn steps(ring: &Ring) -> Steps {
    Steps::bound(ring, SIGMA, NORM_LOG2)
}

impl Noise {
    /// log2 of the probability that any number of an answer is read wrongly.
    pub fn failure_log2(&self, ring: &Ring, bits: AnswerBits) -> f64 {
        let steps = steps(ring);
        let rounded = self.rounded.iter().map(|rounded| {
            let bits = rounded.bits.unwrap_or(bits);
            let variance = steps.answer(rounded.variance, bits);
            steps.answer_failure_log2(variance, rounded.chosen, bits) + rounded.count.log2()
        });
        let all: Vec<f64> = rounded.chain([self.inner_log2, NORMS_LOG2]).collect();
        let worst = all.iter().fold(f64::NEG_INFINITY, |worst, log2| worst.max(*log2));
        // A sum is at most its largest summand times their number. A NaN ends as certain failure.
        (worst + (all.len() as f64).log2()).min(0.0)
    }
}
