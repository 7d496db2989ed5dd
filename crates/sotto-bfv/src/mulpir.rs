//! MulPIR over unmodified BFV, byte for byte as Apple's library computes it.
//!
//! A table of equal entries consists of plaintexts of coefficients in a rectangle of `d0` by `d1`.
//! One ciphertext, or a few, is expanded to selectors of both dimensions; plaintexts times
//! selectors of the first dimension are summed for each column, and these sums times selectors of
//! the second dimension are summed, relinearized, and left with one prime (Ali, Lepoint, Patel,
//! Raykova, Schoppmann, Seth, Yeo, USENIX Security 2021).
//!
//! This module handles numbers only, and no bytes of messages: the implementation of a protocol
//! turns these into ciphertexts, and answers into bytes. It is not a scheme of a catalog either.
//! `sealpir` has this method with a ring, a layout and messages of this project.
//!
//! | module | contents |
//! |---|---|
//! | [`shape`] | entries, dimensions, the position of an entry, and the noise of an answer |
//! | `table`, `answer` | tables and answers of the server (feature `server`) |
//!
//! **Keys.** Round `r` of an expansion applies `X -> X^(2^(log2 n - r) + 1)`. A client may send
//! keys of smaller powers in place of some of these, since repeated squaring of `2^p + 1` gives the
//! following ones: fewer keys, and more key switches.
//!
//! The time of all functions that make plaintexts of a query, or read an entry from an answer, is
//! independent of the entry's number and bytes.

#[cfg(feature = "server")]
pub mod answer;
pub mod shape;
#[cfg(feature = "server")]
pub mod table;

use crate::layout::equal;
use crate::rings::{Ring, SIGMA};
pub use shape::EntryShape;
#[cfg(feature = "server")]
use sotto_core::error::PeerMisbehaved;
use sotto_core::{ParamsError, Security};
#[cfg(feature = "server")]
use sotto_lattice::bgv::bfv::GaloisKey;
#[cfg(feature = "server")]
use sotto_lattice::bgv::bfv::PackedSwitchKey;
use sotto_lattice::bgv::{Pow2, RnsRing, SlotRing};
use sotto_math::bits::highest;
use sotto_math::modulus::Modulus;
#[cfg(feature = "server")]
pub use table::ValueTable;
use zeroize::Zeroizing;

/// Number of primes of a ciphertext: as many as fit a word of the table.
const PRIMES: usize = 2;

/// Largest number of bits of a ciphertext's prime, and of the plain modulus.
const MAX_BITS: u32 = 28;

/// A ring for MulPIR, with its precomputed values.
#[derive(Debug)]
pub struct RingContext {
    ring: Ring,
    #[cfg(feature = "server")]
    tools: answer::AnswerContext,
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
            tools: answer::AnswerContext::new(&ring)?,
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

/// How many keys a client saves at the cost of more key switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// One key for each round.
    None,
    /// Keys of the later rounds, and one for all other rounds together.
    Hybrid,
    /// Keys of the later rounds only.
    Most,
}

/// The automorphisms that need keys, in ascending order, for a query of `outputs` selectors.
pub fn elements(degree: usize, outputs: usize, compression: Compression) -> Vec<usize> {
    let log2_n = degree.ilog2();
    let rounds = outputs.clamp(1, degree).next_power_of_two().ilog2();
    let min = log2_n - rounds + 1;
    let max = match compression {
        Compression::None => log2_n,
        Compression::Hybrid | Compression::Most => min.max((log2_n + 1).div_ceil(2)),
    };
    let mut powers: Vec<u32> = (min..=max).collect();
    if compression == Compression::Hybrid {
        powers.push(max.max((log2_n + max).div_ceil(2)));
    }
    powers.dedup();
    powers.into_iter().map(|power| (1 << power) + 1).collect()
}

/// The evaluation keys of a client, ready for key switching.
#[cfg(feature = "server")]
#[derive(Debug)]
pub struct Keys {
    /// Keys sorted by their powers, `2^power + 1`.
    galois: Vec<(u32, GaloisKey)>,
    square: PackedSwitchKey,
}

