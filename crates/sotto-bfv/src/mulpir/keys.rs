//! The automorphisms that a query needs keys for, and a client's keys.
//!
//! Round `r` of an expansion applies `X -> X^(2^(log2 n - r) + 1)`. A client may send keys of
//! smaller powers in place of some of these, since repeated squaring of `2^p + 1` gives the
//! following ones: fewer keys, and more key switches.

#[cfg(feature = "server")]
use super::context::RingContext;
#[cfg(feature = "server")]
use sotto_core::error::PeerMisbehaved;
#[cfg(feature = "server")]
use sotto_lattice::bgv::bfv::galois::{GaloisKey, PackedSwitchKey};

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
    pub(super) square: PackedSwitchKey,
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
    pub(super) fn round(&self, degree: usize, round: usize) -> Option<(&GaloisKey, usize)> {
        let exponent = degree.ilog2().checked_sub(round as u32)?;
        let (power, key) = self.galois.iter().rev().find(|(power, _)| *power <= exponent)?;
        Some((key, 1 << (exponent - power)))
    }
}
