//! Records that end with the proofs of their rows, tables that read rows out of records, and
//! records that are read together.

use super::{RowsTree, read_each};
use crate::table::{PackedRecords, TableSource};
use sotto_catalog::Packing;
use sotto_core::server::bytes_per_part;
use sotto_core::{Misuse, RecordChange, RecordSource};

/// Records of a table in which each leaf ends with its path.
pub(crate) struct RecordsWithProofs<'a> {
    pub(crate) records: PackedRecords<'a>,
    pub(crate) packing: Packing,
    pub(crate) tree: &'a RowsTree,
}

impl RecordsWithProofs<'_> {
    /// Writes the bytes of the path that are in `out`, which is a range of one record that starts
    /// at `offset`.
    fn lay(&self, record: u64, offset: u64, out: &mut [u8]) {
        let packing = &self.packing;
        if packing.path_bytes() == 0 {
            return;
        }
        let (leaf, part) =
            (record / packing.records_per_row() as u64, record % packing.records_per_row() as u64);
        // Offsets of the path and of `out`, both from the start of the leaf.
        let (begin, at) = (packing.path_offset(), part * packing.record_bytes() + offset);
        let (skipped, place) = (at.saturating_sub(begin) as usize, begin.saturating_sub(at) as usize);
        if skipped as u64 >= packing.path_bytes() || place >= out.len() {
            return;
        }
        let path = self.tree.path(leaf);
        let path = path.iter().skip(skipped);
        out.iter_mut().skip(place).zip(path).for_each(|(out, byte)| *out = *byte);
    }
}

impl RecordSource for RecordsWithProofs<'_> {
    fn records(&self) -> u64 {
        self.records.records()
    }

    fn record_bytes(&self) -> usize {
        self.records.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.records.read(first, out)?;
        let records = out.chunks_exact_mut(self.record_bytes());
        (first..).zip(records).for_each(|(record, out)| self.lay(record, 0, out));
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.records.read_part(record, offset, out)?;
        self.lay(record, offset, out);
        Ok(())
    }
}

/// Records of an image in which some bytes are replaced.
pub(crate) struct EditedRecords<'a> {
    pub(crate) old: Box<dyn RecordSource>,
    /// Changes, in the order of their records.
    pub(crate) changes: &'a [RecordChange],
}

impl EditedRecords<'_> {
    /// Applies the changes to `out`, which holds bytes of some records from byte `offset` of the
    /// first one on. `out` is whole records, or part of one.
    fn edit(&self, first: u64, offset: u64, out: &mut [u8]) {
        let width = self.old.record_bytes() as u64;
        let start = self.changes.partition_point(|change| change.record < first);
        for change in self.changes.iter().skip(start) {
            // Both offsets are from the start of the first record; the bytes before `offset` are
            // not requested.
            let at = (change.record - first).saturating_mul(width).saturating_add(change.offset);
            let end = offset.saturating_add(out.len() as u64);
            if at >= end {
                break;
            }
            let skipped = offset.saturating_sub(at) as usize;
            let place = at.saturating_sub(offset) as usize;
            let new = change.bytes.iter().skip(skipped);
            out.iter_mut().skip(place).zip(new).for_each(|(out, byte)| *out = *byte);
        }
    }
}

impl RecordSource for EditedRecords<'_> {
    fn records(&self) -> u64 {
        self.old.records()
    }

    fn record_bytes(&self) -> usize {
        self.old.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read(first, out)?;
        self.edit(first, 0, out);
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read_part(record, offset, out)?;
        self.edit(record, offset, out);
        Ok(())
    }

    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read_parts(parts, out)?;
        let each = bytes_per_part(parts.len(), out.len())?;
        let parts = parts.iter().zip(out.chunks_exact_mut(each));
        parts.for_each(|((record, offset), out)| self.edit(*record, *offset, out));
        Ok(())
    }
}

/// A table that reads its rows out of records.
pub(crate) struct RowsFromRecords<'a> {
    pub(crate) records: &'a dyn RecordSource,
    pub(crate) packing: Packing,
}

impl TableSource for RowsFromRecords<'_> {
    fn rows(&self) -> u64 {
        self.packing.rows()
    }

    fn row_bytes(&self) -> usize {
        self.packing.row_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let width = self.row_bytes();
        let together = self.packing.rows_per_record();
        // The leaves that contain the rows are read together.
        let (leaf, before) = (first / together, (first % together) as usize);
        let count = (before + out.len() / width).div_ceil(together as usize);
        let several = self.packing.records_per_row() > 1;
        let step = if several { self.packing.rows_bytes() as usize } else { self.records.record_bytes() };
        let mut leaves = vec![0; count * step];
        match several {
            true => read_each(self.records, &self.packing, leaf..leaf + count as u64, 0, &mut leaves)?,
            false => self.records.read(leaf, &mut leaves)?,
        }
        let rows =
            leaves.chunks_exact(step).flat_map(|leaf| leaf.chunks_exact(width).take(together as usize));
        out.chunks_exact_mut(width).zip(rows.skip(before)).for_each(|(out, row)| out.copy_from_slice(row));
        Ok(())
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (leaf, slot) = (row / self.packing.rows_per_record(), row % self.packing.rows_per_record());
        let begin = slot * self.packing.row_bytes() + offset;
        for place in self.packing.leaf_places(leaf, begin, out.len())? {
            let part = out.get_mut(place.bytes).ok_or(Misuse::Rule("a proof lies outside its record"))?;
            self.records.read_part(place.record, place.offset, part)?;
        }
        Ok(())
    }
}

/// A range of records in memory; all others are read from the source.
pub(super) struct RecordWindow<'a> {
    source: &'a dyn RecordSource,
    /// Number of the first record in memory.
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> RecordWindow<'a> {
    /// Reads `count` records from `first` on.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn read(source: &'a dyn RecordSource, first: u64, count: u64) -> sotto_core::Result<Self> {
        let mut bytes = vec![0; count as usize * source.record_bytes()];
        source.read(first, &mut bytes)?;
        Ok(RecordWindow { source, first, bytes })
    }

    /// Bytes of a record, if all of them are in memory.
    fn held(&self, record: u64, offset: u64, len: usize) -> Option<&[u8]> {
        let before = record.checked_sub(self.first)?.checked_mul(self.source.record_bytes() as u64)?;
        let start = usize::try_from(before.checked_add(offset)?).ok()?;
        self.bytes.get(start..)?.get(..len)
    }
}

impl RecordSource for RecordWindow<'_> {
    fn records(&self) -> u64 {
        self.source.records()
    }

    fn record_bytes(&self) -> usize {
        self.source.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        match self.held(first, 0, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.source.read(first, out)?,
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        match self.held(record, offset, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.source.read_part(record, offset, out)?,
        }
        Ok(())
    }
}
