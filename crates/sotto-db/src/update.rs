//! Writes the image of the next epoch from a file of changed rows, re-encoding only what changed.
//!
//! | module | contents |
//! |---|---|
//! | `changes` | reads changes of rows by number or by range |
//! | `keys` | reads changed and removed keys |
//! | `next_epoch` | writes the next epoch of a table with changed rows, or with strips of a band that are solved again |
//! | [`stack`] | updates the tables of a batch code |

use crate::encode::{PublishedImage, bytes_of, check_folder};
use crate::files::bytes_at;
use crate::ingest::keyword::keyword_layer;
use crate::mask::RowMasker;
use crate::parts::{self, PiecesToWrite};
use crate::progress::{Watcher, in_pool};
use crate::sidecars::open_rows;
use crate::table::{BlockRule, RawFile};
use crate::{DbError, ImageFile, Result, WriteLock};
use changes::{ChangeSet, ChangeTarget};
use next_epoch::{NextEpoch, SolvedStrips, lifetime, update_image_fn};
use rayon::prelude::*;
use serde::Serialize;
use sotto_catalog::{Anchor, Catalog, LayerEntry, SigningKey};
use sotto_core::{Epoch, SchemeEntry};
use sotto_oprf::{OprfError, SecretKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

mod changes;
mod keys;
mod next_epoch;
pub mod stack;

pub use crate::ingest::ChangeFile;
pub use changes::{IndexTable, read_rows};
pub use keys::{KeyLine, KeyLines, KeyedTable, read_keys};
pub use stack::{StackSummary, StackUpdate, read_stack_update};

/// Options for reading a file of changes and signing the result.
pub struct UpdateOptions<'a> {
    /// Options for reading the file.
    pub changes: ChangeFile,
    /// Number of encoding threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Seconds for which the catalog is valid, 0 for no expiry; `None` for as long as the epoch
    /// before.
    pub lifetime: Option<u64>,
    /// State of another system that the next epoch is made from, if it has to be named; that of the
    /// epoch before is not kept.
    pub anchor: Option<Anchor>,
    /// Key that signs the catalog; it is the one that signed the epoch before.
    pub key: &'a SigningKey,
}

impl<'a> UpdateOptions<'a> {
    /// Default options, which find the columns of the file by themselves.
    pub fn new(key: &'a SigningKey) -> Self {
        UpdateOptions { changes: ChangeFile::default(), threads: None, lifetime: None, anchor: None, key }
    }
}

/// Counts of changed rows, or of changed keys if the table is queried by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeCounts {
    /// Number of rows or keys that were set, even if to the same value.
    pub set: u64,
    /// Number of new rows or keys.
    pub added: u64,
    /// Number of rows or keys that were removed.
    pub removed: u64,
    /// Number of rows or keys that were to be removed but did not exist.
    pub absent: u64,
}

/// Summary of an update, and of its costs for clients.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpdateSummary {
    /// Path of the image.
    pub image: PathBuf,
    /// Epoch of the image.
    pub epoch: Epoch,
    /// Epoch that the update started from.
    pub from_epoch: Epoch,
    /// Counts of changed rows or keys.
    pub changes: ChangeCounts,
    /// Number of rows that were given, or in which keys changed.
    pub rows_changed: u64,
    /// Number of changed rows that are new.
    pub rows_appended: u64,
    /// Number of records that contain changed rows.
    pub records_changed: u64,
    /// Counts of changed keys, if the table is queried by key.
    pub keys: Option<ChangeCounts>,
    /// Number of blocks that the given ranges cover partly. They change as the rule says.
    pub partial_blocks: u64,
    /// Rule for the value of a block that several ranges cover.
    pub rule: BlockRule,
    /// Bytes that the scheme re-encoded; the rest was copied.
    pub written_bytes: u64,
    /// Whether the whole table was re-encoded, because much of it was written since its whitening
    /// seed was drawn ([`crate::sidecars`]).
    pub reencoded: bool,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Bytes of the deltas that update a client's artifacts from the old epoch to this one.
    pub delta_bytes: Option<u64>,
    /// Bytes of the whole artifacts.
    pub artifact_bytes: u64,
    /// Bytes of the rows that are stored beside the image for updates; 0 where no update needs
    /// them.
    pub stored_rows_bytes: u64,
    /// Bytes that a client of the old epoch downloads: the delta, or the whole artifacts if they
    /// are smaller.
    pub client_bytes: u64,
    /// Seconds that the scheme took.
    pub revise_seconds: f64,
    /// Seconds from reading the changes file until the image is on disk.
    pub total_seconds: f64,
}

