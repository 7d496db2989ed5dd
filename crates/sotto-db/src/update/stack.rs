//! Updates a table that is served as the buckets of a batch code: each changed bucket gets its next
//! epoch, and the stack that names them is written last.
//!
//! Servers ignore an epoch of a bucket that the stack does not name, so an update that is
//! interrupted leaves the stack as it was; the next update removes the unnamed epochs.

use super::changes::{self, ChangeSet, ChangeTarget, RowChanges};
use super::next_epoch::{NextEpoch, WrittenEpoch, lifetime};
use super::{ChangeCounts, UpdateOptions, keys};
use crate::encode::bytes_of;
use crate::files::remove;
use crate::ingest::keyword::keyword_layer;
use crate::keys::{is_successor, validity};
use crate::parts::PiecesToWrite;
use crate::progress::{ByteProgress, Watcher, silent};
use crate::sidecars::{ChangedRows, read_rows};
use crate::table::{BlockRule, RawFile};
use crate::{DbError, ImageFile, Result, StackDir, TableDir};
use serde::Serialize;
use sotto_catalog::stack::Shard;
use sotto_catalog::{BatchAccess, CatalogError, Stack};
use sotto_core::{Compose, Epoch, SchemeEntry};
use sotto_layers::{BatchCode, Keyword};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Finds a scheme by its id.
pub type FindScheme = fn(&str) -> Option<&'static SchemeEntry>;

/// Summary of an update of a stack.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackSummary {
    /// Epoch of the updated stack.
    pub epoch: Epoch,
    /// Epoch of the stack before.
    pub from_epoch: Epoch,
    /// Counts of changed rows or keys.
    pub changes: ChangeCounts,
    /// Number of rows that were given, or in which keys changed.
    pub rows_changed: u64,
    /// Number of blocks that the given ranges cover partly. They change as the rule says.
    pub partial_blocks: u64,
    /// Rule for the value of a block that several ranges cover.
    pub rule: BlockRule,
    /// Number of tables of the stack.
    pub tables: usize,
    /// Number of tables that have a new epoch.
    pub tables_changed: usize,
    /// Bytes that the schemes re-encoded; the rest was copied.
    pub written_bytes: u64,
    /// Bytes that a client of the old epoch downloads, over all tables.
    pub client_bytes: u64,
    /// Bytes of the whole artifacts of all tables.
    pub artifact_bytes: u64,
    /// Bytes of the rows that are stored for the next update; 0 where no update needs them.
    pub stored_rows_bytes: u64,
    /// Seconds from reading the changes file until the stack is on disk.
    pub total_seconds: f64,
}

/// A table of the stack, in the epoch that the stack names.
struct StackTable {
    entry: &'static SchemeEntry,
    /// Folder of the table. It is locked only while it is written: hundreds of locks at a time are
    /// more files than a process may open.
    dir: TableDir,
    image: Arc<ImageFile>,
    /// Number of the code's shards in the table, each of which has `part_rows` rows.
    parts: u64,
    part_rows: u64,
}

/// Changes to a stack that were read and checked, but not applied yet.
pub struct StackUpdate<'a> {
    dir: &'a StackDir,
    options: &'a UpdateOptions<'a>,
    before: Stack,
    /// Whether another key signs this stack than the one before, or one more; it then signs a next
    /// epoch of every table.
    is_rotated: bool,
    layers: BatchAccess,
    buckets: Vec<StackTable>,
    changes: ChangeSet,
    /// Keyword layer and old rows, if the table is queried by key.
    keyed: Option<(Keyword, RawFile)>,
    began: Instant,
}

