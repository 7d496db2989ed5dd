//! Rings that parameter sets may name: degree, plain modulus, primes.
//!
//! The list is closed on purpose: a catalog names a ring, and cannot bring a modulus of its own.

use sotto_core::{ParamsError, Security};
use sotto_lattice::bgv::{Pow2, RnsRing};
use sotto_lattice::security::{SecretDistribution, gate};
use sotto_math::modulus::Modulus;
use std::sync::OnceLock;

/// A ring with its transforms.
pub type Ring = RnsRing<Pow2>;

/// Standard deviation of errors. Secrets are ternary.
pub const SIGMA: f64 = 3.2;

/// A named ring, with the values that are known before its transforms are made.
#[derive(Debug)]
pub struct RingSet {
    /// Name of the ring in catalogs.
    pub name: &'static str,
    /// Description of the ring in one line.
    pub about: &'static str,
    /// n: degree of the ring.
    pub degree: usize,
    /// t: plain modulus.
    pub plain: u64,
    /// Bits of data in a slot or a coefficient.
    pub bits: u32,
    /// Primes, the last of which is used by keys only.
    pub primes: &'static [u64],
    ring: OnceLock<Option<Ring>>,
}

impl RingSet {
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        degree: usize,
        plain: u64,
        bits: u32,
        primes: &'static [u64],
    ) -> Self {
        RingSet { name, about, degree, plain, bits, primes, ring: OnceLock::new() }
    }

    /// The ring, made on first use. `None` only if the numbers above are not a ring, which a test
    /// excludes.
    pub fn ring(&self) -> Option<&Ring> {
        let make = || {
            let primes = self.primes.iter().map(|q| Modulus::new(*q)).collect::<Option<Vec<_>>>()?;
            let slots = self.plain % (2 * self.degree as u64) == 1;
            RnsRing::new(match slots {
                true => Pow2::new(self.degree, Modulus::new(self.plain)?, &primes)?,
                false => Pow2::of_coefficients(self.degree, self.plain, &primes)?,
            })
        };
        self.ring.get_or_init(make).as_ref()
    }

    /// Number of primes of a query: all but the last.
    pub fn query_primes(&self) -> usize {
        self.primes.len() - 1
    }

    /// Estimates the security of the ring, including the special prime.
    ///
    /// # Errors
    /// The errors of [`gate`].
    pub fn security(&self) -> Result<Security, ParamsError> {
        let log2_q = self.primes.iter().map(|q| (*q as f64).log2()).sum();
        gate(self.degree, log2_q, &SecretDistribution::Ternary, SIGMA)
    }
}

/// Nanoseconds of basic operations in a ring, on one thread.
#[derive(Debug, Clone, Copy)]
pub struct RingTimes {
    /// Nanoseconds of a transform.
    pub transform: f64,
    /// Nanoseconds of a product of two limbs.
    pub product: f64,
}

impl RingTimes {
    /// Estimates the times of a ring.
    pub fn of(ring: &RingSet) -> Self {
        let n = ring.degree as f64;
        RingTimes { transform: 0.1 * n * n.log2(), product: 0.3 * n }
    }

    /// Nanoseconds of a key switch: digits modulo the other primes and the special one, their
    /// products with a key, and the division of both parts.
    pub fn switch(&self, primes: usize) -> f64 {
        let primes = primes as f64;
        self.transform * (2.0 + 3.0 * primes + primes * primes) + self.product * 2.0 * primes * (primes + 1.0)
    }

    /// Nanoseconds of that part of a key switch that rotations of one ciphertext share: its digits.
    pub fn split(&self, primes: usize) -> f64 {
        let primes = primes as f64;
        self.transform * (primes + primes * primes)
    }

    /// Nanoseconds of dropping one of `primes` primes.
    pub fn lower(&self, primes: usize) -> f64 {
        2.0 * self.transform * primes as f64
    }

    /// Nanoseconds of a product of ciphertexts.
    pub fn tensor(&self, primes: usize) -> f64 {
        7.0 * self.product * primes as f64
    }
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

/// Name of the ring with slots at degree 4096, for methods without products of ciphertexts.
pub const SLOTS_SMALL: &str = "n4096-t65537-q50";
/// Name of the ring with slots at degree 8192, for one product.
pub const SLOTS: &str = "n8192-t65537-q100";
/// Name of the ring with coefficients at degree 4096 and one prime.
pub const COEFFICIENTS: &str = "n4096-t2^14-q50";
/// Name of the ring with coefficients of fewer bits at degree 4096 and one prime, for queries of
/// many selectors.
pub const COEFFICIENTS_SMALL: &str = "n4096-t2^12-q50";
/// Name of the ring with coefficients at degree 4096 and two primes, for one product.
pub const COEFFICIENTS_PRODUCT: &str = "n4096-t2^10-q70";

/// All rings.
pub static RINGS: [RingSet; 5] = [
    RingSet::new(
        SLOTS_SMALL,
        "X^4096 + 1 with t = 65537: 4096 slots of 16 bits; q and the special prime below 2^50",
        4096,
        65537,
        16,
        &[1_125_889_168_998_401, 1_125_874_136_383_489],
    ),
    RingSet::new(
        SLOTS,
        "X^8192 + 1 with t = 65537: 8192 slots of 16 bits; two primes and the special one below 2^50",
        8192,
        65537,
        16,
        &[1_125_889_168_998_401, 1_125_874_136_383_489, 1_125_818_300_956_673],
    ),
    RingSet::new(
        COEFFICIENTS,
        "X^4096 + 1 with t = 2^14, coefficients; q and the special prime below 2^50",
        4096,
        1 << 14,
        14,
        &[1_125_899_904_679_937, 1_125_899_903_991_809],
    ),
    RingSet::new(
        COEFFICIENTS_SMALL,
        "X^4096 + 1 with t = 2^12, coefficients; q and the special prime below 2^50",
        4096,
        1 << 12,
        12,
        &[1_125_899_904_679_937, 1_125_899_903_991_809],
    ),
    RingSet::new(
        COEFFICIENTS_PRODUCT,
        "X^4096 + 1 with t = 2^10, coefficients; two primes below 2^35 and a special one below 2^36",
        4096,
        1 << 10,
        10,
        &[34_359_697_409, 34_359_451_649, 68_719_403_009],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_is_one_and_passes_the_gate() {
        for set in &RINGS {
            assert!(set.ring().is_some(), "{}", set.name);
            let bits = set.security().unwrap().bits;
            assert!(bits >= 128.0, "{}: {bits}", set.name);
            assert!(1u64 << set.bits <= set.plain);
            assert_eq!(find(set.name).unwrap().degree, set.degree);
        }
        assert!(find("n64-q20").is_err());
    }
}
