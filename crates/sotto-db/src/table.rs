//! Tables of fixed-width rows, and the records that a scheme sees of them.
//!
//! | module | contents |
//! |---|---|
//! | [`band`] | rows whose sums encode the values of keys |
//! | [`ranges`] | sorted ranges of keys, expanded to blocks while they are read |
//! | [`buckets`] | the tables of a batch code: rows of another table in another order |

pub mod band;
pub mod buckets;
pub mod ranges;

use crate::DbError;
pub use band::BandTable;
pub use buckets::{Bucket, Buckets, MappedTable};
pub use ranges::{BlockRule, RangeTable};
use sotto_catalog::Packing;
use sotto_core::{ExpectOrDefault, Misuse, RecordSource, Result, SchemeEntry};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::TempPath;

/// Rows of one width, readable in any order and by several threads.
pub trait TableSource: Sync {
    /// Number of rows.
    fn rows(&self) -> u64;

    /// Bytes of each row; at least 1.
    fn row_bytes(&self) -> usize;

    /// Reads whole rows from `first` on into `out`, whose length is a multiple of `row_bytes`.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`]; storage errors.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()>;

    /// Reads bytes of one row from `offset` on into `out`. The default reads the whole row first;
    /// tables whose rows can be large should override it.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`]; storage errors.
    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(row, self.rows(), offset, out, self.row_bytes())?;
        let mut whole = vec![0; self.row_bytes()];
        self.read(row, &mut whole)?;
        let part = whole.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX));
        out.iter_mut().zip(part).for_each(|(out, byte)| *out = *byte);
        Ok(())
    }

    /// The table that the rows were computed from, if updates need that instead of the rows.
    fn made_of(&self) -> Option<&dyn TableSource> {
        None
    }
}

/// Checks that a byte range of an item exists.
pub(crate) fn check_part(item: u64, len: u64, offset: u64, out: &[u8], width: usize) -> Result<()> {
    if item >= len {
        return Err(Misuse::IndexPastEnd { index: item, len }.into());
    }
    let (end, width) = (offset.saturating_add(out.len() as u64), width as u64);
    if end > width {
        return Err(Misuse::IndexPastEnd { index: end, len: width }.into());
    }
    Ok(())
}

/// Checks that `out` is a whole number of items, all of which exist.
pub(crate) fn check_read(first: u64, out: &[u8], width: usize, len: u64) -> Result<()> {
    if width == 0 || !out.len().is_multiple_of(width) {
        return Err(Misuse::Rule("the buffer does not hold whole rows").into());
    }
    let end = first.saturating_add((out.len() / width) as u64);
    if end > len {
        return Err(Misuse::IndexPastEnd { index: end, len }.into());
    }
    Ok(())
}

/// A file of rows; a temporary one is removed when this value is dropped.
#[derive(Debug)]
pub struct RawFile {
    file: File,
    /// Offset of the first row.
    start: u64,
    rows: u64,
    row_bytes: usize,
    _temp: Option<TempPath>,
}

impl RawFile {
    /// Opens a file of `rows * row_bytes` bytes as a table.
    ///
    /// # Errors
    /// [`DbError::Io`] if it has another length.
    pub fn new(file: File, path: &Path, rows: u64, row_bytes: usize) -> crate::Result<Self> {
        let io = |e| DbError::io("reading rows", path, e);
        let bytes = file.metadata().map_err(io)?.len();
        if row_bytes == 0 || rows.checked_mul(row_bytes as u64) != Some(bytes) {
            let why = "the file's length is not the number of rows times the bytes of a row";
            return Err(io(std::io::Error::other(why)));
        }
        Ok(RawFile::after_header(file, 0, rows, row_bytes))
    }

    /// The rows of a file after `header_bytes` bytes. The caller has checked the file's length.
    pub(crate) fn after_header(file: File, header_bytes: u64, rows: u64, row_bytes: usize) -> Self {
        RawFile { file, start: header_bytes, rows, row_bytes, _temp: None }
    }

    pub(crate) fn with_temp(mut self, temp: TempPath) -> Self {
        self._temp = Some(temp);
        self
    }
}

impl TableSource for RawFile {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        check_read(first, out, self.row_bytes, self.rows)?;
        Ok(self.file.read_exact_at(out, self.start + first * self.row_bytes as u64)?)
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(row, self.rows, offset, out, self.row_bytes)?;
        Ok(self.file.read_exact_at(out, self.start + row * self.row_bytes as u64 + offset)?)
    }
}

/// Tables of one width, concatenated.
pub struct ConcatTable<'a> {
    tables: &'a [&'a dyn TableSource],
    width: usize,
    /// Rows of each table.
    each: u64,
}

