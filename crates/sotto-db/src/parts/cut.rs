//! Cuts an image, or one that is being written, into pieces.

use super::open::{part_exists, part_path};
use crate::image::{FileKind, ImageWriter};
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, ImageFile, Result, WriteLock};
use sotto_catalog::SignedCatalog;
use sotto_core::{Image, Misuse, PartEntry, PartIndex, SchemeEntry, Section, Sink};
use std::ops::Range;
use std::path::{Path, PathBuf};

const BLOCK: usize = 8 << 20;

/// Checks that a scheme can cut tables of these parameters into `parts` parts, and returns how.
///
/// # Errors
/// [`DbError::CannotCut`], [`DbError::TooManyParts`]; [`DbError::Scheme`] for parameters that are
/// refused.
pub(crate) fn check(entry: &SchemeEntry, params: &str, parts: u32) -> Result<PartEntry> {
    let cuts = entry.server.parts.ok_or_else(|| DbError::CannotCut { scheme: entry.id.to_string() })?;
    let most = (cuts.max_parts)(params.as_bytes())?;
    match (1..=most).contains(&parts) {
        true => Ok(cuts),
        false => Err(DbError::TooManyParts { parts, most }),
    }
}

/// Reads a range of a section.
type ReadFn<'a> = &'a dyn Fn(Section, u64, &mut [u8]) -> Result<()>;

/// An encoded image, readable by section, and the files that its pieces are written to.
pub(super) struct PieceSource<'a> {
    pub(super) signed: &'a SignedCatalog,
    pub(super) params: &'a str,
    pub(super) cuts: PartEntry,
    pub(super) sections: Vec<(Section, u64)>,
    pub(super) read: ReadFn<'a>,
    /// Path of the front.
    pub(super) front: &'a Path,
    pub(super) watch: Watcher<'a>,
}

impl PieceSource<'_> {
    /// Writes a part, unless it already exists.
    pub(super) fn part(&self, cut: PartIndex) -> Result<PathBuf> {
        let path = part_path(self.front, cut);
        if part_exists(self.front, &self.signed.to_bytes(), cut)? {
            return Ok(path);
        }
        let section = self.cuts.section;
        let holds = (self.cuts.ranges)(self.params.as_bytes(), cut)?;
        self.write(&path, FileKind::Part(cut), &[(section, holds)])?;
        Ok(path)
    }

    /// Writes the front. It is the last piece, since the table exists as soon as its front does.
    fn front(&self, parts: u32) -> Result<PathBuf> {
        let stays = self.sections.iter().filter(|(section, _)| *section != Section::Resident);
        let stays: Vec<_> = stays.map(|(section, bytes)| (*section, whole_range(*bytes))).collect();
        self.write(self.front, FileKind::Front(parts), &stays)
    }

    fn write(&self, path: &Path, piece: FileKind, pieces: &[(Section, Vec<Range<u64>>)]) -> Result<PathBuf> {
        let mut writer = ImageWriter::create(path, self.watch)?.of_piece(piece);
        let bytes_of = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.end - range.start).sum();
        let total = pieces.iter().map(|(_, ranges)| bytes_of(ranges)).sum();
        let stage = ByteProgress::new(self.watch, "cut", total);
        let mut block = vec![0; BLOCK.min(usize::try_from(total).unwrap_or(BLOCK))];
        for (section, ranges) in pieces {
            writer.reserve(*section, bytes_of(ranges)).map_err(|e| writer.failed(e))?;
            let mut at = 0;
            for range in ranges {
                for start in range.clone().step_by(BLOCK) {
                    let length = (range.end - start).min(BLOCK as u64) as usize;
                    let some = block.get_mut(..length).ok_or(LONG)?;
                    (self.read)(*section, start, some)?;
                    writer.write_at(*section, at, some).map_err(|e| writer.failed(e))?;
                    at += length as u64;
                    stage.add(length as u64);
                }
            }
        }
        writer.digest(None)?;
        writer.finish(self.signed)
    }
}

