//! Tables whose rows are summed to the values of keys: strips of slots, each solved for an entry in
//! every row.

use super::{RawFile, TableSource};
use crate::error::ingest::IngestError;
use crate::files::temp_file;
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, Result};
use rayon::prelude::*;
use sotto_core::ExpectOrDefault;
use sotto_layers::Keyword;
use sotto_layers::keyword::{BuildError, SolvedStrip};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of entries that are in memory before they are written. Solving a strip takes about five
/// times its bytes in addition.
const BLOCK_BYTES: u64 = 64 << 20;

/// A solved band: its rows, and the strips that they were computed from, which updates of keys
/// need.
#[derive(Debug)]
pub struct BandTable {
    rows: RawFile,
    strips: RawFile,
}

impl BandTable {
    /// Solves the strips that are the rows of `strips`, into a file in the folder `scratch`.
    /// Returns the table and its keyword layer.
    ///
    /// # Errors
    /// `refused` converts an error of solving; [`DbError::Io`].
    pub(crate) fn solve(
        strips: RawFile,
        keyword: Keyword,
        scratch: &Path,
        refused: impl Fn(BuildError) -> IngestError + Sync,
        watch: Watcher<'_>,
    ) -> Result<(Self, Keyword)> {
        let (rows, row_bytes) = (keyword.params().table_rows(), keyword.params().table_row_bytes());
        let entry = row_bytes / strips.rows().max(1);
        let (out, temp) = temp_file(scratch)?.into_parts();
        let failed = |e| DbError::io("writing rows", &temp, e);
        out.set_len(rows.saturating_mul(row_bytes)).map_err(failed)?;
        let stage = ByteProgress::new(watch, "solve", rows.saturating_mul(row_bytes));
        let together = (BLOCK_BYTES / rows.saturating_mul(entry).max(1)).max(1);
        let (mut tries, mut part) = (Vec::new(), Vec::new());
        for first in (0..strips.rows()).step_by(together as usize) {
            let last = strips.rows().min(first.saturating_add(together));
            let solve = |strip| {
                let mut slots = vec![0; strips.row_bytes()];
                strips.read(strip, &mut slots)?;
                keyword.solve(&slots).map_err(|error| DbError::from(refused(error)))
            };
            let solved: Vec<SolvedStrip> = (first..last).into_par_iter().map(solve).collect::<Result<_>>()?;
            tries.extend(solved.iter().map(|strip| strip.tried));
            let mut entries: Vec<_> =
                solved.iter().map(|strip| strip.entries.chunks_exact(entry as usize)).collect();
            for row in 0..rows {
                part.clear();
                entries.iter_mut().for_each(|entries| {
                    part.extend_from_slice(entries.next().expect_or_default("an entry for each row"))
                });
                out.write_all_at(&part, row * row_bytes + first * entry).map_err(failed)?;
            }
            stage.add((last - first) * rows * entry);
        }
        let rows = RawFile::new(out, &temp, rows, row_bytes as usize)?.with_temp(temp);
        Ok((BandTable { rows, strips }, keyword.with_tries(tries)))
    }
}

impl TableSource for BandTable {
    fn rows(&self) -> u64 {
        self.rows.rows()
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.rows.read(first, out)
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.rows.read_part(row, offset, out)
    }

    fn made_of(&self) -> Option<&dyn TableSource> {
        Some(&self.strips)
    }
}
