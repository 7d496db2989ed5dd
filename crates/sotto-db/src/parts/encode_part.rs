//! Encodes one part from the table's source, beside an existing front. Several processes or
//! machines can make parts at the same time, and a lost part can be made again.

use super::cut::{FilteredSink, PieceSource, check};
use super::open::part_exists;
use super::part_path;
use crate::files::bytes_at;
use crate::image::ImageWriter;
use crate::progress::Watcher;
use crate::rows_tree::{RecordsWithProofs, RowsTree};
use crate::table::{ConcatTable, PackedRecords, TableSource};
use crate::thread_pool::in_pool;
use crate::{DbError, ImageFile, Result};
use serde::Serialize;
use sotto_core::{Epoch, PartIndex, SchemeEntry, Sink};
use std::path::PathBuf;
use std::time::Instant;

/// Summary of a part that was made.
#[derive(Debug, Clone, Serialize)]
pub struct PartSummary {
    /// Path of the part.
    pub image: PathBuf,
    /// Epoch of the table.
    pub epoch: Epoch,
    /// Number of the part, from 0, and the number of parts.
    pub part: (u32, u32),
    /// Bytes of the file.
    pub image_bytes: u64,
    /// Whether the part already existed, undamaged.
    pub was_there: bool,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Makes a part of the table of a front, beside it. An undamaged part is left as it is; one that is
/// damaged or of another encoding is replaced. The bytes equal those that cutting the whole image
/// gives. The caller holds the folder's lock of [`crate::TableDir::share`].
///
/// The whole table is read, to compare its rows with the front's root. The scheme omits what does
/// not belong to this part where it can ([`Sink::wants`]), and takes as long as for the whole table
/// where it cannot.
///
/// # Errors
/// [`DbError::NoFront`] if the front has another number of parts; [`DbError::OtherRows`]; the
/// errors of encoding.
pub fn encode_part(
    entry: &SchemeEntry,
    table: &dyn TableSource,
    front: &ImageFile,
    cut: PartIndex,
    threads: Option<usize>,
    watch: Watcher<'_>,
) -> Result<PartSummary> {
    let began = Instant::now();
    let (catalog, signed) = (front.catalog(), front.signed_catalog());
    let path = part_path(front.path(), cut);
    if front.piece().parts() != Some(cut.parts()) {
        let dir = front.path().parent().unwrap_or(front.path()).to_owned();
        return Err(DbError::NoFront { dir, found: front.piece(), parts: cut.parts() });
    }
    let was_there = part_exists(front.path(), &signed.to_bytes(), cut)?;
    if !was_there {
        let (packing, params) = (catalog.terms(entry)?.packing, catalog.params.to_string());
        let cuts = check(entry, &params, cut.parts())?;
        let other = || DbError::OtherRows { front: front.path().to_owned() };
        let tables = [table];
        let joined = ConcatTable::new(&tables)?;
        if joined.rows() > packing.rows() || joined.row_bytes() as u64 != packing.row_bytes() {
            return Err(other());
        }
        let table = &joined.filled(packing.rows());
        let root = catalog.rows_root;
        let tree = in_pool(threads, || RowsTree::of(table, root.leaf_rows, root.path, watch))??;
        if tree.root().root != root.root {
            return Err(other());
        }
        let records = PackedRecords::new(table, packing)?;
        let records = RecordsWithProofs { records, packing, tree: &tree };
        let ranges = (cuts.ranges)(params.as_bytes(), cut)?;
        let writer = ImageWriter::create(&path, watch)?.sparse();
        let sink = FilteredSink { writer: &writer, section: cuts.section, ranges, others: false };
        in_pool(threads, || (entry.server.encode)(params.as_bytes(), &records, &sink))?
            .map_err(|e| writer.failed(e))?;
        let read =
            |section, at, out: &mut [u8]| writer.read_at(section, at, out).map_err(|e| writer.failed(e));
        let (params, sections, front) = (&*params, Vec::new(), front.path());
        PieceSource { signed, params, cuts, sections, read: &read, front, watch }.part(cut)?;
    }
    let image_bytes = bytes_at(&path)?;
    let part = (cut.part(), cut.parts());
    let seconds = began.elapsed().as_secs_f64();
    Ok(PartSummary { image: path, epoch: catalog.epoch, part, image_bytes, was_there, seconds })
}
