//! An artifact, assembled chunk by chunk. Each chunk is verified before any of its bytes is used,
//! and the whole artifact at the end.

use crate::Result;
use sotto_catalog::ArtifactEntry;
use sotto_core::{Artifact, ExpectOrDefault, PeerMisbehaved};
use std::ops::Range;

/// Bytes to fetch with one request, unless a single chunk is larger. The value is small enough to
/// show progress and to lose little when a connection breaks, and large enough that round trips do
/// not matter.
const FETCH_BYTES: u64 = 4 << 20;

/// Bytes of rows to fetch with one request. A table may have thousands of times as many bytes of
/// rows as of other artifacts, so round trips matter more.
pub(crate) const ROWS_FETCH_BYTES: u64 = 16 << 20;

/// An artifact of which the first chunks have arrived.
pub(super) struct ChunkAssembler {
    entry: ArtifactEntry,
    /// Number of chunks that have arrived.
    chunks: usize,
    /// Hash of all bytes so far; `None` if the first chunks were absorbed earlier, since the digest
    /// of the artifact needs all of them.
    hasher: Option<blake3::Hasher>,
    /// Bytes at the start of the next chunk that were absorbed earlier.
    skip: usize,
}

impl ChunkAssembler {
    pub(super) fn new(entry: ArtifactEntry) -> Self {
        ChunkAssembler { entry, chunks: 0, hasher: Some(blake3::Hasher::new()), skip: 0 }
    }

    /// Continues an artifact whose first `kept` bytes were absorbed earlier. A chunk is verified as
    /// a whole, so the last, incomplete one is fetched again.
    pub(super) fn resumed(entry: ArtifactEntry, kept: u64) -> Self {
        if kept == 0 {
            return ChunkAssembler::new(entry);
        }
        let is_kept = |i: &usize| entry.chunk_range(*i).is_some_and(|chunk| chunk.end <= kept);
        let chunks = (0..).take_while(is_kept).count();
        let skip = entry.chunk_range(chunks).map_or(0, |chunk| kept.saturating_sub(chunk.start) as usize);
        ChunkAssembler { entry, chunks, hasher: None, skip }
    }

    pub(super) fn entry(&self) -> &ArtifactEntry {
        &self.entry
    }

    /// The range to fetch next, of whole chunks; `None` if the artifact is complete.
    pub(super) fn next_range(&self) -> Option<Range<u64>> {
        self.range_from(self.chunks)
    }

    /// The range to fetch after [`Self::next_range`].
    pub(super) fn upcoming_range(&self) -> Option<Range<u64>> {
        let next = self.next_range()?;
        self.range_from(usize::try_from(next.end.div_ceil(self.entry.chunk_bytes)).ok()?)
    }

    /// The range of the chunks from `first` on that are fetched with one request.
    fn range_from(&self, first: usize) -> Option<Range<u64>> {
        let max_bytes = if self.entry.artifact == Artifact::Rows { ROWS_FETCH_BYTES } else { FETCH_BYTES };
        let start = self.entry.chunk_range(first)?;
        let later = (first + 1..).map_while(|i| self.entry.chunk_range(i));
        let end = later.take_while(|chunk| chunk.end - start.start <= max_bytes).last().map(|c| c.end);
        Some(start.start..end.unwrap_or(start.end))
    }

    /// Passes the whole, valid chunks at the start of `bytes` to `sink`, and returns their length
    /// in bytes.
    pub(super) fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<usize> {
        let mut rest = bytes;
        while let Some(range) = self.entry.chunk_range(self.chunks) {
            let Ok(size) = usize::try_from(range.end - range.start) else { break };
            let Some((chunk, tail)) = rest.split_at_checked(size) else { break };
            if !self.entry.is_chunk(self.chunks, chunk) {
                break;
            }
            sink(
                chunk
                    .get(std::mem::take(&mut self.skip)..)
                    .expect_or_default("what is skipped is part of a chunk"),
            )?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(chunk);
            }
            self.chunks += 1;
            rest = tail;
        }
        Ok(bytes.len() - rest.len())
    }

    /// Verifies the digest of the whole artifact, if all chunks were absorbed here. If each chunk
    /// is valid and the whole is not, the catalog contradicts itself; the digest of each chunk is
    /// signed all the same.
    pub(super) fn finish(&self) -> Result<()> {
        if self.hasher.as_ref().is_none_or(|hasher| self.entry.digest == hasher.finalize().into()) {
            return Ok(());
        }
        Err(sotto_core::Error::from(PeerMisbehaved::Digest(self.entry.artifact.name())).into())
    }
}