/// Changes to a table that were read and checked, but not applied yet.
pub struct TableUpdate<'a> {
    entry: &'a SchemeEntry,
    lock: &'a WriteLock,
    options: &'a UpdateOptions<'a>,
    old: Arc<ImageFile>,
    pieces: PiecesToWrite,
    changes: ChangeSet,
    /// Layers of the next epoch.
    layers: Vec<LayerEntry>,
    stored: Option<RawFile>,
    /// Strips that were solved again, if the table is a band; the changed rows are then slots of
    /// the strips.
    solved: Option<SolvedStrips>,
    began: Instant,
}

/// Reads a file of changes to the newest epoch of the locked folder. Without a file, or with one that
/// changes nothing, the next epoch has the same rows and another anchor.
///
/// Changes are held in memory, at most 1 GiB of them. Rows may be appended as long as records have
/// space, and keys added as long as rows have space. Nothing is written.
///
/// # Errors
/// [`DbError::CannotUpdate`], [`DbError::PastCapacity`], [`DbError::Rows`], and the errors of reading;
/// [`DbError::NoChanges`] if neither a row changes nor an anchor is given.
pub fn read_update<'a>(
    entry: &'a SchemeEntry,
    lock: &'a WriteLock,
    path: Option<&Path>,
    options: &'a UpdateOptions<'a>,
    watch: Watcher<'_>,
) -> Result<TableUpdate<'a>> {
    let began = Instant::now();
    let old = lock.dir().open_latest()?;
    let pieces = old.piece().parts().map_or(PiecesToWrite::Whole, PiecesToWrite::All);
    check_folder(lock, &old.catalog().table, options.key)?;
    update_image_fn(entry, old.catalog())?;
    let old = parts::whole(entry, old, watch)?;
    let catalog = old.catalog();
    let terms = catalog.terms(entry)?;
    let origin = lock.dir().origin()?;
    let (mut stored, mut solved, mut layers) = (None, None, catalog.layers.clone());
    let changes = match (path, &catalog.keyword()?) {
        (None, keyword) => {
            stored = keyword.as_ref().map(|_| open_rows(lock.dir(), catalog, watch)).transpose()?;
            ChangeSet::default()
        }
        (Some(path), Some(keyword)) => {
            let old = stored.insert(open_rows(lock.dir(), catalog, watch)?);
            let columns = origin.as_ref();
            let (changes, mut keyword) =
                keys::read(path, &options.changes, columns, catalog.value, keyword, old, watch)?;
            if keyword.params().band.is_some() && !changes.rows.is_empty() {
                let strips = SolvedStrips::solve(&changes.rows, keyword)?;
                keyword = strips.keyword.clone();
                solved = Some(strips);
            }
            layers = vec![keyword_layer(&keyword)?];
            changes
        }
        (Some(path), None) => {
            let rows = [catalog.rows, terms.packing.capacity()];
            let target = ChangeTarget::new(&catalog.kind, catalog, origin.as_ref(), rows)?;
            changes::read(path, &options.changes, origin.as_ref(), &target, watch)?
        }
    };
    let changes = changes.check(path.unwrap_or(lock.dir().path()), options)?;
    Ok(TableUpdate { entry, lock, options, old, pieces, changes, layers, stored, solved, began })
}

