//! Moving hints to the next epoch: adds old xor new of each changed row to the parity of every set
//! that contains the row.
//!
//! There is one pass over all sets. Its time depends on hints and changes, not on the rows that are
//! requested.

use super::sets::KNOWN;
use super::{Client, Family, Params, Set, TreeScratch, Trees};
use crate::delta::{self, RowsDelta};
use sotto_core::Result;

impl<F: Family> Client<F> {
    /// Applies a whole rows delta.
    pub(super) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (params, trees) = (&self.params, &self.tools.trees);
        let changed =
            ChangedRows::new(RowsDelta::read(delta, params.rows(), params.row_bytes())?, params.rows());
        let room = &mut TreeScratch::default();
        let slots = self.hints.iter().zip(self.parities.chunks_exact_mut(params.row_bytes()));
        let spent = self.open.iter_mut().map(|open| (&open.spent, open.parity.as_mut_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        let mut known = known.map(|(hint, parity)| (&hint.set, parity));
        while !changed.changes.rows().is_empty() {
            let together: Vec<_> = known.by_ref().take(trees.together()).collect();
            if together.is_empty() {
                break;
            }
            changed.add::<F>(params, trees, together, room);
        }
        Ok(())
    }
}

/// The changed rows of an epoch, with a bit for each row of the table that is set if it changed:
/// sets have many rows, of which few have changed.
struct ChangedRows<'a> {
    changes: RowsDelta<'a>,
    bits: Vec<u64>,
}

impl<'a> ChangedRows<'a> {
    fn new(changes: RowsDelta<'a>, len: u64) -> Self {
        // One bit for each row of the table, which fits into memory.
        let mut bits = vec![0u64; if changes.rows().is_empty() { 0 } else { len.div_ceil(64) as usize }];
        for (row, _) in changes.rows() {
            if let Some(word) = bits.get_mut((row / 64) as usize) {
                *word |= 1 << (row % 64);
            }
        }
        ChangedRows { changes, bits }
    }

    fn of(&self, row: u64) -> Option<&'a [u8]> {
        self.bits.get((row / 64) as usize).filter(|word| *word >> (row % 64) & 1 == 1)?;
        let rows = self.changes.rows();
        let at = rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        rows.get(at).map(|(_, change)| *change)
    }

    fn add<F: Family>(
        &self,
        params: &Params<F>,
        trees: &Trees<F::Word>,
        sets: Vec<(&Set<F::Word>, &mut [u8])>,
        room: &mut TreeScratch<F::Word>,
    ) {
        let roots: Vec<_> = sets.iter().map(|(set, _)| set.root).collect();
        let numbers = trees.grow(roots.into_iter(), room);
        for ((set, parity), numbers) in sets.into_iter().zip(numbers.chunks_exact(trees.numbers())) {
            for (position, number) in (0..).zip(numbers) {
                if let Some(change) = self.of(F::row(params, position, *number ^ set.shift)) {
                    delta::add(parity, change);
                }
            }
        }
    }
}
