//! Checks that an image holds the rows that its catalog commits to.

use crate::image::map::FileMapping;
use crate::parts;
use crate::progress::Watcher;
use crate::rows_tree::{RowsFromRecords, RowsTree};
use crate::{DbError, ImageFile, ImageProblem, Result};
use sotto_catalog::{ArtifactEntry, Catalog, Packing, RowsRoot};
use sotto_core::{Artifact, Image, RecordSource, SchemeEntry, Section};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Number of blocks that a table is divided into when it is read back, before the limits on the
/// bytes of a block apply.
const PARTS: u64 = 8;
const BLOCK: std::ops::RangeInclusive<u64> = 8 << 20..=128 << 20;

/// Reads all rows back out of an image and compares them with the root that its publisher signed.
/// Where rows are verified one by one, their proofs are compared too. The audit continues as long
/// as `go_on` returns true; the result says whether it was completed. It uses the current thread
/// pool. The parts of a table in parts are joined first, in an unnamed temporary file.
///
/// # Errors
/// [`ImageProblem::Rows`] if the rows differ from the committed ones, [`ImageProblem::Changed`]
/// if the image was written to meanwhile, and the errors of opening an image.
pub fn audit(
    entry: &SchemeEntry,
    image: &Arc<ImageFile>,
    watch: Watcher<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let image = &parts::whole(entry, image.clone(), watch)?;
    let catalog = image.catalog();
    let packing = catalog.terms(entry)?.packing;
    let records = (entry.server.records)(catalog.params.to_string().as_bytes(), image.clone())?;
    let found = differs(catalog, &packing, records.as_ref(), watch, go_on)?;
    // The bytes read may be zeros if the file was cut short.
    image.check()?;
    let refuse = |what| image.refuse(ImageProblem::Rows(what));
    let AuditedRows::Tree(tree) = found else {
        return if matches!(found, AuditedRows::Nothing) { Ok(false) } else { Err(refuse("rows")) };
    };
    if image.section(Section::Public(Artifact::Tree)).is_some_and(|held| held != tree.nodes()) {
        return Err(refuse("tree"));
    }
    match tree.has_inline_proofs(records.as_ref(), &packing, catalog.rows)? {
        true => Ok(true),
        false => Err(refuse("proofs")),
    }
}

/// The artifact with all rows of a table; `None` if its rows are not public.
pub fn rows_artifact<'a>(entry: &SchemeEntry, catalog: &'a Catalog) -> Option<&'a ArtifactEntry> {
    let artifact = if entry.is_downloadable() { Artifact::Hint } else { Artifact::Rows };
    catalog.artifacts.iter().find(|entry| entry.artifact == artifact)
}

/// Checks whether the bytes of [`rows_artifact`] in `file` are the rows that a catalog commits to,
/// whatever the order in which the scheme stores them. No other process may write to the file; `path`
/// names it in errors.
///
/// # Errors
/// [`DbError::Catalog`] for a catalog that contradicts itself; [`DbError::Scheme`] if the bytes are
/// not rows of the scheme, or are too few; [`DbError::Io`] if the file cannot be mapped.
pub fn is_committed(
    entry: &SchemeEntry,
    catalog: &Catalog,
    file: &File,
    path: &Path,
    watch: Watcher<'_>,
) -> Result<bool> {
    let packing = catalog.terms(entry)?.packing;
    let rows = FileMapping::of(file).map_err(|e| DbError::io("reading rows", path, e))?;
    let artifact = rows_artifact(entry, catalog).map_or(Artifact::Rows, |entry| entry.artifact);
    let public = PublicRows { artifact, rows };
    let records = (entry.server.records)(catalog.params.to_string().as_bytes(), Arc::new(public))?;
    Ok(matches!(differs(catalog, &packing, records.as_ref(), watch, &|| true)?, AuditedRows::Tree(_)))
}

/// An image that has only the section of the public rows.
struct PublicRows {
    artifact: Artifact,
    rows: FileMapping,
}

impl Image for PublicRows {
    fn section(&self, section: Section) -> Option<&[u8]> {
        (section == Section::Public(self.artifact)).then(|| self.rows.bytes())
    }
}

/// Result of reading all rows of an image.
enum AuditedRows {
    /// The audit was stopped before its end.
    Nothing,
    /// The rows differ from the committed ones.
    OtherRows,
    /// The rows match the root, and this is the tree over them.
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
