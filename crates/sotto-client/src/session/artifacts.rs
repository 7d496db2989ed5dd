//! The artifacts that a scheme or a table needs, one after the other: cached, patched from an older
//! epoch's, or fetched. Each chunk is verified before any of its bytes is used, and the whole
//! artifact at the end.

use super::accepted;
use super::verified_table::VerifiedTable;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{ArtifactEntry, Catalog, Hex32};
use sotto_core::erased::PatchFn;
use sotto_core::{
    AnyCheckpoint, AnyPrepare, Artifact, ArtifactNeed, Epoch, Error, ExpectOrDefault, Misuse, PeerMisbehaved,
};
use sotto_wire::routes;
use std::collections::VecDeque;
use std::ops::Range;

/// An artifact of an older epoch, from which a delta leads to the current epoch's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCached {
    /// Name of the artifact.
    pub artifact: Artifact,
    /// The older epoch.
    pub epoch: Epoch,
    /// Digest of the current epoch's artifact. A caller that has this one already does without.
    pub digest: Hex32,
    /// Size of the artifact in bytes, the same in both epochs.
    pub bytes: u64,
    /// Size of the delta in bytes.
    pub delta_bytes: u64,
}

/// A range of an artifact that a setup fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRange {
    /// Name of the artifact.
    pub artifact: Artifact,
    /// Digest of the artifact, which is its name on the server.
    pub digest: Hex32,
    /// Size of the artifact in bytes.
    pub bytes: u64,
    /// Range of bytes to fetch: whole chunks.
    pub range: Range<u64>,
    /// Request for the range.
    pub request: Request,
}

/// Consumes artifacts as they arrive, one verified chunk at a time.
pub(super) trait ArtifactConsumer {
    /// The artifacts, in the order in which they are absorbed.
    fn needs(&self) -> Vec<ArtifactNeed>;

    /// Absorbs the next chunk.
    fn absorb(&mut self, artifact: Artifact, chunk: &[u8]) -> Result<()>;

    /// Access to the half-done preparation for saving, if the scheme can save it.
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        None
    }
}

impl ArtifactConsumer for Box<dyn AnyPrepare> {
    fn needs(&self) -> Vec<ArtifactNeed> {
        self.as_ref().needs()
    }

    fn absorb(&mut self, artifact: Artifact, chunk: &[u8]) -> Result<()> {
        Ok(self.as_mut().absorb(artifact, chunk)?)
    }

    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        self.as_ref().checkpoint()
    }
}

/// A download of artifacts, as far as it is.
pub(super) struct ArtifactDownload {
    /// Artifacts still to be absorbed, beginning with the current one.
    pub(super) todo: VecDeque<ArtifactEntry>,
    /// The current artifact, once it was begun.
    pub(super) current: Option<ChunkAssembler>,
    /// The artifact that deltas lead to, with the patch function and its parameters.
    pub(super) patch: Option<(Artifact, PatchFn, Vec<u8>)>,
    /// The available deltas, the smallest first.
    pub(super) deltas: VecDeque<ArtifactEntry>,
    /// Bytes of rows that the consumer absorbed earlier.
    pub(super) kept: u64,
    /// Whether the consumer has refused bytes, so that this download cannot go on.
    pub(super) spoiled: bool,
}

impl ArtifactDownload {
    /// Begins to download what a consumer needs; deltas named `delta` can be applied by `patch`.
    pub(super) fn new(
        table: &VerifiedTable,
        consumer: &dyn ArtifactConsumer,
        delta: Artifact,
        patch: Option<(Artifact, PatchFn, Vec<u8>)>,
    ) -> Result<Self> {
        let entries = &table.catalog.artifacts;
        let mut todo = VecDeque::new();
        for need in consumer.needs() {
            let fits = |entry: &&ArtifactEntry| {
                entry.artifact == need.artifact && entry.bytes == need.bytes && entry.from_epoch.is_none()
            };
            let missing =
                || ClientError::MissingArtifact { artifact: need.artifact.name(), bytes: need.bytes };
            todo.push_back(entries.iter().find(fits).ok_or_else(missing)?.clone());
        }
        let deltas = smallest_first(entries.iter().filter(|entry| entry.artifact == delta));
        let kept = consumer.checkpoint().map_or(0, AnyCheckpoint::absorbed_bytes);
        Ok(ArtifactDownload { todo, current: None, patch, deltas, kept, spoiled: false })
    }

    /// The range of the current artifact to fetch next.
    pub(super) fn next_fetch(&self) -> Option<FetchRange> {
        let current = self.current.as_ref()?;
        Some(fetch(current.entry(), current.next_range()?))
    }

