//! A file of changed rows in, the next epoch's image out, re-encoding only what changed.

//!
//! | module | what lives there |
//! |---|---|
//! | `columns` | which columns of the file are meant, and whether its first line names them |
//! | `changes` | rows by number or by range, and their new values |
//! | `keys` | keys with new values, and keys that go |
//! | `strips` | keys in sums of rows, whose strips are solved again |
//! | `next` | the next epoch of a table some of whose rows are others |
//! | [`stack`] | the same for the tables of a batch code |

use crate::encode::{bytes_of, check_folder, in_pool};
use crate::ingest::keyword::keyword_layer;
use crate::ingest::notes::of_partial_blocks;
use crate::ingest::{ColumnSelector, Encoding, FileOptions};
use crate::mask::RowMasker;
use crate::parts::{self, PiecesToWrite};
use crate::progress::Watcher;
use crate::stored_rows::StoredRows;
use crate::table::BlockRule;
use crate::{DbError, ImageFile, Result, WriteLock};
use changes::{ChangeSet, ChangeTarget};
use next_epoch::{NextEpoch, can_revise, lifetime};
use rayon::prelude::*;
use serde::Serialize;
use sotto_catalog::{Catalog, LayerEntry, SigningKey};
use sotto_core::{Epoch, SchemeEntry};
use sotto_oprf::{OprfError, SecretKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use strips::SolvedStrips;

mod changes;
mod columns;
mod keys;
mod next_epoch;
pub mod stack;
mod strips;

pub use changes::read_rows;
pub use columns::ChangeFile;
pub use keys::{KeyLine, KeyLines, KeyedTable, read_keys};
pub use stack::{StackSummary, StackUpdate, read_stack_update};

/// How to read a file of changes, and who signs the result.
pub struct UpdateOptions<'a> {
    /// Its format.
    pub file: FileOptions,
    /// Two columns, the row's number and its value; for range tables three, the first key, the last
    /// key and the value; for keyword tables the key and, unless they are of keys alone, the value. `None` for those named as the
    /// columns of the table's source were ([`crate::origin`]), or else `row`, `start`, `end`, `key` and `value`; and in CSV files
    /// without a header for the first ones.
    pub columns: Option<Vec<ColumnSelector>>,
    /// Keyword tables: the column that says which keys go (1, true, yes, delete) and which do not (0, false, no, nothing). A key
    /// whose value is null goes in any case; CSV has no null.
    pub delete: Option<ColumnSelector>,
    /// How values are written; `None` for text, numbers or hexadecimal digits, as the table's values are.
    pub encoding: Option<Encoding>,
    /// How many threads encode; `None` for one per core.
    pub threads: Option<usize>,
    /// For how many seconds the catalog is good, 0 for ever; `None` for as long as the one before.
    pub lifetime: Option<u64>,
    /// Signs the catalog. The key that signed the epoch before.
    pub key: &'a SigningKey,
}

impl UpdateOptions<'_> {
    fn change_file(&self) -> ChangeFile {
        ChangeFile {
            file: self.file.clone(),
            columns: self.columns.clone(),
            delete: self.delete.clone(),
            encoding: self.encoding,
        }
    }
}

/// What becomes of the rows, or of the keys where the table is asked by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ChangeCounts {
    /// Those that have another value now, or the same again.
    pub set: u64,
    /// Those that were not there before.
    pub added: u64,
    /// Those that are gone.
    pub removed: u64,
    /// Those that were to go and were not there.
    pub absent: u64,
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
    /// What became of rows, or of keys.
    pub changes: ChangeCounts,
    /// Rows that were given, or in which keys changed.
    pub rows_changed: u64,
    /// How many of them are new.
    pub rows_appended: u64,
    /// Records they lie in.
    pub records_changed: u64,
    /// What became of the keys, where the table is asked by key.
    pub keys: Option<ChangeCounts>,
    /// Blocks that the given ranges cover in part. They change as the rule says.
    pub partial_blocks: u64,
    /// Which range gives a block its value.
    pub rule: BlockRule,
    /// Bytes the scheme wrote anew; the rest was copied.
    pub written_bytes: u64,
    /// Whether the whole table was encoded anew, because much of it was written since its mask was drawn ([`crate::written`]).
    pub reencoded: bool,
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

/// Changes to a table that were read and checked, and not applied yet.
pub struct TableUpdate<'a> {
    entry: &'a SchemeEntry,
    lock: &'a WriteLock,
    options: &'a UpdateOptions<'a>,
    old: Arc<ImageFile>,
    pieces: PiecesToWrite,
    changes: ChangeSet,
    /// Those of the next epoch.
    layers: Vec<LayerEntry>,
    kept: Option<StoredRows>,
    /// Strips that were solved again, where keys lie in sums of rows: the changed rows are theirs then.
    solved: Option<SolvedStrips>,
    tally: ChangeCounts,
    rule: BlockRule,
    began: Instant,
}

