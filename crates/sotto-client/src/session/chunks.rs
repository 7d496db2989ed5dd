//! An artifact, chunk by chunk. Each chunk is checked before a byte of it is used, the whole at the end.

use crate::Result;
use sotto_catalog::ArtifactEntry;
use sotto_core::{Artifact, ExpectOrDefault, PeerMisbehaved};
use std::ops::Range;

/// Bytes fetched at once, unless a single chunk is larger. Small enough to show progress and to lose little
/// when a connection breaks, large enough that round trips do not count.
const FETCH_BYTES: u64 = 4 << 20;

/// The same for rows, of which there may be thousands of times as many: a round trip must not count between two parts.
pub(crate) const ROWS_FETCH_BYTES: u64 = 16 << 20;

/// An artifact of which the first chunks are there.
pub(super) struct ChunkAssembler {
    entry: ArtifactEntry,
    /// How many chunks are there.
    chunks: usize,
    /// `None` if the first chunks were taken at another time: the digest of the whole needs all of them.
    hasher: Option<blake3::Hasher>,
    /// Bytes at the start of the next chunk that were taken at another time.
    skip: usize,
}

impl ChunkAssembler {
    pub(super) fn new(entry: ArtifactEntry) -> Self {
        ChunkAssembler { entry, chunks: 0, hasher: Some(blake3::Hasher::new()), skip: 0 }
    }

    /// An artifact whose first `kept` bytes were taken at another time. A chunk is checked as a whole, so the one they end
    /// in is fetched again.
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

    /// The bytes to fetch next: whole chunks. `None` if all are there.
    pub(super) fn wanted(&self) -> Option<Range<u64>> {
        self.part(self.chunks)
    }

    /// The bytes to fetch after those.
    pub(super) fn ahead(&self) -> Option<Range<u64>> {
        let wanted = self.wanted()?;
        self.part(usize::try_from(wanted.end.div_ceil(self.entry.chunk_bytes)).ok()?)
    }

    /// As many chunks from `first` on as are fetched at once.
    fn part(&self, first: usize) -> Option<Range<u64>> {
        let most = if self.entry.artifact == Artifact::Rows { ROWS_FETCH_BYTES } else { FETCH_BYTES };
        let start = self.entry.chunk_range(first)?;
        let later = (first + 1..).map_while(|i| self.entry.chunk_range(i));
        let end = later.take_while(|chunk| chunk.end - start.start <= most).last().map(|c| c.end);
        Some(start.start..end.unwrap_or(start.end))
    }

    /// Takes the whole, valid chunks that `bytes` starts with, and gives how many bytes those were.
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

    /// Checks the whole, as far as it came in one go. Chunks that are each right and together wrong are a catalog that
    /// contradicts itself; what each of them vouches for is signed all the same.
    pub(super) fn finish(&self) -> Result<()> {
        if self.hasher.as_ref().is_none_or(|hasher| self.entry.digest == hasher.finalize().into()) {
            return Ok(());
        }
        Err(sotto_core::Error::from(PeerMisbehaved::Digest(self.entry.artifact.name())).into())
    }
}