impl<'a> ConcatTable<'a> {
    /// Concatenates tables of one width, and fills them up with rows of zeros to the length of the
    /// longest.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if they have several widths, or if there are none.
    pub fn new(tables: &'a [&'a dyn TableSource]) -> Result<Self> {
        let rule = Misuse::Rule("the buckets have rows of different widths");
        let width = tables.first().map(|table| table.row_bytes()).ok_or(rule.clone())?;
        if tables.iter().any(|table| table.row_bytes() != width) {
            return Err(rule.into());
        }
        let each = tables.iter().map(|table| table.rows()).max().unwrap_or(0);
        Ok(ConcatTable { tables, width, each })
    }

    /// Extends each table to `each` rows, unless the longest has more.
    #[must_use]
    pub fn filled(&self, each: u64) -> Self {
        ConcatTable { each: self.each.max(each), ..*self }
    }

    /// The table that contains a row, and the row's number there, which may be past its end.
    fn place(&self, row: u64) -> Result<(&'a dyn TableSource, u64)> {
        let (table, at) = (row / self.each.max(1), row % self.each.max(1));
        let table = usize::try_from(table).ok().and_then(|table| self.tables.get(table));
        Ok((*table.ok_or(Misuse::IndexPastEnd { index: row, len: self.rows() })?, at))
    }
}

impl TableSource for ConcatTable<'_> {
    fn rows(&self) -> u64 {
        self.each.saturating_mul(self.tables.len() as u64)
    }

    fn row_bytes(&self) -> usize {
        self.width
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        check_read(first, out, self.width, self.rows())?;
        let (mut first, mut rest) = (first, out);
        while !rest.is_empty() {
            let (table, row) = self.place(first)?;
            let some = (self.each - row).min((rest.len() / self.width) as u64);
            let there = table.rows().saturating_sub(row).min(some);
            let [bytes, bytes_there] = [some, there].map(|rows| rows as usize * self.width);
            let (out, after) = rest.split_at_mut_checked(bytes).expect_or_default("at most what is read");
            let (rows, empty) =
                out.split_at_mut_checked(bytes_there).expect_or_default("at most what is read");
            empty.fill(0);
            if !rows.is_empty() {
                table.read(row, rows)?;
            }
            (first, rest) = (first + some, after);
        }
        Ok(())
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(row, self.rows(), offset, out, self.width)?;
        let (table, row) = self.place(row)?;
        if row < table.rows() {
            return table.read_part(row, offset, out);
        }
        out.fill(0);
        Ok(())
    }
}

/// Groups tables that are encoded as one, in order: the first `alike` together if the scheme
/// fetches a row of each bucket with one query, and every other one by itself.
pub fn grouped<'t, 'a>(
    entry: &SchemeEntry,
    tables: &'t [&'a dyn TableSource],
    alike: usize,
) -> Vec<&'t [&'a dyn TableSource]> {
    let alike = if entry.batch.is_some() { alike.min(tables.len()) } else { 0 };
    let (alike, others) = tables.split_at(alike);
    Some(alike).filter(|alike| !alike.is_empty()).into_iter().chain(others.chunks(1)).collect()
}

/// The records that a scheme encodes of a table.
pub struct PackedRecords<'a> {
    table: &'a dyn TableSource,
    packing: Packing,
}

impl<'a> PackedRecords<'a> {
    /// The records of `table` in the layout `packing`.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the layout is of another table.
    pub fn new(table: &'a dyn TableSource, packing: Packing) -> Result<Self> {
        if table.rows() != packing.rows() || table.row_bytes() as u64 != packing.row_bytes() {
            return Err(Misuse::Rule("the layout belongs to another table").into());
        }
        Ok(PackedRecords { table, packing })
    }

    /// Reads records of narrow rows: each record holds the next `per_record` rows.
    fn read_packed(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (width, step) = (self.table.row_bytes(), self.record_bytes());
        let per_record = self.packing.rows_per_record();
        let used = width * per_record as usize;
        let first_row = first.saturating_mul(per_record);
        let rows_wanted = (out.len() / step) as u64 * per_record;
        let rows = self.table.rows().saturating_sub(first_row).min(rows_wanted);
        let bytes = rows as usize * width;
        // Rows are read into the front of `out` in one piece and then, if records have unused
        // bytes, moved to their places, the last one first so that none is overwritten.
        let (filled, rest) = out.split_at_mut_checked(bytes).ok_or(PAST_END)?;
        if rows > 0 {
            self.table.read(first_row, filled)?;
        }
        rest.fill(0);
        if used == step {
            return Ok(());
        }
        let records = bytes.div_ceil(used.max(1));
        for record in (0..records).rev() {
            let from = record * used;
            let length = used.min(bytes - from);
            let to = record * step;
            out.copy_within(from..from + length, to);
            // The last record may be cut short by the end of the table.
            out.get_mut(to + length..to + step).ok_or(PAST_END)?.fill(0);
        }
        Ok(())
    }

