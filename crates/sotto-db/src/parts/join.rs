//! Joins the pieces of an image into a whole one, for updates and audits.

use super::cut::check;
use super::open::open_parts;
use crate::image::header::FilePart;
use crate::image::{FileKind, ImageWriter};
use crate::progress::{ByteProgress, Watcher};
use crate::{ImageFile, Result};
use sotto_core::{Image, Misuse, PartIndex, SchemeEntry, Section, Sink};
use std::sync::Arc;

/// The whole image of a front, in an unnamed file that takes as much disk space as the parts until
/// it is dropped. An image that is already whole is returned as it is.
///
/// # Errors
/// the errors of [`open_parts`]; [`crate::DbError::Image`] for a damaged piece; the errors of writing.
pub(crate) fn whole(
    entry: &SchemeEntry,
    image: Arc<ImageFile>,
    watch: Watcher<'_>,
) -> Result<Arc<ImageFile>> {
    let FileKind::Front(parts) = image.piece() else { return Ok(image) };
    let params = image.catalog().params.to_string();
    let cuts = check(entry, &params, parts)?;
    let opened = open_parts(&image)?;
    for piece in opened.iter().chain([&image]) {
        piece.verify(watch)?;
    }
    let mut writer = ImageWriter::create(&image.path().with_extension("sotto"), watch)?;
    let shapes = || Misuse::Rule("the parts have other sizes than the scheme says");
    // An encoder writes the resident section first, and so does this.
    if cuts.section == Section::Resident {
        let held: Vec<&[u8]> = opened.iter().filter_map(|part| part.section(cuts.section)).collect();
        let total = held.iter().map(|bytes| bytes.len() as u64).sum();
        writer.reserve(cuts.section, total).map_err(|e| writer.failed(e))?;
        let stage = ByteProgress::new(watch, "join", total);
        for (cut, mut rest) in PartIndex::all(parts).zip(held) {
            for range in (cuts.ranges)(params.as_bytes(), cut)? {
                let length = usize::try_from(range.end - range.start).map_err(|_| shapes())?;
                let (bytes, next) = rest.split_at_checked(length).ok_or_else(shapes)?;
                writer.write_at(cuts.section, range.start, bytes).map_err(|e| writer.failed(e))?;
                stage.add(length as u64);
                rest = next;
            }
        }
    }
    for entry in &image.catalog().artifacts {
        let section = Section::Public(entry.artifact);
        let bytes = image.section(section).unwrap_or_default();
        writer.reserve(section, bytes.len() as u64).map_err(|e| writer.failed(e))?;
        writer.write_at(section, 0, bytes).map_err(|e| writer.failed(e))?;
    }
    writer.digest(None)?;
    let sealed = writer.seal(FilePart::Catalog, &image.signed_catalog().to_bytes())?;
    ImageFile::open(sealed.path())
}
