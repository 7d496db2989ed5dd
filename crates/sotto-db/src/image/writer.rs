//! A temporary file that becomes an image or is removed.
//!
//! The header is written last, and the rename follows after the data is on disk, so that a reader,
//! after a crash at any moment, finds either no image or a whole one.

use super::digest;
use super::header::{FilePart, FilePartEntry, HEADER_BYTES, ImageHeader};
use super::mapped::MappedFile;
use crate::file_kind::FileKind;
use crate::files::{PUBLIC, parent, sync_dir, temp_in};
use crate::progress::{ByteProgress, Progress, ProgressUnit, Watcher};
use crate::{DbError, ImageProblem, Result};
use sotto_catalog::{ArtifactEntry, Hex32, SignedCatalog};
use sotto_core::{Artifact, Epoch, Misuse, Section, Sink};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use tempfile::NamedTempFile;

/// An image being written. If it is dropped before [`ImageWriter::finish`], nothing is left behind.
pub struct ImageWriter<'a> {
    temp: NamedTempFile,
    destination: PathBuf,
    /// Sections in the order of their reservation, which is their order in the file.
    places: RwLock<Vec<WriterSection>>,
    written: AtomicU64,
    watch: Watcher<'a>,
    piece: FileKind,
    /// Whether blocks are allocated only when they are written, for a file that stays mostly empty.
    sparse: bool,
}

/// A complete image file that still has its temporary name.
pub(crate) struct FinishedFile {
    temp: NamedTempFile,
    destination: PathBuf,
}

impl FinishedFile {
    /// The temporary path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.temp.path()
    }
}

#[derive(Clone, Copy)]
struct WriterSection {
    part: FilePart,
    offset: u64,
    bytes: u64,
    digest: Option<[u8; 32]>,
}

