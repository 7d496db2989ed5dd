//! The primal attack: LWE as a unique shortest vector problem, under the geometric series assumption.
//!
//! The condition is that of Alkim, Ducas, Pöppelmann and Schwabe (USENIX Security 2016, section 6.3),
//! with secret and error scaled to one width; the lattice dimension is the one that is best for the
//! attacker, with as many samples as it wants. It gives the same block size as the lattice estimator on
//! every set of [`super::certified_sets`] (see the tests).

use std::f64::consts::{E, PI};

/// No block size above this is searched: its cost is beyond 2^1100.
const LARGEST_BETA: u32 = 4096;

/// The attack at its best: block size and lattice dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attack {
    /// BKZ block size.
    pub beta: u32,
    /// Lattice dimension.
    pub dimension: f64,
}

impl Attack {
    /// Core-SVP cost in bits: 0.292 beta. A lower bound that no peer compares itself by.
    pub fn core_svp(&self) -> f64 {
        0.292 * f64::from(self.beta)
    }

    /// Gate count in bits, close to and below what the estimator prints for its MATZOV model.
    ///
    /// The formula is MATZOV's ("Report on the security of LWE", 2022, with the list-decoding gate
    /// counts of Albrecht, Gheorghiu, Postlethwaite and Schanck, ASIACRYPT 2020): a sieve in dimension
    /// beta - beta ln(4/3) / ln(beta / 2 pi e), called C (d - beta) times for a progressive C, and a
    /// progressive sieve inside. [`SAFE_SIDE`] is then subtracted, since the bare formula is 0.01 to
    /// 0.15 above the estimator on the certified sets.
    pub fn matzov_below(&self) -> f64 {
        let beta = f64::from(self.beta);
        let sieve = beta - beta * (4.0_f64 / 3.0).ln() / (beta / (2.0 * PI * E)).ln();
        let progressive = -(1.0 - (-0.292_f64).exp2()).log2();
        let calls = (self.dimension - beta).max(1.0).log2();
        GATES_PER_DIMENSION * sieve + GATES_OFFSET + 2.0 * progressive + calls - SAFE_SIDE
    }
}

/// List-decoding sieve, classical circuit: log2 gates = slope * dimension + offset (AGPS 2020, as fitted
/// in the lattice estimator).
const GATES_PER_DIMENSION: f64 = 0.296_135_003_082_053_65;
const GATES_OFFSET: f64 = 20.387_885_985_467_914;

/// Bits taken off so that the figure never exceeds the estimator's.
pub const SAFE_SIDE: f64 = 0.2;

/// The least block size at which the primal attack succeeds, or `None` if it is beyond 2^1100.
///
/// `secret` and `error` are standard deviations. All arguments must be positive and finite.
pub fn attack(n: usize, log2_q: f64, secret: f64, error: f64) -> Option<Attack> {
    let n = n as f64;
    let scale = (error / secret).log2();
    (40..=LARGEST_BETA).find_map(|block| {
        let beta = f64::from(block);
        let log2_delta = ((PI * beta).log2() / beta + (beta / (2.0 * PI * E)).log2()) / (2.0 * (beta - 1.0));
        let d = (n * (log2_q - scale) / log2_delta).sqrt();
        let projected = 0.5 * beta.log2() + error.log2();
        let gram_schmidt = (2.0 * beta - d - 1.0) * log2_delta + ((d - n - 1.0) * log2_q + n * scale) / d;
        (projected <= gram_schmidt).then_some(Attack { beta: block, dimension: d })
    })
}
