//! The discrete Gaussian, in constant time.
//!
//! Sampling is by inversion of the cumulative distribution, as in FrodoKEM (specification of 2021,
//! algorithm 5, `Frodo.Sample`): a uniform word is compared with every entry of a table, always all
//! of them, and the sample is the number of entries it reaches. FrodoKEM's words have 16 bits; here
//! they have 64, of which one is the sign, so that the truncated tail is below 2^-64.

mod table;

use crate::simd::{self, Kernels};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Words drawn from the generator at a time.
const BATCH: usize = 512;

/// A sampler of the discrete Gaussian over the integers, centered at zero: the
/// probability of `x` is proportional to `exp(-x^2 / (2 sigma^2))`.
///
/// ```
/// use sotto_math::sample::Gaussian;
///
/// let law = Gaussian::new(3.2);
/// let mut errors = [0; 1000];
/// law.fill(&mut sotto_prg::system_rng()?, &mut errors);
/// assert!(errors.iter().all(|error| error.abs() <= law.bound()));
/// # Ok::<(), sotto_prg::EntropyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gaussian {
    thresholds: Vec<u64>,
}

impl Gaussian {
    /// Makes the sampler for one `sigma`, in 0.5..=1000.
    ///
    /// The table is computed in integers, so it is the same on every machine.
    ///
    /// # Panics
    /// If `sigma` is out of range. The caller must have checked this parameter: a sampler of
    /// another width would be an unnoticed loss of security.
    pub fn new(sigma: f64) -> Self {
        assert!((0.5..=1000.0).contains(&sigma), "sigma {sigma} is not in 0.5..=1000");
        Gaussian { thresholds: table::thresholds(sigma) }
    }

    /// Fills `out` with independent samples, in time that does not depend on them.
    pub fn fill(&self, rng: &mut dyn CryptoRng, out: &mut [i32]) {
        self.fill_with(simd::kernels(), rng, out);
    }

    /// The largest magnitude that a sample can have.
    pub fn bound(&self) -> i32 {
        // Tables have at most some ten thousand entries.
        self.thresholds.len() as i32
    }

    pub(crate) fn fill_with(&self, kernels: &dyn Kernels, rng: &mut dyn CryptoRng, out: &mut [i32]) {
        let mut bytes = [0u8; BATCH * 8];
        let mut words = [0u64; BATCH];
        for out in out.chunks_mut(BATCH) {
            let (bytes, words) = (&mut bytes[..out.len() * 8], &mut words[..out.len()]);
            rng.fill_bytes(bytes);
            for (word, b) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*b);
            }
            kernels.gauss(&self.thresholds, words, out);
        }
        bytes.zeroize();
        words.zeroize();
    }
}

#[cfg(test)]
mod tests;
