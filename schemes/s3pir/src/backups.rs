//! The backup pairs that are left, and the encoding of hints and pairs.

use crate::hints::{KNOWN, OUTSIDE, pair};
use crate::prf::VOID;
use crate::{HalfSets, Params};
use sotto_core::Result;
use sotto_hints::codec::{StateReader, put};
use sotto_hints::one_server::{Hint, LIVE, OWED, PartitionPlace, Stock};
use std::io::Write;

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

impl Stock<HalfSets> for BackupPairs {
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
