//! Rows, laid out in records as the table layer does.

use crate::content::RowBytes;
use sotto_catalog::Packing;
use sotto_core::{Misuse, RecordSource, Result};

/// The records of a table.
pub(super) struct Records<'a> {
    pub(super) source: &'a dyn RowBytes,
    pub(super) packing: Packing,
}

impl Records<'_> {
    /// The start of a record in the table's bytes, and the number of them that it holds.
    ///
    /// [`Packing`] puts rows into records in order, so a record holds consecutive bytes of the
    /// table. The checks of every answer use [`Packing`] itself: if the two disagreed, no run would
    /// pass.
    fn extent(&self, record: u64) -> (u64, usize) {
        let (width, size) = (self.packing.row_bytes(), self.packing.record_bytes());
        let parts = self.packing.records_per_row() as u64;
        if parts == 1 {
            let rows = self.packing.rows_per_record();
            return (record * rows * width, (rows * width) as usize);
        }
        let (row, part) = (record / parts, record % parts);
        (row * width + part * size, (width - part * size).min(size) as usize)
    }
}

impl RecordSource for Records<'_> {
    fn records(&self) -> u64 {
        self.packing.records()
    }

    fn record_bytes(&self) -> usize {
        self.packing.record_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let size = self.record_bytes();
        let end = first.saturating_add((out.len() / size) as u64);
        if end > self.records() {
            return Err(Misuse::IndexPastEnd { index: end, len: self.records() }.into());
        }
        let (at, held) = self.extent(first);
        if held == size && self.packing.records_per_row() == 1 {
            // Full records are consecutive in the table as in the output.
            self.source.fill(at, out);
            return Ok(());
        }
        for (record, out) in (first..end).zip(out.chunks_exact_mut(size)) {
            let (at, held) = self.extent(record);
            let (rows, padding) = out.split_at_mut(held);
            self.source.fill(at, rows);
            padding.fill(0);
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        if record >= self.records() || end > self.packing.record_bytes() {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records() }.into());
        }
        let (at, held) = self.extent(record);
        let inside = (held as u64).saturating_sub(offset).min(out.len() as u64) as usize;
        let (rows, padding) = out.split_at_mut(inside);
        self.source.fill(at + offset, rows);
        padding.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::GeneratedRows;
    use crate::definition::Definition;
    use sotto_core::Record;

    #[test]
    fn packing_reads_every_row_back() {
        for (rows, row_bytes, records, record_bytes) in [
            (100, 7, 25, 28),
            (100, 7, 40, 24),
            (100, 7, 34, 23),
            (9, 40, 36, 13),
            (9, 40, 18, 20),
            (5, 8, 7, 8),
        ] {
            let text = format!(
                "name = \"n\"\nabout = \"a\"\n[[case]]\nscheme = \"s\"\nrows = {rows}\nrow_bytes = {row_bytes}"
            );
            let source = GeneratedRows::new(&Definition::parse("t", &text).unwrap().cases[0]);
            let packing = Packing::new(rows, row_bytes, records, record_bytes).unwrap();
            let table = Records { source: &source, packing };
            let mut all = vec![1; (records * record_bytes) as usize];
            table.read(0, &mut all).unwrap();
            for row in 0..rows {
                let read = |r: &sotto_core::RecordIndex| {
                    let mut one = vec![0; record_bytes as usize];
                    table.read(r.0, &mut one).unwrap();
                    assert_eq!(one, all[(r.0 * record_bytes) as usize..][..record_bytes as usize]);
                    for (from, to) in [(0, one.len()), (1, one.len() - 2), (one.len() - 5, one.len())] {
                        let mut part = vec![1; to - from];
                        table.read_part(r.0, from as u64, &mut part).unwrap();
                        assert_eq!(part, one[from..to]);
                    }
                    Record::new(one)
                };
                let held: Vec<Record> = packing.records_of(row).iter().map(read).collect();
                assert_eq!(packing.extract(row, &held).unwrap(), source.row(row));
            }
            assert!(table.read(records, &mut all[..record_bytes as usize]).is_err());
        }
    }
}
