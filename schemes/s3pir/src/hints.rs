//! Hints and backup pairs: halves of partitions, and their changes by queries.
//!
//! Ids 0..M are hints from the start: a half and an extra entry. Ids M..M+P are backup pairs, each
//! with the parities of both halves; a query promotes the next of them to a hint. The cut of each
//! id is stored.
//!
//! A client that streams the table has all ids from the start. A client of the two-server scheme
//! ([`two_server`](crate::two_server)) has those of the blocks that it received, which are the
//! first ones, and storage for the other halves of two blocks of pairs.

use crate::HalfSets;
use crate::prf::{VOID, rank};
use sotto_hints::one_server::{Hint, Hints, LIVE, PartitionPlace, Prf};

/// Mark of a hint whose partitions are those outside the half.
pub(crate) const OUTSIDE: u8 = 4;
/// Mark of a hint whose parity is that of its set. Without it, a promoted hint has the parity of
/// its half alone.
pub(crate) const KNOWN: u8 = 8;

/// A main hint; an empty one if its id is void.
pub(crate) fn main(cut: u32, extra: PartitionPlace) -> Hint<u32> {
    match cut {
        VOID => Hint::default(),
        cut => Hint { set: cut, entry: extra.number(), mark: LIVE | KNOWN },
    }
}

/// A backup pair.
pub(crate) fn pair(cut: u32) -> Hint<u32> {
    Hint { set: cut, ..Hint::default() }
}

/// Number of ids that are or were hints, which a search goes through.
pub(crate) fn used(hints: &Hints<HalfSets>) -> usize {
    hints.first_backup() + hints.stock.next
}

/// Skips void pairs, and returns the id to promote next.
pub(crate) fn next_pair(hints: &mut Hints<HalfSets>) -> Option<u32> {
    let rest = hints.of.get(used(hints)..hints.stocked)?;
    hints.stock.next += rest.iter().take_while(|pair| pair.set == VOID).count();
    // There are at most 2^25 ids.
    (used(hints) < hints.stocked).then_some(used(hints) as u32)
}

/// Spends the hint `chosen`, and promotes the next pair, `id`, to a hint with the extra entry
/// `row`: the one of its halves without the row's partition. If `chosen` is none, the pair is spent
/// as well.
///
/// Does the same work in both cases, and for both halves.
pub(crate) fn promote(
    hints: &mut Hints<HalfSets>,
    prf: &Prf<HalfSets>,
    chosen: u32,
    id: u32,
    row: PartitionPlace,
) {
    let found = u8::from(chosen != hints.none());
    let outside = u8::from(rank(prf, id, row.partition) < hints.hint(id).set);
    hints.promote(prf, found, chosen, (id, LIVE | (OUTSIDE * outside)), row);
    let [half, other] = hints.both_mut(id);
    let keep = |kept: u8| (kept & found).wrapping_neg();
    for (half, other) in half.iter_mut().zip(other) {
        *half = (*half & keep(1 ^ outside)) | (std::mem::take(other) & keep(outside));
    }
    hints.stock.next += 1;
    hints.stock.left -= 1;
}