    /// Reads records of wide rows: each row spans the next `lookups` records.
    fn read_split(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (width, step) = (self.table.row_bytes(), self.record_bytes());
        let lookups = self.packing.records_per_row() as u64;
        let mut row = Vec::new();
        let mut held = None;
        for (record, out) in (first..).zip(out.chunks_exact_mut(step)) {
            let (index, part) = (record / lookups, (record % lookups) as usize);
            out.fill(0);
            if index >= self.table.rows() {
                continue;
            }
            if held != Some(index) {
                row.resize(width, 0);
                self.table.read(index, &mut row)?;
                held = Some(index);
            }
            // After a row's last record there may be a record for its proof.
            let bytes = row.chunks(step).nth(part).unwrap_or_default();
            out.get_mut(..bytes.len()).ok_or(PAST_END)?.copy_from_slice(bytes);
        }
        Ok(())
    }
}

const PAST_END: Misuse = Misuse::Rule("records are read past the end");

impl RecordSource for PackedRecords<'_> {
    fn records(&self) -> u64 {
        self.packing.records()
    }

    fn record_bytes(&self) -> usize {
        self.packing.record_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        check_read(first, out, self.record_bytes(), self.records())?;
        if self.packing.records_per_row() == 1 {
            self.read_packed(first, out)
        } else {
            self.read_split(first, out)
        }
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(record, self.records(), offset, out, self.record_bytes())?;
        out.fill(0);
        let (width, lookups) = (self.packing.row_bytes(), self.packing.records_per_row() as u64);
        // A record holds `held` bytes of the table from `start` on, and then zeros.
        let (start, held) = match lookups {
            1 => {
                let rows = self.packing.rows_per_record();
                (record.saturating_mul(rows).saturating_mul(width), rows * width)
            }
            _ => {
                let (row, before) = (record / lookups, record % lookups * self.packing.record_bytes());
                (row.saturating_mul(width).saturating_add(before), width.saturating_sub(before))
            }
        };
        let length = held.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut rest = out.get_mut(..length).ok_or(PAST_END)?;
        let mut at = start.saturating_add(offset);
        while !rest.is_empty() && at / width < self.table.rows() {
            let (row, in_row) = (at / width, at % width);
            // Whole rows are read together; only the first and the last may be partial.
            let whole = (rest.len() as u64 / width).min(self.table.rows() - row);
            let whole = if in_row == 0 { whole } else { 0 };
            let bytes = match whole {
                0 => rest.len().min((width - in_row) as usize),
                whole => (whole * width) as usize,
            };
            let (part, after) = rest.split_at_mut_checked(bytes).ok_or(PAST_END)?;
            match whole {
                0 => self.table.read_part(row, in_row, part)?,
                _ => self.table.read(row, part)?,
            }
            at += bytes as u64;
            rest = after;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of four bytes that contain their table and their number.
    struct Counted(u8, u64);

    impl TableSource for Counted {
        fn rows(&self) -> u64 {
            self.1
        }
        fn row_bytes(&self) -> usize {
            4
        }
        fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
            check_read(first, out, 4, self.1)?;
            let rows = (first..).zip(out.chunks_mut(4));
            rows.for_each(|(row, out)| out.copy_from_slice(&[self.0, row as u8, 0xAA, 0xBB]));
            Ok(())
        }
    }

    #[test]
    fn tables_are_read_across_their_ends() {
        let (a, b, c) = (Counted(1, 3), Counted(2, 5), Counted(3, 1));
        let tables: [&dyn TableSource; 3] = [&a, &b, &c];
        let joined = ConcatTable::new(&tables).unwrap();
        assert_eq!((joined.rows(), joined.filled(2).rows()), (15, 15));
        let joined = joined.filled(6);
        let row = |row: u64| {
            let (table, at) = (row / 6, row % 6);
            let there = at < tables[table as usize].rows();
            if there { [table as u8 + 1, at as u8, 0xAA, 0xBB] } else { [0; 4] }
        };
        let right: Vec<u8> = (0..18).flat_map(row).collect();
        for first in 0..18 {
            for end in first..=18 {
                let mut out = vec![0x77; (end - first) as usize * 4];
                joined.read(first, &mut out).unwrap();
                assert!(out == right[first as usize * 4..][..out.len()], "{first}..{end}");
            }
            let mut part = [0x77; 2];
            joined.read_part(first, 1, &mut part).unwrap();
            assert_eq!(part, right[first as usize * 4 + 1..][..2]);
        }
        assert!(joined.read(17, &mut [0; 8]).is_err() && joined.read_part(18, 0, &mut [0]).is_err());
        assert!(joined.read(0, &mut [0; 3]).is_err() && joined.read_part(0, 3, &mut [0; 2]).is_err());
        assert!(ConcatTable::new(&[]).is_err());
    }
}
