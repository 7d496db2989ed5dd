//! Plaintext rows of a table, stored in a file beside its image for later updates.
//!
//! A row of a keyword table holds several keys, so changing the value of one of them requires the
//! old row, and not every scheme can recover rows from an image. Only `sotto update` reads the
//! file: it is never served, and a table is served without it.
//!
//! ```text
//! offset  bytes
//!      0     16   "sotto-rows/1", zeros
//!     16     32   BLAKE3 of the text of the catalog, or of the stack: the epoch that the rows belong to
//!     48     32   BLAKE3 of the rows
//!     80          the rows, one after the other; number and width are in the catalog, or in its keyword layer
//! ```

use crate::files::TEMP_PREFIX;
use crate::progress::{ByteProgress, Watcher};
use crate::table::{TableSource, check_read};
use crate::{DbError, Result, TableDir};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::ExpectOrDefault;
use sotto_layers::Keyword;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Bytes of the header before the rows.
pub const HEADER_BYTES: usize = 80;

const MAGIC: [u8; 16] = *b"sotto-rows/1\0\0\0\0";
const BLOCK_BYTES: usize = 8 << 20;

/// Header of a file of stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsHeader {
    /// BLAKE3 digest of the text of the catalog, or of the stack.
    pub catalog: Hex32,
    /// BLAKE3 digest of the rows.
    pub rows: Hex32,
}

impl RowsHeader {
    /// Parses a header. Total: returns `None` for anything else.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<16>()?;
        let (catalog, rest) = rest.split_first_chunk::<32>()?;
        let rows: &[u8; 32] = rest.try_into().ok()?;
        (*magic == MAGIC).then_some(RowsHeader { catalog: (*catalog).into(), rows: (*rows).into() })
    }

    /// Encodes the header.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let parts = MAGIC.into_iter().chain(self.catalog.0).chain(self.rows.0);
        let mut bytes = [0; HEADER_BYTES];
        bytes.iter_mut().zip(parts).for_each(|(out, byte)| *out = byte);
        bytes
    }
}

/// A file of stored rows that has no lasting name yet.
pub(crate) struct RowsDraft {
    temp: NamedTempFile,
    path: PathBuf,
    bytes: u64,
}

impl RowsDraft {
    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the file its name, and then calls `image` to name the image. An image without rows
    /// could not be updated; rows without an image are removed by the next writer.
    pub(crate) fn before<T>(self, image: impl FnOnce() -> Result<T>) -> Result<T> {
        let RowsDraft { temp, path, .. } = self;
        temp.persist(&path).map_err(|e| DbError::io("renaming", &path, e.error))?;
        image().inspect_err(|_| drop(fs::remove_file(&path)))
    }
}

/// Writes the rows of an epoch that is about to be published, and whose catalog or stack has the
/// given digest.
pub(crate) fn keep(
    path: PathBuf,
    of: Hex32,
    table: &dyn TableSource,
    watch: Watcher<'_>,
) -> Result<RowsDraft> {
    let failed = |e| DbError::io("writing rows", &path, e);
    let dir = path.parent().unwrap_or(Path::new("."));
    let temp = tempfile::Builder::new().prefix(TEMP_PREFIX).suffix(".rows").tempfile_in(dir);
    let temp = temp.map_err(failed)?;
    let stage = ByteProgress::new(watch, "keep rows", table.rows().saturating_mul(table.row_bytes() as u64));
    let (mut hasher, mut at) = (blake3::Hasher::new(), HEADER_BYTES as u64);
    each_block(table, |block| {
        hasher.update_rayon(block);
        temp.as_file().write_all_at(block, at).map_err(failed)?;
        at += block.len() as u64;
        stage.add(block.len() as u64);
        Ok(())
    })?;
    let header = RowsHeader { catalog: of, rows: hasher.finalize().into() };
    temp.as_file().write_all_at(&header.to_bytes(), 0).map_err(failed)?;
    temp.as_file().sync_all().map_err(failed)?;
    Ok(RowsDraft { temp, path, bytes: at })
}

