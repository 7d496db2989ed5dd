//! Pieces out of an image, or out of one that is being written.

use super::open::{part_exists, part_path};
use crate::image::{FileKind, ImageWriter};
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, ImageFile, Result, WriteLock};
use sotto_catalog::SignedCatalog;
use sotto_core::{Image, Misuse, PartEntry, PartIndex, SchemeEntry, Section, Sink};
use std::ops::Range;
use std::path::{Path, PathBuf};

const BLOCK: usize = 8 << 20;

/// How a scheme cuts tables of these parameters, if it does, and into so many parts.
///
/// # Errors
/// [`DbError::CannotCut`], [`DbError::TooManyParts`]; [`DbError::Scheme`] for parameters that are refused.
pub(crate) fn check(entry: &SchemeEntry, params: &str, parts: u32) -> Result<PartEntry> {
    let cuts = entry.server.parts.ok_or_else(|| DbError::CannotCut { scheme: entry.id.to_string() })?;
    let most = (cuts.most)(params.as_bytes()).map_err(DbError::Scheme)?;
    match (1..=most).contains(&parts) {
        true => Ok(cuts),
        false => Err(DbError::TooManyParts { parts, most }),
    }
}

/// Reads some of a section.
type ReadFn<'a> = &'a dyn Fn(Section, u64, &mut [u8]) -> Result<()>;

/// What pieces are cut out of.
pub(super) struct PieceSource<'a> {
    pub(super) signed: &'a SignedCatalog,
    pub(super) params: &'a str,
    pub(super) cuts: PartEntry,
    pub(super) sections: Vec<(Section, u64)>,
    pub(super) read: ReadFn<'a>,
    /// What the front is called.
    pub(super) front: &'a Path,
    pub(super) watch: Watcher<'a>,
}

impl PieceSource<'_> {
    /// Writes a part, unless it is there already.
    pub(super) fn part(&self, cut: PartIndex) -> Result<PathBuf> {
        let path = part_path(self.front, cut);
        if part_exists(self.front, &self.signed.to_bytes(), cut)? {
            return Ok(path);
        }
        let section = self.cuts.section;
        let holds = (self.cuts.holds)(self.params.as_bytes(), cut).map_err(DbError::Scheme)?;
        self.write(&path, FileKind::Part(cut), &[(section, holds)])?;
        Ok(path)
    }

    /// Writes the front: the last piece, since with it the table is there.
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
                    let some = block.get_mut(..length).ok_or(DbError::Scheme(LONG.into()))?;
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

const LONG: Misuse = Misuse::Rule("a piece is no longer than its table");

/// One range, since `vec![range]` looks like a mistake.
fn whole_range(bytes: u64) -> Vec<Range<u64>> {
    std::iter::once(0..bytes).collect()
}

/// Cuts an image that is in no folder yet: all parts if `with_parts` says so, and then the front.
pub(crate) fn cut_writer(
    (entry, params, signed): (&SchemeEntry, &str, &SignedCatalog),
    writer: &ImageWriter<'_>,
    front: &Path,
    (parts, with_parts): (u32, bool),
) -> Result<PathBuf> {
    let read = |section, at, out: &mut [u8]| writer.read_at(section, at, out).map_err(|e| writer.failed(e));
    let cuts = check(entry, params, parts)?;
    let (sections, watch) = (writer.sections(), writer.watch());
    let cloth = PieceSource { signed, params, cuts, sections, read: &read, front, watch };
    if with_parts {
        PartIndex::all(parts).try_for_each(|cut| cloth.part(cut).map(drop))?;
    }
    cloth.front(parts)
}

/// Cuts an image of the folder that is locked. Gives its front, which the folder is opened by from then on; the image is not
/// needed any more.
///
/// # Errors
/// [`DbError::CannotCut`], [`DbError::TooManyParts`]; [`DbError::Image`] for a damaged image, or a piece of one.
pub fn cut_image(
    entry: &SchemeEntry,
    image: &ImageFile,
    lock: &WriteLock,
    parts: u32,
    watch: Watcher<'_>,
) -> Result<PathBuf> {
    let params = &image.catalog().params.to_string();
    let cuts = check(entry, params, parts)?;
    // Pieces get digests of their own, under which damage would pass for data ever after.
    image.verify(watch)?;
    let sections = [Section::Resident]
        .into_iter()
        .chain(image.catalog().artifacts.iter().map(|entry| Section::Public(entry.artifact)));
    let sections = sections.filter_map(|section| Some((section, image.section(section)?.len() as u64)));
    let read = |section, at: u64, out: &mut [u8]| {
        let held = image.section(section).unwrap_or_default();
        let held = usize::try_from(at).ok().and_then(|at| held.get(at..)?.get(..out.len()));
        out.copy_from_slice(held.ok_or(DbError::Scheme(LONG.into()))?);
        Ok(())
    };
    let front = lock.dir().front_path(image.catalog().epoch);
    let signed = image.signed_catalog();
    let cloth =
        PieceSource { signed, params, cuts, sections: sections.collect(), read: &read, front: &front, watch };
    PartIndex::all(parts).try_for_each(|cut| cloth.part(cut).map(drop))?;
    let front = cloth.front(parts)?;
    image.check()?;
    Ok(front)
}

/// A writer of which not all is wanted: schemes may leave the rest out.
pub(crate) struct FilteredSink<'a, 'w> {
    pub(crate) writer: &'a ImageWriter<'w>,
    /// The section that is cut, and which bytes of it are wanted, in their order.
    pub(crate) section: Section,
    pub(crate) ranges: Vec<Range<u64>>,
    /// Whether the other sections are.
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
