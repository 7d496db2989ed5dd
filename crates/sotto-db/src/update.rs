//! A file of changed rows in, the next epoch's image out, re-encoding only what changed.

use crate::encode::{bytes_of, check_folder, in_pool, rows_digest, unix_seconds};
use crate::image::ImageWriter;
use crate::ingest::keyword::keyword_layer;
use crate::ingest::{Column, Encoding, FileOptions, Format};
use crate::kept::{self, Changed, Draft, Kept};
use crate::mask::Masker;
use crate::progress::Watcher;
use crate::{DbError, Result, WriteLock};
use changes::Changes;
use rayon::prelude::*;
use serde::Serialize;
use sotto_catalog::{Catalog, Packing, SignedCatalog, SigningKey, TableKind};
use sotto_core::{Artifact, Change, Epoch, SchemeEntry};
use sotto_oprf::{OprfError, SecretKey};
use std::path::{Path, PathBuf};
use std::time::Instant;

mod changes;
mod keys;

pub use keys::KeyChanges;

/// How to read a file of changes, and who signs the result.
pub struct UpdateOptions<'a> {
    /// Its format.
    pub file: FileOptions,
    /// Two columns, the row's number and its value; for range tables three, the first key, the last
    /// key and the value; for keyword tables the key and, unless they are of keys alone, the value. `None` for the first of them
    /// in CSV, and for those called `row`, `start`, `end`, `key` and `value` elsewhere.
    pub columns: Option<Vec<Column>>,
    /// Keyword tables: the column that says which keys go (1, true, yes, delete) and which do not (0, false, no, nothing). A key
    /// whose value is null goes in any case; CSV has no null.
    pub delete: Option<Column>,
    /// How values are written; `None` for text, numbers or hexadecimal digits, as the table's values are.
    pub encoding: Option<Encoding>,
    /// How many threads encode; `None` for one per core.
    pub threads: Option<usize>,
    /// Signs the catalog. The key that signed the epoch before.
    pub key: &'a SigningKey,
}

/// What was updated, and what it means for clients.
#[derive(Debug, Clone, Serialize)]
pub struct UpdateSummary {
    /// The image.
    pub image: PathBuf,
    /// Its epoch.
    pub epoch: Epoch,
    /// The epoch it was made from.
    pub from_epoch: Epoch,
    /// Rows that were given, or in which keys changed.
    pub rows_changed: u64,
    /// How many of them are new.
    pub rows_appended: u64,
    /// Records they lie in.
    pub records_changed: u64,
    /// What became of the keys, where the table is asked by key.
    pub keys: Option<KeyChanges>,
    /// Blocks of which a given range covers only a part. They change if it covers their first key.
    pub partial_blocks: u64,
    /// Bytes the scheme wrote anew; the rest was copied.
    pub written_bytes: u64,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Bytes that bring a client's artifacts from the old epoch to this one.
    pub delta_bytes: Option<u64>,
    /// Bytes of the artifacts whole.
    pub artifact_bytes: u64,
    /// Bytes of the rows that are kept beside the image for updates; 0 where none need them.
    pub kept_bytes: u64,
    /// What a client of the old epoch has to fetch: the delta, or all of it where that is less.
    pub client_bytes: u64,
    /// Seconds the scheme took.
    pub revise_seconds: f64,
    /// Seconds from the file of changes to the image on the disk.
    pub total_seconds: f64,
}

