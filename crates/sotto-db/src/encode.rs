//! Encodes a table as the image of the next epoch.

use crate::files::bytes_at;
use crate::image::ImageWriter;
use crate::keys::{self, validity};
use crate::layout::{LayoutSearch, RowProofs};
use crate::parts::{self, FilteredSink, PiecesToWrite};
use crate::progress::Watcher;
pub use crate::progress::in_pool;
use crate::rows_tree::{RecordsWithProofs, RowsTree};
use crate::sidecars::{RowsDraft, WriteCounts, draw_whitening_seed, keep_rows, literal};
use crate::table::{ConcatTable, PackedRecords, TableSource};
use crate::{DbError, ImageFile, Result, WriteLock};
use serde::Serialize;
use sotto_catalog::catalog::FORMAT;
use sotto_catalog::{
    Anchor, Catalog, Document, LayerEntry, RowsRoot, SigningKey, TableKind, TableName, ValueKind, symmetric,
};
use sotto_core::{Artifact, Epoch, Goal, Misuse, PartEntry, SchemeEntry, Section, TableShape};
use std::path::PathBuf;
use std::time::Instant;

/// Name of a table and options of its encoding.
pub struct EncodeOptions<'a> {
    /// Name of the table.
    pub table: TableName,
    /// Kind of the table, which says how users name a row.
    pub kind: TableKind,
    /// Meaning of a row's bytes.
    pub value: ValueKind,
    /// Layers on top of the scheme.
    pub layers: Vec<LayerEntry>,
    /// Empty rows to reserve after the table's own rows.
    pub headroom: u64,
    /// Expected number of lookups that one client makes per epoch.
    pub lookups_per_client: u64,
    /// Number of lookups that one request makes in this table and in others like it: 1, or the
    /// number that a layer above prescribes ([`TableShape::lookups_per_request`]). A lookup of a
    /// row of each bucket counts as one.
    pub together: u64,
    /// Objective for the choice of parameters, where the scheme has a choice.
    pub goal: Goal,
    /// Named parameter set of the scheme; `None` chooses the best one.
    pub set: Option<String>,
    /// Whether rows can be verified one by one.
    pub verified: RowProofs,
    /// Number of encoding threads; `None` for one per core.
    pub threads: Option<usize>,
    /// State of another system that the table is made from, if it has to be named.
    pub anchor: Option<Anchor>,
    /// Attribution of the data, in the words that its license requires.
    pub attribution: Option<String>,
    /// Seconds for which the catalog is valid; `None` for no expiry.
    pub lifetime: Option<u64>,
    /// Key that signs the catalog.
    pub key: &'a SigningKey,
}

impl<'a> EncodeOptions<'a> {
    /// Default options for a table of bytes that is queried by index, one row per request, without
    /// layers.
    pub fn new(table: TableName, key: &'a SigningKey) -> Self {
        EncodeOptions {
            table,
            kind: TableKind::Index,
            value: ValueKind::Bytes,
            layers: Vec::new(),
            headroom: 0,
            lookups_per_client: 1,
            together: 1,
            goal: Goal::default(),
            set: None,
            verified: RowProofs::No,
            threads: None,
            anchor: None,
            attribution: None,
            lifetime: None,
            key,
        }
    }
}

/// Summary of an encoded table.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EncodeSummary {
    /// Path of the image.
    pub image: PathBuf,
    /// Epoch of the image.
    pub epoch: Epoch,
    /// Number of rows in the table, including those that fill up its buckets.
    pub rows: u64,
    /// Bytes in a row.
    pub row_bytes: u64,
    /// Number of records of the scheme.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Queries per lookup of a row.
    pub records_per_row: usize,
    /// Number of proof nodes that each lookup fetches; `None` if rows cannot be verified one by
    /// one.
    pub path: Option<u32>,
    /// Bytes of the plaintext rows.
    pub table_bytes: u64,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Bytes that a client downloads before its first lookup.
    pub artifact_bytes: u64,
    /// Bytes of the rows that are stored beside the image for updates; 0 where no update needs
    /// them.
    pub stored_rows_bytes: u64,
    /// Seconds that the scheme's encoder took.
    pub encode_seconds: f64,
    /// Seconds for digests, the catalog, and syncing everything to disk.
    pub seal_seconds: f64,
    /// Bits of security, as the scheme estimates them; null in JSON if no computation breaks it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub security_bits: f64,
    /// Base-2 logarithm of the bound on the probability that a lookup of a row fails; null in JSON
    /// if it cannot fail.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub failure_log2: f64,
}

