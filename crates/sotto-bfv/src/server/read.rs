//! Records out of an image, without the mask: for changes in place, and for encoding a table anew that is nowhere else.

use super::group::Group;
use super::image::Table;
use crate::family::Family;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Misuse, Result, Rows};
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::bgv::rows::Table as Shape;

/// The numbers of all plaintexts of a group. `at` reads bytes of the image.
pub(super) fn read<F: Family>(
    params: &Params<F>,
    shape: &Shape,
    group: Group,
    at: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<Vec<u64>>> {
    let region = group.table as u64 * shape.bytes();
    let one = |k| {
        let cell = group.cell(&params.layout, k);
        let coefficients = shape.read_cell(&params.ring, cell, |offset, out| at(region + offset, out))?;
        let mut numbers = vec![0; params.layout.n];
        params.ring.ring().decode(&coefficients, &mut numbers);
        Ok(numbers)
    };
    (0..params.layout.width).map(one).collect()
}

/// The records of an image.
pub(super) struct Records<F: Family> {
    table: Table<F>,
}

impl<F: Family> Records<F> {
    pub(super) fn new(table: Table<F>) -> Self {
        Records { table }
    }

    /// Some records that follow each other in one bucket and one group.
    fn run(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let params = self.table.params();
        let (group, bucket, position) = Group::of(&params.layout, first);
        let numbers = read(params, &self.table.shape, group, |offset, out| self.table.at(offset, out))?;
        for (i, record) in out.chunks_exact_mut(self.record_bytes()).enumerate() {
            record.copy_from_slice(&group.get(params, (bucket, position + i), &numbers));
        }
        Ok(())
    }
}

impl<F: Family> Rows for Records<F> {
    fn records(&self) -> u64 {
        self.table.params().literal.records
    }

    fn record_bytes(&self) -> usize {
        self.table.params().layout.record_bytes()
    }

    fn read(&self, mut first: u64, mut out: &mut [u8]) -> Result<()> {
        let (layout, width, len) = (&self.table.params().layout, self.record_bytes(), self.records());
        if !out.len().is_multiple_of(width) {
            return Err(Misuse::Rule("only whole records are read").into());
        }
        let end = first.saturating_add((out.len() / width) as u64);
        if end > len {
            return Err(Misuse::IndexPastEnd { index: end, len }.into());
        }
        // Records of one group are read together; the first may be entered in its midst, and a bucket ends in one.
        let mut runs = Vec::new();
        while first < end {
            let place = first % layout.records;
            let in_group = layout.positions as u64 - place % layout.positions as u64;
            let run = in_group.min(layout.records - place).min(end - first);
            let (head, rest) = out.split_at_mut(run as usize * width);
            runs.push((first, head));
            (first, out) = (first + run, rest);
        }
        runs.into_par_iter().try_for_each(|(first, out)| self.run(first, out))
    }
}
