//! Tables in parts: a *front* with the catalog and everything that clients fetch, and parts with
//! what answers are computed from. Each is a file of its own and contains the catalog, so that
//! parts that are damaged, missing, duplicated or of another epoch are detected.
//!
//! [`sotto_core::PartScheme::part_ranges`] defines the bytes of a part. They do not depend on how
//! parts are made: all pieces at once, or one by one from the same source, have the same bytes.

pub use crate::error::PartProblem;
use crate::files::{bytes_at, remove};
use crate::image::header::FilePart;
use crate::image::{FileKind, ImageWriter};
use crate::progress::in_pool;
use crate::progress::{ByteProgress, Watcher};
use crate::rows_tree::{RecordsWithProofs, RowsTree};
use crate::table::{ConcatTable, PackedRecords, TableSource};
use crate::{DbError, ImageFile, Result, WriteLock};
use serde::Serialize;
use sotto_catalog::SignedCatalog;
use sotto_core::{Epoch, Image, Misuse, PartEntry, PartIndex, SchemeEntry, Section, Sink};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Pieces of a table that an encoder writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PiecesToWrite {
    /// One whole image.
    #[default]
    Whole,
    /// A front, and this many parts.
    All(u32),
    /// The front of a table in this many parts; [`encode_part`] makes the parts.
    Front(u32),
}

impl PiecesToWrite {
    /// Number of parts, if the table is in parts.
    pub(crate) fn parts(self) -> Option<u32> {
        match self {
            PiecesToWrite::Whole => None,
            PiecesToWrite::All(parts) | PiecesToWrite::Front(parts) => Some(parts),
        }
    }
}

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
        _ => PartProblem::OtherEpoch { part, found, expected: front.catalog().epoch },
    };
    Err(DbError::Part { path: image.path().to_owned(), why })
}

/// Whether a part exists, belongs to this encoding and is undamaged. Any other file in its place is
/// removed.
fn part_exists(front: &Path, text: &[u8], cut: PartIndex) -> Result<bool> {
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

/// Summary of a part that was made.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let other = || DbError::OtherRows(front.path().to_owned());
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

const BLOCK: usize = 8 << 20;

/// Checks that a scheme can cut tables of these parameters into `parts` parts, and returns how.
///
/// # Errors
/// [`DbError::CannotCut`], [`DbError::TooManyParts`]; [`DbError::Scheme`] for parameters that are
/// refused.
pub(crate) fn check(entry: &SchemeEntry, params: &str, parts: u32) -> Result<PartEntry> {
    let cuts = entry.server.parts.ok_or_else(|| DbError::CannotCut(entry.id.to_string()))?;
    let most = (cuts.max_parts)(params.as_bytes())?;
    match (1..=most).contains(&parts) {
        true => Ok(cuts),
        false => Err(DbError::TooManyParts { parts, limit: most }),
    }
}

/// Reads a range of a section.
type ReadFn<'a> = &'a dyn Fn(Section, u64, &mut [u8]) -> Result<()>;

/// An encoded image, readable by section, and the files that its pieces are written to.
struct PieceSource<'a> {
    signed: &'a SignedCatalog,
    params: &'a str,
    cuts: PartEntry,
    sections: Vec<(Section, u64)>,
    read: ReadFn<'a>,
    /// Path of the front.
    front: &'a Path,
    watch: Watcher<'a>,
}

impl PieceSource<'_> {
    /// Writes a part, unless it already exists.
    fn part(&self, cut: PartIndex) -> Result<PathBuf> {
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