const LONG: Misuse = Misuse::Rule("a part is longer than its table");

/// A list of one range; clippy takes `vec![range]` for a mistake.
fn whole_range(bytes: u64) -> Vec<Range<u64>> {
    std::iter::once(0..bytes).collect()
}

/// Cuts an image that is still being written: all parts if `with_parts` is set, and then the front.
pub(crate) fn cut_writer(
    entry: &SchemeEntry,
    params: &str,
    signed: &SignedCatalog,
    writer: &ImageWriter<'_>,
    front: &Path,
    parts: u32,
    with_parts: bool,
) -> Result<PathBuf> {
    let read = |section, at, out: &mut [u8]| writer.read_at(section, at, out).map_err(|e| writer.failed(e));
    let cuts = check(entry, params, parts)?;
    let (sections, watch) = (writer.sections(), writer.watch());
    let source = PieceSource { signed, params, cuts, sections, read: &read, front, watch };
    if with_parts {
        PartIndex::all(parts).try_for_each(|cut| source.part(cut).map(drop))?;
    }
    source.front(parts)
}

/// Cuts an image of the locked folder, and returns its front. From then on the folder is opened by
/// the front, and the image is not needed any more.
///
/// # Errors
/// [`DbError::CannotCut`], [`DbError::TooManyParts`]; [`DbError::Image`] for a damaged image, or a
/// piece of one.
pub fn cut_image(
    entry: &SchemeEntry,
    image: &ImageFile,
    lock: &WriteLock,
    parts: u32,
    watch: Watcher<'_>,
) -> Result<PathBuf> {
    let params = &image.catalog().params.to_string();
    let cuts = check(entry, params, parts)?;
    // Pieces get digests of their own, under which damage would pass for data from then on.
    image.verify(watch)?;
    let sections = [Section::Resident]
        .into_iter()
        .chain(image.catalog().artifacts.iter().map(|entry| Section::Public(entry.artifact)));
    let sections = sections.filter_map(|section| Some((section, image.section(section)?.len() as u64)));
    let read = |section, at: u64, out: &mut [u8]| {
        let held = image.section(section).unwrap_or_default();
        let held = usize::try_from(at).ok().and_then(|at| held.get(at..)?.get(..out.len()));
        out.copy_from_slice(held.ok_or(LONG)?);
        Ok(())
    };
    let front = lock.dir().front_path(image.catalog().epoch);
    let signed = image.signed_catalog();
    let source =
        PieceSource { signed, params, cuts, sections: sections.collect(), read: &read, front: &front, watch };
    PartIndex::all(parts).try_for_each(|cut| source.part(cut).map(drop))?;
    let front = source.front(parts)?;
    image.check()?;
    Ok(front)
}

/// A sink that tells schemes which bytes are needed, so that they may omit the rest.
pub(crate) struct FilteredSink<'a, 'w> {
    pub(crate) writer: &'a ImageWriter<'w>,
    /// Section of which only `ranges` are needed, in ascending order.
    pub(crate) section: Section,
    pub(crate) ranges: Vec<Range<u64>>,
    /// Whether the other sections are needed.
    pub(crate) others: bool,
}

impl Sink for FilteredSink<'_, '_> {
    fn reserve(&self, section: Section, bytes: u64) -> sotto_core::Result<()> {
        self.writer.reserve(section, bytes)
    }

    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> sotto_core::Result<()> {
        self.writer.write_at(section, offset, bytes)
    }

    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.writer.read_at(section, offset, out)
    }

    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        self.writer.progress(stage, done, total);
    }

    fn wants(&self, section: Section, bytes: Range<u64>) -> bool {
        if section != self.section {
            return self.others;
        }
        let first = self.ranges.partition_point(|range| range.end <= bytes.start);
        self.ranges.get(first).is_some_and(|range| range.start < bytes.end)
    }
}
