//! Moving hints to the next epoch: adds old xor new of each changed row to everything that contains
//! the row.
//!
//! There is one pass over all ids for each partition with a change. Its time depends on hints and
//! changes, not on the rows that are requested.

use super::prf::lanes;
use super::{Client, Family};
use crate::delta::{PartitionDelta, RowsDelta};
use sotto_core::Result;
use zeroize::Zeroizing;

/// Ids that are processed together.
const STRETCH: usize = 2048;

impl<F: Family> Client<F> {
    /// Applies a whole rows delta, whose row numbers are numbers of places.
    pub(super) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let changes = RowsDelta::read(delta, self.params.places(), self.params.row_bytes())?;
        let partitions = changes.partitions(self.params.partition_rows());
        partitions.for_each(|(k, changes)| self.follow_partition(k, &changes));
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &PartitionDelta<'_>) {
        let mut blocks = Zeroizing::new(vec![[0; 16]; STRETCH / 8]);
        // There are at most 2^25 ids.
        let ids = self.hints.stocked as u32;
        for first in (0..ids).step_by(STRETCH) {
            let these = first..ids.min(first.saturating_add(STRETCH as u32));
            self.prf.aes().grid(F::OFFSET + k, 1, u64::from(first) / 8, blocks.len(), &mut blocks);
            let touched = these.zip(lanes(&blocks)).filter_map(|(id, offset)| {
                let change = changes.at(offset & self.prf.mask())?;
                Some((id, change))
            });
            let touched: Vec<(u32, &[u8])> = touched.collect();
            F::follow(&mut self.hints, &self.prf, k, &touched);
        }
        F::follow_own(self, k, changes);
    }
}
