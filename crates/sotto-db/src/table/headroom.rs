//! A table with empty rows after its own, for rows to come.

use super::{TableSource, check_part, check_read};
use sotto_core::ExpectOrDefault;

/// A table followed by rows of zero bytes.
pub struct TableWithHeadroom<'a> {
    table: &'a dyn TableSource,
    rows: u64,
}

impl<'a> TableWithHeadroom<'a> {
    /// A table with `empty` empty rows after its own.
    pub fn new(table: &'a dyn TableSource, headroom: u64) -> Self {
        TableWithHeadroom { table, rows: table.rows().saturating_add(headroom) }
    }
}

impl TableSource for TableWithHeadroom<'_> {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.table.row_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let width = self.row_bytes();
        check_read(first, out, width, self.rows)?;
        let there = self.table.rows().saturating_sub(first).min((out.len() / width) as u64);
        let (rows, empty) =
            out.split_at_mut_checked(there as usize * width).expect_or_default("no more than are read");
        empty.fill(0);
        if rows.is_empty() { Ok(()) } else { self.table.read(first, rows) }
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_part(row, self.rows, offset, out, self.row_bytes())?;
        if row < self.table.rows() {
            return self.table.read_part(row, offset, out);
        }
        out.fill(0);
        Ok(())
    }
}
