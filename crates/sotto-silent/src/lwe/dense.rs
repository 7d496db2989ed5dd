//! Plain LWE modulo 2^32 at the papers' dimensions, which are no powers of two: the baselines.
//!
//! The public matrix A, of n columns and a row for each record, is dense, and made *column by
//! column* from the public seed: the words of column j in rows k 1024 .. (k + 1) 1024 are a stream
//! of their own. So computing a hint, `H = D A`, takes passes over the matrix with eight columns at
//! a time, a client sums columns times its secret, and neither holds more of A than that.
//!
//! A word of a query is `A s + e`, plus 2^24 for the requested record. It is not rounded: these
//! sets are as published.

use crate::one_hot::OneHot;
use sotto_core::{CryptoRng, Result, Security};
use sotto_lattice::noise;
use sotto_lattice::secret::Distribution;
use sotto_lattice::security;
use sotto_math::matrix::dot_rows;
use sotto_prg::PublicSeed;
use subtle::ConditionallySelectable;
use zeroize::Zeroizing;

/// Rows of A in one stream.
pub const BLOCK: usize = 1024;

/// log2 of the modulus.
pub const LOG2_Q: f64 = 32.0;

/// The value of one unit of a byte: 2^32 / 256.
const STEP: u32 = 1 << 24;

/// Maximum absolute value of a number of the table.
const MAX: f64 = 128.0;

/// The distribution of secrets.
const SECRETS: Distribution = Distribution::Ternary;

/// A dimension, and the distribution of errors; secrets are ternary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DenseLwe {
    /// The name of the set, for literals.
    pub name: &'static str,
    /// The dimension: columns of A.
    pub n: usize,
    /// The distribution of errors.
    pub errors: Distribution,
    /// The label of A's streams.
    label: &'static str,
}

/// The set of FrodoPIR (Davidson, Pestana and Celi, PoPETs 2023).
pub const FRODO: DenseLwe =
    DenseLwe { name: "n1774-q32-t", n: 1774, errors: Distribution::Ternary, label: "n1774-q32-t matrix" };

/// The set of HintlessPIR (Li, Micciancio, Raykova and Schultz-Wu, CRYPTO 2024), with its dimension
/// and with errors that a certificate covers: those of its program have variance 8, which is enough
/// for the estimate and not for the gate.
pub const HINTLESS: DenseLwe = DenseLwe {
    name: "n1408-q32-t",
    n: 1408,
    errors: Distribution::Gaussian(6.4),
    label: "n1408-q32-t matrix",
};

impl DenseLwe {
    /// The security of the set, by the security gate.
    ///
    /// # Errors
    /// [`sotto_core::ParamsError::Insecure`] if the gate refuses it.
    pub fn security(&self) -> Result<Security> {
        Ok(security::gate(self.n, LOG2_Q, &SECRETS.into(), self.errors.variance().sqrt())?)
    }

    /// Variance proxy of a hint's number times a secret: `(1 + 2 cosh u) / 3 <= exp(u^2 / 3)`, term
    /// by term of the two series, and numbers of a hint are in [-2^31, 2^31).
    pub fn product_proxy(&self) -> f64 {
        self.n as f64 * SECRETS.variance() * 62f64.exp2()
    }

    /// Standard deviation bound of the noise of one byte, and the margin that it must stay below,
    /// for answers of `answer_bits` bits a word.
    pub fn deviation_and_margin(&self, columns: u64, answer_bits: u8) -> (f64, f64) {
        let deviation = MAX * (columns as f64 * self.errors.variance()).sqrt();
        let rounding = if answer_bits < 32 { (31.0 - f64::from(answer_bits)).exp2() } else { 0.0 };
        (deviation, f64::from(STEP) / 2.0 - rounding)
    }

    /// Bound on log2 of the probability that any byte of one record comes out wrong, for any table,
    /// since errors are drawn when a query is made, after the table.
    pub fn failure_log2(&self, record_bytes: u64, columns: u64, answer_bits: u8) -> f64 {
        let (deviation, margin) = self.deviation_and_margin(columns, answer_bits);
        noise::failure_log2(margin, deviation * deviation, record_bytes as f64)
    }

    /// Draws a fresh secret s.
    pub fn secret(&self, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<i32>> {
        let mut out = Zeroizing::new(vec![0; self.n]);
        SECRETS.fill(rng, &mut out);
        out
    }

    /// The first words of column j of A in block k of its rows.
    pub fn piece(&self, seed: &PublicSeed, k: usize, j: usize, out: &mut [u32]) {
        seed.stream(self.label, (k * self.n + j) as u64).fill_u32(out);
    }

    /// The first rows of A in block k, as many as `out` holds: n words each.
    pub fn rows(&self, seed: &PublicSeed, k: usize, out: &mut [u32]) {
        let mut piece = vec![0; out.len() / self.n];
        for j in 0..self.n {
            self.piece(seed, k, j, &mut piece);
            out.iter_mut().skip(j).step_by(self.n).zip(&piece).for_each(|(out, word)| *out = *word);
        }
    }

    /// Encrypts a one-hot vector: `A s + e` plus 2^24 times a vector of ones, m words. The answer
    /// is the sum of their records' bytes modulo 256.
    ///
    /// No branch, index or allocation depends on the requested index or on a secret.
    pub fn sum(
        &self,
        seed: &PublicSeed,
        m: usize,
        mut ones: OneHot,
        s: &[i32],
        rng: &mut dyn CryptoRng,
    ) -> Vec<u32> {
        let mut errors = Zeroizing::new(vec![0; m]);
        self.errors.fill(rng, &mut errors);
        let mut unit = |place: u32| u32::conditional_select(&0, &STEP, ones.is_one(place));
        let mut words: Vec<u32> =
            (0..).zip(errors.iter()).map(|(place, e)| (*e as u32).wrapping_add(unit(place))).collect();
        let mut piece = [0; BLOCK];
        for (k, words) in words.chunks_mut(BLOCK).enumerate() {
            let (piece, _) = piece.split_at_mut(words.len());
            for (j, s) in s.iter().enumerate() {
                self.piece(seed, k, j, piece);
                let s = *s as u32;
                words.iter_mut().zip(&*piece).for_each(|(x, a)| *x = x.wrapping_add(a.wrapping_mul(s)));
            }
        }
        words
    }

    /// `H s` for every row of a hint, independent of which rows are requested.
    pub fn mask(&self, hint: &[u32], s: &[i32]) -> Zeroizing<Vec<u32>> {
        let mut sums = Zeroizing::new(vec![0; hint.len() / self.n]);
        dot_rows(hint, self.n, s, &mut sums);
        Zeroizing::new(sums.iter().map(|sum| *sum as u32).collect())
    }
}

/// The byte that a word of an answer stands for after its mask is subtracted.
pub fn byte(phase: u32) -> u8 {
    (phase.wrapping_add(STEP / 2) >> 24) as u8
}

#[cfg(feature = "server")]
mod hint;

#[cfg(test)]
mod tests;
