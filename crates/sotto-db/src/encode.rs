//! Encodes a table as the image of the next epoch.

use crate::clock::unix_seconds;
use crate::image::ImageWriter;
use crate::layout::{LayoutSearch, RowProofs};
use crate::parts::{self, FilteredSink, PiecesToWrite};
use crate::progress::Watcher;
use crate::rows_tree::{RecordsWithProofs, RowsTree};
use crate::stored_rows::{self, RowsDraft};
use crate::succession;
use crate::table::{ConcatTable, PackedRecords, TableSource};
pub use crate::thread_pool::in_pool;
use crate::write_counts::{WriteCounts, draw_whitening_seed, literal};
use crate::{DbError, Result, WriteLock};
use serde::Serialize;
use sotto_catalog::catalog::FORMAT;
use sotto_catalog::symmetric;
use sotto_catalog::{
    ArtifactEntry, Catalog, Document, Hex32, LayerEntry, RowsRoot, SignedCatalog, SigningKey, TableKind,
    TableName, ValueKind,
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
            attribution: None,
            lifetime: None,
            key,
        }
    }
}

/// Summary of an encoded table.
#[derive(Debug, Clone, Serialize)]
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
    /// Bits of security, as the scheme estimates them.
    pub security_bits: f64,
    /// Base-2 logarithm of the bound on the probability that a lookup of a row fails.
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
        return Err(DbError::WasMasked { dir: lock.dir().path().to_owned() });
    }
    let epoch = lock.next_epoch()?;
    let joined = ConcatTable::new(tables).map_err(DbError::Scheme)?;
    let (rows, row_bytes, buckets) = (joined.rows(), joined.row_bytes() as u64, tables.len() as u64);
    if buckets > 1 && options.headroom > 0 {
        return Err(DbError::Scheme(
            Misuse::Rule("headroom is not possible in a table of several buckets").into(),
        ));
    }
    let shape = TableShape {
        lookups_per_request: options.together,
        buckets,
        goal: options.goal,
        set: options.set.clone(),
        ..TableShape::new(rows.saturating_add(options.headroom), row_bytes, options.lookups_per_client)
    };
    let made_of = tables.iter().find_map(|table| table.made_of());
    let verified = match made_of {
        Some(_) if options.verified == RowProofs::Yes => {
            let rule = Misuse::Rule(
                "keys are encoded as sums of rows, which row proofs do not cover: encode the table without \
                 --row-proofs",
            );
            return Err(DbError::Scheme(rule.into()));
        }
        Some(_) => RowProofs::No,
        None => options.verified,
    };
    let layout = LayoutSearch { entry, rows, shape }.choose(verified)?;
    let (report, packing) = (&layout.report, layout.packing);
    let (rows, table) = (packing.rows(), &joined.filled(packing.rows() / buckets));
    let created = unix_seconds();
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
        attribution: options.attribution.clone(),
        created,
        expires: options.lifetime.map(|lifetime| created.saturating_add(lifetime)),
    };
    // A catalog that cannot be signed is refused before the work, not after it.
    draft.check()?;
    let cuts =
        pieces.parts().map(|parts| parts::check(entry, &draft.params.to_string(), parts)).transpose()?;

    let tree = in_pool(options.threads, || RowsTree::of(table, layout.leaf_rows, layout.path, watch))??;
    draft.rows_root = tree.root();
    draw_whitening_seed(entry, &mut draft, options.key)?;
    let records = PackedRecords::new(table, packing).map_err(DbError::Scheme)?;
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
    draft.artifacts = in_pool(options.threads, || writer.digest(None))??;
    draft.rows_digest = rows_digest(entry, &draft.artifacts, &writer);
    draft.terms(entry)?;
    let artifact_bytes = bytes_of(&draft);
    let signed = succession::sign(lock.dir(), &draft, options.key)?;
    // Changing a row of a keyword table requires the other keys in it.
    let has_stored_rows = draft.kind == TableKind::Keyword && entry.server.revise.is_some();
    let keep =
        || stored_rows::keep(lock.dir().rows_path(epoch), draft.digest()?, made_of.unwrap_or(table), watch);
    let stored_rows = has_stored_rows.then(keep).transpose()?;
    let stored_rows_bytes = stored_rows.as_ref().map_or(0, RowsDraft::bytes);
    let write_counts = entry.server.mask.map(|_| WriteCounts::default());
    let image =
        ImageDraft { writer, entry, pieces, catalog: &draft, signed: &signed, stored_rows, write_counts };
    let image = image.publish(lock)?;
    let image_bytes = std::fs::metadata(&image).map_err(|e| DbError::io("reading", &image, e))?.len();
    Ok(EncodeSummary {
        image,
        epoch,
        rows,
        row_bytes,
        records: report.records,
        record_bytes: report.record_bytes,
        records_per_row: packing.records_per_row(),
        path: layout.path,
        table_bytes: rows.saturating_mul(row_bytes),
        image_bytes,
        artifact_bytes,
        stored_rows_bytes,
        encode_seconds,
        seal_seconds: start.elapsed().as_secs_f64(),
        security_bits: report.security.bits,
        failure_log2: packing.failure_log2(report.failure_log2),
    })
}