/// Stored rows of an epoch, as they were before they were encoded.
pub(crate) struct StoredRows {
    file: File,
    rows: u64,
    row_bytes: usize,
}

impl StoredRows {
    /// Opens the rows of the epoch of `catalog`.
    ///
    /// # Errors
    /// The errors of [`StoredRows::read_all`].
    pub(crate) fn open(dir: &TableDir, catalog: &Catalog, watch: Watcher<'_>) -> Result<Self> {
        let of_keys = |keyword: Keyword| (keyword.params().rows, keyword.params().row_bytes());
        let (rows, row_bytes) = catalog.keyword()?.map_or((catalog.rows, catalog.row_bytes), of_keys);
        StoredRows::read_all(dir.rows_path(catalog.epoch), catalog.digest()?, rows, row_bytes, watch)
    }

    /// Opens a file of stored rows with the given number and width, and reads all of them to check
    /// that they are undamaged.
    ///
    /// # Errors
    /// [`DbError::Rows`]; [`DbError::Io`].
    pub(crate) fn read_all(
        path: PathBuf,
        of: Hex32,
        rows: u64,
        row_bytes: u64,
        watch: Watcher<'_>,
    ) -> Result<Self> {
        let refused = |why| DbError::Rows { path: path.clone(), why };
        let failed = |e| DbError::io("reading rows", &path, e);
        if !path.exists() {
            return Err(refused("the stored rows, which an update needs, are missing"));
        }
        let file = File::open(&path).map_err(failed)?;
        let width = usize::try_from(row_bytes).map_err(|_| refused("rows are too long for this machine"))?;
        let bytes = rows.checked_mul(row_bytes);
        let want = bytes.and_then(|bytes| bytes.checked_add(HEADER_BYTES as u64));
        if Some(file.metadata().map_err(failed)?.len()) != want {
            return Err(refused("the file was truncated or appended to"));
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        let header = RowsHeader::parse(&header).ok_or_else(|| refused("not a file of stored rows"))?;
        if header.catalog != of {
            return Err(refused("the rows are of another table or epoch"));
        }
        let stored = StoredRows { file, rows, row_bytes: width };
        let stage = ByteProgress::new(watch, "check rows", bytes.expect_or_default("the file is longer"));
        let mut hasher = blake3::Hasher::new();
        each_block(&stored, |block| {
            hasher.update_rayon(block);
            stage.add(block.len() as u64);
            Ok(())
        })?;
        match hasher.finalize() == blake3::Hash::from(header.rows.0) {
            true => Ok(stored),
            false => Err(refused("the rows do not match their digest: the file is damaged")),
        }
    }
}

impl TableSource for StoredRows {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        check_read(first, out, self.row_bytes, self.rows)?;
        Ok(self.file.read_exact_at(out, HEADER_BYTES as u64 + first * self.row_bytes as u64)?)
    }
}

/// A table in which some rows are replaced.
pub(crate) struct ChangedRows<'a> {
    pub(crate) old: &'a StoredRows,
    pub(crate) rows: &'a BTreeMap<u64, Vec<u8>>,
}

impl TableSource for ChangedRows<'_> {
    fn rows(&self) -> u64 {
        self.old.rows
    }

    fn row_bytes(&self) -> usize {
        self.old.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read(first, out)?;
        let width = self.old.row_bytes;
        let last = first.saturating_add((out.len() / width) as u64);
        for (row, bytes) in self.rows.range(first..last) {
            let held = out.chunks_exact_mut(width).nth((row - first) as usize);
            held.into_iter().for_each(|held| held.copy_from_slice(bytes));
        }
        Ok(())
    }
}

/// Reads a table from beginning to end, some megabytes at a time.
fn each_block(table: &dyn TableSource, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let width = table.row_bytes();
    let block_rows = (BLOCK_BYTES / width).max(1) as u64;
    let mut block = Vec::new();
    let mut first = 0;
    while first < table.rows() {
        let rows = block_rows.min(table.rows() - first);
        block.resize(rows as usize * width, 0);
        table.read(first, &mut block).map_err(DbError::Scheme)?;
        each(&block)?;
        first += rows;
    }
    Ok(())
}
