//! Dual attacks: short vectors of the dual lattice turn samples into ones that are not quite
//! uniform.
//!
//! There are two of them, by the formulas of the lattice estimator (`lwe_dual.py` at commit
//! 27a581b), each optimized for the attacker over block size and guessed coordinates, with as many
//! samples as it wants:
//!
//! - [`DualAttack::Hybrid`]: guess some coordinates of the secret by exhaustive search and
//!   distinguish on the others, with the best number of samples (Espitau, Joux, Kharchenko,
//!   INDOCRYPT 2020). Guessing none is the plain dual attack (Micciancio, Regev 2009), which needs
//!   fewer samples since it only distinguishes.
//! - [`DualAttack::Fourier`]: guess some and transform others modulo a small p, with n samples
//!   (Guo, Johansson, ASIACRYPT 2021; MATZOV 2022, theorem 7.6). This is the best attack against
//!   ternary secrets.
//!
//! Whether distinguishing works as well as the formulas assume is doubted (Ducas, Pulles, CRYPTO
//! 2023); where they err, they err on the safe side.

use super::{SecretDistribution, reduction};
use crate::noise::log2_sum;
use std::f64::consts::{E, LN_2, LOG2_E, PI};

/// Block sizes searched: the largest as in [`super::usvp`], the smallest where the formulas begin.
const BETAS: (u32, u32) = (50, 4096);

/// Largest number of coordinates guessed or transformed. A sum of 3^400 is far beyond every limit.
const MAX_COORDINATES: u32 = 400;

/// Largest value of p tried: beyond some ten, the transform only grows.
const LARGEST_P: u32 = 16;

/// Step of guessed and transformed coordinates, which the estimator also searches ten at a time.
const STEP: u32 = 10;

/// Bits subtracted so that the figure never exceeds the estimator's by more than the rounding of
/// its tables.
pub const SAFE_SIDE: f64 = 0.1;

/// The kind of a dual attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DualAttack {
    /// Guessing and distinguishing, or distinguishing alone.
    Hybrid,
    /// With a Fourier transform modulo a small p.
    Fourier,
}

/// The optimized cost of a dual attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualAttackCost {
    /// Kind of the attack.
    pub kind: DualAttack,
    /// log2 of the attack's gates, by the formulas.
    pub matzov: f64,
    /// BKZ block size.
    pub beta: u32,
    /// Coordinates of the secret that are guessed.
    pub guessed: u32,
    /// Coordinates of the secret that are transformed.
    pub transformed: u32,
}

impl DualAttackCost {
    /// Gate count in bits, [`SAFE_SIDE`] below the formulas.
    pub fn matzov_below(&self) -> f64 {
        self.matzov - SAFE_SIDE
    }
}

/// The cheaper of [`hybrid`] and [`fourier`], or `None` if both are beyond every limit.
///
/// `error` is a standard deviation; it and log2 q must be positive and finite.
pub fn attack(n: usize, log2_q: f64, secret: SecretDistribution, error: f64) -> Option<DualAttackCost> {
    let both = [hybrid(n, log2_q, secret, error), fourier(n, log2_q, secret, error)];
    both.into_iter().flatten().min_by(|a, b| a.matzov.total_cmp(&b.matzov))
}

/// The best attack of [`DualAttack::Hybrid`].
pub fn hybrid(n: usize, log2_q: f64, secret: SecretDistribution, error: f64) -> Option<DualAttackCost> {
    let lwe = Lwe::new(n, log2_q, secret, error);
    descend(MAX_COORDINATES.min(lwe.coordinates()), 1, 12, |guessed| {
        let (beta, matzov) = best_beta(|beta| lwe.hybrid(beta, guessed))?;
        Some(DualAttackCost { kind: DualAttack::Hybrid, matzov, beta, guessed, transformed: 0 })
    })
}

/// The best attack of [`DualAttack::Fourier`].
pub fn fourier(n: usize, log2_q: f64, secret: SecretDistribution, error: f64) -> Option<DualAttackCost> {
    let lwe = Lwe::new(n, log2_q, secret, error);
    let most = MAX_COORDINATES.min(lwe.coordinates());
    let with = |p: u32| {
        descend(most, STEP, 2, |guessed| {
            descend(most - guessed, STEP, 2, |transformed| {
                let (beta, matzov) = best_beta(|beta| lwe.fourier(beta, guessed, transformed, p))?;
                Some(DualAttackCost { kind: DualAttack::Fourier, matzov, beta, guessed, transformed })
            })
        })
    };
    (2..=LARGEST_P).filter_map(with).min_by(|a, b| a.matzov.total_cmp(&b.matzov))
}

/// An LWE instance in the terms of the formulas.
struct Lwe {
    n: f64,
    log2_q: f64,
    /// Standard deviations of secret and error.
    secret: f64,
    error: f64,
    /// log2 of the values of a secret coordinate that exhaustive search tries.
    values: f64,
}

impl Lwe {
    fn new(n: usize, log2_q: f64, secret: SecretDistribution, error: f64) -> Self {
        let width = secret.sigma(error);
        let values = match secret {
            SecretDistribution::Ternary => 3.0,
            // Twice a cutoff at two Gaussian parameters, sqrt(2 pi) sigma, on each side: the
            // estimator's count.
            SecretDistribution::Gaussian(_) | SecretDistribution::Uniform => {
                8.0 * (2.0 * PI).sqrt() * width + 3.0
            }
        };
        Lwe { n: n as f64, log2_q, secret: width, error, values: values.log2() }
    }

