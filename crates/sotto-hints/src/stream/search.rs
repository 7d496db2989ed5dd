//! Choosing a hint that contains a row: one pass over all ids, a close look at a fixed number of them, and one of
//! those that do contain it, each with the same probability.
//!
//! Work is the same for every row. The pass reads everything. The close look reads what is kept of its candidates, and
//! where that lies depends on the row by way of a secret key; the schemes' READMEs say who could tell.

use super::hints::{Hint, Hints};
use super::place::{Place, equal, pick};
use super::{Family, Params, Prf};
use sotto_math::find::{Found, either16};
use zeroize::Zeroizing;

/// Blocks of eight ids that are looked at together: they and their tags stay in the first cache.
const STRETCH: usize = 512;

/// What a search needs room for. It is kept from one query to the next, and wiped on drop.
pub struct Search<F: Family> {
    blocks: Zeroizing<Vec<[u8; 16]>>,
    found: Found,
    candidates: Zeroizing<Vec<u32>>,
    /// What is kept of them.
    kept: Zeroizing<Vec<Hint<F::Set>>>,
    looks: F::Looks,
    /// For each candidate 1 if it is a live hint that contains the row.
    contain: Zeroizing<Vec<u32>>,
}

impl<F: Family> Search<F> {
    /// Room for the searches of a client.
    pub(super) fn new(params: &Params<F>) -> Self {
        Search {
            blocks: Zeroizing::new(vec![[0; 16]; STRETCH]),
            found: Found::new(params.candidates()),
            candidates: Zeroizing::new(vec![0; params.candidates()]),
            kept: Zeroizing::new(vec![Hint::default(); params.candidates()]),
            looks: F::Looks::default(),
            contain: Zeroizing::new(vec![0; params.candidates()]),
        }
    }

    /// One of the live hints that contain `row`, by 128 random bits; the id of none if there is none.
    pub fn choose(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: Place, coins: [u8; 16]) -> u32 {
        self.find(prf, hints, row);
        self.look(prf, hints, row);
        let count: u32 = self.contain.iter().sum();
        // Uniform below `count`, but for 2^-119.
        let coins = u128::from_le_bytes(coins);
        let (high, low) = (coins >> 64, coins & u128::from(u64::MAX));
        let wanted = ((high * u128::from(count) + ((low * u128::from(count)) >> 64)) >> 64) as u32;
        let (mut chosen, mut passed) = (hints.none(), 0);
        for (id, is) in self.candidates.iter().zip(self.contain.iter()) {
            chosen = pick(is & equal(passed, wanted), *id, chosen);
            passed += is;
        }
        chosen
    }

    /// The ids whose offset in the row's partition is the row's, or whose tag is, and as many times none as there is room.
    fn find(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: Place) {
        self.found.clear();
        let tag = prf.tag(row);
        let tags = hints.tags.get(..F::searched(hints)).unwrap_or_default();
        for (first, tags) in (0..).step_by(8 * STRETCH).zip(tags.chunks(8 * STRETCH)) {
            let blocks = self.blocks.get_mut(..tags.len().div_ceil(8)).unwrap_or_default();
            let x = F::OFFSET + u64::from(row.partition);
            prf.aes().grid(x, 1, u64::from(first) / 8, blocks.len(), blocks);
            let offsets = blocks.as_flattened().as_chunks().0.get(..tags.len()).unwrap_or_default();
            either16(offsets, prf.mask(), row.offset, tags, tag, first, &mut self.found);
        }
        self.found.positions(hints.none(), &mut self.candidates);
    }

    /// Which candidates contain the row.
    fn look(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: Place) {
        // Candidates lie far apart. A loop that does nothing else waits for many of them at once.
        let empty = Hint::default();
        for (kept, id) in self.kept.iter_mut().zip(self.candidates.iter()) {
            *kept = *hints.of.get(*id as usize).unwrap_or(&empty);
        }
        F::look(prf, row, (&self.candidates, &self.kept), &mut self.looks, &mut self.contain);
    }
}
