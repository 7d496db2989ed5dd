//! Description of an image as data.

use crate::ImageFile;
use crate::image::header::{FilePart, FilePartEntry};
use crate::parts::{open_part, part_path};
use serde::Serialize;
use sotto_catalog::{Catalog, CatalogError, HexBytes};
use sotto_core::{PartIndex, SchemeEntry};
use std::path::PathBuf;

/// Description of an image.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inspection {
    /// Path of the file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// Share of the section that answers are computed from that is on huge pages when the file is
    /// mapped here, if the system reports it.
    pub huge_share: Option<f64>,
    /// Share of the table's image that the file holds, in words.
    pub piece: String,
    /// Parts of the table, if this is the front of one in parts.
    pub parts: Vec<PartInfo>,
    /// Sections of the file, ordered by offset.
    pub sections: Vec<SectionInfo>,
    /// Public key of the catalog's signature, as `sotto-pk:...`.
    pub public_key: String,
    /// The catalog of the image.
    pub catalog: Catalog,
    /// The scheme's report on its parameters; `None` if this build does not have the scheme.
    pub scheme: Option<SchemeInfo>,
}

/// Description of a part of a table in parts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartInfo {
    /// Path of the part.
    pub path: PathBuf,
    /// Bytes of the resident section in the part, and their BLAKE3 digest in hexadecimal, if the
    /// part exists and belongs to this table.
    pub held: Option<(u64, String)>,
    /// Problem of the part, if it is missing or invalid.
    pub problem: Option<String>,
}

/// Description of a section of the file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionInfo {
    /// Name of the section.
    pub name: &'static str,
    /// Offset of the section's first byte.
    pub offset: u64,
    /// Bytes of the section.
    pub bytes: u64,
    /// BLAKE3 digest of the section, in hexadecimal.
    pub digest: String,
}

/// A scheme's report on its parameters.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchemeInfo {
    /// Name and paper of the scheme.
    pub title: &'static str,
    /// Number of records.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Queries per lookup of a row, or of a row of each bucket.
    pub records_per_row: usize,
    /// Number of buckets, of each of which a lookup fetches a row; 1 in ordinary tables.
    pub buckets: u64,
    /// Number of rows that fit before the table must be re-encoded.
    pub capacity: u64,
    /// Bits of security; null in JSON if no computation breaks it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub security_bits: f64,
    /// Name of the model that estimates the security.
    pub security_model: String,
    /// Core-SVP of a lattice scheme in bits, a cruder figure than its bits of security.
    pub core_svp_bits: Option<f64>,
    /// Base-2 logarithm of the bound on the probability that a lookup of a row fails; null in JSON
    /// if it cannot fail.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub failure_log2: f64,
    /// Bytes that a client downloads once per epoch.
    pub artifact_bytes: u64,
    /// Bytes of the evaluation keys that a client registers once per session.
    pub keys_bytes: u64,
    /// Bytes sent per lookup of a row, to each server.
    pub query_bytes: u64,
    /// Bytes received per lookup of a row, from each server.
    pub answer_bytes: u64,
    /// Whether changed rows can be applied without re-encoding the table.
    pub can_update: bool,
    /// Further facts that the scheme reports.
    pub details: Vec<(&'static str, String)>,
}

/// Describes an image; `entry` is the scheme that its catalog names, if this build has it.
///
/// # Errors
/// The errors of [`Catalog::terms`].
pub fn inspect(image: &ImageFile, entry: Option<&SchemeEntry>) -> crate::Result<Inspection> {
    let catalog = image.catalog();
    let sections = image.header().entries.iter().map(|entry| SectionInfo {
        name: entry.part.name(),
        offset: entry.offset,
        bytes: entry.bytes,
        digest: HexBytes(entry.digest.to_vec()).to_string(),
    });
    Ok(Inspection {
        path: image.path().to_owned(),
        bytes: image.header().file_bytes,
        huge_share: image.huge_share(),
        piece: image.piece().to_string(),
        parts: PartIndex::all(image.piece().parts().unwrap_or(0)).map(|cut| part(image, cut)).collect(),
        sections: sections.collect(),
        public_key: image.signed_catalog().public_key().to_string(),
        scheme: entry.map(|entry| describe(catalog, entry)).transpose()?,
        catalog: catalog.clone(),
    })
}

/// Describes a part beside a front.
fn part(front: &ImageFile, cut: PartIndex) -> PartInfo {
    let path = part_path(front.path(), cut);
    let opened = open_part(front, cut);
    let digest = |entry: &FilePartEntry| (entry.bytes, HexBytes(entry.digest.to_vec()).to_string());
    let of_part =
        |image: &ImageFile| image.header().entries.iter().find(|it| it.part != FilePart::Catalog).map(digest);
    PartInfo {
        path,
        held: opened.as_ref().ok().and_then(|image| of_part(image)),
        problem: opened.err().map(|error| error.to_string()),
    }
}

/// Describes the parameters of a catalog's scheme. The catalog may come from anywhere.
///
/// # Errors
/// The errors of [`Catalog::terms`].
pub fn describe(catalog: &Catalog, entry: &SchemeEntry) -> Result<SchemeInfo, CatalogError> {
    let terms = catalog.terms(entry)?;
    let (report, packing, buckets) = (terms.report, terms.packing, terms.buckets);
    let lookups = packing.records_per_row() as u64;
    Ok(SchemeInfo {
        title: entry.metadata.title,
        records: report.records,
        record_bytes: report.record_bytes,
        records_per_row: packing.records_per_row(),
        buckets,
        capacity: packing.capacity(),
        security_bits: report.security.bits,
        security_model: report.security.model,
        core_svp_bits: report.security.core_svp,
        failure_log2: packing.failure_log2(report.failure_log2),
        artifact_bytes: report.costs.artifact_bytes,
        keys_bytes: report.costs.keys_bytes,
        query_bytes: report.costs.query_bytes.saturating_mul(lookups),
        answer_bytes: report.costs.answer_bytes.saturating_mul(lookups),
        can_update: entry.server.update_image.is_some(),
        details: report.details,
    })
}
