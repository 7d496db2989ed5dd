//! Moving hints to the next epoch: everything that has a changed row in it takes the difference of old and new.
//!
//! One pass over all ids for each partition with a change. Its time depends on hints and changes, not on what is asked.

use crate::client::Client;
use crate::hints::{FRESH, KNOWN, LIVE, OWED, PROMOTED, WAITING, place};
use crate::prf::OFFSET;
use sotto_core::Result;
use sotto_hints::delta::{Changes, Partition, add};
use zeroize::Zeroizing;

/// Ids that are looked at together.
const STRETCH: usize = 2048;

impl Client {
    /// Takes a whole rows delta, whose numbers are those of places.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let changes = Changes::read(delta, self.params.places(), self.params.row_bytes())?;
        let partitions = changes.partitions(self.params.partition_rows());
        partitions.for_each(|(k, changes)| self.follow_partition(k, &changes));
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &Partition<'_>) {
        self.follow_sets(k, changes);
        self.follow_home(k as usize, changes);
        self.seen.each_known(self.next, |number, row| {
            let place = place(number);
            if u64::from(place.partition) == k
                && let Some(change) = changes.at(place.offset)
            {
                add(row, change);
            }
        });
    }

    /// Hints and backups of other partitions: they have the row that the key says.
    fn follow_sets(&mut self, k: u64, changes: &Partition<'_>) {
        let (ids, home) = (self.hints.none(), self.hints.backups(k as usize));
        let mut lanes = Zeroizing::new(vec![[0; 16]; STRETCH / 8]);
        for first in (0..ids).step_by(STRETCH) {
            let these = first..ids.min(first.saturating_add(STRETCH as u32));
            self.prf.aes().grid(OFFSET + k, 1, u64::from(first) / 8, lanes.len(), &mut lanes);
            let offsets = lanes.as_flattened().as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            for (id, offset) in these.zip(offsets) {
                if let Some(change) = changes.at(offset & self.prf.mask())
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
    fn follow_home(&mut self, k: usize, changes: &Partition<'_>) {
        for id in self.hints.backups(k) {
            let Some(hint) = self.hints.of.get(id as usize).copied() else { return };
            if hint.mark & PROMOTED != 0
                && hint.mark & KNOWN != 0
                && let Some(change) = changes.at(place(hint.own).offset)
            {
                add(self.hints.parity_mut(id), change);
            }
            if hint.mark & (FRESH | WAITING) != 0
                && let Some(change) = changes.at(self.prf.replacement(id))
            {
                add(self.hints.replacement_mut(id), change);
            }
        }
    }
}
