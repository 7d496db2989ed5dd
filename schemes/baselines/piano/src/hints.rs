//! Hints and backups: sets with a row of each partition, and their changes by queries.
//!
//! Ids 0..M are hints from the start. The next c m are backups, m of each partition, each with the
//! row of a *replacement entry*, which is a random one of that partition. A query promotes the next
//! backup of its row's partition to a hint, with the row as its entry there. Each of the next Q ids
//! is used by one query that spends no hint.
//!
//! In addition to the values of all one-server schemes, AES(2 * 2^56, j/8) is the offsets of eight
//! backups' replacement entries.

use crate::{FullSets, Params};
use sotto_core::Result;
use sotto_hints::codec::{StateReader, put, reserve};
use sotto_hints::one_server::row_order::{below, pick};
use sotto_hints::one_server::run::{Chooser, IdRun, PartitionRange};
use sotto_hints::one_server::{
    BackupStock, Hint, Hints, LIVE, OWED, ParitySums, PartitionPlace, Prf, TablePass,
};
use sotto_math::parities::PartitionWindow;
use std::io::Write;
use std::ops::Range;
use zeroize::Zeroizing;

/// Mark of a hint whose parity is that of its set. Without it, a promoted backup has the parity of
/// the other partitions alone.
pub(crate) const KNOWN: u8 = 4;
/// Mark of an unused backup.
pub(crate) const FRESH: u8 = 8;
/// Mark of a promoted backup whose query has no answer yet.
pub(crate) const WAITING: u8 = 16;
/// Mark of an id with an own entry: it is or was a promoted backup.
pub(crate) const PROMOTED: u8 = 32;

/// The offset of a backup's replacement entry, in the backup's partition.
pub(crate) fn replacement(prf: &Prf<FullSets>, id: u32) -> u16 {
    prf.offset_of(2 << 56, id)
}

/// The hints and backups before the first query, and the entry for no id.
pub(crate) fn fresh(params: &Params) -> Result<Zeroizing<Vec<Hint<()>>>> {
    let mut of = Zeroizing::new(Vec::new());
    reserve(&mut of, params.ids() + 1)?;
    of.resize(params.hints(), Hint { set: (), entry: 0, mark: LIVE | KNOWN });
    of.resize(params.ids(), Hint { set: (), entry: 0, mark: FRESH });
    of.push(Hint::default());
    Ok(of)
}

/// The sums of the pass: parities of all ids, those of backups without their own partition's row,
/// and replacement entries.
pub struct HintSums {
    home: BackupPartition,
    pub(crate) run: IdRun,
    row_bytes: usize,
    /// Replacement entries by backup, without padding.
    pub(crate) entries: Zeroizing<Vec<u8>>,
}

/// The partition that each backup lacks: m of them lack each, from the first backup on.
struct BackupPartition {
    first: usize,
    each: usize,
}

/// Begins the pass over the table.
pub(crate) fn pass(params: &Params, prf: &Prf<FullSets>) -> Result<TablePass<FullSets>> {
    let (ids, row_bytes) = (params.ids(), params.row_bytes());
    let home = BackupPartition { first: params.hints(), each: params.backups() };
    let backups = ids - params.hints();
    TablePass::new(prf, row_bytes, ids + backups, || {
        let entries = Zeroizing::new(vec![0; backups * row_bytes]);
        // There are at most 2^25 ids.
        HintSums { home, run: IdRun::new(&(0..ids as u32), row_bytes, false), row_bytes, entries }
    })
}

impl ParitySums<FullSets> for HintSums {
    fn add(&mut self, prf: &Prf<FullSets>, window: &PartitionWindow, lanes: PartitionRange) {
        self.run.add(prf, window, lanes, &self.home);
        let BackupPartition { first, each } = self.home;
        let entries = self.entries.chunks_exact_mut(self.row_bytes).enumerate();
        for (backup, entry) in entries.skip(lanes.from * each).take(lanes.count * each) {
            let offset = usize::from(replacement(prf, (first + backup) as u32));
            entry.copy_from_slice(&window.row(backup / each - lanes.from, offset)[..self.row_bytes]);
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.run.rows().chain([self.entries.as_slice()])
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.run.rows_mut().chain([self.entries.as_mut_slice()])
    }
}

impl Chooser<FullSets> for BackupPartition {
    type Scratch = ();

    fn scratch(&self) {}

    fn choose(
        &self,
        _: &Prf<FullSets>,
        lanes: PartitionRange,
        ids: Range<usize>,
        (): &mut (),
        chosen: &mut [u16],
    ) {
        let first = self.first + lanes.from * self.each;
        for (id, chosen) in ids.zip(chosen) {
            let home = id.checked_sub(first).map(|backup| backup / self.each);
            let lacks = home.filter(|lane| *lane < lanes.count).map_or(0, |lane| 1 << lane);
            *chosen = lanes.all() & !lacks;
        }
    }
}

/// The number of used backups of each partition, of m each.
pub struct BackupsUsed {
    pub(crate) of: Zeroizing<Vec<u16>>,
    pub(crate) all: u16,
}

/// The next backup of a partition; none if there is none left.
pub(crate) fn next_backup(hints: &Hints<FullSets>, partition: u16) -> u32 {
    let BackupsUsed { of, all } = &hints.backup_stock;
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

impl BackupStock<FullSets> for BackupsUsed {
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
