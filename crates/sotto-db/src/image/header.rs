//! The first page of an image: its sections, their offsets and their digests, as specified in
//! `spec/image.md`.

use crate::ImageProblem;
use crate::file_kind::FileKind;
use sotto_core::{Artifact, ExpectOrDefault, Section};

/// Bytes of the header page; sections follow it.
pub const HEADER_BYTES: usize = 4096;

/// Version of the image format that this build writes and reads.
pub const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"sottoimg";
const PREFIX: usize = 64;
const ENTRY: usize = 64;
const MAX_SECTIONS: usize = (HEADER_BYTES - PREFIX) / ENTRY;

/// A part of an image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FilePart {
    /// The signed catalog, as JSON.
    Catalog,
    /// A section that a scheme wrote.
    Scheme(Section),
    /// The description of a table of another protocol, in place of a catalog.
    Foreign,
    /// The plaintext rows of a table of another protocol.
    Entries,
}

/// Place and digest of a part of an image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePartEntry {
    /// The part of the file.
    pub part: FilePart,
    /// Offset of the part's first byte in the file.
    pub offset: u64,
    /// Bytes of the part.
    pub bytes: u64,
    /// BLAKE3 digest of the part.
    pub digest: [u8; 32],
}

/// A checked header of an image file: parts are inside the file, aligned, in ascending order, each
/// at most once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageHeader {
    /// Bytes of the whole file.
    pub file_bytes: u64,
    /// Share of the table's image that the file holds: all of it, or a piece.
    pub piece: FileKind,
    /// Parts of the file, ordered by offset.
    pub entries: Vec<FilePartEntry>,
}

impl FilePart {
    /// Name of the part in reports.
    pub fn name(self) -> &'static str {
        match self {
            FilePart::Catalog => "catalog",
            FilePart::Scheme(Section::Resident) => "resident",
            FilePart::Scheme(Section::Public(artifact)) => artifact.name(),
            FilePart::Foreign => "description",
            FilePart::Entries => "entries",
        }
    }

    /// Alignment of the part's offset: a page for what is scanned, a cache line for the rest.
    pub fn alignment(self) -> u64 {
        match self {
            FilePart::Scheme(Section::Resident | Section::Public(Artifact::Rows)) | FilePart::Entries => 4096,
            _ => 64,
        }
    }

    fn code(self) -> Option<u32> {
        match self {
            FilePart::Catalog => Some(1),
            FilePart::Scheme(Section::Resident) => Some(2),
            FilePart::Scheme(Section::Public(Artifact::Hint)) => Some(3),
            FilePart::Scheme(Section::Public(Artifact::HintDelta)) => Some(4),
            FilePart::Scheme(Section::Public(Artifact::Rows)) => Some(5),
            FilePart::Scheme(Section::Public(Artifact::RowsDelta)) => Some(6),
            FilePart::Scheme(Section::Public(Artifact::Tree)) => Some(7),
            FilePart::Scheme(Section::Public(Artifact::TreeDelta)) => Some(8),
            FilePart::Foreign => Some(9),
            FilePart::Entries => Some(10),
            // An artifact newer than this format; the writer refuses to reserve it.
            FilePart::Scheme(Section::Public(_)) => None,
        }
    }

    fn from_code(code: u32) -> Option<Self> {
        let known = [
            FilePart::Catalog,
            FilePart::Scheme(Section::Resident),
            FilePart::Scheme(Section::Public(Artifact::Hint)),
            FilePart::Scheme(Section::Public(Artifact::HintDelta)),
            FilePart::Scheme(Section::Public(Artifact::Rows)),
            FilePart::Scheme(Section::Public(Artifact::RowsDelta)),
            FilePart::Scheme(Section::Public(Artifact::Tree)),
            FilePart::Scheme(Section::Public(Artifact::TreeDelta)),
            FilePart::Foreign,
            FilePart::Entries,
        ];
        known.into_iter().find(|part| part.code() == Some(code))
    }

    /// Whether this format has a code for the part.
    pub(crate) fn is_known(self) -> bool {
        self.code().is_some()
    }
}

