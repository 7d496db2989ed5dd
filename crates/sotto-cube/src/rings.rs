//! Rings that parameter sets may name: degree, moduli, and the distributions of secret and error.
//!
//! The list is closed. A catalog names a ring and cannot bring moduli of its own, so the transforms
//! of a ring are made once in a process, and the security estimate sees at most four instances.

use sotto_core::ParamsError;
use sotto_lattice::ring::Ring;
use sotto_lattice::secret::Distribution;
use sotto_lattice::security;
use sotto_math::modulus::Modulus;
use sotto_math::tiles::WordPacking;
use std::sync::OnceLock;

/// A named ring, with the values that are known before its transforms are made.
#[derive(Debug)]
pub struct RingSet {
    /// Name of the ring in catalogs.
    pub name: &'static str,
    /// Origin of the ring, in one line.
    pub about: &'static str,
    /// Degree N of X^N + 1.
    pub n: usize,
    /// The prime factors of q: one below 2^50, or two below 2^28.
    pub q: &'static [u64],
    /// q', if queries are expanded modulo Q = q q'.
    pub special: Option<u64>,
    /// Distribution of the secrets.
    pub distribution: Distribution,
    /// Standard deviation of the errors.
    pub sigma: f64,
    ring: OnceLock<Option<Ring>>,
}

impl RingSet {
    const fn new(
        name: &'static str,
        about: &'static str,
        n: usize,
        q: &'static [u64],
        special: Option<u64>,
        distribution: Distribution,
        sigma: f64,
    ) -> Self {
        RingSet { name, about, n, q, special, distribution, sigma, ring: OnceLock::new() }
    }

    /// The ring, made on first use. `None` only if the numbers above are not a ring, which a test
    /// excludes.
    pub fn ring(&self) -> Option<&Ring> {
        let make = || {
            let q = match *self.q {
                [q] => Modulus::new(q)?,
                [q1, q2] => Modulus::composite(Modulus::new(q1)?, Modulus::new(q2)?)?,
                _ => return None,
            };
            let special = match self.special {
                Some(special) => Some(Modulus::new(special)?),
                None => None,
            };
            Ring::new(self.n, q, special)
        };
        self.ring.get_or_init(make).as_ref()
    }

    /// How an image's words of slots modulo q share cache lines.
    pub fn packing(&self) -> WordPacking {
        if self.q.len() == 1 { WordPacking::Residues } else { WordPacking::Pairs }
    }

    /// log2 q.
    pub fn log2_q(&self) -> f64 {
        self.q.iter().map(|q| (*q as f64).log2()).sum()
    }

    /// log2 Q, which is log2 q where there is no q'.
    pub fn log2_full(&self) -> f64 {
        self.log2_q() + self.special.map_or(0.0, |special| (special as f64).log2())
    }

    /// Number of bits of q.
    pub fn main_bits(&self) -> u32 {
        bits(self.log2_q())
    }

    /// Number of bits of Q.
    pub fn full_bits(&self) -> u32 {
        bits(self.log2_full())
    }

    /// Estimates the security of the ring, at the largest modulus under which anything is
    /// encrypted.
    ///
    /// # Errors
    /// The errors of [`security::gate`].
    pub fn security(&self) -> Result<sotto_core::Security, ParamsError> {
        security::gate(self.n, self.log2_full(), &self.distribution.into(), self.sigma)
    }
}

/// Rounds log2 of a modulus up to bits. No modulus here is within rounding of a power of two from
/// above.
fn bits(log2: f64) -> u32 {
    log2.ceil() as u32
}

/// Finds the ring of a name.
///
/// # Errors
/// [`ParamsError::Field`], which lists the names.
pub fn find(name: &str) -> Result<&'static RingSet, ParamsError> {
    RINGS.iter().find(|ring| ring.name == name).ok_or_else(|| ParamsError::Field {
        field: "ring",
        why: format!("must be one of {}", RINGS.each_ref().map(|ring| ring.name).join(", ")),
    })
}

/// Name of the ring with N = 4096 and two primes just below 2^50 (the default of FSpiral): Q has
/// 100 bits, q 50.
pub const LARGE: &str = "n4096-q50-q50";
/// Name of the ring with N = 2048 and one prime just below 2^50: the smallest queries.
pub const SMALL: &str = "n2048-q50";
/// Name of FSpiral's own ring: q is a product of two primes of 28 bits, q' has 24 bits.
pub const FSPIRAL: &str = "n4096-q56-q24";
/// Name of the ring with Spiral's own modulus, and with secret and error as wide as a certified set
/// requires.
pub const SPIRAL: &str = "n2048-q56";

/// All rings.
pub static RINGS: [RingSet; 4] = [
    RingSet::new(
        LARGE,
        "two primes below 2^50, ternary secret",
        4096,
        &[1_125_899_904_679_937],
        Some(1_125_899_903_991_809),
        Distribution::Ternary,
        3.2,
    ),
    RingSet::new(
        SMALL,
        "one prime below 2^50, ternary secret",
        2048,
        &[1_125_899_904_679_937],
        None,
        Distribution::Ternary,
        3.2,
    ),
    RingSet::new(
        FSPIRAL,
        "Luo and Wang 2025: q = q1 q2 of 56 bits, q' of 24 bits, ternary secret",
        4096,
        &[268_369_921, 249_561_089],
        Some(16_760_833),
        Distribution::Ternary,
        3.2,
    ),
    RingSet::new(
        SPIRAL,
        "Menon and Wu 2022: q = q1 q2 of 56 bits, Gaussian secret and error of sigma 6.4",
        2048,
        &[268_369_921, 249_561_089],
        None,
        Distribution::Gaussian(6.4),
        6.4,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_times_secrets_do_not_wrap() {
        for set in &RINGS {
            let largest = match set.distribution {
                Distribution::Ternary => 1,
                Distribution::Gaussian(sigma) => sotto_math::sample::Gaussian::new(sigma).bound(),
            };
            let sum = (set.n as f64 * f64::from(largest)).log2() + f64::from(crate::literal::MAX_MASK_BITS);
            assert!(sum < set.log2_q() - 1.0, "{}: 2^{sum}", set.name);
        }
    }

    #[test]
    fn every_ring_is_one_and_passes_the_gate() {
        for set in &RINGS {
            assert!(set.ring().is_some(), "{}", set.name);
            let bits = set.security().unwrap().bits;
            assert!(bits >= 128.0, "{}: {bits}", set.name);
            assert_eq!(find(set.name).unwrap().n, set.n);
        }
        assert!(find("n64-q20").is_err());
    }
}
