//! A mapped file of sections, with a checked header, for any kind of description. Opening reads one
//! page, whatever the size of the rest.

use super::header::{FilePart, FilePartEntry, HEADER_BYTES, ImageHeader};
use super::map::FileMapping;
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, ImageProblem, Result};
use sotto_catalog::Hex32;
use sotto_core::{Artifact, ExpectOrDefault, Image, Section};
use sotto_pages::{HUGE_PAGE, PageUsage, pages_of};
use std::fs::{File, Metadata};
use std::hint::black_box;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of samples of an image of which little was read yet.
const PLACES: u64 = 64;

/// A mapped file of sections.
pub struct MappedFile {
    path: PathBuf,
    file: File,
    seal: FileIdentity,
    map: FileMapping,
    header: ImageHeader,
}

/// Identity of a file: which file it is, its length, and when it was last written. It stays the
/// same while nobody writes to the file in place; renaming, moving or unlinking the file does not
/// change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    file: (u64, u64),
    bytes: u64,
    written: (i64, i64),
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        FileIdentity {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl MappedFile {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::Image`].
    pub(super) fn open(path: &Path) -> Result<Self> {
        let io = |e| DbError::io("opening", path, e);
        let refuse = |problem| DbError::Image { path: path.to_owned(), problem };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() || metadata.len() == 0 {
            // Neither can be mapped.
            return Err(refuse(ImageProblem::NotAnImage));
        }
        let map = FileMapping::of(&file).map_err(io)?;
        let bytes = map.bytes();
        let (page, _) = bytes.split_at(bytes.len().min(HEADER_BYTES));
        let header = ImageHeader::parse(page, bytes.len() as u64).map_err(refuse)?;
        let (path, seal) = (path.to_owned(), FileIdentity::of(&metadata));
        Ok(MappedFile { path, file, seal, map, header })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Header of the file.
    pub fn header(&self) -> &ImageHeader {
        &self.header
    }

    /// Digest of the section that answers are computed from, if the image has it.
    pub fn rows_digest(&self) -> Option<Hex32> {
        self.scanned().map(|entry| entry.digest.into())
    }

    /// Identity of the file when it was opened, which a write to the file changes.
    pub fn seal(&self) -> FileIdentity {
        self.seal
    }

    /// Checks that everything read of the file so far is as it was when it was opened. The check is
    /// cheap: it reads no byte of the file. Code that computed something from an image's bytes
    /// calls it afterwards, and discards the result on an error. A file that failed once fails for
    /// ever.
    ///
    /// # Errors
    /// [`DbError::Image`] with [`ImageProblem::Changed`].
    pub fn check(&self) -> Result<()> {
        let now = self.file.metadata().map(|metadata| FileIdentity::of(&metadata));
        match self.map.is_whole() && now.is_ok_and(|now| now == self.seal) {
            true => Ok(()),
            false => Err(self.refuse(ImageProblem::Changed)),
        }
    }

    /// Reads every section and compares it with its digest.
    ///
    /// # Errors
    /// [`DbError::Image`] naming the damaged section, or [`ImageProblem::Changed`].
    pub fn verify(&self, watch: Watcher<'_>) -> Result<()> {
        self.verify_while(watch, &|_| true, &|| true).map(drop)
    }

    /// Verifies the sections that `which` selects, as long as `go_on` returns true. Returns whether
    /// it was completed.
    ///
    /// # Errors
    /// The errors of [`MappedFile::verify`].
    pub fn verify_while(
        &self,
        watch: Watcher<'_>,
        which: &dyn Fn(FilePart) -> bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let entries: Vec<_> = self.header.entries.iter().filter(|entry| which(entry.part)).collect();
        let stage = ByteProgress::new(watch, "verify", entries.iter().map(|entry| entry.bytes).sum());
        for entry in entries {
            let mut hasher = blake3::Hasher::new();
            for block in self.part(entry).chunks(VERIFY_BLOCK) {
                if !go_on() {
                    return Ok(false);
                }
                hasher.update_rayon(block);
                stage.add(block.len() as u64);
            }
            // Checked first: the bytes read may be zeros because the file was cut short, and then
            // no section is damaged.
            self.check()?;
            if hasher.finalize() != blake3::Hash::from(entry.digest) {
                return Err(self.refuse(ImageProblem::Digest(entry.part.name())));
            }
        }
        Ok(true)
    }

    /// Error for a problem of this file.
    pub fn refuse(&self, problem: ImageProblem) -> DbError {
        DbError::Image { path: self.path.clone(), problem }
    }

    /// Bytes of a part, if the file has it.
    pub fn bytes_of(&self, part: FilePart) -> Option<&[u8]> {
        self.header.entry(part).map(|entry| self.part(entry))
    }

    /// The section that answers are computed from, if the image has it: the rows, or else the
    /// resident section.
    pub fn answered_from(&self) -> Option<Section> {
        ANSWERED_FROM.into_iter().find(|section| self.header.entry(FilePart::Scheme(*section)).is_some())
    }

    /// Advises the system to read ahead what answers are computed from, on huge pages, so that the
    /// first answers are not slow.
    pub fn warm(&self) {
        self.wants_huge_pages();
        if let Some(entry) = self.scanned() {
            self.map.will_need(entry.offset as usize, entry.bytes as usize);
        }
    }

    /// Advises the system to use huge pages for the section that answers are computed from, for
    /// pages that are not read yet.
    pub(super) fn wants_huge_pages(&self) {
        if let Some(entry) = self.scanned() {
            self.map.wants_huge_pages(entry.offset as usize, entry.bytes as usize);
        }
    }

    /// Unmaps a range of the section that answers are computed from, once it was copied: else the
    /// section would take its memory twice.
    pub(crate) fn release(&self, offset: usize, bytes: usize) {
        if let Some(entry) = self.scanned() {
            let at = (entry.offset as usize).saturating_add(offset);
            self.map.release(at, bytes.min((entry.bytes as usize).saturating_sub(offset)));
        }
    }

    fn scanned(&self) -> Option<&FilePartEntry> {
        self.header.entry(FilePart::Scheme(self.answered_from()?))
    }

    /// Bytes of a part. The header was checked against the file's length.
    pub(crate) fn part(&self, entry: &FilePartEntry) -> &[u8] {
        slice(self.map.bytes(), entry).expect_or_default("the header was checked against the file")
    }
}

/// Sections that a server may answer from; the first that exists is used.
const ANSWERED_FROM: [Section; 2] = [Section::Public(Artifact::Rows), Section::Resident];

const VERIFY_BLOCK: usize = 8 << 20;

impl Image for MappedFile {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.bytes_of(FilePart::Scheme(section))
    }
}

impl std::fmt::Debug for MappedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mapped({})", self.path.display())
    }
}

fn slice<'a>(bytes: &'a [u8], entry: &FilePartEntry) -> Option<&'a [u8]> {
    let start = usize::try_from(entry.offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(entry.bytes).ok()?)?)
}

/// The sizes of the pages that an open image is on. A mapped file has huge pages where its page
/// cache has large folios. This is so if it was written in large pieces, or read in by a mapping
/// that asked for huge pages, and if the file system supports it.
impl MappedFile {
    /// Pages of a section now; `None` if there is no such section, or if the system does not report
    /// them.
    pub fn pages(&self, section: Section) -> Option<PageUsage> {
        pages_of(self.section(section)?)
    }

    /// Share of the section that answers are computed from that is on huge pages; `None` if the
    /// system does not report it. If less than half of the section was read yet, a few samples all
    /// over it are read, and the result is their share.
    pub fn huge_share(&self) -> Option<f64> {
        let section = self.answered_from()?;
        let before = self.pages(section)?;
        if before.resident >= before.bytes / 2 {
            return before.huge_share();
        }
        self.wants_huge_pages();
        let places = (before.bytes / HUGE_PAGE).clamp(1, PLACES);
        let bytes = self.section(section)?;
        // Samples are in the middle of equal ranges, since the ends of a section share their huge
        // pages with the adjacent sections.
        let at = |place: u64| {
            (u128::from(before.bytes) * u128::from(2 * place + 1) / u128::from(2 * places)) as usize
        };
        (0..places).for_each(|place| {
            black_box(bytes.get(at(place)).copied());
        });
        let got = self.pages(section)?.huge.saturating_sub(before.huge);
        Some((got as f64 / (places * HUGE_PAGE) as f64).min(1.0))
    }
}
