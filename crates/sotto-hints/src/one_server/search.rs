//! Choosing a hint that contains a row: one pass over all ids, a closer examination of a fixed
//! number of candidates, and a uniform choice among those that contain the row.
//!
//! The work is the same for every row. The pass reads everything. The examination reads the hints
//! of its candidates, whose addresses depend on the row and on a secret key; the schemes' READMEs
//! say who could observe that.

use super::hints::{Hint, HintFamily, Hints};
use super::params::Params;
use super::prf::Prf;
use super::row_order::{PartitionPlace, equal, pick};
use sotto_math::find::{Matches, Needle};
use zeroize::Zeroizing;

/// Scratch memory of a search. It is reused from one query to the next, and wiped on drop.
pub struct HintSearch<F: HintFamily> {
    found: Matches,
    candidates: Zeroizing<Vec<u32>>,
    /// The hints of the candidates.
    kept: Zeroizing<Vec<Hint<F::Set>>>,
    looks: F::Looks,
    /// For each candidate, 1 if it is a live hint that contains the row.
    contain: Zeroizing<Vec<u32>>,
}

impl<F: HintFamily> HintSearch<F> {
    /// Scratch memory for the searches of a client.
    pub(super) fn new(params: &Params<F>) -> Self {
        HintSearch {
            found: Matches::new(params.candidates()),
            candidates: Zeroizing::new(vec![0; params.candidates()]),
            kept: Zeroizing::new(vec![Hint::default(); params.candidates()]),
            looks: F::Looks::default(),
            contain: Zeroizing::new(vec![0; params.candidates()]),
        }
    }

    /// A uniform choice, by 128 random bits, among the live hints that contain `row`; the id of
    /// none if there is none.
    pub fn choose(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: PartitionPlace, coins: [u8; 16]) -> u32 {
        self.find(prf, hints, row);
        self.look(prf, hints, row);
        let count: u32 = self.contain.iter().sum();
        // Uniform below `count`, up to 2^-119.
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

    /// Finds the ids whose offset in the row's partition, or whose tag, is the row's, and fills the
    /// remaining candidates with none.
    fn find(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: PartitionPlace) {
        self.found.clear();
        let tags = hints.tags.get(..F::searched(hints)).unwrap_or_default();
        let from = [F::OFFSET + u64::from(row.partition), 0];
        let needle = Needle { word: row.offset, mask: prf.mask(), tag: prf.tag(row) };
        prf.aes().find(from, tags, needle, 0, &mut self.found);
        self.found.positions(hints.none(), &mut self.candidates);
    }

    /// Determines which candidates contain the row.
    fn look(&mut self, prf: &Prf<F>, hints: &Hints<F>, row: PartitionPlace) {
        // Candidates are far apart in memory. A loop that does nothing else waits for many of them
        // at once.
        let empty = Hint::default();
        for (kept, id) in self.kept.iter_mut().zip(self.candidates.iter()) {
            *kept = *hints.of.get(*id as usize).unwrap_or(&empty);
        }
        F::look(prf, row, (&self.candidates, &self.kept), &mut self.looks, &mut self.contain);
    }
}