impl<'a> ImageWriter<'a> {
    /// Starts an image for the path `destination`. The temporary file is in the same folder.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn create(destination: &Path, watch: Watcher<'a>) -> Result<Self> {
        let dir = parent(destination);
        let failed = |e| DbError::io("creating a temporary file", dir, e);
        let temp = temp_in(dir, ".tmp", PUBLIC).map_err(failed)?;
        temp.as_file().set_len(HEADER_BYTES as u64).map_err(failed)?;
        Ok(ImageWriter {
            temp,
            destination: destination.to_owned(),
            places: RwLock::default(),
            written: AtomicU64::new(0),
            watch,
            piece: FileKind::Whole,
            sparse: false,
        })
    }

    /// Makes this a writer of a piece of an image in parts.
    pub(crate) fn of_piece(self, piece: FileKind) -> Self {
        ImageWriter { piece, ..self }
    }

    /// Makes this a writer of a sparse file, of which only some is written.
    pub(crate) fn sparse(self) -> Self {
        ImageWriter { sparse: true, ..self }
    }

    /// Sections reserved so far, and their bytes.
    pub(crate) fn sections(&self) -> Vec<(Section, u64)> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let of_scheme = |place: &WriterSection| match place.part {
            FilePart::Scheme(section) => Some((section, place.bytes)),
            FilePart::Catalog | FilePart::Foreign | FilePart::Entries => None,
        };
        places.iter().filter_map(of_scheme).collect()
    }

    /// The watcher of progress.
    pub(crate) fn watch(&self) -> Watcher<'a> {
        self.watch
    }

    /// Starts an image from another image's resident section and hint, which the update then
    /// changes. The tree over the rows is not copied.
    ///
    /// # Errors
    /// [`DbError::Image`] if a section is damaged; [`DbError::Io`], [`DbError::DiskFull`].
    pub fn create_from(destination: &Path, old: &MappedFile, watch: Watcher<'a>) -> Result<Self> {
        let writer = ImageWriter::create(destination, watch)?;
        let copied = old.header().entries.iter().filter(|entry| {
            let is_rewritten = |artifact: Artifact| artifact.is_delta() || artifact.is_tree();
            let is_rewritten =
                matches!(entry.part, FilePart::Scheme(Section::Public(artifact)) if is_rewritten(artifact));
            entry.part != FilePart::Catalog && !is_rewritten
        });
        let copied: Vec<_> = copied.copied().collect();
        let stage = ByteProgress::new(watch, "copy", copied.iter().map(|entry| entry.bytes).sum());
        for entry in copied {
            let FilePart::Scheme(section) = entry.part else { continue };
            writer.reserve(section, entry.bytes).map_err(|e| writer.failed(e))?;
            let bytes = old.part(&entry);
            let mut hasher = blake3::Hasher::new();
            for (block, at) in bytes.chunks(COPY_BLOCK).zip((0..).step_by(COPY_BLOCK)) {
                let (_, written) = rayon::join(
                    || hasher.update_rayon(block).count(),
                    || writer.write_at(section, at, block),
                );
                written.map_err(|e| writer.failed(e))?;
                stage.add(block.len() as u64);
            }
            // The copy gets a new digest, under which damage would pass for data from then on.
            if hasher.finalize() != blake3::Hash::from(entry.digest) {
                return Err(old.refuse(ImageProblem::Digest(entry.part.name())));
            }
        }
        writer.written.store(0, Ordering::Relaxed);
        Ok(writer)
    }

    /// Bytes that the scheme has written so far, without what [`ImageWriter::create_from`] copied.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Computes the digests of what was written, and returns the catalog entries of the artifacts.
    /// The entry of a delta names `from_epoch` as its start. Meanwhile the system writes everything to
    /// disk.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn digest(&mut self, from_epoch: Option<Epoch>) -> Result<Vec<ArtifactEntry>> {
        let file = self.temp.as_file().try_clone();
        let file = file.map_err(|e| DbError::io("opening again", &self.destination, e))?;
        let (artifacts, synced) = thread::scope(|scope| {
            let synced = scope.spawn(|| file.sync_data());
            (self.digest_parts(from_epoch), synced.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        synced.map_err(|e| DbError::io("writing to the disk", &self.destination, e))?;
        artifacts
    }

    fn digest_parts(&mut self, from_epoch: Option<Epoch>) -> Result<Vec<ArtifactEntry>> {
        let file = self.temp.as_file();
        let places = self.places.get_mut().unwrap_or_else(PoisonError::into_inner);
        let stage = ByteProgress::new(self.watch, "digest", places.iter().map(|place| place.bytes).sum());
        let mut artifacts = Vec::new();
        for place in places {
            let digest = match place.part {
                FilePart::Scheme(Section::Public(artifact)) => {
                    let from = from_epoch.filter(|_| artifact.is_delta());
                    digest::of_artifact(
                        file,
                        place.offset..place.offset + place.bytes,
                        artifact,
                        from,
                        &stage,
                    )
                    .map(|entry| {
                        let digest = entry.digest.0;
                        artifacts.push(entry);
                        digest
                    })
                }
                _ => digest::of_file(file, place.offset, place.bytes, &stage),
            };
            place.digest = Some(digest.map_err(|e| DbError::io("reading back", &self.destination, e))?);
        }
        Ok(artifacts)
    }

    /// Digest of the resident section, known after [`ImageWriter::digest`].
    pub fn resident_digest(&self) -> Option<Hex32> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let resident = places.iter().find(|place| place.part == FilePart::Scheme(Section::Resident));
        resident?.digest.map(Hex32::from)
    }

    /// Adds the catalog and the header, syncs everything to disk, and renames the file to its
    /// destination.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`]; [`DbError::Scheme`] if something was written after
    /// [`ImageWriter::digest`].
    pub fn finish(self, catalog: &SignedCatalog) -> Result<PathBuf> {
        self.close(FilePart::Catalog, &catalog.to_bytes())
    }

    /// Finishes a table of another protocol as [`ImageWriter::finish`] does, with its description
    /// in place of a catalog.
    ///
    /// # Errors
    /// The errors of [`ImageWriter::finish`].
    pub fn finish_foreign(self, description: &[u8]) -> Result<PathBuf> {
        self.close(FilePart::Foreign, description)
    }

    fn close(self, part: FilePart, text: &[u8]) -> Result<PathBuf> {
        let FinishedFile { temp, destination } = self.seal(part, text)?;
        let failed = |what, e| DbError::io(what, &destination, e);
        // Never overwrites: a published epoch does not change.
        temp.persist_noclobber(&destination).map_err(|e| failed("renaming", e.error))?;
        sync_dir(&destination).map_err(|e| failed("writing the folder to the disk", e))?;
        Ok(destination)
    }

    /// Adds the last part, which describes the others, and syncs everything to disk. The file is
    /// then complete, but has no lasting name.
    ///
    /// # Errors
    /// The errors of [`ImageWriter::finish`].
    pub(crate) fn seal(self, part: FilePart, text: &[u8]) -> Result<FinishedFile> {
        let failed = |what, e| DbError::io(what, &self.destination, e);
        let place = self.allocate(part, text.len() as u64).map_err(|e| self.failed(e))?;
        let file = self.temp.as_file();
        file.write_all_at(text, place.offset).map_err(|e| failed("writing the catalog", e))?;

        let mut entries = Vec::new();
        for place in self.places.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let WriterSection { offset, bytes, .. } = place;
            let digest = match place.part {
                _ if place.part == part => *blake3::hash(text).as_bytes(),
                _ => place.digest.ok_or(Misuse::Rule("finish() called before digest()"))?,
            };
            entries.push(FilePartEntry { part: place.part, offset, bytes, digest });
        }
        let header = ImageHeader { file_bytes: place.offset + place.bytes, piece: self.piece, entries };
        (self.watch)(Progress { stage: "sync", done: 0, total: 0, unit: ProgressUnit::Steps });
        file.sync_all().map_err(|e| failed("writing to the disk", e))?;
        file.write_all_at(&header.to_bytes(), 0).map_err(|e| failed("writing the header", e))?;
        file.sync_all().map_err(|e| failed("writing to the disk", e))?;
        Ok(FinishedFile { temp: self.temp, destination: self.destination })
    }

    /// Converts a scheme's error into ours, naming the image.
    pub fn failed(&self, error: sotto_core::Error) -> DbError {
        DbError::scheme(&self.destination, error)
    }

    /// Adds a part at the end of the file. Its blocks are allocated now, so that a full disk is
    /// detected before hours of encoding and not after.
    fn allocate(&self, part: FilePart, bytes: u64) -> sotto_core::Result<WriterSection> {
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let end = places.last().map_or(HEADER_BYTES as u64, |last| last.offset + last.bytes);
        let place = end
            .checked_next_multiple_of(part.alignment())
            .and_then(|offset| Some((offset, offset.checked_add(bytes)?)))
            .filter(|(_, end)| i64::try_from(*end).is_ok());
        let (offset, end) = place.ok_or(Misuse::Rule("section of more than 2^63 bytes"))?;
        self.temp.as_file().set_len(end)?;
        if !self.sparse {
            preallocate(self.temp.as_file(), offset, bytes)?;
        }
        let place = WriterSection { part, offset, bytes, digest: None };
        places.push(place);
        Ok(place)
    }

    /// Offset in the file of the `bytes` bytes from `offset` of a part on.
    fn place(&self, part: FilePart, offset: u64, bytes: usize) -> sotto_core::Result<u64> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let place = places.iter().find(|place| place.part == part);
        let place = place.ok_or(Misuse::Rule("section written before it was reserved"))?;
        match offset.checked_add(bytes as u64) {
            Some(end) if end <= place.bytes => Ok(place.offset + offset),
            _ => {
                Err(Misuse::IndexPastEnd { index: offset.saturating_add(bytes as u64), len: place.bytes }
                    .into())
            }
        }
    }
}

