//! Writes the next epoch of a table with changed rows. The strips of a band whose keys changed are solved
//! again; each strip is a part of every row.

use crate::encode::{ImageDraft, PublishedImage};
use crate::image::ImageWriter;
use crate::keys::validity;
use crate::parts::PiecesToWrite;
use crate::progress::{Watcher, in_pool};
use crate::rows_tree::{EditedRecords, TreeUpdate, TreeUpdater, write_tree};
use crate::sidecars::{ChangedRows, after_changes, draw_whitening_seed};
use crate::table::{RawFile, TableSource};
use crate::update::UpdateOptions;
use crate::update::changes::{MAX_BYTES, OVERHEAD_BYTES, RowChanges};
use crate::{DbError, ImageFile, ImageProblem, Result, WriteLock};
use rayon::prelude::*;
use sotto_catalog::{Catalog, LayerEntry, Packing, rows_root};
use sotto_core::{Artifact, Image, Misuse, RecordChange, SchemeEntry, Section, Sink};
use sotto_layers::Keyword;
use sotto_layers::keyword::{BuildError, SolvedStrip};
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
    /// Changed rows as the scheme encodes them; none if only the anchor or the key changes.
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
pub(super) fn update_image_fn(entry: &SchemeEntry, catalog: &Catalog) -> Result<UpdateFn> {
    entry.server.update_image.ok_or_else(|| DbError::CannotUpdate(catalog.scheme.clone()))
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
        let update_image = update_image_fn(entry, &catalog)?;
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
        let mask = entry.server.whitening.as_ref();
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
                let revised =
                    in_pool(options.threads, || update_image(params.as_bytes(), &changes, &writer))?;
                revised.map_err(|e| writer.failed(e))?;
                writer
            }
        };
        let is_anew = worn.is_some();
        let revise_seconds = start.elapsed().as_secs_f64();
        let written_bytes = writer.written();
        write_tree(&writer, catalog.rows_root.path, nodes, &new_nodes).map_err(|e| writer.failed(e))?;

        (catalog.created, catalog.expires) = validity(lifetime);
        catalog.anchor = options.anchor.clone();
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
        false => Err(old.refuse(ImageProblem::Digest(Artifact::Tree.name()))),
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

/// Strips that were solved again, and the keyword layer of the table that has them.
pub(super) struct SolvedStrips {
    strips: Vec<(u64, SolvedStrip)>,
    /// Keyword layer of the table with the solved strips.
    pub(super) keyword: Keyword,
}

impl SolvedStrips {
    /// Solves the strips whose slots changed.
    ///
    /// # Errors
    /// [`DbError::Scheme`] for more strips than fit in memory, and for one that has no solution.
    pub(super) fn solve(slots: &RowChanges, keyword: Keyword) -> Result<Self> {
        let band = keyword.params().band.clone();
        let mut band = band.ok_or_else(|| refused("the keys are not encoded as sums of rows"))?;
        let row_bytes = keyword.params().table_row_bytes() / keyword.params().rows;
        let each = band.rows.saturating_mul(row_bytes + OVERHEAD_BYTES);
        if each.saturating_mul(slots.len() as u64) > MAX_BYTES {
            return Err(refused("over 1 GiB of sums change: encode the table afresh instead"));
        }
        let solve = |(strip, slots): (&u64, &Vec<u8>)| match keyword.solve(slots) {
            Ok(solved) => Ok((*strip, solved)),
            Err(BuildError::Refused(error)) => Err(error.into()),
            Err(_) => Err(refused(
                "the sums have no room for these keys: encode the table afresh, with room for more",
            )),
        };
        let strips: Vec<_> = slots.par_iter().map(solve).collect::<Result<_>>()?;
        for (strip, solved) in &strips {
            let tried = usize::try_from(*strip).ok().and_then(|strip| band.tries.0.get_mut(strip));
            *tried.ok_or_else(|| refused("a strip of the table"))? = solved.tried;
        }
        Ok(SolvedStrips { strips, keyword: keyword.with_tries(band.tries.0) })
    }

    /// Changes to each record, in the order of the records.
    pub(super) fn changes(&self) -> Result<Vec<RecordChange>> {
        let params = self.keyword.params();
        let (rows, entry) = (params.table_rows(), params.table_row_bytes() / params.rows);
        let mut changes: Vec<RecordChange> = Vec::new();
        let width = usize::try_from(entry).map_err(|_| refused("an entry fits in memory"))?;
        let mut entries: Vec<_> = self
            .strips
            .iter()
            .map(|(strip, solved)| (strip * entry, solved.entries.chunks_exact(width)))
            .collect();
        for record in 0..rows {
            for (offset, entries) in &mut entries {
                let bytes = entries.next().ok_or_else(|| refused("an entry for each row"))?;
                match changes.last_mut() {
                    Some(last)
                        if last.record == record && last.offset + last.bytes.len() as u64 == *offset =>
                    {
                        last.bytes.extend_from_slice(bytes);
                    }
                    _ => changes.push(RecordChange { record, offset: *offset, bytes: bytes.to_vec() }),
                }
            }
        }
        Ok(changes)
    }
}

fn refused(why: &'static str) -> DbError {
    Misuse::Rule(why).into()
}
