//! The image file of one epoch of a table: written once and atomically, then mapped. Opening reads one
//! page and the catalog, whatever the size of the rest.
//!
//! A table of another protocol has a description in place of a catalog. It is not signed, since the
//! clients of such a protocol do not check our signatures; digests detect damage. The crate of the
//! protocol reads it.
//!
//! | module | contents |
//! |---|---|
//! | [`header`] | the first page: sections, offsets, digests |
//! | [`writer`] | a temporary file that becomes an image or is removed |
//! | [`mapped`](mod@mapped) | an open file of sections: header checked, sections mapped; its pages |
//! | `map` | the only module that maps files into memory |
//! | `digest` | BLAKE3 over a section and over its chunks |

pub(crate) mod digest;
pub mod header;
pub(crate) mod map;
pub mod mapped;
pub mod writer;

pub use crate::file_kind::FileKind;
use crate::{ImageProblem, Result};
use header::{FilePart, ImageHeader};
pub use mapped::{FileIdentity, MappedFile};
use sotto_catalog::{Catalog, Hex32, SignedCatalog};
use sotto_core::{Artifact, Image, Section};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
pub use writer::ImageWriter;

/// A mapped image with its catalog.
pub struct ImageFile {
    mapped: MappedFile,
    signed: SignedCatalog,
    catalog: Catalog,
}

impl ImageFile {
    /// Opens an image, or the front of an image in parts, and checks its header and catalog;
    /// [`MappedFile::verify`] checks the rest.
    ///
    /// # Errors
    /// [`crate::DbError::Io`], [`crate::DbError::Image`].
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let image = ImageFile::open_holding(path, |_| true)?;
        match image.piece() {
            FileKind::Part(_) => Err(image.refuse(ImageProblem::Piece(image.piece()))),
            FileKind::Whole | FileKind::Front(_) => Ok(image),
        }
    }

    /// Opens a part of an image, as [`ImageFile::open`] does for a whole one.
    ///
    /// # Errors
    /// The errors of [`ImageFile::open`].
    pub fn open_part(path: &Path) -> Result<Arc<Self>> {
        let image = ImageFile::open_holding(path, |_| true)?;
        match image.piece() {
            FileKind::Part(_) => Ok(image),
            found => Err(image.refuse(ImageProblem::Piece(found))),
        }
    }

    /// Opens the remnant of an image: its catalog and its rows delta from the epoch before.
    ///
    /// # Errors
    /// The errors of [`ImageFile::open`].
    pub fn open_remnant(path: &Path) -> Result<Arc<Self>> {
        ImageFile::open_holding(path, |artifact| artifact == Artifact::RowsDelta)
    }

    /// Opens a file that holds those artifacts of its catalog for which `holds` returns true.
    fn open_holding(path: &Path, holds: fn(Artifact) -> bool) -> Result<Arc<Self>> {
        let mapped = MappedFile::open(path)?;
        let (signed, catalog) = read_catalog(&mapped).map_err(|problem| mapped.refuse(problem))?;
        names_what_is_there(mapped.header(), &catalog, holds).map_err(|problem| mapped.refuse(problem))?;
        let image = ImageFile { mapped, signed, catalog };
        image.check()?;
        Ok(Arc::new(image))
    }

    /// Share of the table's image that the file holds: all of it, or a piece.
    pub fn piece(&self) -> FileKind {
        self.header().piece
    }

    /// The signed catalog as it is served.
    pub fn signed_catalog(&self) -> &SignedCatalog {
        &self.signed
    }

    /// The catalog. Its signature was verified, but only under the key that comes with it.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

impl Deref for ImageFile {
    type Target = MappedFile;

    fn deref(&self) -> &MappedFile {
        &self.mapped
    }
}

impl Image for ImageFile {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.mapped.section(section)
    }
}

impl std::fmt::Debug for ImageFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ImageFile({})", self.path().display())
    }
}

fn read_catalog(mapped: &MappedFile) -> Result<(SignedCatalog, Catalog), ImageProblem> {
    let header = mapped.header();
    if header.entry(FilePart::Foreign).is_some() || header.entry(FilePart::Entries).is_some() {
        return Err(ImageProblem::Foreign);
    }
    let entry = header.entry(FilePart::Catalog).ok_or(ImageProblem::Malformed("the file has no catalog"))?;
    let text = mapped.part(entry);
    // The size limit is checked first, so that a text too long for a catalog is not hashed.
    let signed = SignedCatalog::parse(text).map_err(ImageProblem::Catalog);
    if blake3::hash(text) != blake3::Hash::from(entry.digest) {
        return Err(ImageProblem::Digest(FilePart::Catalog.name()));
    }
    let signed = signed?;
    let catalog = signed.verify(None).map_err(ImageProblem::Catalog)?;
    Ok((signed, catalog))
}

