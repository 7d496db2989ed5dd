//! An artifact, chunk by chunk. Each chunk is checked before a byte of it is used, the whole at the end.

use crate::Result;
use sotto_catalog::ArtifactEntry;
use sotto_core::PeerMisbehaved;
use std::ops::Range;

/// Bytes fetched at once, unless a single chunk is larger. Small enough to show progress and to lose little
/// when a connection breaks, large enough that round trips do not count.
const FETCH_BYTES: u64 = 4 << 20;

/// An artifact of which the first chunks are there.
pub(super) struct Assembly {
    entry: ArtifactEntry,
    /// How many chunks are there.
    chunks: usize,
    hasher: blake3::Hasher,
}

impl Assembly {
    pub(super) fn new(entry: ArtifactEntry) -> Self {
        Assembly { entry, chunks: 0, hasher: blake3::Hasher::new() }
    }

    pub(super) fn entry(&self) -> &ArtifactEntry {
        &self.entry
    }

    /// The bytes to fetch next: whole chunks. `None` if all are there.
    pub(super) fn wanted(&self) -> Option<Range<u64>> {
        let first = self.entry.chunk_range(self.chunks)?;
        let later = (self.chunks + 1..).map_while(|i| self.entry.chunk_range(i));
        let end = later.take_while(|chunk| chunk.end - first.start <= FETCH_BYTES).last().map(|c| c.end);
        Some(first.start..end.unwrap_or(first.end))
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
            sink(chunk)?;
            self.hasher.update(chunk);
            self.chunks += 1;
            rest = tail;
        }
        Ok(bytes.len() - rest.len())
    }

    /// Checks the whole. Chunks that are each right and together wrong are a catalog that contradicts itself.
    pub(super) fn finish(&self) -> Result<()> {
        if self.entry.digest == self.hasher.finalize().into() {
            return Ok(());
        }
        Err(sotto_core::Error::from(PeerMisbehaved::Digest(self.entry.artifact.name())).into())
    }
}
