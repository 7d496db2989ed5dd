//! The buckets of a batch code as tables, whose rows are those of another table in another order.
//!
//! The place of each row is computed while it is read ([`Placement`]), so buckets are read in any
//! order, by several threads, and nothing of them is stored. They are read from an unnamed, mapped
//! copy of the table. It takes as much disk space as the table, and memory that the system may
//! reclaim.

use super::{TableSource, check_part, check_read};
use crate::image::map::FileMapping;
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, Result};
use sotto_core::{ExpectOrDefault, Misuse};
use sotto_layers::BatchCode;
use sotto_layers::batch_code::permutation::Placement;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes that are copied at a time.
const BLOCK: usize = 1 << 20;

/// Number of rows whose places are computed at a time.
const RUN: usize = 1024;

/// A table whose rows are read one by one, in any order.
pub struct MappedTable {
    map: FileMapping,
    rows: u64,
    row_bytes: usize,
}

impl MappedTable {
    /// Copies a table into a file of its own in the folder `scratch`. The file has no name, and is
    /// removed when this value is dropped.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`]; [`DbError::Scheme`] if the table cannot be read.
    pub fn copy(table: &dyn TableSource, scratch: &Path, watch: Watcher<'_>) -> Result<Self> {
        let failed = |e| DbError::io("copying rows", scratch, e);
        let (rows, row_bytes) = (table.rows(), table.row_bytes());
        let stage = ByteProgress::new(watch, "copy rows", rows.saturating_mul(row_bytes as u64));
        let mut file = tempfile::tempfile_in(scratch).map_err(failed)?;
        let at_once = (BLOCK / row_bytes.max(1)).max(1) as u64;
        let mut block = vec![0; row_bytes.saturating_mul(at_once as usize)];
        let mut first = 0;
        while first < rows {
            let some = at_once.min(rows - first);
            let bytes = block
                .get_mut(..some as usize * row_bytes)
                .expect_or_default("a block holds the rows of one reading");
            table.read(first, bytes)?;
            file.write_all(bytes).map_err(failed)?;
            stage.add(bytes.len() as u64);
            first += some;
        }
        MappedTable::of(&file, rows, row_bytes).map_err(failed)
    }

    fn of(file: &File, rows: u64, row_bytes: usize) -> std::io::Result<Self> {
        let map = FileMapping::of(file)?;
        if rows.checked_mul(row_bytes as u64) != Some(map.bytes().len() as u64) {
            return Err(std::io::Error::other("the copy of the table has another length than the table"));
        }
        Ok(MappedTable { map, rows, row_bytes })
    }

    /// Bytes of a row; `None` past the end.
    fn row(&self, row: u64) -> Option<&[u8]> {
        let start = usize::try_from(row).ok()?.checked_mul(self.row_bytes)?;
        self.map.bytes().get(start..start.checked_add(self.row_bytes)?)
    }
}

impl TableSource for MappedTable {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_read(first, out, self.row_bytes, self.rows)?;
        for (row, out) in (first..).zip(out.chunks_exact_mut(self.row_bytes)) {
            out.copy_from_slice(self.row(row).expect_or_default("the rows were checked to be there"));
        }
        Ok(())
    }
}

/// All buckets of a batch code over a table.
pub struct Buckets<'a> {
    table: &'a MappedTable,
    code: &'a BatchCode,
    placement: Placement,
}

impl<'a> Buckets<'a> {
    /// The buckets of a table.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the code is for another number of rows.
    pub fn new(table: &'a MappedTable, code: &'a BatchCode) -> Result<Self> {
        if table.rows != code.sizes().rows {
            return Err(Misuse::Rule("the batch code has another number of rows than the table").into());
        }
        Ok(Buckets { table, code, placement: Placement::new(code) })
    }

    /// Tables of the code, in the order of its shards: the buckets and, if there are spare lookups,
    /// the whole table.
    pub fn tables(&self) -> Vec<Bucket<'_>> {
        let buckets = (0..self.code.buckets()).map(Some);
        let whole = (self.code.sizes().spare > 0).then_some(None);
        buckets.chain(whole).map(|bucket| Bucket { of: self, bucket }).collect()
    }
}