/// A scheme writes through [`Sink`]; the parts that are not a scheme's are written through these
/// methods.
impl ImageWriter<'_> {
    /// Reserves a part of `bytes` zero bytes, or keeps the existing one if it has that size.
    ///
    /// # Errors
    /// The errors of [`Sink::reserve`].
    pub fn reserve_part(&self, part: FilePart, bytes: u64) -> sotto_core::Result<()> {
        if !part.is_known() {
            return Err(Misuse::Rule("image format 1 has no section for the artifact").into());
        }
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let held = places.iter().find(|place| place.part == part).map(|place| place.bytes);
        drop(places);
        match held {
            Some(held) if held == bytes => Ok(()),
            Some(_) => Err(Misuse::Rule("section reserved twice with different sizes").into()),
            None => self.allocate(part, bytes).map(drop),
        }
    }

    /// Writes bytes into a part.
    ///
    /// # Errors
    /// The errors of [`Sink::write_at`].
    pub fn write_part(&self, part: FilePart, offset: u64, bytes: &[u8]) -> sotto_core::Result<()> {
        let at = self.place(part, offset, bytes.len())?;
        self.temp.as_file().write_all_at(bytes, at)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads back bytes that were written into a part.
    ///
    /// # Errors
    /// The errors of [`Sink::read_at`].
    pub fn read_part(&self, part: FilePart, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let at = self.place(part, offset, out.len())?;
        Ok(self.temp.as_file().read_exact_at(out, at)?)
    }
}

impl Sink for ImageWriter<'_> {
    fn reserve(&self, section: Section, bytes: u64) -> sotto_core::Result<()> {
        self.reserve_part(FilePart::Scheme(section), bytes)
    }

    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> sotto_core::Result<()> {
        self.write_part(FilePart::Scheme(section), offset, bytes)
    }

    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.read_part(FilePart::Scheme(section), offset, out)
    }

    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        (self.watch)(Progress { stage, done, total, unit: ProgressUnit::Steps });
    }
}

const COPY_BLOCK: usize = 8 << 20;

/// Allocates disk blocks where the system can; elsewhere a full disk is detected when the file is
/// written.
#[cfg(target_os = "linux")]
fn preallocate(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if bytes == 0 {
        return Ok(());
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), offset, bytes) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(()),
            other => return Ok(other?),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn preallocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}