/// Encodes `table` with a scheme, as the next epoch of the locked folder.
///
/// The table is streamed and never read into memory as a whole. On any error the folder is left as
/// it was.
///
/// # Errors
/// [`DbError`]; among them parameters that are refused, and a full disk.
pub fn encode_table(
    entry: &SchemeEntry,
    table: &dyn TableSource,
    lock: &WriteLock,
    options: &EncodeOptions<'_>,
    watch: Watcher<'_>,
) -> Result<EncodeSummary> {
    encode_pieces(entry, &[table], lock, options, PiecesToWrite::Whole, watch)
}

/// Encodes several tables as the equal buckets of one table, such that one query fetches a row of
/// each bucket. Shorter tables are filled up with rows of zeros, and all of them to whole records.
/// A single table is encoded as it is.
///
/// # Errors
/// The errors of [`encode_table`]; [`Misuse::Rule`] for tables of several widths, and for headroom
/// after the rows of buckets.
pub fn encode_buckets(
    entry: &SchemeEntry,
    tables: &[&dyn TableSource],
    lock: &WriteLock,
    options: &EncodeOptions<'_>,
    watch: Watcher<'_>,
) -> Result<EncodeSummary> {
    encode_pieces(entry, tables, lock, options, PiecesToWrite::Whole, watch)
}

