//! A table of masked rows, which a scheme encodes as a symmetric table.
//!
//! Each row is masked under a key of its own (`sotto-oprf`), derived from the table's name, the row
//! and the epoch in which it is written. Rows are masked once and stored in a temporary file, since
//! an encoder may read them several times and each mask takes a scalar multiplication.

use crate::files::temp_file;
use crate::progress::in_pool;
use crate::progress::{ByteProgress, Watcher};
use crate::table::{RawFile, TableSource};
use crate::{DbError, Result};
use rayon::prelude::*;
use sotto_catalog::TableName;
use sotto_core::{Epoch, Misuse};
use sotto_oprf::{Input, MaskVersion, OVERHEAD_BYTES, OprfError, RowMask, SecretKey};
use std::io::Write;
use std::path::Path;

/// Number of narrow rows that are masked at a time.
const RUN: u64 = 4096;

/// Bytes of wide rows that are masked at a time.
const RUN_BYTES: usize = 8 << 20;

/// Masks the rows of one epoch of a table.
pub struct RowMasker<'a> {
    /// Name of the table.
    pub table: &'a TableName,
    /// Epoch in which the rows are written.
    pub epoch: Epoch,
    /// Secret key of the masks.
    pub key: &'a SecretKey,
}

impl RowMasker<'_> {
    /// Masks one row.
    ///
    /// # Errors
    /// [`Misuse::Rule`], never for tables with a name.
    pub fn row(&self, row: u64, item: &[u8]) -> sotto_core::Result<Vec<u8>> {
        let version = MaskVersion(self.epoch.0);
        let refused = |_: OprfError| Misuse::Rule("the table's name is not a valid input of the OPRF");
        let input = Input::row(self.table.as_str(), row, version).map_err(refused)?;
        let output = self.key.at(&input).map_err(refused)?;
        Ok(RowMask::new(&output).close(version, item))
    }

    /// Masks all rows of a table into a temporary file in the folder `scratch`, with `threads`
    /// threads; `None` for one per core.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`]; [`DbError::Scheme`] if the table cannot be read.
    pub fn table(
        &self,
        table: &dyn TableSource,
        scratch: &Path,
        threads: Option<usize>,
        watch: Watcher<'_>,
    ) -> Result<RawFile> {
        in_pool(threads, || self.all(table, scratch, watch))?
    }

    fn all(&self, table: &dyn TableSource, scratch: &Path, watch: Watcher<'_>) -> Result<RawFile> {
        let (rows, width) = (table.rows(), table.row_bytes());
        let stage = ByteProgress::new(watch, "mask", rows.saturating_mul(width as u64));
        let (mut out, temp) = temp_file(scratch)?.into_parts();
        let run = RUN.min((RUN_BYTES / width.max(1)) as u64).max(1);
        let mut block = Vec::new();
        for first in (0..rows).step_by(run as usize) {
            block.resize(run.min(rows - first) as usize * width, 0);
            table.read(first, &mut block)?;
            let masked = block.par_chunks(width).enumerate().map(|(i, item)| {
                let masked = self.row(first + i as u64, item);
                stage.add(item.len() as u64);
                masked
            });
            let masked: Vec<Vec<u8>> = masked.collect::<sotto_core::Result<_>>()?;
            out.write_all(&masked.concat()).map_err(|e| DbError::io("writing rows", &temp, e))?;
        }
        Ok(RawFile::new(out, &temp, rows, width + OVERHEAD_BYTES)?.with_temp(temp))
    }
}
