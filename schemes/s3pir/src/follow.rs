//! Moving hints to the next epoch: every parity that has a changed row takes the difference of old and new.
//!
//! One pass over all ids for each partition with a change. Its time depends on hints and changes, not on what is asked.

use crate::client::Client;
use crate::hints::{KNOWN, LIVE, OUTSIDE, OWED, place};
use crate::prf::{Blocks, OFFSET, RANK, TIE, VOID, joined, part};
use sotto_core::Result;
use sotto_hints::delta::{Changes, Partition, add};
use zeroize::Zeroizing;

/// Ids that are looked at together.
const STRETCH: usize = 2048;

impl Client {
    /// Takes a whole rows delta.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let changes = Changes::read(delta, self.params.rows(), self.params.row_bytes())?;
        let partitions = changes.partitions(self.params.partition_rows());
        partitions.for_each(|(k, changes)| self.follow_partition(k, &changes));
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &Partition<'_>) {
        let mut lanes = Zeroizing::new(vec![[0; 16]; STRETCH / 8]);
        // There are at most 2^25 ids.
        let ids = self.hints.stocked as u32;
        for first in (0..ids).step_by(STRETCH) {
            let these = first..ids.min(first.saturating_add(STRETCH as u32));
            self.prf.aes().grid(OFFSET + k, 1, u64::from(first) / 8, lanes.len(), &mut lanes);
            let offsets = lanes.as_flattened().as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            let touched = these.clone().zip(offsets).filter_map(|(id, offset)| {
                let change = changes.at(offset & self.prf.mask())?;
                Some((id, change))
            });
            let touched: Vec<(u32, &[u8])> = touched.collect();
            self.follow_sets(k, &touched);
            for id in these {
                self.follow_extra(k, id, changes);
            }
        }
    }

    /// Ids whose row in partition k, selected or not, has changed.
    fn follow_sets(&mut self, k: u64, touched: &[(u32, &[u8])]) {
        let ids: Vec<u32> = touched.iter().map(|(id, _)| *id).collect();
        let mut blocks = Blocks::default();
        let blocks = blocks.of(&self.prf, &ids, |j| [(RANK + k / 16, j), (TIE + k / 4, j)]);
        for ((id, change), [high, low]) in touched.iter().zip(blocks) {
            let Some(hint) = self.hints.of.get(*id as usize).filter(|hint| hint.cut != VOID) else {
                continue;
            };
            let inside = joined(part(high, k % 16 * 8) as u8, part(low, k % 4 * 32) as u32) < hint.cut;
            if *id as usize >= self.hints.used() {
                let [half, other] = self.hints.pair_mut(*id);
                add(if inside { half } else { other }, change);
            } else if hint.mark & (LIVE | OWED) != 0 && inside != (hint.mark & OUTSIDE != 0) {
                add(self.hints.parity_mut(*id), change);
            }
        }
    }

    /// An id that may have its extra entry in partition k. A promoted hint has it in its parity once that is known.
    fn follow_extra(&mut self, k: u64, id: u32, changes: &Partition<'_>) {
        let Some(hint) = self.hints.of.get(id as usize) else { return };
        let extra = place(hint.extra);
        if u64::from(extra.partition) == k
            && hint.mark & (LIVE | OWED) != 0
            && hint.mark & KNOWN != 0
            && let Some(change) = changes.at(extra.offset)
        {
            add(self.hints.parity_mut(id), change);
        }
    }
}
