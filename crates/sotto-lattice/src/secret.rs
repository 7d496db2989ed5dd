//! Secret keys: small polynomials, and the distributions they are drawn from.

use crate::ring::{ModulusLevel, Ring};
use crate::security;
use rand_core::CryptoRng;
use sotto_math::sample::Gaussian;
use zeroize::Zeroizing;

/// The distribution of each coefficient of a secret.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Uniform in {-1, 0, 1}.
    Ternary,
    /// Discrete Gaussian of this standard deviation, in 0.5..=1000.
    Gaussian(f64),
}

impl Distribution {
    /// The mean square of a coefficient.
    pub fn variance(&self) -> f64 {
        match self {
            Distribution::Ternary => 2.0 / 3.0,
            Distribution::Gaussian(sigma) => sigma * sigma,
        }
    }

    /// Draws numbers of this distribution, in time that does not depend on them.
    ///
    /// # Panics
    /// If a Gaussian's standard deviation is out of range.
    pub fn fill(&self, rng: &mut dyn CryptoRng, out: &mut [i32]) {
        match *self {
            Distribution::Ternary => ternary(rng, out),
            Distribution::Gaussian(sigma) => Gaussian::new(sigma).fill(rng, out),
        }
    }
}

impl From<Distribution> for security::SecretDistribution {
    fn from(law: Distribution) -> Self {
        match law {
            Distribution::Ternary => security::SecretDistribution::Ternary,
            Distribution::Gaussian(sigma) => security::SecretDistribution::Gaussian(sigma),
        }
    }
}

/// A secret key, overwritten when dropped.
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i32>>,
    /// Slots modulo Q; the first limb is the secret modulo q.
    slots: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// Draws a secret, in time that does not depend on it.
    ///
    /// # Panics
    /// If a Gaussian's standard deviation is out of range.
    pub fn sample(ring: &Ring, law: Distribution, rng: &mut dyn CryptoRng) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; ring.n()]);
        law.fill(rng, &mut coefficients);
        let slots = Zeroizing::new(ring.from_small(ModulusLevel::Full, &coefficients));
        SecretKey { coefficients, slots }
    }

    /// The coefficients of the secret.
    pub fn coefficients(&self) -> &[i32] {
        &self.coefficients
    }

    /// The secret in slots.
    pub fn slots(&self, ring: &Ring, level: ModulusLevel) -> &[u64] {
        &self.slots[..ring.words(level)]
    }

    /// The product of two secrets in slots; a secret times itself is its square.
    pub fn product(&self, ring: &Ring, level: ModulusLevel, other: &SecretKey) -> Zeroizing<Vec<u64>> {
        let mut out = Zeroizing::new(self.slots(ring, level).to_vec());
        ring.mul(level, &mut out, other.slots(ring, level));
        out
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Three times a word, divided by 2^64, is 0, 1 or 2: uniform up to 2^-63, without rejection.
pub(crate) fn ternary(rng: &mut dyn CryptoRng, out: &mut [i32]) {
    let mut bytes = Zeroizing::new([0u8; 4096]);
    for out in out.chunks_mut(bytes.len() / 8) {
        let bytes = &mut bytes[..out.len() * 8];
        rng.fill_bytes(bytes);
        for (x, word) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *x = ((u128::from(u64::from_le_bytes(*word)) * 3) >> 64) as i32 - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{rings, rng};

    #[test]
    fn the_laws_have_their_variances() {
        let ring = &rings(4096)[0];
        for law in [Distribution::Ternary, Distribution::Gaussian(3.2)] {
            let secret = SecretKey::sample(ring, law, &mut rng(1));
            let squares: f64 = secret.coefficients().iter().map(|x| f64::from(*x).powi(2)).sum();
            assert!((squares / 4096.0 / law.variance() - 1.0).abs() < 0.1, "{law:?}: {squares}");
        }
        let secret = SecretKey::sample(ring, Distribution::Ternary, &mut rng(2));
        for value in -1..=1 {
            let count = secret.coefficients().iter().filter(|x| **x == value).count();
            assert!((1250..1480).contains(&count), "{value}: {count}");
        }
        assert!(secret.coefficients().iter().all(|x| x.abs() <= 1));
    }

    #[test]
    fn slots_and_products_are_those_of_the_coefficients() {
        for ring in rings(64) {
            let s = SecretKey::sample(&ring, Distribution::Ternary, &mut rng(3));
            let t = SecretKey::sample(&ring, Distribution::Gaussian(3.2), &mut rng(4));
            let mut expected = vec![0i128; 64];
            for (i, x) in s.coefficients().iter().enumerate() {
                for (j, y) in t.coefficients().iter().enumerate() {
                    let sign = if i + j < 64 { 1 } else { -1 };
                    expected[(i + j) % 64] += i128::from(sign * x * y);
                }
            }
            for level in [ModulusLevel::Full, ModulusLevel::Main] {
                let modulus = ring.modulus(level) as i128;
                let product = ring.to_integers(level, &mut s.product(&ring, level, &t));
                let expected: Vec<u128> = expected.iter().map(|x| x.rem_euclid(modulus) as u128).collect();
                assert_eq!(product, expected);
            }
        }
    }
}
