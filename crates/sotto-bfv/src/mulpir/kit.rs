//! A ring with all that is computed once for it.

use crate::rings::{Ring, SIGMA};
use sotto_core::{ParamsError, Security};
use sotto_lattice::bgv::bfv::product::Extension;
use sotto_lattice::bgv::{Pow2, Rns, SlotRing};
use sotto_math::modulus::Modulus;
use sotto_math::tiles::Words;

/// Primes of a ciphertext: as many as have room in a word of the table.
const PRIMES: usize = 2;

/// The tools of one ring.
#[derive(Debug)]
pub struct Kit {
    ring: Ring,
    extension: Extension,
    form: Words,
    /// For each round of expansion, the values of `X^(-2^round)` modulo every prime.
    monomials: Vec<Vec<u64>>,
    #[cfg(feature = "server")]
    pub(super) rooms: super::answer::Rooms,
}

impl Kit {
    /// The tools of a ring; the last prime is of keys alone.
    ///
    /// # Errors
    /// [`ParamsError::Field`] unless the degree is a power of two from 64 to 16384, there are two primes and one for keys, below
    /// 2^28 and with transforms of that degree, and the plain modulus is less.
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
        let [first, second, _] = primes.as_array::<{ PRIMES + 1 }>()?;
        let form = Words::pair(*first, *second)?;
        let ring = Rns::of_any_primes(Pow2::of_coefficients(degree, plain, &primes)?)?;
        let extension = Extension::new(&ring)?;
        let monomial = |round: u32| {
            ring.plans(ring.top()).flat_map(|plan| plan.monomial(-(1i64 << round))).collect::<Vec<_>>()
        };
        let monomials = (0..degree.trailing_zeros()).map(monomial).collect();
        Some(Kit {
            extension,
            form,
            monomials,
            ring,
            #[cfg(feature = "server")]
            rooms: Default::default(),
        })
    }

    /// How hard the ring is, keys' prime counted.
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

    /// n.
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

    pub(super) fn extension(&self) -> &Extension {
        &self.extension
    }

    /// How values of both primes are stored.
    pub(super) fn form(&self) -> &Words {
        &self.form
    }

    /// The values of `X^(-2^round)`.
    pub(super) fn monomial(&self, round: usize) -> &[u64] {
        self.monomials.get(round).map_or(&[], Vec::as_slice)
    }
}