/// A complete image without its lasting name, and the files that are stored beside it for updates.
pub(crate) struct ImageDraft<'a> {
    pub(crate) writer: ImageWriter<'a>,
    pub(crate) entry: &'a SchemeEntry,
    pub(crate) pieces: PiecesToWrite,
    pub(crate) catalog: &'a Catalog,
    pub(crate) signed: &'a SignedCatalog,
    pub(crate) stored_rows: Option<RowsDraft>,
    pub(crate) write_counts: Option<WriteCounts>,
}

impl ImageDraft<'_> {
    /// Gives the image its lasting name, after the files beside it. The image could not be updated
    /// without these files; the next writer removes them if the image is missing.
    pub(crate) fn publish(self, lock: &WriteLock) -> Result<PathBuf> {
        let ImageDraft { writer, entry, pieces, catalog, signed, stored_rows, write_counts } = self;
        let finish = || match pieces.parts() {
            None => writer.finish(signed),
            Some(parts) => {
                let (front, params) = (lock.dir().front_path(catalog.epoch), catalog.params.to_string());
                let with_parts = matches!(pieces, PiecesToWrite::All(_));
                parts::cut_writer(entry, &params, signed, &writer, &front, parts, with_parts)
            }
        };
        let with_rows = || match stored_rows {
            Some(rows) => rows.before(finish),
            None => finish(),
        };
        let image = match write_counts {
            Some(counts) => counts.before(lock.dir(), catalog.epoch, catalog.digest()?, with_rows)?,
            None => with_rows()?,
        };
        lock.dir().prune_update_files(Some(catalog.epoch))?;
        Ok(image)
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
pub(crate) fn check_folder(lock: &WriteLock, wanted: &TableName, key: &SigningKey) -> Result<()> {
    let Some(epoch) = lock.dir().latest()? else { return Ok(()) };
    // A damaged newest image does not prevent encoding the next one.
    let Ok(image) = lock.dir().open_epoch(epoch) else { return Ok(()) };
    let dir = lock.dir().path().to_owned();
    if image.catalog().table != *wanted {
        let (found, wanted) = (image.catalog().table.to_string(), wanted.to_string());
        return Err(DbError::OtherTable { dir, found, wanted });
    }
    let (found, given) = (image.signed_catalog().public_key(), key.public());
    if found != given && !succession::is_successor(lock.dir(), wanted, found, given)? {
        return Err(DbError::OtherKey { dir, found, given });
    }
    Ok(())
}

/// Digest of rows that are not an artifact, for a scheme whose clients keep state derived from
/// them.
pub(crate) fn rows_digest(
    entry: &SchemeEntry,
    artifacts: &[ArtifactEntry],
    writer: &ImageWriter<'_>,
) -> Option<Hex32> {
    let named = artifacts.iter().any(|entry| entry.artifact == Artifact::Rows);
    writer.resident_digest().filter(|_| entry.state.is_some() && !named)
}

/// Bytes of all artifacts that clients download.
pub(crate) fn bytes_of(catalog: &Catalog) -> u64 {
    catalog.client_artifacts().map(|entry| entry.bytes).sum()
}
