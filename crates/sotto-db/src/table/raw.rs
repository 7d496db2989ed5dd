//! A file that consists of rows, one after the other.

use super::{TableSource, check_part, check_read};
use crate::{DbError, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::TempPath;

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
    pub fn new(file: File, path: &Path, rows: u64, row_bytes: usize) -> Result<Self> {
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

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_read(first, out, self.row_bytes, self.rows)?;
        Ok(self.file.read_exact_at(out, self.start + first * self.row_bytes as u64)?)
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_part(row, self.rows, offset, out, self.row_bytes)?;
        Ok(self.file.read_exact_at(out, self.start + row * self.row_bytes as u64 + offset)?)
    }
}
