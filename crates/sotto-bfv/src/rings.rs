//! The rings that parameter sets may name: degree, plain modulus, primes.
//!
//! The list is closed on purpose: whoever signs a catalog picks a name, and no modulus.

use sotto_core::{ParamsError, Security};
use sotto_lattice::bgv::{Pow2, RnsRing};
use sotto_lattice::security::{SecretDistribution, gate};
use sotto_math::modulus::Modulus;
use std::sync::OnceLock;

/// A ring with its transforms.
pub type Ring = RnsRing<Pow2>;

/// Standard deviation of errors. Secrets are ternary.
pub const SIGMA: f64 = 3.2;

/// A ring, and what is known of it before its transforms are made.
#[derive(Debug)]
pub struct RingSet {
    /// What catalogs call it.
    pub name: &'static str,
    /// One line for a person.
    pub about: &'static str,
    /// n.
    pub degree: usize,
    /// t.
    pub plain: u64,
    /// Bits of data in a slot or a coefficient.
    pub bits: u32,
    /// The primes, the last of which only keys have.
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

    /// The ring, made when first asked for. `None` only if the numbers above were no ring, which a test excludes.
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

    /// The primes of a query: all but the last.
    pub fn query_primes(&self) -> usize {
        self.primes.len() - 1
    }

    /// How hard it is, with the special prime counted.
    ///
    /// # Errors
    /// As [`gate`].
    pub fn security(&self) -> Result<Security, ParamsError> {
        let log2_q = self.primes.iter().map(|q| (*q as f64).log2()).sum();
        gate(self.degree, log2_q, &SecretDistribution::Ternary, SIGMA)
    }
}

/// The ring of that name.
///
/// # Errors
/// [`ParamsError::Field`] with the names there are.
pub fn find(name: &str) -> Result<&'static RingSet, ParamsError> {
    RINGS.iter().find(|ring| ring.name == name).ok_or_else(|| ParamsError::Field {
        field: "ring",
        why: format!("must be one of {}", RINGS.each_ref().map(|ring| ring.name).join(", ")),
    })
}

/// Slots at degree 4096, for methods without products of ciphertexts.
pub const SLOTS_SMALL: &str = "n4096-t65537-q50";
/// Slots at degree 8192, for one product.
pub const SLOTS: &str = "n8192-t65537-q100";
/// Coefficients at degree 4096 and one prime.
pub const COEFFICIENTS: &str = "n4096-t2^14-q50";
/// The same with fewer bits in each, for queries of many selectors.
pub const COEFFICIENTS_SMALL: &str = "n4096-t2^12-q50";
/// Coefficients at degree 4096 and two primes, for one product.
pub const COEFFICIENTS_PRODUCT: &str = "n4096-t2^10-q70";

/// Every ring.
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
