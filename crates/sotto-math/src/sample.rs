//! The discrete Gaussian, in constant time.
//!
//! Sampling is by inversion of the cumulative distribution, as in FrodoKEM (specification of 2021,
//! algorithm 5, `Frodo.Sample`): a uniform word is compared with every entry of a table, always all
//! of them, and the sample is the number of entries it reaches. FrodoKEM's words have 16 bits; here
//! they have 64, of which one is the sign, so that the truncated tail is below 2^-64.

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
        Gaussian { thresholds: thresholds(sigma) }
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

// The cumulative table is computed in fixed-point integers: floating-point `exp` differs between
// platforms in its last bit and has 53 bits where the table needs 63. Integers with 112 fractional
// bits have neither problem: after the at most ten thousand products of a table, errors stay below
// 2^-98.

/// Fractional bits. Sums of the weights of sigma 1000 reach 2^12, so 124 bits are used.
const FRACTION: u32 = 112;
const ONE: u128 = 1 << FRACTION;

/// The probabilities that the magnitude is at most `k`, times 2^63, rounded, for each `k`. The
/// table ends where that rounds to 2^63: the truncated tail is below 2^-64.
fn thresholds(sigma: f64) -> Vec<u64> {
    let weights = weights(sigma);
    let total: u128 = weights.iter().sum();
    let mut sum = 0;
    weights
        .iter()
        .map(|weight| {
            sum += weight;
            ratio_63(sum, total)
        })
        .take_while(|&bound| bound < 1 << 63)
        .collect()
}

/// The weight of each magnitude: 1 for zero, twice `exp(-k^2 / (2 sigma^2))` for `k`.
fn weights(sigma: f64) -> Vec<u128> {
    // A power of two times a double is exact, and the double has no bit below 2^-112.
    let x = (1.0 / (2.0 * sigma * sigma) * ONE as f64) as u128;
    let r = exp_minus(x);
    let r_squared = mul(r, r);
    let mut weights = vec![ONE];
    // rho(k + 1) = rho(k) r^(2k + 1).
    let (mut rho, mut step) = (r, mul(r_squared, r));
    while rho > 0 {
        weights.push(2 * rho);
        rho = mul(rho, step);
        step = mul(step, r_squared);
    }
    weights
}

/// Computes `exp(-x)` for `x` up to 2, by its series; terms of each sign are summed separately.
fn exp_minus(x: u128) -> u128 {
    let (mut plus, mut minus, mut term) = (0, 0, ONE);
    let mut k = 0;
    while term > 0 {
        *if k % 2 == 0 { &mut plus } else { &mut minus } += term;
        k += 1;
        term = mul(term, x) / k;
    }
    plus - minus
}

/// Computes `a b`, rounded down, for operands up to 2.
fn mul(a: u128, b: u128) -> u128 {
    const HALF: u32 = FRACTION / 2;
    let split = |v: u128| (v >> HALF, v & ((1 << HALF) - 1));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    a1 * b1 + ((a1 * b0 + a0 * b1 + ((a0 * b0) >> HALF)) >> HALF)
}