    /// Largest number of coordinates to guess: all but one.
    fn coordinates(&self) -> u32 {
        self.n as u32 - 1
    }

    /// Gates of the attack that guesses `guessed` coordinates by exhaustive search.
    fn hybrid(&self, beta: f64, guessed: u32) -> f64 {
        let rest = self.n - f64::from(guessed);
        let log2_delta = reduction::log2_delta(beta);
        let log2_c = self.secret.log2() + self.log2_q - self.error.log2();
        let samples = ((rest * log2_c / log2_delta).sqrt().ceil() - rest).max(1.0);
        let d = samples + rest;
        // Width of the remaining error, as a share of q. The estimator runs the second sieve in 2
        // beta here.
        let longer = reduction::log2_longer(beta, 2.0 * beta);
        let width = (longer + self.secret.log2() + d * log2_delta - log2_c * samples / d).exp2();
        let nats = 4.0 * (PI * width).powi(2);
        let candidates = f64::from(guessed) * self.values;
        // Success 0.99: its square root each for search and for distinguishing where there is a
        // search.
        let count = match guessed {
            0 => nats * LOG2_E + (2.0 * 50.0_f64.ln()).log2(),
            _ => nats * LOG2_E + 3.0 + (candidates * LN_2 - (-0.5 * 0.99_f64.ln()).ln()).log2(),
        };
        let work = if guessed == 0 { count } else { 1.0 + candidates + count };
        log2_sum(reduction::short_vectors(beta, d, count), work)
    }

    /// Gates of the attack that guesses some coordinates and transforms others modulo p.
    fn fourier(&self, beta: f64, guessed: u32, transformed: u32, p: u32) -> f64 {
        let (guessed, transformed, p) = (f64::from(guessed), f64::from(transformed), f64::from(p));
        let (samples, rest) = (self.n, self.n - guessed - transformed);
        let d = samples + rest;
        // Length of the vectors, as a share of q.
        let log2_length = self.error.log2() * samples / d
            + (self.secret.log2() + self.log2_q) * rest / d
            + 0.5 * (4.0 / 3.0 * beta / (2.0 * PI * E)).log2()
            + (d - beta) * reduction::log2_delta(beta)
            - self.log2_q;
        let variance = self.secret * self.secret;
        let nats = 4.0 * (PI * log2_length.exp2()).powi(2) + transformed / 3.0 * variance * (PI / p).powi(2);
        let entropy =
            (0.5 + ((2.0 * PI).sqrt() * self.secret).ln() - (PI * PI * variance).tanh().ln()) / LN_2;
        let count = nats * LOG2_E + (guessed * entropy + transformed * p.ln() + LN_2).log2();
        // Theorem 7.6: a multiplication counts 32^2 gates, an addition 5 * 32.
        let table = (4.0 * 5.0 * 32.0_f64).log2() + count;
        let transform = 10.0 + transformed.log2() + (transformed + 1.0) * p.log2();
        let alpha = PI * PI * variance;
        let per_guess =
            1.0 - 0.5 * LOG2_E + 8.0 * alpha * (-2.0 * alpha).exp() * alpha.tanh() * LOG2_E + entropy;
        let once = -(-(-0.5 / variance).exp_m1()).log2();
        let guess = once + guessed * per_guess + log2_sum(transform, table);
        log2_sum(reduction::short_vectors(beta, d, count), guess)
    }
}

/// The block size of least cost, and that cost, where it is finite.
///
/// Too small a block needs more vectors than there are, too large a one costs more than it saves.
/// The cost has one minimum, except for the steps of whole dimensions, which the neighborhood at
/// the end evens out.
fn best_beta(cost: impl Fn(f64) -> f64) -> Option<(u32, f64)> {
    let at = |beta: u32| cost(f64::from(beta));
    let (mut low, mut high) = BETAS;
    while high - low > 8 {
        let (left, right) = (low + (high - low) / 3, high - (high - low) / 3);
        // Where both are infinite, the minimum is above.
        if at(left) < at(right) { high = right } else { low = left }
    }
    let near = low.saturating_sub(6).max(BETAS.0)..=(high + 6).min(BETAS.1);
    let best = near.map(|beta| (beta, at(beta))).min_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, cost)| cost.is_finite())
}

/// The smallest of `at(0)`, `at(step)`, ..., up to `most`; the search stops after `patience` values
/// in a row that are no better.
fn descend(
    most: u32,
    step: u32,
    patience: u32,
    at: impl Fn(u32) -> Option<DualAttackCost>,
) -> Option<DualAttackCost> {
    let mut best: Option<DualAttackCost> = None;
    let mut worse = 0;
    for x in (0..=most).step_by(step as usize) {
        match at(x).filter(|found| best.is_none_or(|best| found.matzov < best.matzov)) {
            Some(better) => (best, worse) = (Some(better), 0),
            None => worse += 1,
        }
        if worse == patience {
            break;
        }
    }
    best
}
