//! Moving an image to the next epoch: the changed bytes, and the plaintexts of every block that
//! they are in. Queries and keys do not depend on the table, so nothing changes for clients.

use crate::KsPir;
use crate::encode::write_blocks;
use crate::grid::PAGE_BYTES;
use crate::params::Params;
use sotto_core::{Misuse, RecordChange, RecordSource, Result, Section, Sink, UpdateImage};
use std::collections::BTreeSet;

impl UpdateImage for KsPir {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let grid = &params.grid;
        let (records, each) = (params.literal.records, grid.record_bytes() as u64);
        out.reserve(Section::Resident, params.image_bytes())?;
        let mut blocks = BTreeSet::new();
        for RecordChange { record, offset, bytes } in changes {
            if *record >= records {
                return Err(Misuse::IndexPastEnd { index: *record, len: records }.into());
            }
            let end = offset.saturating_add(bytes.len() as u64);
            if end > each {
                return Err(Misuse::IndexPastEnd { index: end, len: each }.into());
            }
            out.write_at(Section::Resident, grid.table_bytes() + record * each + offset, bytes)?;
            // Both offsets are within a record, which is in memory as a whole elsewhere.
            let of = |at: usize| at / PAGE_BYTES * grid.blocks + at % PAGE_BYTES / grid.part_bytes();
            blocks.extend((*offset as usize..end as usize).map(of));
        }
        write_blocks(params, &StoredRecords { params, out }, out, |some| blocks.range(some).next().is_some())
    }
}

/// The copies of the records after the table.
struct StoredRecords<'a> {
    params: &'a Params,
    out: &'a dyn Sink,
}

impl RecordSource for StoredRecords<'_> {
    fn records(&self) -> u64 {
        self.params.literal.records
    }

    fn record_bytes(&self) -> usize {
        self.params.grid.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let start = self.params.grid.table_bytes() + first * self.record_bytes() as u64;
        self.out.read_at(Section::Resident, start, out)
    }
}
