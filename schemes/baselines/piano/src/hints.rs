//! Hints and backups: sets with a row of each partition, and their changes by queries.
//!
//! Ids 0..M are hints from the start. The next c m are backups, m of each partition, each with the
//! row of a *replacement entry*, which is a random one of that partition. A query promotes the next
//! backup of its row's partition to a hint, with the row as its entry there. Each of the next Q ids
//! is used by one query that spends no hint.
//!
//! In addition to the values of all one-server schemes, AES(2 * 2^56, j/8) is the offsets of eight
//! backups' replacement entries.

use crate::FullSets;
use sotto_core::Result;
use sotto_hints::codec::reserve;
use sotto_hints::one_server::run::{Chooser, IdRun, PartitionRange};
use sotto_hints::one_server::{Hint, LIVE, Params, ParitySums, Prf, TablePass};
use sotto_math::parities::PartitionWindow;
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
pub(crate) fn fresh(params: &Params<FullSets>) -> Result<Zeroizing<Vec<Hint<()>>>> {
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
pub(crate) fn pass(params: &Params<FullSets>, prf: &Prf<FullSets>) -> Result<TablePass<FullSets>> {
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
