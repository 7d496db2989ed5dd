//! Moving hints to the next epoch: everything that has a changed row in it takes the difference of old and new.
//!
//! One pass over all ids for each partition with a change. Its time depends on hints and changes, not on what is asked.

use crate::client::Client;
use crate::hints::{FRESH, KNOWN, LIVE, OWED, PROMOTED, WAITING, place};
use crate::prf::OFFSET;
use sotto_core::{PeerMisbehaved, Result};
use zeroize::Zeroizing;

/// Ids that are looked at together.
const STRETCH: usize = 2048;

/// A changed row: its offset in a partition, and old ^ new.
type Change<'a> = (usize, &'a [u8]);

/// The changes of one partition, by offset.
struct Changes<'a> {
    changes: &'a [Change<'a>],
    /// One more than which change, and 0 for a row that stays.
    which: Vec<u32>,
}

impl<'a> Changes<'a> {
    fn new(changes: &'a [Change<'a>], partition_rows: usize) -> Self {
        let mut which = vec![0; partition_rows];
        for (i, (offset, _)) in (1..).zip(changes) {
            which[*offset] = i;
        }
        Changes { changes, which }
    }

    fn of(&self, offset: u16) -> Option<&'a [u8]> {
        let i = self.which.get(usize::from(offset)).copied().unwrap_or(0);
        self.changes.get((i as usize).wrapping_sub(1)).map(|(_, change)| *change)
    }
}

impl Client {
    /// Takes a whole rows delta: for each changed place its number (u64) and old ^ new, by ascending numbers.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (record, w) = (8 + self.params.row_bytes(), self.params.partition_rows() as u64);
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("a row that is cut short"));
        }
        let mut changes: Vec<Change<'_>> = Vec::new();
        let (mut partition, mut least) = (0, 0);
        for (bytes, old_and_new) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk())
        {
            let at = u64::from_le_bytes(*bytes);
            if at < least || at >= self.params.places() {
                return Err(malformed("places out of order, or past the last"));
            }
            least = at + 1;
            if at / w != partition {
                self.follow_partition(partition, &changes);
                (partition, _) = (at / w, changes.clear());
            }
            changes.push(((at % w) as usize, old_and_new));
        }
        self.follow_partition(partition, &changes);
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &[Change<'_>]) {
        if changes.is_empty() {
            return;
        }
        let changes = Changes::new(changes, self.params.partition_rows());
        self.follow_sets(k, &changes);
        self.follow_home(k as usize, &changes);
        self.seen.each_known(self.next, |number, row| {
            let place = place(number);
            if u64::from(place.partition) == k
                && let Some(change) = changes.of(place.offset)
            {
                add(row, change);
            }
        });
    }

    /// Hints and backups of other partitions: they have the row that the key says.
    fn follow_sets(&mut self, k: u64, changes: &Changes<'_>) {
        let (ids, home) = (self.hints.none(), self.hints.backups(k as usize));
        let mut lanes = Zeroizing::new(vec![[0; 16]; STRETCH / 8]);
        for first in (0..ids).step_by(STRETCH) {
            let these = first..ids.min(first.saturating_add(STRETCH as u32));
            self.prf.aes().grid(OFFSET + k, 1, u64::from(first) / 8, lanes.len(), &mut lanes);
            let offsets = lanes.as_flattened().as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            for (id, offset) in these.zip(offsets) {
                if let Some(change) = changes.of(offset & self.prf.mask())
                    && !home.contains(&id)
                    && self.hints.is(id, LIVE | OWED | FRESH)
                {
                    add(self.hints.parity_mut(id), change);
                }
            }
        }
    }

    /// Backups of this partition: promoted ones have their own entry in their parity once it is known, and those whose
    /// replacement entry is still needed have that.
    fn follow_home(&mut self, k: usize, changes: &Changes<'_>) {
        for id in self.hints.backups(k) {
            let Some(hint) = self.hints.of.get(id as usize).copied() else { return };
            if hint.mark & PROMOTED != 0
                && hint.mark & KNOWN != 0
                && let Some(change) = changes.of(place(hint.own).offset)
            {
                add(self.hints.parity_mut(id), change);
            }
            if hint.mark & (FRESH | WAITING) != 0
                && let Some(change) = changes.of(self.prf.replacement(id))
            {
                add(self.hints.replacement_mut(id), change);
            }
        }
    }
}

fn add(parity: &mut [u8], change: &[u8]) {
    parity.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
