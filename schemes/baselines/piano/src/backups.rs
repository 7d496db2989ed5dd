//! The backups that are left, and the encoding of hints and backups.

use crate::hints::{FRESH, KNOWN, PROMOTED, WAITING};
use crate::{FullSets, Params};
use sotto_core::Result;
use sotto_hints::codec::{StateReader, put};
use sotto_hints::one_server::row_order::{below, pick};
use sotto_hints::one_server::{Hint, Hints, LIVE, OWED, PartitionPlace, Stock};
use std::io::Write;
use std::ops::Range;
use zeroize::Zeroizing;

/// The number of used backups of each partition, of m each.
pub struct BackupsUsed {
    pub(crate) of: Zeroizing<Vec<u16>>,
    pub(crate) all: u16,
}

/// The next backup of a partition; none if there is none left.
pub(crate) fn next_backup(hints: &Hints<FullSets>, partition: u16) -> u32 {
    let BackupsUsed { of, all } = &hints.stock;
    let used = u32::from(of.get(usize::from(partition)).copied().unwrap_or(u16::MAX));
    let id = backups(hints.first_backup(), *all, partition.into()).start + used;
    pick(below(used, (*all).into()), id, hints.none())
}

/// The ids of a partition's backups.
pub(crate) fn backups(first: usize, all: u16, partition: u64) -> Range<u32> {
    // There are at most 2^25 ids.
    let first = first as u32 + partition as u32 * u32::from(all);
    first..first + u32::from(all)
}

impl Stock<FullSets> for BackupsUsed {
    type StockCounts = ();

    fn counted(&self) {}

    fn second(&self, backup: usize) -> usize {
        backup
    }

    fn seconds(&self, params: &Params) -> usize {
        params.ids() - params.hints()
    }

    fn put(&self, out: &mut dyn Write) -> Result<()> {
        self.of.iter().try_for_each(|used| put(used, out))
    }

    fn get(params: &Params, next: u64, (): (), from: &mut StateReader<'_>) -> Result<BackupsUsed> {
        let mut of = Zeroizing::new(vec![0; params.partitions()]);
        for used in of.iter_mut() {
            *used = from.get()?;
        }
        let all: u64 = of.iter().copied().map(u64::from).sum();
        if all > next || of.iter().any(|used| usize::from(*used) > params.backups()) {
            return Err(from.malformed("more backups are used than there are"));
        }
        // Below 2^16.
        Ok(BackupsUsed { of, all: params.backups() as u16 })
    }

    /// The mark of a hint; for a used backup its mark and the offset of its entry, whose partition
    /// is the backup's.
    fn put_hint(&self, params: &Params, id: usize, hint: &Hint<()>, out: &mut dyn Write) -> Result<()> {
        match id < params.hints() {
            true => put(&hint.mark, out),
            false if hint.mark & FRESH != 0 => Ok(()),
            false => put(&(hint.mark, PartitionPlace::of(hint.entry).offset), out),
        }
    }

    fn get_hint(
        &mut self,
        params: &Params,
        id: usize,
        from: &mut StateReader<'_>,
    ) -> Result<Option<Hint<()>>> {
        let Some(backup) = id.checked_sub(params.hints()) else {
            let mark = from.get()?;
            let possible = [0, LIVE | KNOWN, OWED | KNOWN].contains(&mark);
            return Ok(possible.then_some(Hint { set: (), entry: 0, mark }));
        };
        let (partition, backup) = (backup / params.backups(), backup % params.backups());
        if backup >= self.of.get(partition).copied().unwrap_or(0).into() {
            return Ok(Some(Hint { set: (), entry: 0, mark: FRESH }));
        }
        let (mark, offset): (u8, u16) = from.get()?;
        let live = [LIVE | PROMOTED, OWED | PROMOTED].contains(&(mark & !(WAITING | KNOWN)));
        let possible =
            if live { mark & WAITING == 0 || mark & KNOWN == 0 } else { mark & !WAITING == 0 && offset == 0 };
        // Below 2^16.
        let place = PartitionPlace { partition: partition as u16, offset };
        let entry = if live { place.number() } else { 0 };
        Ok((possible && params.has(place)).then_some(Hint { set: (), entry, mark }))
    }

    fn has(&self, _: &Params, _: usize, hint: &Hint<()>) -> [bool; 2] {
        [hint.mark & (LIVE | OWED | FRESH) != 0, hint.mark & (FRESH | WAITING) != 0]
    }
}
