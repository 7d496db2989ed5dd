//! The primal attack: LWE as a unique shortest vector problem, under the geometric series
//! assumption.
//!
//! The condition is that of Alkim, Ducas, Pöppelmann and Schwabe (USENIX Security 2016, section
//! 6.3), with secret and error scaled to one width; the lattice dimension is optimized for the
//! attacker, with as many samples as it wants. The block size equals that of the lattice estimator
//! on every set of [`super::certified_sets`] (see the tests).

use super::reduction;

/// Largest block size searched: the cost of larger ones is beyond 2^1100.
const LARGEST_BETA: u32 = 4096;

/// The optimized cost of the primal attack: block size and lattice dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrimalAttackCost {
    /// BKZ block size.
    pub beta: u32,
    /// Lattice dimension.
    pub dimension: f64,
}

impl PrimalAttackCost {
    /// Core-SVP cost in bits: 0.292 beta, one classical sieve in the block size and nothing else (Alkim, Ducas,
    /// Pöppelmann, Schwabe, USENIX Security 2016). Lower than MATZOV's gates, and not to be compared with them.
    pub fn core_svp(&self) -> f64 {
        0.292 * f64::from(self.beta)
    }

    /// Gate count in bits, close to and below what the estimator prints for its MATZOV model.
    ///
    /// [`SAFE_SIDE`] is subtracted, since the bare formula is 0.01 to 0.15 above the estimator on the certified
    /// sets.
    pub fn matzov_below(&self) -> f64 {
        reduction::bkz(f64::from(self.beta), self.dimension) - SAFE_SIDE
    }
}

/// Bits subtracted so that the figure never exceeds the estimator's.
pub const SAFE_SIDE: f64 = 0.2;

/// The smallest block size at which the primal attack succeeds, or `None` if it is beyond 2^1100.
///
/// `secret` and `error` are standard deviations. All arguments must be positive and finite.
pub fn attack(n: usize, log2_q: f64, secret: f64, error: f64) -> Option<PrimalAttackCost> {
    let n = n as f64;
    let scale = (error / secret).log2();
    (40..=LARGEST_BETA).find_map(|block| {
        let beta = f64::from(block);
        let log2_delta = reduction::log2_delta(beta);
        let d = (n * (log2_q - scale) / log2_delta).sqrt();
        let projected = 0.5 * beta.log2() + error.log2();
        let gram_schmidt = (2.0 * beta - d - 1.0) * log2_delta + ((d - n - 1.0) * log2_q + n * scale) / d;
        (projected <= gram_schmidt).then_some(PrimalAttackCost { beta: block, dimension: d })
    })
}
