//! Moving hints to the next epoch: every parity that has a changed row takes the difference of old and new.
//!
//! One pass over all ids for each partition with a change. Its time depends on hints and changes, not on what is asked.

use crate::client::Client;
use crate::hints::{KNOWN, LIVE, OUTSIDE, OWED, place};
use crate::prf::{Blocks, OFFSET, RANK, TIE, VOID, joined, part};
use sotto_core::{PeerMisbehaved, Result};
use zeroize::Zeroizing;

/// Ids that are looked at together.
const STRETCH: usize = 2048;

/// A changed row: its offset in a partition, and old ^ new.
type Change<'a> = (usize, &'a [u8]);

impl Client {
    /// Takes a whole rows delta: for each changed row its number (u64) and old ^ new, by ascending numbers.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (record, w) = (8 + self.params.row_bytes(), self.params.partition_rows() as u64);
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("a row that is cut short"));
        }
        let mut changes: Vec<Change<'_>> = Vec::new();
        let (mut partition, mut least) = (0, 0);
        for (bytes, old_and_new) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk())
        {
            let row = u64::from_le_bytes(*bytes);
            if row < least || row >= self.params.rows() {
                return Err(malformed("rows out of order, or past the last"));
            }
            least = row + 1;
            if row / w != partition {
                self.follow_partition(partition, &changes);
                (partition, _) = (row / w, changes.clear());
            }
            changes.push(((row % w) as usize, old_and_new));
        }
        self.follow_partition(partition, &changes);
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &[Change<'_>]) {
        if changes.is_empty() {
            return;
        }
        // By offset one more than which change, and 0 for a row that stays.
        let mut which = vec![0u32; self.params.partition_rows()];
        for (i, (offset, _)) in (1..).zip(changes) {
            which[*offset] = i;
        }
        let change = |offset: u16| {
            let i = which.get(usize::from(offset)).copied().unwrap_or(0);
            changes.get((i as usize).wrapping_sub(1)).map(|(_, change)| *change)
        };
        let mut lanes = Zeroizing::new(vec![[0; 16]; STRETCH / 8]);
        // There are at most 2^25 ids.
        let ids = self.hints.stocked as u32;
        for first in (0..ids).step_by(STRETCH) {
            let these = first..ids.min(first.saturating_add(STRETCH as u32));
            self.prf.aes().grid(OFFSET + k, 1, u64::from(first) / 8, lanes.len(), &mut lanes);
            let offsets = lanes.as_flattened().as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            let touched = these.clone().zip(offsets).filter_map(|(id, offset)| {
                let change = change(offset & self.prf.mask())?;
                Some((id, change))
            });
            let touched: Vec<(u32, &[u8])> = touched.collect();
            self.follow_sets(k, &touched);
            for id in these {
                self.follow_extra(k, id, change);
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
    fn follow_extra<'a>(&mut self, k: u64, id: u32, change: impl Fn(u16) -> Option<&'a [u8]>) {
        let Some(hint) = self.hints.of.get(id as usize) else { return };
        let extra = place(hint.extra);
        if u64::from(extra.partition) == k
            && hint.mark & (LIVE | OWED) != 0
            && hint.mark & KNOWN != 0
            && let Some(change) = change(extra.offset)
        {
            add(self.hints.parity_mut(id), change);
        }
    }
}

fn add(parity: &mut [u8], change: &[u8]) {
    parity.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
