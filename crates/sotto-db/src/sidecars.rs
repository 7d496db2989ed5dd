//! Files beside an image that only the next update reads: stored rows, write counts, and the columns
//! of the table's source. They are never served, and a table is served without them.
//!
//! # Stored rows
//!
//! A row of a keyword table holds several keys, so changing the value of one of them requires the
//! old row, and not every scheme can recover rows from an image.
//!
//! ```text
//! offset  bytes
//!      0     16   "sotto-rows/1", zeros
//!     16     32   BLAKE3 of the text of the catalog, or of the stack: the epoch that the rows belong to
//!     48     32   BLAKE3 of the rows
//!     80          the rows, one after the other; number and width are in the catalog, or in its keyword layer
//! ```
//!
//! # Write counts
//!
//! Some schemes combine their tables with a public random stream ([`sotto_core::WhiteningScheme`]).
//! Its seed is derived from the signing key and the rows when a table is encoded, so that no one
//! who contributes rows knows it beforehand. Afterwards it is public, and rows that are changed in
//! place may be chosen against it. So writes are counted in each column that the noise of a query
//! sums over. Before there are more than the parameters tolerate, the table is re-encoded under
//! another seed. The counts are stored beside the image:
//!
//! ```text
//! DIR/epoch-00000002.written   {"format":"sotto-written/1","catalog":"<64 hex digits>","columns":[[3,1],[17,2]]}
//! ```
//!
//! `catalog` is the digest of the epoch's catalog. For each column that was written, `columns`
//! contains its number and how many of its summands were written; a summand that was written in
//! several epochs counts once in each. If the file is missing, or of another epoch, the whole table
//! counts as written, and the next change re-encodes it.
//!
//! # Columns of the source
//!
//! ```text
//! DIR/source.json   {"format":"sotto-source/1","key":"word","value":"meaning"}
//! ```
//!
//! `sotto update` finds the columns of a changes file by these names, and uses them to detect
//! whether its first line is a header. Without the file, columns are given by the user, or found by
//! their position.

use crate::files::{SECRET, if_there, parent, read_past, temp_in, whole};
use crate::progress::{ByteProgress, Watcher};
use crate::table::{BlockRule, RawFile, TableSource};
use crate::{DbError, Result, TableDir, WriteLock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sotto_catalog::{Catalog, Hex32, RowForm, SigningKey, ValueKind};
use sotto_core::erased::WhiteningEntry;
use sotto_core::{Epoch, Misuse, RecordChange, SchemeEntry, WriteSlot};
use sotto_layers::Keyword;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use tempfile::NamedTempFile;

/// Bytes of the header before stored rows.
pub const HEADER_BYTES: usize = 80;

/// Name of the file with the columns of the source.
pub const SOURCE: &str = "source.json";

const MAGIC: [u8; 16] = *b"sotto-rows/1\0\0\0\0";
const BLOCK_BYTES: usize = 8 << 20;

const COUNTS_FORMAT: &str = "sotto-written/1";
/// Largest size of the file of write counts in bytes. For a table with more columns than fit, no
/// file is stored.
const MAX_COUNTS_BYTES: u64 = 64 << 20;

const SOURCE_FORMAT: &str = "sotto-source/1";
/// Largest size of the file of the source's columns in bytes.
const MAX_SOURCE_BYTES: u64 = 1 << 16;

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
pub(crate) fn keep_rows(
    path: PathBuf,
    of: Hex32,
    table: &dyn TableSource,
    watch: Watcher<'_>,
) -> Result<RowsDraft> {
    let failed = |e| DbError::io("writing rows", &path, e);
    let temp = temp_in(parent(&path), ".rows", SECRET).map_err(failed)?;
    let mut at = HEADER_BYTES as u64;
    let rows = digest_of(table, "keep rows", watch, |block| {
        temp.as_file().write_all_at(block, at).map_err(failed)?;
        at += block.len() as u64;
        Ok(())
    })?;
    temp.as_file().write_all_at(&RowsHeader { catalog: of, rows }.to_bytes(), 0).map_err(failed)?;
    temp.as_file().sync_all().map_err(failed)?;
    Ok(RowsDraft { temp, path, bytes: at })
}

/// Opens the stored rows of the epoch of `catalog`.
///
/// # Errors
/// The errors of [`read_rows`].
pub(crate) fn open_rows(dir: &TableDir, catalog: &Catalog, watch: Watcher<'_>) -> Result<RawFile> {
    let of_keys = |keyword: Keyword| (keyword.params().rows, keyword.params().row_bytes());
    let (rows, row_bytes) = catalog.keyword()?.map_or((catalog.rows, catalog.row_bytes), of_keys);
    read_rows(dir.rows_path(catalog.epoch), catalog.digest()?, rows, row_bytes, watch)
}

/// Opens a file of stored rows with the given number and width, and reads all of them to check that
/// they are undamaged.
///
/// # Errors
/// [`DbError::Rows`]; [`DbError::Io`].
pub(crate) fn read_rows(
    path: PathBuf,
    of: Hex32,
    rows: u64,
    row_bytes: u64,
    watch: Watcher<'_>,
) -> Result<RawFile> {
    let refused = |why| DbError::Rows { path: path.clone(), why };
    let failed = |e| DbError::io("reading rows", &path, e);
    if !path.exists() {
        return Err(refused("the stored rows, which an update needs, are missing"));
    }
    let file = File::open(&path).map_err(failed)?;
    let width = usize::try_from(row_bytes).map_err(|_| refused("rows are too long for this machine"))?;
    let want = rows.checked_mul(row_bytes).and_then(|bytes| bytes.checked_add(HEADER_BYTES as u64));
    if Some(file.metadata().map_err(failed)?.len()) != want {
        return Err(refused("the file was truncated or appended to"));
    }
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).map_err(failed)?;
    let header = RowsHeader::parse(&header).ok_or_else(|| refused("not a file of stored rows"))?;
    if header.catalog != of {
        return Err(refused("the rows are of another table or epoch"));
    }
    let stored = RawFile::after_header(file, HEADER_BYTES as u64, rows, width);
    match digest_of(&stored, "check rows", watch, |_| Ok(()))? == header.rows {
        true => Ok(stored),
        false => Err(refused("the rows do not match their digest: the file is damaged")),
    }
}

