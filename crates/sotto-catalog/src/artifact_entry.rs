//! Catalog entry of an artifact: its size, its digest, and the digests of its chunks.

use crate::{CatalogError, Hex32, Result};
use serde::{Deserialize, Serialize};
use sotto_core::{Artifact, Epoch};
use std::ops::Range;

/// Largest number of chunks of an artifact.
pub const MAX_CHUNKS: usize = 4096;

/// Smallest chunk size in bytes.
pub const MIN_CHUNK_BYTES: u64 = 64 << 10;

/// Largest chunk size in bytes.
pub const MAX_CHUNK_BYTES: u64 = 1 << 30;

/// Chunk size in bytes of artifacts that are small enough for it.
const DEFAULT_CHUNK_BYTES: u64 = 1 << 20;

/// Catalog entry of an artifact. Chunks let a client keep what it has when a download is
/// interrupted, and detect a wrong byte after one chunk instead of after the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactEntry {
    /// Kind of the artifact.
    pub artifact: Artifact,
    /// Bytes of the artifact.
    pub bytes: u64,
    /// BLAKE3 digest of the artifact, and its name in `GET /v1/artifacts/{digest}`.
    pub digest: Hex32,
    /// Bytes per chunk, a power of two; the last chunk may be shorter.
    pub chunk_bytes: u64,
    /// BLAKE3 digest of each chunk.
    pub chunks: Vec<Hex32>,
    /// Epoch that a delta starts from; `None` for other artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_epoch: Option<Epoch>,
    /// Digest of the rows that a rows delta starts from. A client that applies the delta does not
    /// hold the resulting rows, and so cannot check them; but it knows which rows its state was
    /// made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_digest: Option<Hex32>,
}

impl ArtifactEntry {
    /// Builds the entry of an artifact from its bytes.
    pub fn of(artifact: Artifact, bytes: &[u8], from_epoch: Option<Epoch>) -> Self {
        let chunk_bytes = chunk_bytes_for(bytes.len() as u64);
        let size = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
        ArtifactEntry {
            artifact,
            bytes: bytes.len() as u64,
            digest: blake3::hash(bytes).into(),
            chunk_bytes,
            chunks: bytes.chunks(size).map(|chunk| blake3::hash(chunk).into()).collect(),
            from_epoch,
            from_digest: None,
        }
    }

    /// Byte range of chunk `index`; `None` past the last one.
    pub fn chunk_range(&self, index: usize) -> Option<Range<u64>> {
        self.chunks.get(index)?;
        let start = self.chunk_bytes.checked_mul(index as u64)?;
        Some(start..self.bytes.min(start.checked_add(self.chunk_bytes)?))
    }

    /// Whether `bytes` have the digest of chunk `index`.
    pub fn is_chunk(&self, index: usize, bytes: &[u8]) -> bool {
        self.chunks.get(index).is_some_and(|digest| *digest == blake3::hash(bytes).into())
    }

    pub(crate) fn check(&self, epoch: Epoch) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        let size = self.chunk_bytes;
        if !size.is_power_of_two() || !(MIN_CHUNK_BYTES..=MAX_CHUNK_BYTES).contains(&size) {
            return refuse("artifacts.chunk_bytes", "expected a power of two from 64 KiB to 1 GiB");
        }
        if self.chunks.len() > MAX_CHUNKS {
            return refuse("artifacts.chunks", "expected at most 4096 chunks");
        }
        if self.chunks.len() as u64 != self.bytes.div_ceil(size) {
            return refuse("artifacts.chunks", "expected as many chunks as the bytes fill");
        }
        if matches!(self.chunks.as_slice(), [only] if *only != self.digest) {
            return refuse("artifacts.chunks", "expected a single chunk to have the digest of the whole");
        }
        if self.from_digest.is_some() != (self.artifact == Artifact::RowsDelta) {
            return refuse(
                "artifacts.from_digest",
                "expected the digest of the rows that a rows delta starts from, and none for other artifacts",
            );
        }
        match (self.artifact.is_delta(), self.from_epoch) {
            (true, Some(from)) if from.0 >= 1 && from < epoch => Ok(()),
            (true, _) => {
                refuse("artifacts.from_epoch", "expected an earlier epoch, from which the delta starts")
            }
            (false, None) => Ok(()),
            (false, Some(_)) => refuse(
                "artifacts.from_epoch",
                "expected none, since only a delta starts from an \
                 epoch",
            ),
        }
    }
}

/// Chunk size for an artifact of `bytes` bytes: 1 MiB, or more where that would make over 4096
/// chunks.
pub fn chunk_bytes_for(bytes: u64) -> u64 {
    let least = bytes.div_ceil(MAX_CHUNKS as u64).checked_next_power_of_two().unwrap_or(MAX_CHUNK_BYTES);
    least.clamp(DEFAULT_CHUNK_BYTES, MAX_CHUNK_BYTES)
}
