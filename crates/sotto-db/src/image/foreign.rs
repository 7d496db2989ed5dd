//! An open table of another protocol: header checked, sections mapped, with a description in place
//! of a catalog.
//!
//! The description is not signed, since the clients of such a protocol do not check our signatures;
//! digests detect damage. The crate of the protocol reads the description.

use super::header::FilePart;
use super::mapped::MappedFile;
use crate::{ImageProblem, Result};
use sotto_catalog::Hex32;
use sotto_core::{Image, Section};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

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
        return Err(ImageProblem::Malformed {
            why: "unexpected scheme sections in a table of another protocol",
        });
    }
    if entry.bytes > MAX_DESCRIPTION_BYTES as u64 {
        return Err(ImageProblem::Malformed { why: "a description has at most 16 MiB" });
    }
    // The description is not used before its digest is verified.
    if blake3::hash(mapped.part(entry)) != blake3::Hash::from(entry.digest) {
        return Err(ImageProblem::Digest { part: FilePart::Foreign.name() });
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
