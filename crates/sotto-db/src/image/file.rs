//! An open image: header and catalog checked, sections mapped. Opening reads a page and the catalog,
//! whatever the size of the rest.

use super::header::{Entry, HEADER_BYTES, Header, Part};
use super::map::Map;
use crate::progress::{Stage, Watcher};
use crate::{DbError, ImageProblem, Result};
use sotto_catalog::{Catalog, Hex32, SignedCatalog};
use sotto_core::{Artifact, Image, Section, Sure};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A mapped image.
pub struct ImageFile {
    path: PathBuf,
    file: File,
    seal: Seal,
    map: Map,
    header: Header,
    signed: SignedCatalog,
    catalog: Catalog,
}

/// Which file it is, how long, and when it was last written: what stays as it is while nobody writes to it in place.
/// Other names for it, another place, and the end of its name change nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    file: (u64, u64),
    bytes: u64,
    written: (i64, i64),
}

impl Seal {
    fn of(metadata: &Metadata) -> Self {
        Seal {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl ImageFile {
    /// Opens an image and checks its header and catalog; [`ImageFile::verify`] checks the rest.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::Image`].
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        ImageFile::open_holding(path, |_| true)
    }

    /// Opens what is left of an image once only the way to it from the epoch before is kept: its catalog and its rows
    /// delta.
    ///
    /// # Errors
    /// As [`ImageFile::open`].
    pub fn open_remnant(path: &Path) -> Result<Arc<Self>> {
        ImageFile::open_holding(path, |artifact| artifact == Artifact::RowsDelta)
    }

    /// Opens a file that has, of the artifacts its catalog names, those that `holds` says.
    fn open_holding(path: &Path, holds: fn(Artifact) -> bool) -> Result<Arc<Self>> {
        let io = |e| DbError::io("opening", path, e);
        let refuse = |problem| DbError::Image { path: path.to_owned(), problem };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() || metadata.len() == 0 {
            // Neither can be mapped.
            return Err(refuse(ImageProblem::NotAnImage));
        }
        let map = Map::of(&file).map_err(io)?;
        let bytes = map.bytes();
        let (page, _) = bytes.split_at(bytes.len().min(HEADER_BYTES));
        let header = Header::parse(page, bytes.len() as u64).map_err(refuse)?;
        let (signed, catalog) = read_catalog(bytes, &header, holds).map_err(refuse)?;
        let (path, seal) = (path.to_owned(), Seal::of(&metadata));
        let image = ImageFile { path, file, seal, map, header, signed, catalog };
        image.check()?;
        Ok(Arc::new(image))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first page.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The catalog as it is served.
    pub fn signed_catalog(&self) -> &SignedCatalog {
        &self.signed
    }

    /// The catalog. Its signature was checked, but only against the key that comes with it.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The digest of what answers are made from, if the image has it.
    pub fn rows_digest(&self) -> Option<Hex32> {
        self.scanned().map(|entry| entry.digest.into())
    }

    /// What tells this file from another, and from itself once it is written to.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// Whether all that was read of the file so far is as it was when it was opened. Cheap: no byte of it is read. Whoever
    /// has made something of an image's bytes asks afterwards, and throws it away if this fails. It never gets better.
    ///
    /// # Errors
    /// [`DbError::Image`] with [`ImageProblem::Changed`].
    pub fn check(&self) -> Result<()> {
        let now = self.file.metadata().map(|metadata| Seal::of(&metadata));
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
    /// As [`ImageFile::verify`].
    pub fn verify_while(
        &self,
        watch: Watcher<'_>,
        which: &dyn Fn(Part) -> bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let entries: Vec<_> = self.header.entries.iter().filter(|entry| which(entry.part)).collect();
        let stage = Stage::new(watch, "verify", entries.iter().map(|entry| entry.bytes).sum());
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

    fn refuse(&self, problem: ImageProblem) -> DbError {
        DbError::Image { path: self.path.clone(), problem }
    }

    /// The section that answers are made from, if the image has it: the rows, or else the resident section.
    pub fn answered_from(&self) -> Option<Section> {
        ANSWERED_FROM.into_iter().find(|section| self.header.entry(Part::Scheme(*section)).is_some())
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

    fn scanned(&self) -> Option<&Entry> {
        self.header.entry(Part::Scheme(self.answered_from()?))
    }

    /// A part's bytes. The header was checked against the file's length.
    pub(crate) fn part(&self, entry: &Entry) -> &[u8] {
        slice(self.map.bytes(), entry).sure("the header was checked against the file")
    }
}

/// What a server answers from: the first of these that there is.
const ANSWERED_FROM: [Section; 2] = [Section::Public(Artifact::Rows), Section::Resident];

const VERIFY_BLOCK: usize = 8 << 20;

impl Image for ImageFile {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.header.entry(Part::Scheme(section)).map(|entry| self.part(entry))
    }
}

impl std::fmt::Debug for ImageFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ImageFile({})", self.path.display())
    }
}

fn slice<'a>(bytes: &'a [u8], entry: &Entry) -> Option<&'a [u8]> {
    let start = usize::try_from(entry.offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(entry.bytes).ok()?)?)
}

fn read_catalog(
    bytes: &[u8],
    header: &Header,
    holds: fn(Artifact) -> bool,
) -> Result<(SignedCatalog, Catalog), ImageProblem> {
    let entry = header.entry(Part::Catalog).ok_or(ImageProblem::Malformed { why: "there is no catalog" })?;
    let text = slice(bytes, entry).ok_or(ImageProblem::Malformed { why: "the catalog lies past the end" })?;
    let refuse = |error: sotto_catalog::CatalogError| ImageProblem::Catalog { why: error.to_string() };
    // The size limit comes first: nothing is hashed that could not be a catalog.
    let signed = SignedCatalog::parse(text).map_err(refuse);
    if blake3::hash(text) != blake3::Hash::from(entry.digest) {
        return Err(ImageProblem::Digest { part: Part::Catalog.name() });
    }
    let signed = signed?;
    let catalog = signed.verify(None).map_err(refuse)?;

    let named = |entry: &&Entry| matches!(entry.part, Part::Scheme(Section::Public(_)));
    let held: Vec<_> = catalog.artifacts.iter().filter(|entry| holds(entry.artifact)).collect();
    if header.entries.iter().filter(named).count() != held.len() {
        return Err(ImageProblem::Malformed { why: "the catalog names other artifacts than the file holds" });
    }
    for artifact in held {
        let entry = header.entry(Part::Scheme(Section::Public(artifact.artifact)));
        if !entry.is_some_and(|entry| entry.bytes == artifact.bytes && entry.digest == artifact.digest.0) {
            return Err(ImageProblem::Malformed { why: "an artifact is not the one the catalog names" });
        }
    }
    if let Some(named) = catalog.rows_digest {
        // A remnant has no rows, whether they are an artifact or not.
        let rows = header.entry(Part::Scheme(Section::Resident)).map(|entry| entry.digest);
        if rows != Some(named.0).filter(|_| holds(Artifact::Rows)) {
            return Err(ImageProblem::Malformed { why: "the rows are not those the catalog names" });
        }
    }
    Ok((signed, catalog))
}