/// Reads a file of changes to the newest epoch of the folder that is locked.
///
/// Changes are held in memory, at most 1 GiB of them. Rows may be appended as long as the records have
/// room, and keys added as long as rows have. Nothing is written.
///
/// # Errors
/// [`DbError::CannotUpdate`], [`DbError::NoChanges`], [`DbError::PastCapacity`], [`DbError::RowChanges`], and those of reading.
pub fn read_update<'a>(
    entry: &'a SchemeEntry,
    lock: &'a WriteLock,
    path: &Path,
    options: &'a UpdateOptions<'a>,
    watch: Watcher<'_>,
) -> Result<TableUpdate<'a>> {
    let began = Instant::now();
    let old = lock.dir().open_latest()?;
    let pieces = old.piece().parts().map_or(PiecesToWrite::Whole, PiecesToWrite::All);
    check_folder(lock, &old.catalog().table, options.key)?;
    can_revise(entry, old.catalog())?;
    let old = parts::whole(entry, old, watch)?;
    let catalog = old.catalog();
    let terms = catalog.terms(entry)?;
    let origin = lock.dir().origin()?;
    let rule = origin.as_ref().and_then(|origin| origin.rule).unwrap_or_default();
    let (mut kept, mut solved, mut layers) = (None, None, catalog.layers.clone());
    let (changes, tally) = match &catalog.keyword()? {
        Some(keyword) => {
            let old = kept.insert(StoredRows::open(lock.dir(), catalog, watch)?);
            let read = keys::read(
                path,
                &options.change_file(),
                origin.as_ref(),
                catalog.value,
                keyword,
                old,
                watch,
            )?;
            let (rows, (tally, notes), mut keyword) = read;
            if keyword.params().band.is_some() {
                let strips = SolvedStrips::solve(&rows, keyword)?;
                keyword = strips.keyword.clone();
                solved = Some(strips);
            }
            layers = vec![keyword_layer(&keyword)?];
            (ChangeSet { rows, notes, ..ChangeSet::default() }, tally)
        }
        None => {
            let target = ChangeTarget {
                kind: &catalog.kind,
                value: catalog.value,
                form: catalog.row_form()?,
                whole: origin.as_ref().is_some_and(|origin| origin.whole),
                rows: catalog.rows,
                rule,
                capacity: terms.packing.capacity(),
                item_bytes: catalog.unmasked_row_bytes()?,
            };
            let read = changes::read(path, &options.change_file(), origin.as_ref(), &target, watch)?;
            let tally = read.tally(catalog.rows);
            (read, tally)
        }
    };
    if changes.rows.is_empty() {
        return Err(DbError::no_changes(path, changes.partial_blocks, rule));
    }
    Ok(TableUpdate { entry, lock, options, old, pieces, changes, layers, kept, solved, tally, rule, began })
}

/// Applies a file of changed rows to the newest epoch of the folder that is locked, making the next one. On any error the
/// folder is as it was.
///
/// # Errors
/// As [`read_update`] and [`TableUpdate::apply`].
pub fn update_table(
    entry: &SchemeEntry,
    lock: &WriteLock,
    path: &Path,
    options: &UpdateOptions<'_>,
    watch: Watcher<'_>,
) -> Result<UpdateSummary> {
    read_update(entry, lock, path, options, watch)?.apply(watch)
}

impl TableUpdate<'_> {
    /// What becomes of rows, or of keys, once it is applied.
    pub fn tally(&self) -> ChangeCounts {
        self.tally
    }

    /// What the file's owner should know of it.
    pub fn remarks(&self) -> Vec<String> {
        let of_blocks = of_partial_blocks(self.changes.partial_blocks, self.rule);
        self.changes.notes.remarks().into_iter().chain(of_blocks).collect()
    }

    /// Makes the next epoch.
    ///
    /// # Errors
    /// Those of encoding. The folder is then as it was.
    pub fn apply(self, watch: Watcher<'_>) -> Result<UpdateSummary> {
        let TableUpdate { entry, lock, options, old, pieces, mut changes, layers, .. } = self;
        let TableUpdate { kept, solved, tally, rule, began, .. } = self;
        let catalog = old.catalog();
        if let Some(key) = masking(lock, catalog)? {
            changes.fill_gap(catalog.rows, catalog.unmasked_row_bytes()?)?;
            let masker = RowMasker { table: &catalog.table, epoch: lock.next_epoch()?, key: &key };
            in_pool(options.threads, || mask(&masker, &mut changes.rows))??;
        }
        let before = old.catalog();
        let lifetime = lifetime(options.lifetime, before.created, before.expires);
        let (rows, solved, kept_rows) = (&changes.rows, solved.as_ref(), kept.as_ref());
        let next =
            NextEpoch { entry, lock, old: &old, pieces, rows, solved, layers, lifetime, kept: kept_rows };
        let written = next.write(options, watch)?;
        let artifact_bytes = bytes_of(&written.catalog);
        let delta_bytes = written.delta_bytes();
        let image = written.image;
        let image_bytes = std::fs::metadata(&image).map_err(|e| DbError::io("reading", &image, e))?.len();
        Ok(UpdateSummary {
            image,
            epoch: written.catalog.epoch,
            from_epoch: catalog.epoch,
            changes: tally,
            rows_changed: changes.rows.len() as u64,
            rows_appended: match kept {
                Some(_) => 0,
                None => changes.rows.range(catalog.rows..).count() as u64,
            },
            records_changed: written.records_changed,
            keys: kept.is_some().then_some(tally),
            partial_blocks: changes.partial_blocks,
            rule,
            kept_bytes: written.kept_bytes,
            written_bytes: written.written_bytes,
            reencoded: written.is_anew,
            image_bytes,
            delta_bytes,
            artifact_bytes,
            client_bytes: delta_bytes.unwrap_or(artifact_bytes).min(artifact_bytes),
            revise_seconds: written.revise_seconds,
            total_seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// The key of a masked table, if it is one. Rows that do not change stay as they are, so it has to be the key that masked them.
fn masking(lock: &WriteLock, catalog: &Catalog) -> Result<Option<SecretKey>> {
    let Some(masked) = catalog.symmetric_layer()? else { return Ok(None) };
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
fn mask(masker: &RowMasker<'_>, rows: &mut changes::RowChanges) -> Result<()> {
    rows.par_iter_mut().try_for_each(|(row, item)| {
        *item = masker.row(*row, item).map_err(DbError::Scheme)?;
        Ok(())
    })
}