#[cfg(feature = "server")]
impl Keys {
    /// Takes the keys for queries of `outputs` selectors, and drops others.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Malformed`] unless there is a key for each of `elements`: they determine
    /// the number of key switches, and no client makes a server do more.
    pub fn new(
        context: &RingContext,
        elements: &[usize],
        galois: Vec<GaloisKey>,
        square: PackedSwitchKey,
    ) -> Result<Self, PeerMisbehaved> {
        let max = context.degree().ilog2();
        let mut galois_keys = Vec::new();
        for element in elements {
            let power =
                (element - 1).checked_ilog2().filter(|power| (1 << power) + 1 == *element && *power <= max);
            let key = galois.iter().find(|key| key.element() == *element);
            let (Some(power), Some(key)) = (power, key) else {
                let why = format!("no key for the automorphism {element}");
                return Err(PeerMisbehaved::Malformed { what: "evaluation key", why });
            };
            galois_keys.push((power, key.clone()));
        }
        galois_keys.sort_by_key(|(power, _)| *power);
        Ok(Keys { galois: galois_keys, square })
    }

    /// Approximate bytes of memory that keys of `elements` automorphisms take.
    pub fn bytes(context: &RingContext, elements: usize) -> usize {
        let ring = context.ring();
        let row = ring.words(ring.full()) * size_of::<u64>();
        (elements + 1) * ring.top().primes() * row
    }

    /// The key for a round, and how many times it is applied; `None` if there is none.
    fn round(&self, degree: usize, round: usize) -> Option<(&GaloisKey, usize)> {
        let exponent = degree.ilog2().checked_sub(round as u32)?;
        let (power, key) = self.galois.iter().rev().find(|(power, _)| *power <= exponent)?;
        Some((key, 1 << (exponent - power)))
    }
}

/// The coefficients of each plaintext of a query for these entries: concatenated one-hot vectors of
/// both dimensions for each entry, divided by the number of selectors that a ciphertext is expanded
/// to.
pub fn query_plaintexts(
    context: &RingContext,
    shape: &EntryShape,
    entries: &[usize],
) -> Vec<Zeroizing<Vec<u64>>> {
    let [d0, d1] = shape.dimensions();
    let one_hot = |count: usize, hot: usize| (0..count as u64).map(move |i| equal(i, hot as u64) & 1);
    let all = entries.iter().flat_map(|entry| {
        let ([x0, x1], _) = shape.place(*entry);
        one_hot(d0, x0).chain(one_hot(d1, x1))
    });
    let all = Zeroizing::new(all.collect::<Vec<u64>>());
    let query = |some: &[u64]| {
        let one = inverse(context.ring().ring().plain(), some.len());
        let mut out = Zeroizing::new(vec![0; context.degree()]);
        out.iter_mut().zip(some).for_each(|(out, bit)| *out = bit * one);
        out
    };
    all.chunks(context.degree()).map(query).collect()
}

/// The inverse modulo t of the factor by which the rounds of an expansion to `outputs` selectors
/// multiply them.
fn inverse(t: u64, outputs: usize) -> u64 {
    let half = t.div_ceil(2) % t;
    (0..outputs.next_power_of_two().trailing_zeros()).fold(1, |x, _| x * half % t)
}

/// Reads the bytes of an entry from the coefficients of each chunk's plaintext.
///
/// # Panics
/// If there is not a plaintext of `n` coefficients for each chunk.
pub fn entry(
    context: &RingContext,
    shape: &EntryShape,
    entry: usize,
    plaintexts: &[Zeroizing<Vec<u64>>],
) -> Zeroizing<Vec<u8>> {
    assert_eq!(plaintexts.len(), shape.chunks(), "a plaintext for each chunk");
    let mut bytes = Zeroizing::new(Vec::new());
    for plaintext in plaintexts {
        highest::pack(plaintext.iter().copied(), context.bits(), &mut bytes);
    }
    let (_, from) = shape.place(entry);
    // Every position of an entry is read, and one of them selected.
    let mut out = Zeroizing::new(vec![0; shape.entry_bytes()]);
    for (i, candidate) in bytes.chunks_exact(shape.entry_bytes()).enumerate() {
        let keep = equal((i * shape.entry_bytes()) as u64, from as u64) as u8;
        out.iter_mut().zip(candidate).for_each(|(out, x)| *out |= x & keep);
    }
    out
}
