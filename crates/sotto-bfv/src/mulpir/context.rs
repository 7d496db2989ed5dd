//! A ring with its precomputed values.

use crate::rings::{Ring, SIGMA};
use sotto_core::{ParamsError, Security};
use sotto_lattice::bgv::{Pow2, RnsRing, SlotRing};
use sotto_math::modulus::Modulus;

/// Number of primes of a ciphertext: as many as fit a word of the table.
const PRIMES: usize = 2;

/// Largest number of bits of a ciphertext's prime, and of the plain modulus.
const MAX_BITS: u32 = 28;

/// A ring for MulPIR, with its precomputed values.
#[derive(Debug)]
pub struct RingContext {
    ring: Ring,
    #[cfg(feature = "server")]
    pub(super) tools: super::answer_context::AnswerContext,
}

impl RingContext {
    /// Makes the context of a ring, whose last prime is for keys only.
    ///
    /// # Errors
    /// [`ParamsError::Field`] unless the degree is a power of two from 64 to 16384, there are two
    /// primes and one for keys, each below 2^28 and with a transform of that degree, and the plain
    /// modulus is smaller.
    pub fn new(degree: usize, plain: u64, primes: &[u64]) -> Result<Self, ParamsError> {
        let wrong = || ParamsError::Field {
            field: "ring",
            why: "must have a degree of 64 to 16384, and three primes below 2^28 with transforms of it"
                .into(),
        };
        Self::made(degree, plain, primes).ok_or_else(wrong)
    }

    fn made(degree: usize, plain: u64, primes: &[u64]) -> Option<Self> {
        let primes = primes.iter().map(|q| Modulus::new(*q)).collect::<Option<Vec<_>>>()?;
        let of_ciphertexts = primes.get(..PRIMES)?;
        let short = of_ciphertexts.iter().all(|q| q.bits() <= MAX_BITS) && plain >> MAX_BITS == 0;
        if primes.len() != PRIMES + 1 || !short {
            return None;
        }
        let ring = RnsRing::of_any_primes(Pow2::of_coefficients(degree, plain, &primes)?)?;
        Some(RingContext {
            #[cfg(feature = "server")]
            tools: super::answer_context::AnswerContext::new(&ring)?,
            ring,
        })
    }

    /// Estimates the security of the ring, including the prime of the keys.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits, with the figure.
    pub fn security(&self) -> Result<Security, ParamsError> {
        self.ring.security(SIGMA)
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// n: degree of the ring.
    pub fn degree(&self) -> usize {
        self.ring.ring().degree()
    }

    /// Bits of data in a coefficient.
    pub fn bits(&self) -> u32 {
        self.ring.ring().plain().ilog2()
    }

    /// Bytes of data in a plaintext.
    pub fn plaintext_bytes(&self) -> usize {
        self.degree() * self.bits() as usize / 8
    }
}
