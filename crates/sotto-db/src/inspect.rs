//! What there is to know of an image, as data.

use crate::ImageFile;
use crate::image::header::{FilePart, FilePartEntry};
use crate::parts::{open_part, part_path};
use serde::Serialize;
use sotto_catalog::{Catalog, CatalogError, HexBytes};
use sotto_core::{PartIndex, SchemeEntry};
use std::path::PathBuf;

/// An image, described.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// The share of what answers are made from that lies on huge pages when the file is mapped here, if the system says so.
    pub huge_share: Option<f64>,
    /// How much of the table's image it is, in words.
    pub piece: String,
    /// The parts of a table that is cut, if this is its front.
    pub parts: Vec<PartInfo>,
    /// Its sections, by offset.
    pub sections: Vec<SectionInfo>,
    /// The key its catalog is signed with, as `sotto-pk:...`.
    pub public_key: String,
    /// The catalog.
    pub catalog: Catalog,
    /// What the scheme says of its parameters; `None` if this build does not have the scheme.
    pub scheme: Option<SchemeInfo>,
}

/// A part of a table that is cut.
#[derive(Debug, Clone, Serialize)]
pub struct PartInfo {
    /// Its file.
    pub path: PathBuf,
    /// Bytes of what answers are made from, and BLAKE3 of them in hexadecimal, if it is there and of this table.
    pub held: Option<(u64, String)>,
    /// What is wrong with it otherwise.
    pub problem: Option<String>,
}

/// A section of the file.
#[derive(Debug, Clone, Serialize)]
pub struct SectionInfo {
    /// Its name.
    pub name: &'static str,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// BLAKE3 of them, in hexadecimal.
    pub digest: String,
}

/// What a scheme says of its parameters.
#[derive(Debug, Clone, Serialize)]
pub struct SchemeInfo {
    /// Name and paper.
    pub title: &'static str,
    /// Records, and bytes in each.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Queries per lookup of a row, or of a row of each bucket.
    pub lookups: usize,
    /// Buckets, of each of which a lookup brings a row; 1 in ordinary tables.
    pub buckets: u64,
    /// Rows that fit before the table must be encoded afresh.
    pub capacity: u64,
    /// Bits of security.
    pub security_bits: f64,
    /// By which model.
    pub security_model: String,
    /// log2 of the bound on the probability that a lookup of a row fails.
    pub failure_log2: f64,
    /// Bytes a client fetches once per epoch.
    pub artifact_bytes: u64,
    /// Bytes of keys a client registers once per session.
    pub keys_bytes: u64,
    /// Bytes up per lookup of a row, to each server.
    pub query_bytes: u64,
    /// Bytes down per lookup of a row, from each server.
    pub answer_bytes: u64,
    /// Whether changed rows can be applied without encoding afresh.
    pub can_update: bool,
    /// Facts of the scheme's own.
    pub details: Vec<(&'static str, String)>,
}

/// Describes an image; `entry` is the scheme its catalog names, if this build has it.
///
/// # Errors
/// As [`Catalog::terms`].
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

/// A part beside a front.
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

/// What the scheme of a catalog says of its parameters; the catalog may come from anywhere.
///
/// # Errors
/// As [`Catalog::terms`].
pub fn describe(catalog: &Catalog, entry: &SchemeEntry) -> Result<SchemeInfo, CatalogError> {
    let terms = catalog.terms(entry)?;
    let (report, packing, buckets) = (terms.report, terms.packing, terms.buckets);
    let lookups = packing.records_per_row() as u64;
    Ok(SchemeInfo {
        title: entry.title,
        records: report.records,
        record_bytes: report.record_bytes,
        lookups: packing.records_per_row(),
        buckets,
        capacity: packing.capacity(),
        security_bits: report.security.bits,
        security_model: report.security.model,
        failure_log2: packing.failure_log2(report.failure_log2),
        artifact_bytes: report.costs.artifact_bytes,
        keys_bytes: report.costs.keys_bytes,
        query_bytes: report.costs.query_bytes.saturating_mul(lookups),
        answer_bytes: report.costs.answer_bytes.saturating_mul(lookups),
        can_update: entry.server.revise.is_some(),
        details: report.details,
    })
}
