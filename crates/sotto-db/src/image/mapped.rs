//! A file of sections, mapped: header checked, whatever its description is. Opening reads a page, whatever the size of the rest.

use super::header::{FilePart, FilePartEntry, HEADER_BYTES, ImageHeader};
use super::map::FileMapping;
use crate::progress::{ByteProgress, Watcher};
use crate::{DbError, ImageProblem, Result};
use sotto_catalog::Hex32;
use sotto_core::{Artifact, ExpectOrDefault, Image, Section};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A mapped file of sections.
pub struct MappedFile {
    path: PathBuf,
    file: File,
    seal: FileIdentity,
    map: FileMapping,
    header: ImageHeader,
}

/// Which file it is, how long, and when it was last written: what stays as it is while nobody writes to it in place.
/// Other names for it, another place, and the end of its name change nothing of it.
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first page.
    pub fn header(&self) -> &ImageHeader {
        &self.header
    }

    /// The digest of what answers are made from, if the image has it.
    pub fn rows_digest(&self) -> Option<Hex32> {
        self.scanned().map(|entry| entry.digest.into())
    }

    /// What tells this file from another, and from itself once it is written to.
    pub fn seal(&self) -> FileIdentity {
        self.seal
    }

    /// Whether all that was read of the file so far is as it was when it was opened. Cheap: no byte of it is read. Whoever
    /// has made something of an image's bytes asks afterwards, and throws it away if this fails. It never gets better.
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
    /// [`DbError::Image`] naming the section that is damaged, or [`ImageProblem::Changed`].
    pub fn verify(&self, watch: Watcher<'_>) -> Result<()> {
        self.verify_while(watch, &|_| true, &|| true).map(drop)
    }

    /// The same for the sections that `which` picks, and for as long as `go_on` says so. Gives whether it came to the end.
    ///
    /// # Errors
    /// As [`Mapped::verify`].
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
            // First of all: what was read may be zeros, and then no section is damaged but the file is gone.
            self.check()?;
            if hasher.finalize() != blake3::Hash::from(entry.digest) {
                return Err(self.refuse(ImageProblem::Digest { part: entry.part.name() }));
            }
        }
        Ok(true)
    }

    pub(super) fn refuse(&self, problem: ImageProblem) -> DbError {
        DbError::Image { path: self.path.clone(), problem }
    }

    /// The bytes of a part, if the file has it.
    pub fn bytes_of(&self, part: FilePart) -> Option<&[u8]> {
        self.header.entry(part).map(|entry| self.part(entry))
    }

    /// The section that answers are made from, if the image has it: the rows, or else the resident section.
    pub fn answered_from(&self) -> Option<Section> {
        ANSWERED_FROM.into_iter().find(|section| self.header.entry(FilePart::Scheme(*section)).is_some())
    }

    /// Asks the system to read in what answers are made from, on huge pages, so that the first answers are not slow.
    pub fn warm(&self) {
        self.wants_huge_pages();
        if let Some(entry) = self.scanned() {
            self.map.will_need(entry.offset as usize, entry.bytes as usize);
        }
    }

    /// Asks for huge pages where answers are made from, once somebody reads there.
    pub(super) fn wants_huge_pages(&self) {
        if let Some(entry) = self.scanned() {
            self.map.wants_huge_pages(entry.offset as usize, entry.bytes as usize);
        }
    }

    /// Unmaps the pages of a part of what answers are made from, once a copy is there: else that would take its memory twice.
    pub(crate) fn release(&self, offset: usize, bytes: usize) {
        if let Some(entry) = self.scanned() {
            let at = (entry.offset as usize).saturating_add(offset);
            self.map.release(at, bytes.min((entry.bytes as usize).saturating_sub(offset)));
        }
    }

    fn scanned(&self) -> Option<&FilePartEntry> {
        self.header.entry(FilePart::Scheme(self.answered_from()?))
    }

    /// A part's bytes. The header was checked against the file's length.
    pub(crate) fn part(&self, entry: &FilePartEntry) -> &[u8] {
        slice(self.map.bytes(), entry).expect_or_default("the header was checked against the file")
    }
}

/// What a server answers from: the first of these that there is.
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