/// Digest of all rows of a table, which `each` gets some megabytes at a time.
fn digest_of(
    table: &dyn TableSource,
    stage: &'static str,
    watch: Watcher<'_>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<Hex32> {
    let (rows, width) = (table.rows(), table.row_bytes());
    let stage = ByteProgress::new(watch, stage, rows.saturating_mul(width as u64));
    let (mut hasher, mut block) = (blake3::Hasher::new(), Vec::new());
    let block_rows = (BLOCK_BYTES / width).max(1);
    for first in (0..rows).step_by(block_rows) {
        block.resize((block_rows as u64).min(rows - first) as usize * width, 0);
        table.read(first, &mut block)?;
        hasher.update_rayon(&block);
        each(&block)?;
        stage.add(block.len() as u64);
    }
    Ok(hasher.finalize().into())
}

/// A table in which some rows are replaced.
pub(crate) struct ChangedRows<'a> {
    pub(crate) old: &'a RawFile,
    pub(crate) rows: &'a BTreeMap<u64, Vec<u8>>,
}

impl TableSource for ChangedRows<'_> {
    fn rows(&self) -> u64 {
        self.old.rows()
    }

    fn row_bytes(&self) -> usize {
        self.old.row_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read(first, out)?;
        let width = self.old.row_bytes();
        let last = first.saturating_add((out.len() / width) as u64);
        for (row, bytes) in self.rows.range(first..last) {
            let held = out.chunks_exact_mut(width).nth((row - first) as usize);
            held.into_iter().for_each(|held| held.copy_from_slice(bytes));
        }
        Ok(())
    }
}

/// Number of written summands of each column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteCounts {
    columns: BTreeMap<u64, u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteCountsFile {
    format: String,
    catalog: Hex32,
    columns: Vec<(u64, u64)>,
}

impl WriteCounts {
    /// Write counts of the epoch of a catalog; `None` if they are unknown.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn read(dir: &TableDir, catalog: &Catalog) -> Result<Option<Self>> {
        let read =
            read_past(&dir.write_counts_path(catalog.epoch), MAX_COUNTS_BYTES, "reading what was written");
        let Some(text) = if_there(read)? else { return Ok(None) };
        let parsed = parsed(&text, MAX_COUNTS_BYTES);
        let of = catalog.digest()?;
        let ours = parsed.filter(|text: &WriteCountsFile| text.format == COUNTS_FORMAT && text.catalog == of);
        Ok(ours.map(|text| {
            // A column that is listed twice was written twice.
            let mut written = WriteCounts::default();
            text.columns.into_iter().for_each(|(column, count)| written.add(column, count));
            written
        }))
    }

    fn add(&mut self, column: u64, count: u64) {
        let sum = self.columns.entry(column).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Adds one round of writes, in which each slot counts once.
    fn with(mut self, places: Vec<WriteSlot>) -> Self {
        BTreeSet::from_iter(places).iter().for_each(|place| self.add(place.column, 1));
        self
    }

    /// Whether any column has more than `max_writes` writes.
    fn exceeds(&self, max_writes: u64) -> bool {
        self.columns.values().any(|count| *count > max_writes)
    }

    /// Writes the file of counts, and then calls `image` to name the image; the file is removed if
    /// that fails.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`], and the errors of `image`.
    pub(crate) fn before<T>(
        &self,
        dir: &TableDir,
        epoch: Epoch,
        catalog: Hex32,
        image: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = dir.write_counts_path(epoch);
        let columns = self.columns.iter().map(|(column, count)| (*column, *count)).collect();
        let text = WriteCountsFile { format: COUNTS_FORMAT.to_owned(), catalog, columns };
        let text = serde_json::to_vec(&text).map_err(|e| DbError::io("writing", &path, e.into()))?;
        if text.len() as u64 > MAX_COUNTS_BYTES {
            return image();
        }
        whole(&path, &text, "writing")?;
        image().inspect_err(|_| drop(fs::remove_file(&path)))
    }
}