/// One table of a batch code: a bucket, or the whole table.
pub struct Bucket<'a> {
    of: &'a Buckets<'a>,
    /// Number of the bucket; `None` for the whole table.
    bucket: Option<usize>,
}

impl Bucket<'_> {
    /// Numbers of the original rows that are in this table's rows from `first` on.
    fn numbers(&self, first: u64, out: &mut [u64]) -> sotto_core::Result<()> {
        match self.bucket {
            Some(bucket) => self.of.placement.rows(bucket, first, out),
            None => {
                out.iter_mut().zip(first..).for_each(|(out, row)| *out = row);
                Ok(())
            }
        }
    }
}

impl TableSource for Bucket<'_> {
    fn rows(&self) -> u64 {
        match self.bucket {
            Some(_) => self.of.code.bucket_rows(),
            None => self.of.table.rows,
        }
    }

    fn row_bytes(&self) -> usize {
        self.of.table.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let width = self.row_bytes();
        check_read(first, out, width, self.rows())?;
        let mut numbers = [0; RUN];
        for (from, out) in (first..).step_by(RUN).zip(out.chunks_mut(RUN * width)) {
            let numbers =
                numbers.get_mut(..out.len() / width).expect_or_default("a run holds the rows of one piece");
            self.numbers(from, numbers)?;
            for (number, out) in numbers.iter().zip(out.chunks_exact_mut(width)) {
                // Some places of a bucket are empty.
                match self.of.table.row(*number) {
                    Some(row) => out.copy_from_slice(row),
                    None => out.fill(0),
                }
            }
        }
        Ok(())
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_part(row, self.rows(), offset, out, self.row_bytes())?;
        let mut number = [0];
        self.numbers(row, &mut number)?;
        let whole = number.first().and_then(|number| self.of.table.row(*number));
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let part = whole.and_then(|row| row.get(start..start.checked_add(out.len())?));
        match part {
            Some(part) => out.copy_from_slice(part),
            None => out.fill(0),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::silent;
    use crate::table::RawFile;
    use sotto_layers::batch_code::code::CodeSizes;
    use sotto_prg::PublicSeed;

    /// A table of rows of eight bytes, each of which contains its number plus one.
    fn numbered(rows: u64) -> (tempfile::TempDir, MappedTable) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let bytes: Vec<u8> = (1..=rows).flat_map(u64::to_le_bytes).collect();
        std::fs::write(&path, bytes).unwrap();
        let file = RawFile::new(File::open(&path).unwrap(), &path, rows, 8).unwrap();
        let copy = MappedTable::copy(&file, folder.path(), &silent).unwrap();
        (folder, copy)
    }

    fn all(bucket: &Bucket<'_>) -> Vec<u8> {
        let mut rows = vec![0xAA; bucket.rows() as usize * 8];
        bucket.read(0, &mut rows).unwrap();
        rows
    }

    #[test]
    fn buckets_are_read_from_anywhere() {
        let (_folder, table) = numbered(5000);
        let code = BatchCode::new(CodeSizes::fit(5000, 12).unwrap(), &PublicSeed([3; 32])).unwrap();
        let buckets = Buckets::new(&table, &code).unwrap();
        for bucket in buckets.tables() {
            let whole = all(&bucket);
            let last = bucket.rows() - 1;
            for (first, count) in [(0, 1), (1, last), (last, 1)] {
                let mut some = vec![0xAA; count as usize * 8];
                bucket.read(first, &mut some).unwrap();
                assert_eq!(some, whole[first as usize * 8..][..some.len()]);
            }
            for row in [0, 77, last] {
                let mut part = [0xAA; 3];
                bucket.read_part(row, 2, &mut part).unwrap();
                assert_eq!(part, whole[row as usize * 8 + 2..][..3]);
            }
            assert!(bucket.read(last, &mut [0; 16]).is_err() && bucket.read_part(0, 6, &mut [0; 3]).is_err());
        }
        let other = BatchCode::new(CodeSizes::fit(5001, 12).unwrap(), &PublicSeed([3; 32])).unwrap();
        assert!(Buckets::new(&table, &other).is_err());
    }
}
