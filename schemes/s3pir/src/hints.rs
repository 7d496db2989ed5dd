//! Hints and backup pairs: the halves of partitions that they have, which of them contain a row, how a
//! query changes them, and how they are written.
//!
//! Ids 0..M are hints from the start: a half and an extra entry. Ids M..M+P are backup pairs, each
//! with the parities of both halves; a query promotes the next of them to a hint. The cut of each
//! id is stored.
//!
//! A client that streams the table has all ids from the start. A client of the two-server scheme
//! ([`two_server`](crate::two_server)) has those of the blocks that it received, which are the
//! first ones, and storage for the other halves of two blocks of pairs.

use crate::prf::{RANK, TIE, VOID, rank, rank_in};
use crate::{HalfSets, Params};
use sotto_core::Result;
use sotto_hints::codec::{StateReader, put};
use sotto_hints::one_server::prf::{Blocks, lane};
use sotto_hints::one_server::row_order::{below, equal};
use sotto_hints::one_server::{
    BackupStock, Hint, HintFamily, Hints, LIVE, OWED, ParamsFamily, PartitionPlace, Prf,
};
use std::io::Write;

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

impl HintFamily for HalfSets {
    /// The cut of the set.
    type Set = u32;
    const KNOWN: u8 = KNOWN;
    const TAGGED: u8 = LIVE;
    const STAYS: u8 = 0;

    fn contains(prf: &Prf<HalfSets>, id: u32, hint: &Hint<u32>, row: PartitionPlace) -> bool {
        let inside = (rank(prf, id, row.partition) < hint.set) != (hint.mark & OUTSIDE != 0);
        inside && prf.offset(id, row.partition) == row.offset || hint.entry == row.number()
    }

    type Looks = Blocks<3>;

    fn look(
        prf: &Prf<HalfSets>,
        row: PartitionPlace,
        (ids, kept): (&[u32], &[Hint<u32>]),
        looks: &mut Blocks<3>,
        contain: &mut [u32],
    ) {
        let k = u64::from(row.partition);
        let inputs = |j: u64| [(RANK + k / 16, j), (TIE + k / 4, j), (HalfSets::OFFSET + k, j / 8)];
        let looked = ids.iter().zip(kept).zip(looks.of(prf.aes(), ids, inputs));
        for (contains, ((id, hint), [high, low, lanes])) in contain.iter_mut().zip(looked) {
            let has = |mark: u8| u32::from(hint.mark & mark != 0);
            let offset = lane(lanes, *id) & prf.mask();
            let inside = below(rank_in(high, low, k), hint.set) ^ has(OUTSIDE);
            let inside = inside & equal(offset.into(), row.offset.into());
            *contains = (inside | equal(hint.entry, row.number())) & has(LIVE);
        }
    }

    type BackupStock = BackupPairs;

    fn searched(hints: &Hints<HalfSets>) -> usize {
        used(hints)
    }
}

/// Number of ids that are or were hints, which a search goes through.
pub(crate) fn used(hints: &Hints<HalfSets>) -> usize {
    hints.first_backup() + hints.backup_stock.next
}

/// Skips void pairs, and returns the id to promote next.
pub(crate) fn next_pair(hints: &mut Hints<HalfSets>) -> Option<u32> {
    let rest = hints.of.get(used(hints)..hints.ids_received)?;
    hints.backup_stock.next += rest.iter().take_while(|pair| pair.set == VOID).count();
    // There are at most 2^25 ids.
    (used(hints) < hints.ids_received).then_some(used(hints) as u32)
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
    hints.backup_stock.next += 1;
    hints.backup_stock.left -= 1;
}

/// The backup pairs that are left.
pub struct BackupPairs {
    /// The next pair to promote, counted from 0.
    pub(crate) next: usize,
    /// Number of pairs that are left and not void.
    pub(crate) left: u64,
    /// Number of pairs whose other half is stored; storage is reused from the beginning when it is
    /// full.
    pub(crate) capacity: usize,
    /// Number of ids of a block of hint responses; 0 if all came at once.
    pub(crate) block: usize,
}

impl BackupPairs {
    /// The pairs of a client that has all pairs, or will have, of which `next` are promoted or
    /// skipped.
    pub(crate) fn of(params: &Params, next: usize) -> Self {
        BackupPairs { next, left: 0, capacity: params.backups(), block: 0 }
    }
}

impl BackupStock<HalfSets> for BackupPairs {
    /// Number of pairs that were promoted or skipped.
    type StockCounts = u32;

    fn counted(&self) -> u32 {
        // At most 2^24.
        self.next as u32
    }

    fn second(&self, pair: usize) -> usize {
        pair % self.capacity.max(1)
    }

    fn seconds(&self, _: &Params) -> usize {
        self.capacity
    }

    fn put(&self, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }

    fn get(params: &Params, next: u64, promoted: u32, from: &mut StateReader<'_>) -> Result<BackupPairs> {
        if promoted as usize > params.backups() || next > promoted.into() {
            return Err(from.malformed("there are more queries than pairs"));
        }
        Ok(BackupPairs::of(params, promoted as usize))
    }

    /// Writes the cut of an id, and for hints the entry and the mark too.
    fn put_hint(&self, params: &Params, id: usize, hint: &Hint<u32>, out: &mut dyn Write) -> Result<()> {
        if id < params.hints() + self.next { put(hint, out) } else { put(&hint.set, out) }
    }

    fn get_hint(
        &mut self,
        params: &Params,
        id: usize,
        from: &mut StateReader<'_>,
    ) -> Result<Option<Hint<u32>>> {
        if id >= params.hints() + self.next {
            let cut = from.get()?;
            self.left += u64::from(cut != VOID);
            return Ok(Some(pair(cut)));
        }
        let hint: Hint<u32> = from.get()?;
        let standing = hint.mark & (LIVE | OWED);
        let possible = if id < params.hints() {
            [0, LIVE | KNOWN, OWED | KNOWN].contains(&hint.mark)
        } else {
            let rest = hint.mark & !(LIVE | OWED | OUTSIDE | KNOWN);
            hint.mark == 0 || [LIVE, OWED].contains(&standing) && rest == 0
        };
        let possible =
            possible && params.has(PartitionPlace::of(hint.entry)) && (hint.set != VOID || standing == 0);
        Ok(possible.then_some(hint))
    }

    /// A spent hint has no parity any more, and a void id has none at all.
    fn has(&self, params: &Params, id: usize, hint: &Hint<u32>) -> [bool; 2] {
        if id < params.hints() + self.next { [hint.mark != 0, false] } else { [true, true] }
    }
}
