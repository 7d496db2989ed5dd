//! Whether an image holds the rows that its catalog commits to.

use crate::image::map::FileMapping;
use crate::parts;
use crate::progress::Watcher;
use crate::rows_tree::{RowsFromRecords, RowsTree};
use crate::{DbError, ImageFile, ImageProblem, Result};
use sotto_catalog::{Catalog, Packing, RowsRoot};
use sotto_core::{Artifact, Image, RecordSource, SchemeEntry, Section};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Into so many blocks a table is divided that is read back, unless they have fewer or more bytes than these.
const PARTS: u64 = 8;
const BLOCK: std::ops::RangeInclusive<u64> = 8 << 20..=128 << 20;

/// Reads all rows back out of an image and compares them with the root that its publisher has signed, and so too what proves
/// them where rows are verified one by one. Goes on for as long as `go_on` says so, and gives whether it came to the end. Uses
/// the current pool of threads. Parts of a table that is cut are joined first, in a file without a name.
///
/// # Errors
/// [`ImageProblem::Rows`] if they are others, [`ImageProblem::ChangedRows`] if the image was written to meanwhile; those of
/// opening.
pub fn audit(
    entry: &SchemeEntry,
    image: &Arc<ImageFile>,
    watch: Watcher<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let image = &parts::whole(entry, image.clone(), watch)?;
    let catalog = image.catalog();
    let packing = catalog.terms(entry)?.packing;
    let records = (entry.server.records)(catalog.params.to_string().as_bytes(), image.clone());
    let records = records.map_err(DbError::Scheme)?;
    let found = differs(catalog, &packing, records.as_ref(), watch, go_on)?;
    // What was read may be zeros, if the file was cut short.
    image.check()?;
    let refuse =
        |what| DbError::Image { path: image.path().to_owned(), problem: ImageProblem::Rows { what } };
    let AuditedRows::Tree(tree) = found else {
        return if matches!(found, AuditedRows::Nothing) { Ok(false) } else { Err(refuse("rows")) };
    };
    if image.section(Section::Public(Artifact::Tree)).is_some_and(|held| held != tree.nodes()) {
        return Err(refuse("tree"));
    }
    match tree.has_inline_proofs(records.as_ref(), &packing, catalog.rows).map_err(DbError::Scheme)? {
        true => Ok(true),
        false => Err(refuse("proofs")),
    }
}

/// Whether the rows that clients stream, as they came into `file`, are those that a catalog commits to, in whatever order the
/// scheme has them. Nobody else writes to the file; `path` is what it is called in an error.
///
/// # Errors
/// [`DbError::Catalog`] for a catalog that contradicts itself; [`DbError::Scheme`] if the bytes are no rows of the scheme's, or
/// too few; [`DbError::Io`] if the file cannot be mapped.
pub fn is_committed(
    entry: &SchemeEntry,
    catalog: &Catalog,
    file: &File,
    path: &Path,
    watch: Watcher<'_>,
) -> Result<bool> {
    let packing = catalog.terms(entry)?.packing;
    let streamed = StreamedRows(FileMapping::of(file).map_err(|e| DbError::io("reading rows", path, e))?);
    let records = (entry.server.records)(catalog.params.to_string().as_bytes(), Arc::new(streamed));
    let records = records.map_err(DbError::Scheme)?;
    Ok(matches!(differs(catalog, &packing, records.as_ref(), watch, &|| true)?, AuditedRows::Tree(_)))
}

/// An image of which only the rows are there.
struct StreamedRows(FileMapping);

impl Image for StreamedRows {
    fn section(&self, section: Section) -> Option<&[u8]> {
        (section == Section::Public(Artifact::Rows)).then(|| self.0.bytes())
    }
}

/// What comes of reading all rows.
enum AuditedRows {
    /// Somebody stopped it.
    Nothing,
    /// Other rows.
    OtherRows,
    /// Those of the root, and the tree over them.
    Tree(RowsTree),
}

fn differs(
    catalog: &Catalog,
    packing: &Packing,
    records: &dyn RecordSource,
    watch: Watcher<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<AuditedRows> {
    let RowsRoot { root, leaf_rows, path } = catalog.rows_root;
    let table = RowsFromRecords { records, packing: *packing };
    // Where rows of many buckets share a plaintext, each block of rows reads much of the image.
    let block_bytes =
        (catalog.rows.saturating_mul(catalog.row_bytes) / PARTS).clamp(*BLOCK.start(), *BLOCK.end());
    Ok(match RowsTree::of_while(&table, leaf_rows, path, block_bytes, watch, go_on)? {
        None => AuditedRows::Nothing,
        Some(tree) if tree.root().root == root => AuditedRows::Tree(tree),
        Some(_) => AuditedRows::OtherRows,
    })
}