/// Applies a file of changed rows to the newest epoch of the locked folder, and writes the next
/// one. On any error the folder is left as it was.
///
/// ```
/// use sotto_core::Epoch;
/// use sotto_db::progress::silent;
/// use sotto_db::table::RawFile;
/// use sotto_db::{EncodeOptions, TableDir, UpdateOptions, encode_table, update_table};
/// use std::fs::{self, File};
///
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path();
/// // A table of 100 rows of two bytes.
/// let file = folder.join("rows.raw");
/// fs::write(&file, [0; 200])?;
/// let rows = RawFile::new(File::open(&file)?, &file, 100, 2)?;
/// let table = TableDir::create(&folder.join("table"))?;
/// let key = table.signing_key(None, &mut sotto_prg::system_rng()?)?;
/// let options = EncodeOptions::new("table".parse()?, &key);
/// encode_table(&simplepir::ENTRY, &rows, &table.lock()?, &options, &silent)?;
///
/// // Two of them change. The same key signs the next epoch.
/// let changes = folder.join("changes.csv");
/// fs::write(&changes, "3,c0de\n99,beef\n")?;
/// let options = UpdateOptions::new(&key);
/// let summary = update_table(&simplepir::ENTRY, &table.lock()?, Some(&changes), &options, &silent)?;
/// assert_eq!((summary.epoch, summary.rows_changed), (Epoch(2), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`read_update`] and [`TableUpdate::apply`].
pub fn update_table(
    entry: &SchemeEntry,
    lock: &WriteLock,
    path: Option<&Path>,
    options: &UpdateOptions<'_>,
    watch: Watcher<'_>,
) -> Result<UpdateSummary> {
    read_update(entry, lock, path, options, watch)?.apply(watch)
}

impl TableUpdate<'_> {
    /// Counts of rows, or of keys, that change when the update is applied.
    pub fn tally(&self) -> ChangeCounts {
        self.changes.tally
    }

    /// Remarks for the owner of the changes file.
    pub fn remarks(&self) -> Vec<String> {
        self.changes.remarks()
    }

    /// Writes the next epoch.
    ///
    /// # Errors
    /// The errors of encoding. The folder is then left as it was.
    pub fn apply(self, watch: Watcher<'_>) -> Result<UpdateSummary> {
        let TableUpdate { entry, lock, options, old, pieces, mut changes, layers, .. } = self;
        let TableUpdate { stored, solved, began, .. } = self;
        let catalog = old.catalog();
        if let Some(key) = masking(lock, catalog)? {
            changes.fill_gap(catalog.rows, catalog.unmasked_row_bytes()?)?;
            let masker = RowMasker { table: &catalog.table, epoch: lock.next_epoch()?, key: &key };
            in_pool(options.threads, || mask(&masker, &mut changes.rows))??;
        }
        let before = old.catalog();
        let lifetime = lifetime(options.lifetime, before.created, before.expires);
        let (rows, solved, stored_rows) = (&changes.rows, solved.as_ref(), stored.as_ref());
        let next =
            NextEpoch { entry, lock, old: &old, pieces, rows, solved, layers, lifetime, stored: stored_rows };
        let written = next.write(options, watch)?;
        let delta_bytes = written.delta_bytes();
        let PublishedImage { image, catalog: next, stored_rows_bytes } = written.published;
        let artifact_bytes = bytes_of(&next);
        Ok(UpdateSummary {
            image_bytes: bytes_at(&image)?,
            image,
            epoch: next.epoch,
            from_epoch: catalog.epoch,
            changes: changes.tally,
            rows_changed: changes.rows.len() as u64,
            rows_appended: match stored {
                Some(_) => 0,
                None => changes.rows.range(catalog.rows..).count() as u64,
            },
            records_changed: written.records_changed,
            keys: stored.is_some().then_some(changes.tally),
            partial_blocks: changes.partial_blocks,
            rule: changes.rule,
            stored_rows_bytes,
            written_bytes: written.written_bytes,
            reencoded: written.is_anew,
            delta_bytes,
            artifact_bytes,
            client_bytes: delta_bytes.unwrap_or(artifact_bytes).min(artifact_bytes),
            revise_seconds: written.revise_seconds,
            total_seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// Secret key of a masked table, if it is masked. Unchanged rows are copied, so it must be the key
/// that masked them.
fn masking(lock: &WriteLock, catalog: &Catalog) -> Result<Option<SecretKey>> {
    let Some(masked) = catalog.symmetric_layer()? else { return Ok(None) };
    let key = lock.dir().oprf_key()?;
    match key.public() == masked.key {
        true => Ok(Some(key)),
        false => {
            let why = OprfError::KeyText("the key is that of other masks: restore the key of this table");
            Err(DbError::OprfKey { path: lock.dir().oprf_key_path(), why })
        }
    }
}

/// Masks changed rows under the epoch that is being written.
fn mask(masker: &RowMasker<'_>, rows: &mut changes::RowChanges) -> Result<()> {
    rows.par_iter_mut().try_for_each(|(row, item)| {
        *item = masker.row(*row, item)?;
        Ok(())
    })
}