/// Reads a file of changes to the stack whose folder the caller has locked. Without a file, the next
/// epoch of the stack has the same tables and another anchor. Changes are held in memory, at most
/// 1 GiB of them.
///
/// # Errors
/// The errors of [`super::read_update`]; [`DbError::NoBatch`] for a stack of another layer.
pub fn read_stack_update<'a>(
    find: FindScheme,
    dir: &'a StackDir,
    path: Option<&Path>,
    options: &'a UpdateOptions<'a>,
    watch: Watcher<'_>,
) -> Result<StackUpdate<'a>> {
    let began = Instant::now();
    let (signed, before) = dir.read()?;
    let (found, given) = (signed.public_key(), options.key.public());
    let is_rotated = found != given;
    if is_rotated && !found.accepts(&given) && !is_successor(&dir.root()?, &before.stack, found, given)? {
        return Err(DbError::OtherKey { dir: dir.path().to_owned(), found: Box::new(found), given });
    }
    let layers = BatchAccess::of(&before)?.ok_or_else(|| DbError::NoBatch(dir.path().to_owned()))?;
    let buckets = before.shards.iter().map(|shard| bucket(find, dir, shard));
    let buckets: Vec<StackTable> = buckets.collect::<Result<_>>()?;
    let catalog = buckets.first().map(|bucket| bucket.image.catalog());
    let catalog = catalog.ok_or_else(|| DbError::NoBatch(dir.path().to_owned()))?;
    let shards = sotto_core::Layer::shards(layers.code());
    let parts = buckets.iter().flat_map(|bucket| (0..bucket.parts).map(|_| bucket.part_rows));
    if parts.clone().count() != shards.len() || parts.zip(shards).any(|(rows, shard)| rows < shard) {
        return Err(CatalogError::Disagree("the tables of the stack").into());
    }
    let (origin, rows) = (dir.root()?.origin()?, layers.code().sizes().rows);
    let (changes, keyed) = match (&layers, path) {
        (BatchAccess::Keys(Compose(keywords, _)), path) => {
            let rows_path = dir.rows_path(before.epoch);
            let stored = read_rows(rows_path, before.digest()?, rows, catalog.row_bytes, watch)?;
            let (columns, keyword) = (origin.as_ref(), keywords.keyword());
            let (changes, keyword) = match path {
                Some(path) => {
                    keys::read(path, &options.changes, columns, catalog.value, keyword, &stored, watch)?
                }
                None => (ChangeSet::default(), keyword.clone()),
            };
            (changes, Some((keyword, stored)))
        }
        (BatchAccess::Rows { .. }, None) => (ChangeSet::default(), None),
        (BatchAccess::Rows { kind, .. }, Some(path)) => {
            // The places of a row's copies depend on the number of rows, so no row can be added.
            let target = ChangeTarget::new(kind, catalog, origin.as_ref(), [rows, rows])?;
            (changes::read(path, &options.changes, origin.as_ref(), &target, watch)?, None)
        }
    };
    let changes = changes.check(path.unwrap_or(dir.path()), options)?;
    Ok(StackUpdate { dir, options, before, is_rotated, layers, buckets, changes, keyed, began })
}

/// Opens a table of the stack in the epoch that the stack names.
fn bucket(find: FindScheme, dir: &StackDir, shard: &Shard) -> Result<StackTable> {
    let dir = TableDir::open(&dir.table(&shard.table))?;
    let image = dir.open_epoch(shard.epoch)?;
    let catalog = image.catalog();
    if !shard.is(catalog) {
        return Err(CatalogError::Disagree("the tables of the stack").into());
    }
    let unknown = || {
        let expected = catalog.scheme.clone();
        CatalogError::WrongScheme { expected, offered: "no scheme of that name".to_owned() }
    };
    let entry = find(&catalog.scheme).ok_or_else(unknown)?;
    let parts = catalog.terms(entry)?.buckets;
    super::update_image_fn(entry, catalog)?;
    let part_rows = catalog.rows / parts.max(1);
    Ok(StackTable { entry, dir, image, parts, part_rows })
}

