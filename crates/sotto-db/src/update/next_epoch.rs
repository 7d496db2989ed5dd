//! Writes the next epoch of a table with changed rows.

use super::UpdateOptions;
use super::changes::RowChanges;
use super::strips::SolvedStrips;
use crate::clock::validity;
use crate::encode::{ImageDraft, PublishedImage};
use crate::image::ImageWriter;
use crate::parts::PiecesToWrite;
use crate::progress::Watcher;
use crate::rows_tree::{EditedRecords, TreeUpdate, TreeUpdater, write_tree};
use crate::sidecars::{ChangedRows, after_changes, draw_whitening_seed};
use crate::table::{RawFile, TableSource};
use crate::thread_pool::in_pool;
use crate::{DbError, ImageFile, ImageProblem, Result, WriteLock};
use sotto_catalog::{Catalog, LayerEntry, Packing, rows_root};
use sotto_core::{Artifact, Image, Misuse, RecordChange, SchemeEntry, Section, Sink};
use std::sync::Arc;
use std::time::Instant;

/// Inputs of a table's next epoch.
pub(super) struct NextEpoch<'a> {
    pub(super) entry: &'a SchemeEntry,
    pub(super) lock: &'a WriteLock,
    /// The image of the epoch before, joined if it is in parts.
    pub(super) old: &'a Arc<ImageFile>,
    /// The pieces in which the epoch before was written, as the next one will be.
    pub(super) pieces: PiecesToWrite,
    /// Changed rows as the scheme encodes them; at least one.
    pub(super) rows: &'a RowChanges,
    /// Strips that were solved again. If there are any, `rows` are slots of the strips, and a part
    /// of every row of the table changes.
    pub(super) solved: Option<&'a SolvedStrips>,
    pub(super) layers: Vec<LayerEntry>,
    /// Seconds for which its catalog is valid.
    pub(super) lifetime: Option<u64>,
    /// All rows as they were before, if they are stored.
    pub(super) stored: Option<&'a RawFile>,
}

/// An epoch that is on disk.
pub(super) struct WrittenEpoch {
    pub(super) published: PublishedImage,
    pub(super) records_changed: u64,
    pub(super) written_bytes: u64,
    /// Whether the whole table was re-encoded under another whitening seed.
    pub(super) is_anew: bool,
    pub(super) revise_seconds: f64,
}

impl WrittenEpoch {
    /// Bytes of the deltas that clients of the epoch before download.
    pub(super) fn delta_bytes(&self) -> Option<u64> {
        let deltas = self.published.catalog.artifacts.iter().filter(|entry| entry.from_epoch.is_some());
        deltas.map(|entry| entry.bytes).reduce(u64::saturating_add)
    }
}

/// Update function of a scheme, which takes parameters, changes and a sink.
type UpdateFn = fn(&[u8], &[RecordChange], &dyn Sink) -> sotto_core::Result<()>;

/// The update function of a scheme, if it has one.
pub(super) fn can_revise(entry: &SchemeEntry, catalog: &Catalog) -> Result<UpdateFn> {
    entry.server.revise.ok_or_else(|| DbError::CannotUpdate { scheme: catalog.scheme.clone() })
}

/// Seconds for which the next epoch is valid: as requested, or as the epoch before was.
pub(super) fn lifetime(requested: Option<u64>, created: u64, expires: Option<u64>) -> Option<u64> {
    let before = expires.map(|expires| expires.saturating_sub(created));
    requested.or(before).filter(|lifetime| *lifetime > 0)
}

