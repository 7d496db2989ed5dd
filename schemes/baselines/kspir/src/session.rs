//! A client's keys as the server holds them: every row in slots, with masks made from the seed.

use crate::client::KEY_MASKS;
use crate::grid::Grid;
use crate::message::Keys;
use crate::params::Inner;
use crate::ring::{BABY, GIANT, N, PACK, gadget, rotation};
use sotto_core::{PeerMisbehaved, Result};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cdks;
use sotto_lattice::encrypt::MaskSource;
use sotto_lattice::ring::ModulusLevel;

/// Admitted keys.
pub struct Session {
    /// Keys of the rotations by one slot, two, and so on, modulo q times the special modulus.
    pub(crate) babies: Vec<AutomorphismKey>,
    /// Keys of the rotations by n1 slots, twice as many, and so on.
    pub(crate) giants: Vec<AutomorphismKey>,
    /// Keys of the levels of merges.
    pub(crate) packing: Vec<AutomorphismKey>,
}

impl Session {
    /// Whether these are the keys of a grid.
    pub(crate) fn fits(&self, grid: &Grid) -> bool {
        let counts = [&self.babies, &self.giants, &self.packing].map(Vec::len);
        counts == [grid.babies / 2, grid.giants() - 1, grid.levels()]
    }

    /// Bytes of memory.
    pub(crate) fn bytes(params: &Inner) -> usize {
        params.key_bodies().map(|level| 2 * 8 * N * params.ring.limbs(level)).sum()
    }

    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    pub(crate) fn admit(params: &Inner, keys: &Keys) -> Result<Self> {
        let (ring, grid) = (&params.ring, &params.grid);
        let bad = || PeerMisbehaved::NotCanonical("keys");
        let mut masks = MaskSource { seed: &keys.seed, label: KEY_MASKS, first: 0 };
        let mut rest = keys.bodies.as_slice();
        let mut keys_of = |level, digits, by: usize, count| -> Result<Vec<AutomorphismKey>> {
            let gadget = gadget(digits)?;
            let key = |step| {
                let (own, after) = rest.split_at_checked(gadget.digits() as usize).ok_or_else(bad)?;
                let key = AutomorphismKey::assemble(ring, level, &gadget, rotation(by * step), own, masks);
                (rest, masks.first) = (after, masks.first + own.len() as u64);
                Ok(key.ok_or_else(bad)?)
            };
            (1..=count).map(key).collect()
        };
        let babies = keys_of(ModulusLevel::Full, &BABY, 1, grid.babies / 2)?;
        let giants = keys_of(ModulusLevel::Main, &GIANT, grid.babies, grid.giants() - 1)?;
        let gadgets = vec![gadget(&PACK)?; grid.levels()];
        let packing = cdks::assemble(ring, &gadgets, rest, masks).ok_or_else(bad)?;
        Ok(Session { babies, giants, packing })
    }
}
