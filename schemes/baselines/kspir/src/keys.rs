//! Keys and queries, and their fields on the wire: a seed that determines all masks of a message, and
//! bodies. And a client's keys as the server holds them: every row in slots, with masks made from the
//! seed.

use crate::grid::Grid;
use crate::ring::{self, BABY, FOLD, GIANT, N, PACK};
#[cfg(feature = "server")]
pub use session::{Session, SessionKeys};
#[cfg(feature = "server")]
pub(crate) use session::{body_slots, seed_and_bodies};
use sotto_lattice::encrypt::truncate;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_prg::PublicSeed;
use sotto_silent::message::{Field, Format};

/// Label of the masks of keys.
pub(crate) const KEY_MASKS: &str = "kspir key";

/// Label of the masks of queries.
pub(crate) const QUERY_MASKS: &str = "kspir query";

/// Levels of the bodies of a client's keys, in the order of the wire: of baby steps, of giant steps, of
/// packing.
pub fn key_bodies(grid: &Grid) -> impl Iterator<Item = ModulusLevel> + use<> {
    let babies = grid.babies / 2 * BABY.count as usize;
    let others = (grid.giants() - 1) * GIANT.count as usize + grid.levels() * PACK.count as usize;
    std::iter::repeat_n(ModulusLevel::Full, babies).chain(std::iter::repeat_n(ModulusLevel::Main, others))
}

/// Levels of the bodies of a query: of the vector, and of the rows of X^-p.
pub fn query_bodies() -> impl Iterator<Item = ModulusLevel> {
    let rows = std::iter::repeat_n(ModulusLevel::Main, 2 * FOLD.count as usize);
    std::iter::once(ModulusLevel::Full).chain(rows)
}

/// A seed, and bodies of these levels.
pub(crate) fn seeded(bodies: impl Iterator<Item = ModulusLevel>) -> Format {
    let with = |format: Format, level| format.and(1, Field::below(N as u64, ring::modulus(level)));
    bodies.fold(Format::of(Field::words(4, u64::BITS)), with)
}

/// A seed as the words of a field.
pub(crate) fn seed_words(seed: &PublicSeed) -> Vec<u64> {
    seed.0.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// A body in slots as the words of a field.
pub(crate) fn body_words(ring: &Ring, level: ModulusLevel, body: &[u64]) -> Vec<u64> {
    let words = truncate(ring, level, body, ring::bits(level)).into_iter();
    match level {
        ModulusLevel::Main => words.map(|word| word as u64).collect(),
        ModulusLevel::Full => words.flat_map(|word| [word as u64, (word >> 64) as u64]).collect(),
    }
}

#[cfg(feature = "server")]
mod session {
    use super::{KEY_MASKS, key_bodies};
    use crate::grid::Grid;
    use crate::ring::{BABY, GIANT, N, PACK, bits, gadget, ring, rotation};
    use sotto_core::{PeerMisbehaved, Result};
    use sotto_lattice::automorphism::AutomorphismKey;
    use sotto_lattice::cdks;
    use sotto_lattice::encrypt::{MaskSource, restore};
    use sotto_lattice::ring::{ModulusLevel, Ring};
    use sotto_prg::PublicSeed;
    use sotto_silent::message::whole_words;
    use std::sync::Arc;

    /// The seed and the bodies of a message; `None` if it has no fields.
    pub(crate) fn seed_and_bodies(fields: &[Vec<u64>]) -> Option<(PublicSeed, &[Vec<u64>])> {
        let (words, bodies) = fields.split_first()?;
        let mut seed = PublicSeed([0; 32]);
        seed.0.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        Some((seed, bodies))
    }

    /// The slots of a body that is sent; `None` for another number of words.
    pub(crate) fn body_slots(ring: &Ring, level: ModulusLevel, words: &[u64]) -> Option<Vec<u64>> {
        restore(ring, level, &whole_words(words, bits(level)), bits(level))
    }

    /// Admitted keys, which queries share.
    pub struct Session(pub(crate) Arc<SessionKeys>);

    /// The keys of a session.
    pub struct SessionKeys {
        /// Keys of the rotations by one slot, two, and so on, modulo q times the special modulus.
        pub(crate) babies: Vec<AutomorphismKey>,
        /// Keys of the rotations by n1 slots, twice as many, and so on.
        pub(crate) giants: Vec<AutomorphismKey>,
        /// Keys of the levels of merges.
        pub(crate) packing: Vec<AutomorphismKey>,
    }

    impl SessionKeys {
        /// Whether these are the keys of a grid.
        pub(crate) fn fits(&self, grid: &Grid) -> bool {
            let counts = [&self.babies, &self.giants, &self.packing].map(Vec::len);
            counts == [grid.babies / 2, grid.giants() - 1, grid.levels()]
        }
    }

    impl Session {
        /// Bytes of memory.
        pub(crate) fn bytes(grid: &Grid) -> usize {
            let limbs = |level| ring().map_or(0, |ring| ring.limbs(level));
            key_bodies(grid).map(|level| 2 * 8 * N * limbs(level)).sum()
        }

        /// Admits keys. Decoding has checked every word.
        ///
        /// # Errors
        /// None for keys that were decoded under the same parameters.
        pub(crate) fn admit(grid: &Grid, keys: &[Vec<u64>]) -> Result<Self> {
            let ring = ring()?;
            let bad = || PeerMisbehaved::NotCanonical("keys");
            let (seed, bodies) = seed_and_bodies(keys).ok_or_else(bad)?;
            let bodies =
                bodies.iter().zip(key_bodies(grid)).map(|(body, level)| body_slots(ring, level, body));
            let bodies = bodies.collect::<Option<Vec<Vec<u64>>>>().ok_or_else(bad)?;
            let mut masks = MaskSource { seed: &seed, label: KEY_MASKS, first: 0 };
            let mut rest = bodies.as_slice();
            let mut keys_of = |level, digits, by: usize, count| -> Result<Vec<AutomorphismKey>> {
                let gadget = gadget(digits)?;
                let key = |step| {
                    let (own, after) = rest.split_at_checked(gadget.digits() as usize).ok_or_else(bad)?;
                    let key =
                        AutomorphismKey::assemble(ring, level, &gadget, rotation(by * step), own, masks);
                    (rest, masks.first) = (after, masks.first + own.len() as u64);
                    Ok(key.ok_or_else(bad)?)
                };
                (1..=count).map(key).collect()
            };
            let babies = keys_of(ModulusLevel::Full, &BABY, 1, grid.babies / 2)?;
            let giants = keys_of(ModulusLevel::Main, &GIANT, grid.babies, grid.giants() - 1)?;
            let gadgets = vec![gadget(&PACK)?; grid.levels()];
            let packing = cdks::assemble(ring, &gadgets, rest, masks).ok_or_else(bad)?;
            Ok(Session(Arc::new(SessionKeys { babies, giants, packing })))
        }
    }
}