impl ImageHeader {
    /// Encodes the header as the first page.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut table = Vec::with_capacity(HEADER_BYTES);
        for entry in &self.entries {
            table.extend_from_slice(
                &entry.part.code().expect_or_default("a part of an image has a code").to_le_bytes(),
            );
            table.extend_from_slice(&[0; 4]);
            table.extend_from_slice(&entry.offset.to_le_bytes());
            table.extend_from_slice(&entry.bytes.to_le_bytes());
            table.extend_from_slice(&[0; 8]);
            table.extend_from_slice(&entry.digest);
        }
        table.resize(HEADER_BYTES - PREFIX, 0);

        let mut page = Vec::with_capacity(HEADER_BYTES);
        page.extend_from_slice(&MAGIC);
        page.extend_from_slice(&VERSION.to_le_bytes());
        page.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        page.extend_from_slice(&self.file_bytes.to_le_bytes());
        self.piece.to_numbers().iter().for_each(|number| page.extend_from_slice(&number.to_le_bytes()));
        let digest = digest(&page, &table);
        page.extend_from_slice(&digest);
        page.extend_from_slice(&table);
        page
    }

    /// Parses the first page of a file of `file_bytes` bytes. Total.
    ///
    /// # Errors
    /// [`ImageProblem`].
    pub fn parse(page: &[u8], file_bytes: u64) -> Result<Self, ImageProblem> {
        let malformed = ImageProblem::Malformed;
        let mut fields = Fields(page);
        if fields.take::<8>() != Some(MAGIC) {
            return Err(ImageProblem::NotAnImage);
        }
        // The version is read before any digest, since another version may use another digest.
        let cut = || ImageProblem::Length { have: file_bytes, want: HEADER_BYTES as u64 };
        let found = fields.u32().ok_or_else(cut)?;
        if found != VERSION {
            return Err(ImageProblem::Version { found });
        }
        let (prefix, table) = match (page.get(..32), page.get(PREFIX..HEADER_BYTES)) {
            (Some(prefix), Some(table)) => (prefix, table),
            _ => return Err(cut()),
        };
        if page.get(32..PREFIX) != Some(digest(prefix, table).as_slice()) {
            return Err(ImageProblem::Digest("the header"));
        }
        let count = fields.u32().map_or(usize::MAX, |count| count as usize);
        let want = fields.u64().unwrap_or(0);
        if want != file_bytes {
            return Err(ImageProblem::Length { have: file_bytes, want });
        }
        let piece = FileKind::from_numbers([fields.u32().unwrap_or(0), fields.u32().unwrap_or(0)])
            .map_err(malformed)?;
        if count > MAX_SECTIONS {
            return Err(malformed("too many sections"));
        }
        let mut fields = Fields(table);
        let entries: Option<Vec<_>> = (0..count).map(|_| fields.entry()).collect();
        let header =
            ImageHeader { file_bytes, piece, entries: entries.ok_or(malformed("an unknown section"))? };
        header.check().map_err(malformed)?;
        Ok(header)
    }

    fn check(&self) -> Result<(), &'static str> {
        let mut end = HEADER_BYTES as u64;
        for (i, entry) in self.entries.iter().enumerate() {
            if entry.offset < end {
                return Err("sections overlap");
            }
            if entry.offset % entry.part.alignment() != 0 {
                return Err("a section is not aligned");
            }
            end = entry.offset.checked_add(entry.bytes).ok_or("the end of a section overflows")?;
            if end > self.file_bytes {
                return Err("a section reaches past the end of the file");
            }
            if self.entries.iter().take(i).any(|other| other.part == entry.part) {
                return Err("a section is listed twice");
            }
        }
        if end != self.file_bytes {
            return Err("the file does not end with its last section");
        }
        Ok(())
    }

    /// Entry of `part`, if the file has it.
    pub fn entry(&self, part: FilePart) -> Option<&FilePartEntry> {
        self.entries.iter().find(|entry| entry.part == part)
    }
}

/// Digest of the first page without the digest itself.
fn digest(prefix: &[u8], table: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(prefix).update(table);
    *hasher.finalize().as_bytes()
}

/// Reads fields from the front of a byte slice.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn entry(&mut self) -> Option<FilePartEntry> {
        let part = FilePart::from_code(self.u32()?)?;
        let zero = self.u32()?;
        let (offset, bytes, zeros) = (self.u64()?, self.u64()?, self.u64()?);
        let digest = self.take()?;
        (zero == 0 && zeros == 0).then_some(FilePartEntry { part, offset, bytes, digest })
    }
}
