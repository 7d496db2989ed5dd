//! Opens the parts that belong to a front.

use super::PartProblem;
use crate::files::remove;
use crate::image::FileKind;
use crate::{DbError, ImageFile, Result};
use sotto_core::PartIndex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Path of a part of a table, which is beside its front.
pub fn part_path(front: &Path, cut: PartIndex) -> PathBuf {
    front.with_extension(format!("part-{:04}-of-{:04}", cut.part(), cut.parts()))
}

/// Opens all parts of a table, which are beside its front, in order. Headers and catalogs are
/// checked; [`crate::image::MappedFile::verify`] checks the rest. A whole image has no parts.
///
/// # Errors
/// [`DbError::Part`] for a part that is missing, duplicated or of another epoch; the errors of
/// [`ImageFile::open_part`].
pub fn open_parts(front: &ImageFile) -> Result<Vec<Arc<ImageFile>>> {
    PartIndex::all(front.piece().parts().unwrap_or(0)).map(|cut| open_part(front, cut)).collect()
}

/// Opens one part of a table.
///
/// # Errors
/// The errors of [`open_parts`].
pub fn open_part(front: &ImageFile, cut: PartIndex) -> Result<Arc<ImageFile>> {
    let path = part_path(front.path(), cut);
    match path.exists() {
        true => belongs(ImageFile::open_part(&path)?, front, cut),
        false => Err(DbError::Part { path, why: PartProblem::Missing { part: cut.part() } }),
    }
}

/// Checks that a file is the named part of the front's table.
fn belongs(image: Arc<ImageFile>, front: &ImageFile, cut: PartIndex) -> Result<Arc<ImageFile>> {
    let (part, found) = (cut.part(), image.catalog().epoch);
    let why = match image.piece() {
        piece if piece != FileKind::Part(cut) => PartProblem::Misplaced { part, found: piece },
        _ if image.signed_catalog() == front.signed_catalog() => return Ok(image),
        _ => PartProblem::OtherEpoch { part, found, wanted: front.catalog().epoch },
    };
    Err(DbError::Part { path: image.path().to_owned(), why })
}

/// Whether a part exists, belongs to this encoding and is undamaged. Any other file in its place is
/// removed.
pub(super) fn part_exists(front: &Path, text: &[u8], cut: PartIndex) -> Result<bool> {
    let path = part_path(front, cut);
    if !path.exists() {
        return Ok(false);
    }
    let is_same = |image: &Arc<ImageFile>| {
        image.piece() == FileKind::Part(cut) && image.signed_catalog().to_bytes() == text
    };
    let there = ImageFile::open_part(&path).ok().filter(is_same);
    if there.is_some_and(|image| image.verify(&crate::progress::silent).is_ok()) {
        return Ok(true);
    }
    remove(&path)?;
    Ok(false)
}
