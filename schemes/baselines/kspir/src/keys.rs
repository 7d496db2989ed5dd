//! Keys and queries, and their bits on the wire: a seed that determines all masks of a message, and
//! bodies whose coefficients are packed without gaps, least significant bit first. And a client's keys
//! as the server holds them: every row in slots, with masks made from the seed.

use crate::Params;
use crate::grid::Grid;
use crate::ring::{self, BABY, FOLD, GIANT, N, PACK};
#[cfg(feature = "server")]
pub use session::{Session, SessionKeys};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::bits;
use sotto_prg::PublicSeed;

/// Label of the masks of keys.
pub(crate) const KEY_MASKS: &str = "kspir key";

/// Label of the masks of queries.
pub(crate) const QUERY_MASKS: &str = "kspir query";

/// Bytes of a seed.
const SEED_BYTES: usize = 32;

/// The keys that a client registers: bodies of baby steps, of giant steps, of packing.
#[derive(Debug, Clone)]
pub struct Keys(pub SeededBodies);

/// A query for one record: bodies of the vector, and of the rows of X^-p.
#[derive(Debug, Clone)]
pub struct Query(pub SeededBodies);

/// Bodies under masks from a seed.
#[derive(Debug, Clone)]
pub struct SeededBodies {
    /// Seed of the masks.
    pub seed: PublicSeed,
    /// The coefficients of the bodies.
    pub bodies: Vec<Vec<u128>>,
}

/// Levels of the bodies of a client's keys, in the order of the wire: of baby steps, of giant steps, of
/// packing.
pub fn key_bodies(grid: &Grid) -> impl Iterator<Item = ModulusLevel> + Clone + use<> {
    let babies = grid.babies / 2 * BABY.count as usize;
    let others = (grid.giants() - 1) * GIANT.count as usize + grid.levels() * PACK.count as usize;
    std::iter::repeat_n(ModulusLevel::Full, babies).chain(std::iter::repeat_n(ModulusLevel::Main, others))
}

/// Levels of the bodies of a query: of the vector, and of the rows of X^-p.
pub fn query_bodies() -> impl Iterator<Item = ModulusLevel> + Clone {
    let rows = std::iter::repeat_n(ModulusLevel::Main, 2 * FOLD.count as usize);
    std::iter::once(ModulusLevel::Full).chain(rows)
}

/// Bytes of a body of this level.
fn body_bytes(level: ModulusLevel) -> usize {
    ring::bits(level) as usize * N / 8
}

/// Bytes of a seed and bodies of these levels.
pub fn bytes_of(bodies: impl Iterator<Item = ModulusLevel>) -> usize {
    SEED_BYTES + bodies.map(body_bytes).sum::<usize>()
}

impl SeededBodies {
    fn put(&self, levels: impl Iterator<Item = ModulusLevel>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seed.0);
        let bodies = self.bodies.iter().zip(levels);
        bodies.for_each(|(body, level)| bits::pack(body, ring::bits(level), out));
    }

    fn take(
        what: &'static str,
        bytes: &[u8],
        levels: impl Iterator<Item = ModulusLevel> + Clone,
    ) -> Result<Self> {
        wire::exact(what, bytes, bytes_of(levels.clone()))?;
        let bad = || PeerMisbehaved::NotCanonical(what);
        let (seed, mut rest) = bytes.split_first_chunk::<SEED_BYTES>().ok_or_else(bad)?;
        let mut bodies = Vec::new();
        for level in levels {
            let (body, after) = rest.split_at_checked(body_bytes(level)).ok_or_else(bad)?;
            let words = bits::unpack(body, ring::bits(level), N).ok_or_else(bad)?;
            if words.iter().any(|word| *word >= ring::modulus(level)) {
                return Err(bad().into());
            }
            bodies.push(words);
            rest = after;
        }
        Ok(SeededBodies { seed: PublicSeed(*seed), bodies })
    }
}

impl Wire<Params> for Keys {
    fn size(params: &Params) -> usize {
        bytes_of(key_bodies(&params.grid()))
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.0.put(key_bodies(&params.grid()), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        SeededBodies::take("keys", bytes, key_bodies(&params.grid())).map(Keys)
    }
}

impl Wire<Params> for Query {
    fn size(_: &Params) -> usize {
        bytes_of(query_bodies())
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        self.0.put(query_bodies(), out);
    }

    fn take(_: &Params, bytes: &[u8]) -> Result<Self> {
        SeededBodies::take("query", bytes, query_bodies()).map(Query)
    }
}

#[cfg(feature = "server")]
mod session {
    use super::{KEY_MASKS, SeededBodies, key_bodies};
    use crate::grid::Grid;
    use crate::ring::{BABY, GIANT, N, PACK, bits, gadget, ring, rotation};
    use sotto_core::{PeerMisbehaved, Result};
    use sotto_lattice::automorphism::AutomorphismKey;
    use sotto_lattice::cdks;
    use sotto_lattice::encrypt::{MaskSource, restore};
    use sotto_lattice::ring::ModulusLevel;
    use std::sync::Arc;

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
        pub(crate) fn admit(grid: &Grid, keys: &SeededBodies) -> Result<Self> {
            let ring = ring()?;
            let bad = || PeerMisbehaved::NotCanonical("keys");
            let slots = |(body, level): (&Vec<u128>, ModulusLevel)| restore(ring, level, body, bits(level));
            let bodies: Option<Vec<Vec<u64>>> = keys.bodies.iter().zip(key_bodies(grid)).map(slots).collect();
            let bodies = bodies.ok_or_else(bad)?;
            let mut masks = MaskSource { seed: &keys.seed, label: KEY_MASKS, first: 0 };
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