    /// Absorbs the valid chunks at the start of `bytes`, and returns their length in bytes.
    pub(super) fn absorb(&mut self, consumer: &mut dyn ArtifactConsumer, bytes: &[u8]) -> Result<usize> {
        let Some(current) = &mut self.current else { return Ok(0) };
        let artifact = current.entry().artifact;
        let taken = current.take(bytes, &mut |chunk| consumer.absorb(artifact, chunk));
        let taken = taken.and_then(|taken| match current.next_range() {
            None => current.finish().map(|()| taken),
            Some(_) => Ok(taken),
        });
        self.spoiled |= taken.is_err();
        taken
    }

    /// Absorbs a response, which has to be the whole requested range.
    pub(super) fn take(
        &mut self,
        consumer: &mut dyn ArtifactConsumer,
        fetch: &FetchRange,
        epoch: Epoch,
        response: &Response,
    ) -> Result<()> {
        let body = whole(fetch, accepted(response, Some(epoch))?)?;
        match self.absorb(consumer, body)? {
            taken if taken == body.len() => Ok(()),
            _ => Err(Error::from(PeerMisbehaved::Digest(fetch.artifact.name())).into()),
        }
    }
}

/// A download of rows, for a caller that fetches several parts at once.
pub struct RowsDownload<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) download: &'a mut ArtifactDownload,
    pub(super) consumer: &'a mut dyn ArtifactConsumer,
}

impl RowsDownload<'_> {
    /// The part to fetch next; `None` once all rows are absorbed.
    pub fn next(&self) -> Option<FetchRange> {
        self.download.next_fetch()
    }

    /// The part that will be fetched after the next one, for callers that fetch it while the other
    /// one is still being absorbed.
    pub fn upcoming(&self) -> Option<FetchRange> {
        let current = self.download.current.as_ref()?;
        Some(fetch(current.entry(), current.upcoming_range()?))
    }

    /// Takes the response to the request of [`RowsDownload::next`].
    ///
    /// # Errors
    /// [`ClientError`] for a refusal, or for bytes that are not the requested ones.
    pub fn take(&mut self, response: &Response) -> Result<()> {
        let Some(fetch) = self.next() else {
            return Err(Error::from(Misuse::Rule("rows received while none were expected")).into());
        };
        self.download.take(self.consumer, &fetch, self.catalog.epoch, response)
    }

    /// Takes the first bytes of the next part. Returns how many were valid; the rest is damaged, or
    /// an incomplete chunk, and has to be fetched.
    ///
    /// # Errors
    /// Errors of the client that absorbs them; damaged bytes are no error.
    pub fn take_first(&mut self, bytes: &[u8]) -> Result<usize> {
        self.download.absorb(self.consumer, bytes)
    }

    /// Bytes in each chunk of the rows.
    pub fn chunk_bytes(&self) -> Option<u64> {
        self.download.current.as_ref().map(|current| current.entry().chunk_bytes)
    }

    /// The catalog of the rows.
    pub fn catalog(&self) -> &Catalog {
        self.catalog
    }

    /// Access to the half-done preparation for saving, if the scheme can save it, and something is
    /// left to fetch; see [`super::SessionSetup::resuming`].
    pub fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        let is_whole = self.next().is_none() && self.download.todo.len() <= 1;
        if self.download.spoiled || is_whole { None } else { self.consumer.checkpoint() }
    }
}

/// The body of a response, if it has the length of the requested range.
pub(super) fn whole<'a>(fetch: &FetchRange, body: &'a [u8]) -> Result<&'a [u8]> {
    let (got, want) = (body.len() as u64, fetch.range.end - fetch.range.start);
    if got != want {
        return Err(Error::from(PeerMisbehaved::Length { what: fetch.artifact.name(), got, want }).into());
    }
    Ok(body)
}

/// A range of an artifact, and the request that fetches it.
pub(super) fn fetch(entry: &ArtifactEntry, range: Range<u64>) -> FetchRange {
    let path = routes::artifact(&entry.digest.to_string());
    let request = Request::get_range(path, range.clone());
    FetchRange { artifact: entry.artifact, digest: entry.digest, bytes: entry.bytes, range, request }
}

/// Copies deltas in the order of their sizes. They are few, and a sort would be more code.
fn smallest_first<'a>(deltas: impl Iterator<Item = &'a ArtifactEntry>) -> VecDeque<ArtifactEntry> {
    let mut sorted: VecDeque<ArtifactEntry> = VecDeque::new();
    for delta in deltas {
        let place = sorted.iter().take_while(|smaller| smaller.bytes <= delta.bytes).count();
        sorted.insert(place, delta.clone());
    }
    sorted
}

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
    fn upcoming_range(&self) -> Option<Range<u64>> {
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
        Err(Error::from(PeerMisbehaved::Digest(self.entry.artifact.name())).into())
    }
}