/// Encodes buckets as [`encode_buckets`] does, as a whole image or in parts. For a table in parts
/// this writes the requested pieces, and the image of the summary is the front.
///
/// # Errors
/// The errors of [`encode_buckets`]; [`DbError::CannotCut`], [`DbError::TooManyParts`].
pub fn encode_pieces(
    entry: &SchemeEntry,
    tables: &[&dyn TableSource],
    lock: &WriteLock,
    options: &EncodeOptions<'_>,
    pieces: PiecesToWrite,
    watch: Watcher<'_>,
) -> Result<EncodeSummary> {
    check_folder(lock, &options.table, options.key)?;
    if lock.is_masked()? && !options.layers.iter().any(|layer| layer.name == symmetric::NAME) {
        return Err(DbError::WasMasked(lock.dir().path().to_owned()));
    }
    let epoch = lock.next_epoch()?;
    let joined = ConcatTable::new(tables)?;
    let (rows, row_bytes, buckets) = (joined.rows(), joined.row_bytes() as u64, tables.len() as u64);
    if buckets > 1 && options.headroom > 0 {
        return Err(Misuse::Rule("headroom is not possible in a table of several buckets").into());
    }
    let made_of = tables.iter().find_map(|table| table.made_of());
    let shape = TableShape {
        lookups_per_request: options.together,
        buckets,
        sums: made_of.is_some(),
        goal: options.goal,
        set: options.set.clone(),
        ..TableShape::new(rows.saturating_add(options.headroom), row_bytes, options.lookups_per_client)
    };
    let verified = match made_of {
        Some(_) if options.verified == RowProofs::Yes => {
            let rule = "keys are encoded as sums of rows, which row proofs do not cover: encode the table without \
                 --row-proofs";
            return Err(Misuse::Rule(rule).into());
        }
        Some(_) => RowProofs::No,
        None => options.verified,
    };
    let layout = LayoutSearch { entry, rows, shape }.choose(verified)?;
    let (report, packing) = (&layout.report, layout.packing);
    let (rows, table): (_, &dyn TableSource) = (packing.rows(), &joined.filled(packing.rows() / buckets));
    let (created, expires) = validity(options.lifetime);
    let mut draft = Catalog {
        format: FORMAT.to_owned(),
        table: options.table.clone(),
        epoch,
        kind: options.kind.clone(),
        value: options.value,
        rows,
        row_bytes,
        scheme: entry.id.to_string(),
        params: literal(&layout.params)?,
        params_digest: report.digest.into(),
        servers: u32::try_from(entry.servers).unwrap_or(u32::MAX),
        artifacts: Vec::new(),
        rows_digest: None,
        rows_root: RowsRoot { path: None, ..layout.root() },
        layers: options.layers.clone(),
        sidecar: None,
        anchor: options.anchor.clone(),
        attribution: options.attribution.clone(),
        created,
        expires,
    };
    // A catalog that cannot be signed is refused before the work, not after it.
    draft.check()?;
    let cuts =
        pieces.parts().map(|parts| parts::check(entry, &draft.params.to_string(), parts)).transpose()?;

    let tree = in_pool(options.threads, || RowsTree::of(table, layout.leaf_rows, layout.path, watch))??;
    draft.rows_root = tree.root();
    draw_whitening_seed(entry, &mut draft, options.key)?;
    let records = PackedRecords::new(table, packing)?;
    let records = RecordsWithProofs { records, packing, tree: &tree };
    let params = draft.params.to_string();
    let mut writer = ImageWriter::create(&lock.dir().image_path(epoch), watch)?;
    let start = Instant::now();
    let encoded = match cuts.filter(|cuts| is_front_alone(pieces, cuts, entry)) {
        Some(cuts) => {
            writer = writer.sparse();
            let sink =
                FilteredSink { writer: &writer, section: cuts.section, ranges: Vec::new(), others: true };
            in_pool(options.threads, || (entry.server.encode)(params.as_bytes(), &records, &sink))?
        }
        None => in_pool(options.threads, || (entry.server.encode)(params.as_bytes(), &records, &writer))?,
    };
    encoded.map_err(|e| writer.failed(e))?;
    tree.write(&writer).map_err(|e| writer.failed(e))?;
    let encode_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    // Changing a row of a keyword table requires the other keys in it.
    let has_stored_rows = draft.kind == TableKind::Keyword && entry.server.update_image.is_some();
    let published = ImageDraft {
        writer,
        entry,
        lock,
        key: options.key,
        threads: options.threads,
        pieces,
        catalog: draft,
        before: None,
        stored: has_stored_rows.then_some(made_of.unwrap_or(table)),
        write_counts: entry.server.whitening.map(|_| WriteCounts::default()),
    }
    .publish()?;
    Ok(EncodeSummary {
        image_bytes: bytes_at(&published.image)?,
        artifact_bytes: bytes_of(&published.catalog),
        stored_rows_bytes: published.stored_rows_bytes,
        image: published.image,
        epoch,
        rows,
        row_bytes,
        records: report.records,
        record_bytes: report.record_bytes,
        records_per_row: packing.records_per_row(),
        path: layout.path,
        table_bytes: rows.saturating_mul(row_bytes),
        encode_seconds,
        seal_seconds: start.elapsed().as_secs_f64(),
        security_bits: report.security.bits,
        failure_log2: packing.failure_log2(report.failure_log2),
    })
}

/// An encoded image without its lasting name, and what its catalog and the files beside it are made
/// of.
pub(crate) struct ImageDraft<'a> {
    pub(crate) writer: ImageWriter<'a>,
    pub(crate) entry: &'a SchemeEntry,
    pub(crate) lock: &'a WriteLock,
    pub(crate) key: &'a SigningKey,
    pub(crate) threads: Option<usize>,
    pub(crate) pieces: PiecesToWrite,
    /// The catalog without its artifacts.
    pub(crate) catalog: Catalog,
    /// The image of the epoch from which this one's deltas lead.
    pub(crate) before: Option<&'a ImageFile>,
    /// Rows to store for the next update.
    pub(crate) stored: Option<&'a dyn TableSource>,
    pub(crate) write_counts: Option<WriteCounts>,
}