impl NextEpoch<'_> {
    /// Writes the epoch.
    pub(super) fn write(self, options: &UpdateOptions<'_>, watch: Watcher<'_>) -> Result<WrittenEpoch> {
        let NextEpoch { entry, lock, old, pieces, rows, solved, layers, lifetime, stored } = self;
        let mut catalog = old.catalog().clone();
        let terms = catalog.terms(entry)?;
        let revise = can_revise(entry, &catalog)?;
        let rows_before = catalog.rows;
        let (mut changes, changed): (_, Vec<u64>) = match solved {
            Some(strips) => (strips.changes()?, (0..rows_before).collect()),
            None => (into_changes(rows, &terms.packing)?, rows.keys().copied().collect()),
        };
        let last = changed.last().map_or(0, |last| last.saturating_add(1));
        (catalog.rows, catalog.layers) = (catalog.rows.max(last), layers);
        let packing = terms.packing.with_rows(catalog.rows)?;
        let records = || (entry.server.records)(old.catalog().params.to_string().as_bytes(), old.clone());
        let nodes = tree_of(old)?;
        let moved = {
            let records = EditedRecords { old: records()?, changes: &changes };
            let root = &old.catalog().rows_root;
            let tree = TreeUpdater { root, nodes, records: &records, packing, rows_before };
            in_pool(options.threads, || tree.apply(changed.iter().copied(), watch))?
        };
        let TreeUpdate { nodes: new_nodes, paths } = moved?;
        changes.extend(paths);
        changes.sort_by_key(|change| (change.record, change.offset));
        catalog.rows_root.root = rows_root::root(&new_nodes);
        catalog.epoch = lock.next_epoch()?;
        let path = lock.dir().image_path(catalog.epoch);
        let mask = entry.server.mask.as_ref();
        let written =
            mask.map(|mask| after_changes(mask, lock.dir(), old.catalog(), &changes)).transpose()?;
        let worn = mask.filter(|_| written.as_ref().is_some_and(Option::is_none));
        let start = Instant::now();
        let writer = match worn {
            Some(_) => {
                // Copied sections get new digests, under which damage would pass for data from then
                // on.
                old.verify(watch)?;
                let records = EditedRecords { old: records()?, changes: &changes };
                draw_whitening_seed(entry, &mut catalog, options.key)?;
                let writer = ImageWriter::create(&path, watch)?;
                let params = catalog.params.to_string();
                let encoded =
                    in_pool(options.threads, || (entry.server.encode)(params.as_bytes(), &records, &writer))?;
                encoded.map_err(|e| writer.failed(e))?;
                writer
            }
            None => {
                let writer = ImageWriter::create_from(&path, old, watch)?;
                let params = catalog.params.to_string();
                let revised = in_pool(options.threads, || revise(params.as_bytes(), &changes, &writer))?;
                revised.map_err(|e| writer.failed(e))?;
                writer
            }
        };
        let is_anew = worn.is_some();
        let revise_seconds = start.elapsed().as_secs_f64();
        let written_bytes = writer.written();
        write_tree(&writer, catalog.rows_root.path, nodes, &new_nodes).map_err(|e| writer.failed(e))?;

        (catalog.created, catalog.expires) = validity(lifetime);
        let changed_rows = stored.map(|old| ChangedRows { old, rows });
        let published = ImageDraft {
            writer,
            entry,
            lock,
            key: options.key,
            threads: options.threads,
            pieces,
            catalog,
            before: Some(old),
            stored: changed_rows.as_ref().map(|rows| rows as &dyn TableSource),
            write_counts: written.map(Option::unwrap_or_default),
        }
        .publish()?;
        let records_changed = count_records(&changes);
        Ok(WrittenEpoch { published, records_changed, written_bytes, is_anew, revise_seconds })
    }
}

/// Nodes of an epoch's tree, checked against the root. The tree is not copied like the other
/// sections, whose digests are checked.
fn tree_of(old: &ImageFile) -> Result<&[u8]> {
    let tree = old.section(Section::Public(Artifact::Tree)).unwrap_or_default();
    match rows_root::root(tree) == old.catalog().rows_root.root {
        true => Ok(tree),
        false => Err(old.refuse(ImageProblem::Digest { part: Artifact::Tree.name() })),
    }
}

/// Converts changed rows into changes of records. Adjacent rows in a record become one change.
fn into_changes(rows: &RowChanges, packing: &Packing) -> Result<Vec<RecordChange>> {
    let mut changes: Vec<RecordChange> = Vec::new();
    for (&row, bytes) in rows {
        for place in packing.places(row)? {
            let short = Misuse::Rule("a changed row has another width than the table's rows");
            let part = bytes.get(place.bytes).ok_or(short)?;
            match changes.last_mut() {
                Some(last)
                    if last.record == place.record
                        && last.offset + last.bytes.len() as u64 == place.offset =>
                {
                    last.bytes.extend_from_slice(part);
                }
                _ => changes.push(RecordChange {
                    record: place.record,
                    offset: place.offset,
                    bytes: part.to_vec(),
                }),
            }
        }
    }
    Ok(changes)
}

/// Counts the distinct records of changes that are in the order of their records.
fn count_records(changes: &[RecordChange]) -> u64 {
    changes.chunk_by(|a, b| a.record == b.record).count() as u64
}