impl StackUpdate<'_> {
    /// Counts of rows, or of keys, that change when the update is applied.
    pub fn tally(&self) -> ChangeCounts {
        self.changes.tally
    }

    /// Remarks for the owner of the changes file.
    pub fn remarks(&self) -> Vec<String> {
        self.changes.remarks()
    }

    /// Writes the next epoch of every table that changes, and then of the stack.
    ///
    /// # Errors
    /// The errors of encoding. The stack is then left as it was.
    pub fn apply(self, watch: Watcher<'_>) -> Result<StackSummary> {
        self.remove_unnamed()?;
        let done = self.write(watch);
        if done.is_err() {
            // The first error is the one to report.
            let _ = self.remove_unnamed();
        }
        done
    }

    /// Removes epochs of tables that no stack names: those of an interrupted update.
    fn remove_unnamed(&self) -> Result<()> {
        let named = self.dir.read()?.1;
        named.shards.iter().zip(&self.buckets).try_for_each(|(shard, bucket)| {
            let dir = &bucket.dir;
            for epoch in dir.epochs()?.into_iter().filter(|epoch| *epoch > shard.epoch) {
                remove(&dir.image_path(epoch))?;
            }
            Ok(())
        })
    }

    fn write(&self, watch: Watcher<'_>) -> Result<StackSummary> {
        let mut stack = self.before.clone();
        stack.epoch = Epoch(stack.epoch.0.saturating_add(1));
        let lifetime = lifetime(self.options.lifetime, stack.created, stack.expires);
        (stack.created, stack.expires) = validity(lifetime);
        stack.anchor = self.options.anchor.clone();
        let stage = ByteProgress::new(watch, "tables", self.buckets.len() as u64);
        let (mut tables_changed, mut written_bytes, mut client_bytes, mut artifact_bytes) = (0, 0, 0, 0u64);
        let mut of_shards = places(self.layers.code(), &self.changes.rows).into_iter();
        for (shard, bucket) in stack.shards.iter_mut().zip(&self.buckets) {
            stage.add(1);
            // A row of a bucket is at the bucket's offset in the table.
            let parts = (0..bucket.parts).map(|part| part * bucket.part_rows).zip(&mut of_shards);
            let rows =
                parts.flat_map(|(first, rows)| rows.into_iter().map(move |(at, row)| (first + at, row)));
            let rows: RowChanges = rows.map(|(at, bytes)| (at, bytes.clone())).collect();
            if rows.is_empty() && !self.is_rotated {
                artifact_bytes += bytes_of(bucket.image.catalog());
                continue;
            }
            let StackTable { entry, dir, image, .. } = bucket;
            let lock = dir.lock()?;
            let layers = image.catalog().layers.clone();
            // The stack names its tables by digest and has one expiry for all of them: a table with
            // an expiry of its own would end too early.
            let next = NextEpoch {
                entry,
                lock: &lock,
                old: image,
                pieces: PiecesToWrite::Whole,
                rows: &rows,
                solved: None,
                layers,
                lifetime: None,
                stored: None,
            };
            let written: WrittenEpoch = next.write(self.options, &silent)?;
            let whole = bytes_of(&written.published.catalog);
            *shard = Shard::of(&written.published.catalog)?;
            tables_changed += 1;
            artifact_bytes += whole;
            written_bytes += written.written_bytes;
            client_bytes += written.delta_bytes().unwrap_or(whole).min(whole);
        }
        let stored_rows_bytes = match &self.keyed {
            Some((keyword, stored)) => {
                if let Some(layer) = stack.layers.first_mut() {
                    *layer = keyword_layer(keyword)?;
                }
                let rows = ChangedRows { old: stored, rows: &self.changes.rows };
                self.dir.publish_keeping(&stack, &rows, self.options.key, watch)?
            }
            None => self.dir.publish(&stack, &[], self.options.key).map(|_| 0)?,
        };
        Ok(StackSummary {
            epoch: stack.epoch,
            from_epoch: self.before.epoch,
            changes: self.changes.tally,
            rows_changed: self.changes.rows.len() as u64,
            partial_blocks: self.changes.partial_blocks,
            rule: self.changes.rule,
            tables: self.buckets.len(),
            tables_changed,
            written_bytes,
            client_bytes,
            artifact_bytes,
            stored_rows_bytes,
            total_seconds: self.began.elapsed().as_secs_f64(),
        })
    }
}

/// Changed rows of each shard of a code, with their places in it.
fn places<'a>(code: &BatchCode, rows: &'a RowChanges) -> Vec<Vec<(u64, &'a Vec<u8>)>> {
    let sizes = *code.sizes();
    let mut tables = vec![Vec::new(); sotto_core::Layer::shards(code).len()];
    let numbers: Vec<u64> = rows.keys().copied().collect();
    let positions = code.permutations().positions(sizes.copies, &numbers);
    let buckets = sizes.buckets.max(1) as u64;
    for (copy, positions) in positions.chunks_exact(numbers.len().max(1)).enumerate() {
        for (position, bytes) in positions.iter().zip(rows.values()) {
            let table = copy * sizes.buckets + (position % buckets) as usize;
            tables.get_mut(table).into_iter().for_each(|table| table.push((position / buckets, bytes)));
        }
    }
    if sizes.spare > 0 {
        let whole = tables.get_mut(code.buckets());
        whole.into_iter().for_each(|whole| whole.extend(rows.iter().map(|(row, bytes)| (*row, bytes))));
    }
    tables
}
