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

    /// Runs of records, all of one group.
    fn of_group(&self, runs: &mut [Run<'_>]) -> Result<()> {
        let params = self.table.params();
        let Some(group) = runs.first().map(|run| run.group) else { return Ok(()) };
        let numbers = read(params, &self.table.shape, group, |offset, out| self.table.at(offset, out))?;
        for Run { bucket, position, out, .. } in runs {
            for (i, record) in out.chunks_exact_mut(self.record_bytes()).enumerate() {
                record.copy_from_slice(&group.get(params, (*bucket, *position + i), &numbers));
            }
        }
        Ok(())
    }
}

/// Records that follow each other in one bucket and one group, and where they are wanted.
struct Run<'a> {
    group: Group,
    bucket: usize,
    position: usize,
    out: &'a mut [u8],
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
        // The first group may be entered in its midst, and a bucket ends in one.
        let mut runs = Vec::new();
        while first < end {
            let place = first % layout.records;
            let in_group = layout.positions as u64 - place % layout.positions as u64;
            let run = in_group.min(layout.records - place).min(end - first);
            let (head, rest) = out.split_at_mut(run as usize * width);
            let (group, bucket, position) = Group::of(layout, first);
            runs.push(Run { group, bucket, position, out: head });
            (first, out) = (first + run, rest);
        }
        // Those of one group are read together, as a plaintext has records of many buckets: the more at once, the better.
        runs.sort_by_key(|run| run.group);
        let groups: Vec<_> = runs.chunk_by_mut(|a, b| a.group == b.group).collect();
        groups.into_par_iter().try_for_each(|runs| self.of_group(runs))
    }
}