/// Computes `2^63 part / whole`, rounded to the nearest, by long division.
fn ratio_63(part: u128, whole: u128) -> u64 {
    if part >= whole {
        return 1 << 63;
    }
    let (mut rest, mut quotient) = (part, 0u64);
    for _ in 0..64 {
        rest *= 2;
        let bit = rest >= whole;
        quotient = quotient << 1 | u64::from(bit);
        rest -= if bit { whole } else { 0 };
    }
    (quotient >> 1) + (quotient & 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// Probability of each magnitude by the textbook formula.
    fn formula(sigma: f64, len: usize) -> Vec<f64> {
        let rho = |k: usize| (-(k as f64).powi(2) / (2.0 * sigma * sigma)).exp();
        let total = 1.0 + 2.0 * (1..len + 50).map(rho).sum::<f64>();
        (0..len).map(|k| if k == 0 { 1.0 } else { 2.0 * rho(k) } / total).collect()
    }

    #[test]
    fn the_table_is_the_distribution() {
        for sigma in [0.5, 1.0, 3.2, 6.4, 11.0, 25.0, 1000.0] {
            let g = Gaussian::new(sigma);
            let p = formula(sigma, g.thresholds.len());
            let mut below = 0;
            for (k, (&bound, p)) in g.thresholds.iter().zip(p).enumerate() {
                let table = (bound - below) as f64 / 2f64.powi(63);
                assert!((table - p).abs() < 1e-15, "sigma {sigma}, magnitude {k}: {table} for {p}");
                below = bound;
            }
            // The tail is cut where it is below 2^-64, and not much before.
            let tail = g.bound() as f64 / sigma;
            assert!((8.0..11.0).contains(&tail), "sigma {sigma}: {tail} sigma");
        }
    }

    #[test]
    fn uniform_words_fall_where_the_table_says() {
        let g = Gaussian::new(11.0);
        for kernels in crate::simd::available() {
            let mut uniform = vec![];
            let mut expected = vec![];
            for (k, &bound) in g.thresholds.iter().enumerate() {
                // Far out, neighboring thresholds can be equal and are then reached together.
                let reached = |word| g.thresholds.partition_point(|&b| b <= word) as i32;
                assert!(reached(bound - 1) <= k as i32 && reached(bound) > k as i32);
                for (word, magnitude) in [(bound - 1, reached(bound - 1)), (bound, reached(bound))] {
                    uniform.extend([word << 1, word << 1 | 1]);
                    expected.extend([magnitude, -magnitude]);
                }
            }
            uniform.extend([0, 1, u64::MAX - 1, u64::MAX]);
            expected.extend([0, 0, g.bound(), -g.bound()]);
            let mut out = vec![77; uniform.len()];
            kernels.gauss(&g.thresholds, &uniform, &mut out);
            assert_eq!(out, expected, "{}", kernels.name());
        }
    }

    #[test]
    fn moments_and_frequencies() {
        const COUNT: usize = 400_000;
        for (sigma, seed) in [(0.8, 1), (6.4, 2), (11.0, 3)] {
            let g = Gaussian::new(sigma);
            let mut out = vec![0; COUNT];
            g.fill(&mut ChaCha20Rng::from_seed([seed; 32]), &mut out);
            // The seeds are fixed, so the bounds, five standard errors wide, either always
            // hold or never.
            let n = COUNT as f64;
            let mean = out.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
            assert!(mean.abs() < 5.0 * sigma / n.sqrt(), "sigma {sigma}: mean {mean}");
            let variance = out.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n;
            let p = formula(sigma, g.thresholds.len());
            let expected: f64 = p.iter().enumerate().map(|(k, p)| p * (k as f64).powi(2)).sum();
            assert!(
                (variance - expected).abs() < 5.0 * (2.0 / n).sqrt() * expected,
                "sigma {sigma}: variance {variance}"
            );

            // Chi-square over signed values that are expected at least 20 times.
            let (mut chi, mut cells) = (0.0, 0.0);
            for (k, p) in p.iter().enumerate() {
                for sign in if k == 0 { &[1][..] } else { &[1, -1] } {
                    let expected = p * n / if k == 0 { 1.0 } else { 2.0 };
                    if expected >= 20.0 {
                        let counted = out.iter().filter(|&&x| x == sign * k as i32).count() as f64;
                        chi += (counted - expected).powi(2) / expected;
                        cells += 1.0;
                    }
                }
            }
            let spread = (2.0f64 * cells).sqrt();
            assert!((chi - cells).abs() < 5.0 * spread, "sigma {sigma}: chi-square {chi} over {cells} cells");
        }
    }

    #[test]
    fn every_backend_draws_the_same() {
        let g = Gaussian::new(11.0);
        for len in [0, 1, 7, 8, 31, 32, 33, 511, 512, 513, 2000] {
            let mut expected = vec![0; len];
            g.fill_with(&crate::simd::Scalar, &mut ChaCha20Rng::from_seed([5; 32]), &mut expected);
            for kernels in crate::simd::available() {
                let mut out = vec![99; len];
                g.fill_with(kernels, &mut ChaCha20Rng::from_seed([5; 32]), &mut out);
                assert_eq!(out, expected, "{} samples by {}", len, kernels.name());
            }
        }
    }
}