/// Checks that a file holds those artifacts of its catalog for which `holds` returns true, and
/// nothing else.
fn names_what_is_there(
    header: &ImageHeader,
    catalog: &Catalog,
    holds: fn(Artifact) -> bool,
) -> Result<(), ImageProblem> {
    if let FileKind::Part(_) = header.piece {
        // The scheme decides how many bytes of each section a part holds.
        return match header.entries.len() {
            2 => Ok(()),
            _ => Err(ImageProblem::Malformed("expected one section and the catalog in a part")),
        };
    }
    let named = |entry: &&header::FilePartEntry| matches!(entry.part, FilePart::Scheme(Section::Public(_)));
    let held: Vec<_> = catalog.artifacts.iter().filter(|entry| holds(entry.artifact)).collect();
    if header.entries.iter().filter(named).count() != held.len() {
        return Err(ImageProblem::Malformed("the file holds other artifacts than the catalog names"));
    }
    for artifact in held {
        let entry = header.entry(FilePart::Scheme(Section::Public(artifact.artifact)));
        if !entry.is_some_and(|entry| entry.bytes == artifact.bytes && entry.digest == artifact.digest.0) {
            return Err(ImageProblem::Malformed("an artifact differs from the catalog's"));
        }
    }
    if let Some(named) = catalog.rows_digest {
        // A remnant has no rows section even if rows are an artifact; a front has it only if they
        // are.
        let rows = header.entry(FilePart::Scheme(Section::Resident)).map(|entry| entry.digest);
        let is_here = holds(Artifact::Rows) && header.piece == FileKind::Whole;
        if rows != Some(named.0).filter(|_| is_here) {
            return Err(ImageProblem::Malformed("the rows differ from those that the catalog names"));
        }
    }
    Ok(())
}

/// Largest size of a description in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 16 << 20;

/// A mapped table of another protocol.
#[derive(Debug)]
pub struct ForeignImage {
    mapped: MappedFile,
    digest: Hex32,
}

impl ForeignImage {
    /// Opens a table, and checks its header and that its description is undamaged;
    /// [`MappedFile::verify`] checks the rest.
    ///
    /// # Errors
    /// [`DbError::Io`](crate::DbError::Io), [`DbError::Image`](crate::DbError::Image).
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let mapped = MappedFile::open(path)?;
        let digest = check(&mapped).map_err(|problem| mapped.refuse(problem))?;
        mapped.check()?;
        Ok(Arc::new(ForeignImage { mapped, digest }))
    }

    /// Description of the table, as its protocol's crate wrote it.
    pub fn description(&self) -> &[u8] {
        self.mapped.bytes_of(FilePart::Foreign).unwrap_or_default()
    }

    /// BLAKE3 digest of the description.
    pub fn digest(&self) -> Hex32 {
        self.digest
    }
}

fn check(mapped: &MappedFile) -> Result<Hex32, ImageProblem> {
    let entry = mapped.header().entry(FilePart::Foreign).ok_or(ImageProblem::NotForeign)?;
    let known =
        |part| matches!(part, FilePart::Foreign | FilePart::Entries | FilePart::Scheme(Section::Resident));
    if !mapped.header().entries.iter().all(|entry| known(entry.part)) {
        return Err(ImageProblem::Malformed("unexpected scheme sections in a table of another protocol"));
    }
    if entry.bytes > MAX_DESCRIPTION_BYTES as u64 {
        return Err(ImageProblem::Malformed("a description has at most 16 MiB"));
    }
    // The description is not used before its digest is verified.
    if blake3::hash(mapped.part(entry)) != blake3::Hash::from(entry.digest) {
        return Err(ImageProblem::Digest(FilePart::Foreign.name()));
    }
    Ok(entry.digest.into())
}

impl Deref for ForeignImage {
    type Target = MappedFile;

    fn deref(&self) -> &MappedFile {
        &self.mapped
    }
}

impl Image for ForeignImage {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.mapped.section(section)
    }
}