/// Write counts after these changes; `None` if they exceed what the table's whitening tolerates.
///
/// # Errors
/// [`DbError::Io`], [`DbError::Scheme`].
pub(crate) fn after_changes(
    mask: &WhiteningEntry,
    dir: &TableDir,
    catalog: &Catalog,
    changes: &[RecordChange],
) -> Result<Option<WriteCounts>> {
    let params = catalog.params.to_string();
    let records: Vec<u64> = changes.iter().map(|change| change.record).collect();
    let places = (mask.places)(params.as_bytes(), &records)?;
    let max_writes = (mask.max_writes)(params.as_bytes())?;
    let written = WriteCounts::read(dir, catalog)?.map(|written| written.with(places));
    Ok(written.filter(|written| !written.exceeds(max_writes)))
}

/// Draws the whitening seed of a table that is about to be encoded, if its scheme whitens tables.
/// The root of its rows must be known.
///
/// # Errors
/// [`DbError::Scheme`] for parameters without whitening.
pub(crate) fn draw_whitening_seed(
    entry: &SchemeEntry,
    catalog: &mut Catalog,
    key: &SigningKey,
) -> Result<()> {
    let Some(mask) = &entry.server.whitening else { return Ok(()) };
    let seed = key.mask_seed(&catalog.rows_root.root);
    let params = (mask.with_seed)(catalog.params.to_string().as_bytes(), seed)?;
    catalog.params_digest = (entry.report)(&params)?.digest.into();
    catalog.params = literal(&params)?;
    Ok(())
}

/// JSON form of parameters, as it is in a catalog.
pub(crate) fn literal(params: &[u8]) -> Result<serde_json::Value> {
    Ok(serde_json::from_slice(params).map_err(|_| Misuse::Rule("the scheme's parameters are not JSON"))?)
}

/// Names of a source file's columns, by their content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceColumns {
    #[serde(default)]
    pub(crate) format: String,
    /// Column of the row numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Column of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Column of the ranges' first keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Column of the ranges' last keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Column of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Rule for blocks that several ranges cover; `None` for the rule of the first key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<BlockRule>,
    /// Whether every value has as many bytes as a row, so that a shorter one is invalid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl SourceColumns {
    /// Name of the column that holds `row`, `key`, `start`, `end` or `value`.
    pub fn name(&self, part: &str) -> Option<&str> {
        let name = match part {
            "row" => &self.row,
            "key" => &self.key,
            "start" => &self.start,
            "end" => &self.end,
            "value" => &self.value,
            _ => return None,
        };
        name.as_deref()
    }

    /// Whether no column has a name.
    pub fn is_nameless(&self) -> bool {
        ["row", "key", "start", "end", "value"].iter().all(|part| self.name(part).is_none())
    }

    /// Completes the columns with the form in which values are stored in rows.
    pub(crate) fn of_values(self, form: RowForm, kind: ValueKind) -> Self {
        SourceColumns { whole: form == RowForm::Whole && kind == ValueKind::Bytes, ..self }
    }
}

impl TableDir {
    /// Columns of the table's source, if they are stored.
    ///
    /// # Errors
    /// [`DbError::Source`] if the file is invalid, [`DbError::Io`].
    pub fn origin(&self) -> Result<Option<SourceColumns>> {
        let path = self.path().join(SOURCE);
        let read = read_past(&path, MAX_SOURCE_BYTES, "reading how the source was read");
        let Some(text) = if_there(read)? else { return Ok(None) };
        let origin =
            parsed(&text, MAX_SOURCE_BYTES).filter(|origin: &SourceColumns| origin.format == SOURCE_FORMAT);
        origin.map(Some).ok_or(DbError::Source(path))
    }
}

impl WriteLock {
    /// Stores the columns of the table's source, and replaces an earlier file atomically.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`].
    pub fn keep_origin(&self, origin: &SourceColumns) -> Result<()> {
        let (path, what) = (self.dir().path().join(SOURCE), "writing how the source was read");
        let mut text =
            serde_json::to_vec(&SourceColumns { format: SOURCE_FORMAT.to_owned(), ..origin.clone() })
                .map_err(|e| DbError::io(what, &path, e.into()))?;
        text.push(b'\n');
        // Names that are too long to be read again are not stored.
        if text.len() as u64 > MAX_SOURCE_BYTES { Ok(()) } else { whole(&path, &text, what) }
    }
}

/// The value of a JSON file of at most `limit` bytes.
fn parsed<T: DeserializeOwned>(text: &[u8], limit: u64) -> Option<T> {
    serde_json::from_slice(text).ok().filter(|_| text.len() as u64 <= limit)
}