/// Applies a file of changed rows to the newest epoch of the folder that is locked, making the next one.
///
/// Changes are held in memory, at most 1 GiB of them. Rows may be appended as long as the records have
/// room, and keys added as long as rows have. On any error the folder is as it was.
///
/// # Errors
/// [`DbError::CannotUpdate`], [`DbError::NoChanges`], [`DbError::PastCapacity`], [`DbError::Rows`], and those of encoding.
pub fn update_table(
    entry: &SchemeEntry,
    lock: &WriteLock,
    path: &Path,
    options: &UpdateOptions<'_>,
    watch: Watcher<'_>,
) -> Result<UpdateSummary> {
    let begin = Instant::now();
    let old = lock.dir().open_latest()?;
    let mut catalog = old.catalog().clone();
    check_folder(lock, &catalog.table, options.key)?;
    let terms = catalog.terms(entry)?;
    let revise = entry.server.revise;
    let revise = revise.ok_or_else(|| DbError::CannotUpdate { scheme: catalog.scheme.clone() })?;

    let next = lock.next()?;
    let masking = masking(lock, &catalog)?;
    let columns = || options.columns.clone();
    let keyword = catalog.keyword()?;
    let (mut keys, mut kept, mut layers) = (None, None, catalog.layers.clone());
    let read = match &keyword {
        Some(keyword) => {
            let has_values = keyword.params().values.most() > 0;
            let names: &[&str] = if has_values { &["key", "value"] } else { &["key"] };
            let columns = columns().unwrap_or_else(|| usual_columns(path, options, names));
            let old = kept.insert(Kept::open(lock.dir(), &catalog, watch)?);
            let (rows, done, keyword) = keys::read(path, options, &columns, &catalog, keyword, old, watch)?;
            keys = Some(done);
            layers = vec![keyword_layer(&keyword)?];
            Changes { rows, ..Changes::default() }
        }
        None => {
            let names: &[&str] = match catalog.kind {
                TableKind::Range { .. } => &["start", "end", "value"],
                _ => &["row", "value"],
            };
            let columns = columns().unwrap_or_else(|| usual_columns(path, options, names));
            let items = Catalog { row_bytes: catalog.item_bytes()?, ..catalog.clone() };
            let encoding = options.encoding.unwrap_or(Encoding::for_kind(items.value, items.row_bytes));
            let mut read =
                changes::read(path, &options.file, &columns, encoding, &items, &terms.packing, watch)?;
            if let Some(key) = &masking {
                read.fill_gap(catalog.rows, items.row_bytes)?;
                let masker = Masker { table: &catalog.table, epoch: next, key };
                in_pool(options.threads, || mask(&masker, &mut read.rows))??;
            }
            read
        }
    };
    let Some((&last, _)) = read.rows.last_key_value() else {
        return Err(DbError::NoChanges { path: path.to_owned() });
    };
    let rows = catalog.rows.max(last + 1);
    let rows_appended = read.rows.range(catalog.rows..).count() as u64;
    let changes = into_changes(&read.rows, &terms.packing)?;

    let from_epoch = catalog.epoch;
    catalog.epoch = next;
    let mut writer = ImageWriter::create_from(&lock.dir().image_path(catalog.epoch), &old, watch)?;
    let params = catalog.params.to_string();
    let start = Instant::now();
    in_pool(options.threads, || revise(params.as_bytes(), &changes, &writer))?
        .map_err(|e| writer.failed(e))?;
    let revise_seconds = start.elapsed().as_secs_f64();
    let written_bytes = writer.written();

    (catalog.rows, catalog.layers) = (rows, layers);
    let rows_before = old.rows_digest();
    catalog.artifacts = in_pool(options.threads, || writer.digest(Some(from_epoch)))??;
    catalog.rows_digest = rows_digest(entry, &catalog.artifacts, &writer);
    for entry in catalog.artifacts.iter_mut().filter(|entry| entry.artifact == Artifact::RowsDelta) {
        entry.from_digest = rows_before;
    }
    catalog.created = unix_seconds();
    catalog.terms(entry)?;
    let artifact_bytes = bytes_of(&catalog.artifacts);
    let delta = catalog.artifacts.iter().filter(|entry| entry.from_epoch.is_some());
    let delta_bytes = delta.map(|entry| entry.bytes).reduce(u64::saturating_add);
    let signed = SignedCatalog::sign(&catalog, options.key)?;
    let changed = kept.as_ref().map(|old| Changed { old, rows: &read.rows });
    let kept = changed.map(|rows| kept::keep(lock.dir(), &catalog, &rows, watch)).transpose()?;
    let kept_bytes = kept.as_ref().map_or(0, Draft::bytes);
    let image = match kept {
        Some(kept) => kept.before(|| writer.finish(&signed))?,
        None => writer.finish(&signed)?,
    };
    kept::remove_but(lock.dir(), Some(catalog.epoch))?;
    let image_bytes = std::fs::metadata(&image).map_err(|e| DbError::io("reading", &image, e))?.len();
    Ok(UpdateSummary {
        image,
        epoch: catalog.epoch,
        from_epoch,
        rows_changed: read.rows.len() as u64,
        rows_appended,
        records_changed: count_records(&changes),
        keys,
        partial_blocks: read.partial_blocks,
        kept_bytes,
        written_bytes,
        image_bytes,
        delta_bytes,
        artifact_bytes,
        client_bytes: delta_bytes.unwrap_or(artifact_bytes).min(artifact_bytes),
        revise_seconds,
        total_seconds: begin.elapsed().as_secs_f64(),
    })
}

/// The key of a masked table, if it is one. Rows that do not change stay as they are, so it has to be the key that masked them.
fn masking(lock: &WriteLock, catalog: &Catalog) -> Result<Option<SecretKey>> {
    let Some(masked) = catalog.masked()? else { return Ok(None) };
    let key = lock.dir().oprf_key()?;
    match key.public() == masked.key {
        true => Ok(Some(key)),
        false => {
            let why = OprfError::KeyText("this is the key of other masks: bring back the one of this table");
            Err(DbError::OprfKey { path: lock.dir().oprf_key_path(), why })
        }
    }
}

/// Masks rows that change, each of which is then of the epoch at hand.
fn mask(masker: &Masker<'_>, rows: &mut changes::Rows) -> Result<()> {
    rows.par_iter_mut().try_for_each(|(row, item)| {
        *item = masker.row(*row, item).map_err(DbError::Scheme)?;
        Ok(())
    })
}

fn usual_columns(path: &Path, options: &UpdateOptions<'_>, names: &[&str]) -> Vec<Column> {
    let by_number = options.file.format.or_else(|| Format::of_name(path)) == Some(Format::Csv);
    let column = |(i, name): (usize, &&str)| {
        if by_number { Column::Number(i + 1) } else { Column::Name((*name).to_owned()) }
    };
    names.iter().enumerate().map(column).collect()
}

/// Rows as the scheme sees them. Neighbours within a record become one change.
fn into_changes(rows: &changes::Rows, packing: &Packing) -> Result<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for (&row, bytes) in rows {
        for place in packing.places(row).map_err(DbError::Scheme)? {
            let part = bytes.get(place.bytes).unwrap_or_default();
            match changes.last_mut() {
                Some(last)
                    if last.record == place.record
                        && last.offset + last.bytes.len() as u64 == place.offset =>
                {
                    last.bytes.extend_from_slice(part);
                }
                _ => {
                    changes.push(Change { record: place.record, offset: place.offset, bytes: part.to_vec() })
                }
            }
        }
    }
    Ok(changes)
}

/// Changes are in the order of their records.
fn count_records(changes: &[Change]) -> u64 {
    changes.chunk_by(|a, b| a.record == b.record).count() as u64
}
