//! The whitening seed of a table, and how much was written since it was drawn.
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

use crate::files::whole;
use crate::{DbError, Result, TableDir};
use serde::{Deserialize, Serialize};
use sotto_catalog::{Catalog, Hex32, SigningKey};
use sotto_core::erased::WhiteningEntry;
use sotto_core::server::bytes_per_part;
use sotto_core::{Epoch, Misuse, RecordChange, RecordSource, SchemeEntry, WriteSlot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

const FORMAT: &str = "sotto-written/1";

/// Largest size of the file in bytes. For a table with more columns than fit, no file is stored.
const MAX_BYTES: u64 = 64 << 20;

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
        let path = dir.write_counts_path(catalog.epoch);
        let failed = |e| DbError::io("reading what was written", &path, e);
        let file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        let parsed = serde_json::from_slice(&text).ok().filter(|_| text.len() as u64 <= MAX_BYTES);
        let of = catalog.digest()?;
        let ours = parsed.filter(|text: &WriteCountsFile| text.format == FORMAT && text.catalog == of);
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
        let text = WriteCountsFile { format: FORMAT.to_owned(), catalog, columns };
        let text = serde_json::to_vec(&text).map_err(|e| DbError::io("writing", &path, e.into()))?;
        if text.len() as u64 > MAX_BYTES {
            return image();
        }
        whole(&path, &text)?;
        image().inspect_err(|_| drop(std::fs::remove_file(&path)))
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
    let places = (mask.places)(params.as_bytes(), &records).map_err(DbError::Scheme)?;
    let max_writes = (mask.max_writes)(params.as_bytes()).map_err(DbError::Scheme)?;
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
    let Some(mask) = &entry.server.mask else { return Ok(()) };
    let seed = key.mask_seed(&catalog.rows_root.root);
    let params = (mask.with_seed)(catalog.params.to_string().as_bytes(), seed).map_err(DbError::Scheme)?;
    catalog.params_digest = (entry.report)(&params).map_err(DbError::Scheme)?.digest.into();
    catalog.params = literal(&params)?;
    Ok(())
}

/// JSON form of parameters, as it is in a catalog.
pub(crate) fn literal(params: &[u8]) -> Result<serde_json::Value> {
    let rule = Misuse::Rule("the scheme's parameters are not JSON");
    serde_json::from_slice(params).map_err(|_| DbError::Scheme(rule.into()))
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
