//! Choosing a hint that contains a row: one pass over all ids, a close look at a fixed number of them, and one of
//! those that do contain it, each with the same probability.
//!
//! Work is the same for every row. The pass reads everything. The close look reads what is kept of its candidates, and
//! where that lies depends on the row by way of a secret key; see README.md on who could tell.

use crate::hints::{Hint, Hints, LIVE, OUTSIDE, number};
use crate::params::Params;
use crate::prf::{OFFSET, Place, Prf, RANK, TIE, joined, part};
use crate::request::{below, equal};
use sotto_math::find::{Found, either16};
use zeroize::Zeroizing;

/// Blocks of eight ids that are looked at together: they and their tags stay in the first cache.
const STRETCH: usize = 256;

/// One of the live hints that contain `row`, by 128 random bits; the id of none if there is none.
pub(crate) fn choose(params: &Params, prf: &Prf, hints: &Hints, row: Place, coins: u128) -> u32 {
    let candidates = candidates(params, prf, hints, row);
    let contain = contain(prf, hints, row, &candidates);
    let count: u32 = contain.iter().sum();
    // Uniform below `count`, but for 2^-119.
    let (high, low) = (coins >> 64, coins & u128::from(u64::MAX));
    let wanted = ((high * u128::from(count) + ((low * u128::from(count)) >> 64)) >> 64) as u32;
    let (mut chosen, mut passed) = (hints.none(), 0);
    for (id, is) in candidates.iter().zip(contain.iter()) {
        let taken = (is & equal(passed, wanted)).wrapping_neg();
        chosen = (id & taken) | (chosen & !taken);
        passed += is;
    }
    chosen
}

/// The ids whose offset in the row's partition is the row's, or whose tag is, and as many times none as there is room.
fn candidates(params: &Params, prf: &Prf, hints: &Hints, row: Place) -> Zeroizing<Vec<u32>> {
    let mut found = Found::new(params.candidates());
    let mut blocks = Zeroizing::new(vec![[0; 16]; STRETCH]);
    let mut offsets = Zeroizing::new(vec![0; 8 * STRETCH]);
    let tag = prf.tag(row);
    let used = hints.tags.get(..hints.used()).unwrap_or_default();
    for (first, tags) in (0..).step_by(8 * STRETCH).zip(used.chunks(8 * STRETCH)) {
        let blocks = blocks.get_mut(..tags.len().div_ceil(8)).unwrap_or_default();
        prf.aes().grid(OFFSET + u64::from(row.partition), 1, u64::from(first) / 8, blocks.len(), blocks);
        for (offset, bytes) in offsets.iter_mut().zip(blocks.as_flattened().as_chunks().0) {
            *offset = u16::from_le_bytes(*bytes);
        }
        let offsets = offsets.get(..tags.len()).unwrap_or_default();
        either16(offsets, prf.mask(), row.offset, tags, tag, first, &mut found);
    }
    let mut ids = Zeroizing::new(Vec::with_capacity(params.candidates()));
    ids.extend_from_slice(found.as_slice());
    ids.resize(params.candidates(), hints.none());
    ids
}

/// For each candidate 1 if it is a live hint that contains `row`.
fn contain(prf: &Prf, hints: &Hints, row: Place, candidates: &[u32]) -> Zeroizing<Vec<u32>> {
    let k = u64::from(row.partition);
    let blocks = prf.blocks(candidates, |j| [(RANK + k / 16, j), (TIE + k / 4, j), (OFFSET + k, j / 8)]);
    let empty = Hint::default();
    let of = |(id, [high, low, lanes]): (&u32, &[u128; 3])| {
        let hint = hints.of.get(*id as usize).unwrap_or(&empty);
        let has = |mark: u8| u32::from(hint.mark & mark != 0);
        let rank = joined(part(*high, k % 16 * 8) as u8, part(*low, k % 4 * 32) as u32);
        let offset = part(*lanes, u64::from(id % 8) * 16) as u16 & prf.mask();
        let inside = (below(rank, hint.cut) ^ has(OUTSIDE)) & equal(offset.into(), row.offset.into());
        (inside | equal(hint.extra, number(row))) & has(LIVE)
    };
    Zeroizing::new(candidates.iter().zip(blocks.iter()).map(of).collect())
}
