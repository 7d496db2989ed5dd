//! Making a query: a hint that contains the row, and the offsets that are sent.
//!
//! The search is one pass over all ids, a closer examination of a fixed number of candidates, and a
//! uniform choice among those that contain the row. The work is the same for every row. The pass
//! reads everything. The examination reads the hints of its candidates, whose addresses depend on
//! the row and on a secret key; the schemes' READMEs say who could observe that.
//!
//! Offsets are made for all partitions for every hint, and replacements are chosen by masks.

use super::hints::{Hint, HintFamily, Hints};
use super::params::{Params, ParamsFamily};
use super::prf::Prf;
use super::row_order::{PartitionPlace, equal, pick};
use sotto_math::bits;
use sotto_math::find::{Matches, Needle};
use std::hint::black_box;
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
        let target = ((high * u128::from(count) + ((low * u128::from(count)) >> 64)) >> 64) as u32;
        let (mut chosen, mut passed) = (hints.none(), 0);
        for (id, is) in self.candidates.iter().zip(self.contain.iter()) {
            chosen = pick(is & equal(passed, target), *id, chosen);
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

/// Partitions that are processed together: their blocks stay in the processor's first-level cache.
pub const CHUNK_PARTITIONS: usize = 256;

/// The blocks of [`CHUNK_PARTITIONS`] partitions. They are reused from one query to the next, and wiped on
/// drop.
pub struct RequestScratch(Zeroizing<Vec<[u8; 16]>>);

impl Default for RequestScratch {
    fn default() -> Self {
        RequestScratch(Zeroizing::new(vec![[0; 16]; CHUNK_PARTITIONS]))
    }
}

impl RequestScratch {
    /// Writes the offsets of an id in the partitions from `first` on, at most [`CHUNK_PARTITIONS`] of them;
    /// `put` maps each partition and offset to the value that is sent.
    #[inline]
    pub fn offsets<F: ParamsFamily>(
        &mut self,
        prf: &Prf<F>,
        id: u32,
        first: usize,
        out: &mut [u16],
        put: impl Fn(u32, u16) -> u16,
    ) {
        let blocks = self.0.get_mut(..out.len()).unwrap_or_default();
        prf.aes().grid(F::OFFSET + first as u64, blocks.len(), u64::from(id) / 8, 1, blocks);
        let mask = prf.mask();
        // The black box keeps the mask from becoming a branch.
        let upper = black_box(u64::from(id >> 2 & 1).wrapping_neg());
        let shift = (id & 3) * 16;
        // There are at most 2^16 partitions.
        for ((out, block), k) in out.iter_mut().zip(blocks).zip(first as u32..) {
            let block = u128::from_le_bytes(*block);
            let word = (block as u64 & !upper) | ((block >> 64) as u64 & upper);
            *out = put(k, (word >> shift) as u16 & mask);
        }
    }
}

/// Appends offsets of `bits` bits each, which may be 0.
pub fn put_offsets(offsets: &[u16], bits: u32, out: &mut Vec<u8>) {
    if bits > 0 {
        bits::pack16(offsets, bits, out);
    }
}

/// Reads `count` offsets of `bits` bits each; none if the bytes are malformed.
pub fn take_offsets(bytes: &[u8], bits: u32, count: usize) -> Option<Vec<u16>> {
    if bits == 0 {
        return Some(vec![0; count]);
    }
    bits::unpack16(bytes, bits, count)
}