/// An epoch that is on the disk.
pub(crate) struct PublishedImage {
    pub(crate) image: PathBuf,
    pub(crate) catalog: Catalog,
    pub(crate) stored_rows_bytes: u64,
}

impl ImageDraft<'_> {
    /// Completes and signs the catalog, and gives the image its lasting name after the files beside
    /// it. The image could not be updated without these files; the next writer removes them if the
    /// image is missing.
    pub(crate) fn publish(self) -> Result<PublishedImage> {
        let ImageDraft { mut writer, entry, lock, key, threads, pieces, mut catalog, .. } = self;
        let ImageDraft { before, stored, write_counts, .. } = self;
        let from_epoch = before.map(|before| before.catalog().epoch);
        catalog.artifacts = in_pool(threads, || writer.digest(from_epoch))??;
        // Rows that are not an artifact are named for clients that keep state derived from them.
        let has_rows = catalog.artifacts.iter().any(|entry| entry.artifact == Artifact::Rows);
        catalog.rows_digest = writer.resident_digest().filter(|_| entry.state.is_some() && !has_rows);
        for entry in catalog.artifacts.iter_mut().filter(|entry| entry.artifact == Artifact::RowsDelta) {
            entry.from_digest = before.and_then(|before| before.rows_digest());
        }
        catalog.terms(entry)?;
        let signed = keys::sign(lock.dir(), &catalog, key)?;
        let (epoch, digest) = (catalog.epoch, catalog.digest()?);
        let keep = |rows| keep_rows(lock.dir().rows_path(epoch), digest, rows, writer.watch());
        let stored = stored.map(keep).transpose()?;
        let stored_rows_bytes = stored.as_ref().map_or(0, RowsDraft::bytes);
        let finish = || match pieces.parts() {
            None => writer.finish(&signed),
            Some(parts) => {
                let (front, params) = (lock.dir().front_path(epoch), catalog.params.to_string());
                let with_parts = matches!(pieces, PiecesToWrite::All(_));
                parts::cut_writer(entry, &params, &signed, &writer, &front, parts, with_parts)
            }
        };
        let with_rows = || match stored {
            Some(rows) => rows.before(finish),
            None => finish(),
        };
        let image = match write_counts {
            Some(counts) => counts.before(lock.dir(), epoch, digest, with_rows)?,
            None => with_rows()?,
        };
        lock.dir().prune_update_files(Some(epoch))?;
        Ok(PublishedImage { image, catalog, stored_rows_bytes })
    }
}

/// Whether the resident section need not be encoded because only the front is written. Clients do
/// not fetch that section, and the catalog does not contain its digest.
fn is_front_alone(pieces: PiecesToWrite, cuts: &PartEntry, entry: &SchemeEntry) -> bool {
    matches!(pieces, PiecesToWrite::Front(_)) && cuts.section == Section::Resident && entry.state.is_none()
}

/// Checks that the folder holds earlier epochs of this table and publisher, if any. A mistyped path
/// must not add an epoch to another table, and another key would be refused by every client that
/// pinned the first.
pub(crate) fn check_folder(lock: &WriteLock, expected: &TableName, key: &SigningKey) -> Result<()> {
    let Some(epoch) = lock.dir().latest()? else { return Ok(()) };
    // A damaged newest image does not prevent encoding the next one.
    let Ok(image) = lock.dir().open_epoch(epoch) else { return Ok(()) };
    let dir = lock.dir().path().to_owned();
    if image.catalog().table != *expected {
        let (found, expected) = (image.catalog().table.to_string(), expected.to_string());
        return Err(DbError::OtherTable { dir, found, expected });
    }
    let (found, given) = (image.signed_catalog().public_key(), key.public());
    if !found.accepts(&given) && !keys::is_successor(lock.dir(), expected, found, given)? {
        return Err(DbError::OtherKey { dir, found: Box::new(found), given });
    }
    Ok(())
}

/// Bytes of all artifacts that clients download.
pub(crate) fn bytes_of(catalog: &Catalog) -> u64 {
    catalog.client_artifacts().map(|entry| entry.bytes).sum()
}
