//! A client's evaluation keys, ready for key switching.

use super::context::RingContext;
use sotto_core::error::PeerMisbehaved;
use sotto_lattice::bgv::bfv::galois::{GaloisKey, PackedSwitchKey};

/// The evaluation keys of a client.
#[derive(Debug)]
pub struct Keys {
    /// Keys sorted by their powers, `2^power + 1`.
    galois: Vec<(u32, GaloisKey)>,
    pub(super) square: PackedSwitchKey,
}

impl Keys {
    /// Takes the keys for queries of `outputs` selectors, and drops others.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Malformed`] unless there is a key for each of `elements`: they determine
    /// the number of key switches, and no client makes a server do more.
    pub fn new(
        kit: &RingContext,
        elements: &[usize],
        galois: Vec<GaloisKey>,
        square: PackedSwitchKey,
    ) -> Result<Self, PeerMisbehaved> {
        let most = kit.degree().ilog2();
        let mut kept = Vec::new();
        for element in elements {
            let power =
                (element - 1).checked_ilog2().filter(|power| (1 << power) + 1 == *element && *power <= most);
            let key = galois.iter().find(|key| key.element() == *element);
            let (Some(power), Some(key)) = (power, key) else {
                let why = format!("lacks the automorphism {element}");
                return Err(PeerMisbehaved::Malformed { what: "evaluation key", why });
            };
            kept.push((power, key.clone()));
        }
        kept.sort_by_key(|(power, _)| *power);
        Ok(Keys { galois: kept, square })
    }

    /// Approximate bytes of memory that keys of `elements` automorphisms take.
    pub fn bytes(kit: &RingContext, elements: usize) -> usize {
        let ring = kit.ring();
        let row = ring.words(ring.full()) * size_of::<u64>();
        (elements + 1) * ring.top().primes() * row
    }

    /// The key for a round, and how many times it is applied; `None` if there is none.
    pub(super) fn round(&self, degree: usize, round: usize) -> Option<(&GaloisKey, usize)> {
        let wanted = degree.ilog2().checked_sub(round as u32)?;
        let (power, key) = self.galois.iter().rev().find(|(power, _)| *power <= wanted)?;
        Some((key, 1 << (wanted - power)))
    }
}
