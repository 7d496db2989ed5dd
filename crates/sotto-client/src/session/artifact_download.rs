//! The artifacts that a scheme or a table needs, one after the other: cached, patched from an older
//! epoch's, or fetched.

use super::action::{Action, FetchRange, LoadCached};
use super::chunks::ChunkAssembler;
use super::verified_table::VerifiedTable;
use crate::transport::Request;
use crate::{ClientError, Result};
use sotto_catalog::{ArtifactEntry, Hex32};
use sotto_core::erased::PatchFn;
use sotto_core::{
    AnyCheckpoint, AnyClient, AnyPrepare, Artifact, ArtifactNeed, Error, Misuse, PeerMisbehaved,
};
use sotto_wire::routes;
use std::collections::VecDeque;
use std::ops::Range;

/// Consumes artifacts as they arrive, one verified chunk at a time.
pub(super) trait ArtifactConsumer {
    /// The artifact that deltas lead to, and the name of those deltas.
    const PATCHED: (Artifact, Artifact);

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
    const PATCHED: (Artifact, Artifact) = (Artifact::Hint, Artifact::HintDelta);

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

pub(super) struct ArtifactDownload<T = Box<dyn AnyPrepare>> {
    consumer: T,
    /// Artifacts still to be absorbed, beginning with the current one.
    todo: VecDeque<ArtifactEntry>,
    /// The patch function with its parameters, and the available deltas, the smallest first.
    patch: Option<(PatchFn, Vec<u8>)>,
    deltas: VecDeque<ArtifactEntry>,
    step: DownloadStep,
    /// Bytes of rows that the preparation absorbed earlier.
    kept: u64,
    /// Digest and bytes of an artifact that a delta produced, until
    /// [`SessionSetup::take_patched`](super::SessionSetup::take_patched) takes it.
    pub(super) patched: Option<(Hex32, Vec<u8>)>,
    /// Whether the scheme has refused bytes, so that this preparation cannot go on.
    pub(super) spoiled: bool,
}

enum DownloadStep {
    /// Waits for a cached artifact of an older epoch.
    Recall,
    /// Fetches the delta from the cached artifact.
    Delta { cached: Vec<u8>, delta: Vec<u8>, assembler: ChunkAssembler },
    /// Fetches the artifact.
    Whole(ChunkAssembler),
    /// All artifacts are absorbed.
    Done,
}

impl ArtifactDownload {
    /// Begins to download what a scheme's client is prepared from.
    pub(super) fn new(table: &VerifiedTable, prepare: Box<dyn AnyPrepare>) -> Result<Self> {
        let patch = table.scheme.patch.map(|patch| (patch, table.params.clone()));
        ArtifactDownload::of(table, prepare, patch)
    }

    pub(super) fn finish(self) -> Result<Box<dyn AnyClient>> {
        Ok(self.consumer.finish()?)
    }
}

impl<T: ArtifactConsumer> ArtifactDownload<T> {
    pub(super) fn of(table: &VerifiedTable, consumer: T, patch: Option<(PatchFn, Vec<u8>)>) -> Result<Self> {
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
        let mut deltas: Vec<_> =
            entries.iter().filter(|entry| entry.artifact == T::PATCHED.1).cloned().collect();
        smallest_first(&mut deltas);
        let (step, deltas) = (DownloadStep::Done, deltas.into());
        let kept = consumer.checkpoint().map_or(0, AnyCheckpoint::kept);
        let mut download =
            ArtifactDownload { consumer, todo, patch, deltas, step, kept, patched: None, spoiled: false };
        download.start();
        download.settle()?;
        Ok(download)
    }

    /// Starts on the current artifact.
    fn start(&mut self) {
        let Some(entry) = self.todo.front() else {
            self.step = DownloadStep::Done;
            return;
        };
        // A delta as large as its target saves nothing.
        self.deltas.retain(|delta| delta.bytes < entry.bytes);
        let patchable = entry.artifact == T::PATCHED.0 && self.patch.is_some() && !self.deltas.is_empty();
        let kept = if entry.artifact == Artifact::Rows { std::mem::take(&mut self.kept) } else { 0 };
        self.step = match patchable {
            true => DownloadStep::Recall,
            false => DownloadStep::Whole(ChunkAssembler::resumed(entry.clone(), kept)),
        };
    }

    /// Advances to the next artifact as long as the current one is complete.
    fn settle(&mut self) -> Result<()> {
        while let DownloadStep::Whole(assembler) = &self.step
            && assembler.next_range().is_none()
        {
            if let Err(error) = assembler.finish() {
                self.spoiled = true;
                return Err(error);
            }
            self.todo.pop_front();
            self.start();
        }
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.step, DownloadStep::Done)
    }

    /// The consumer, once it has absorbed all artifacts.
    pub(super) fn into_consumer(self) -> T {
        self.consumer
    }

    /// Access to the half-done preparation for saving, if the scheme can save it.
    pub(super) fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        self.consumer.checkpoint()
    }

    /// The range that will be fetched after the current one.
    pub(super) fn upcoming_fetch(&self) -> Option<FetchRange> {
        let DownloadStep::Whole(assembler) = &self.step else { return None };
        Some(fetch(assembler.entry(), assembler.upcoming_range()?))
    }

    pub(super) fn next(&self) -> Action {
        match &self.step {
            DownloadStep::Recall => match (self.todo.front(), self.deltas.front()) {
                (Some(entry), Some(delta)) => Action::Recall(LoadCached {
                    artifact: entry.artifact,
                    epoch: delta.from_epoch.unwrap_or(sotto_core::Epoch(0)),
                    digest: entry.digest,
                    bytes: entry.bytes,
                    delta_bytes: delta.bytes,
                }),
                _ => Action::Ready,
            },
            DownloadStep::Delta { assembler, .. } | DownloadStep::Whole(assembler) => {
                match assembler.next_range() {
                    Some(range) => Action::Fetch(fetch(assembler.entry(), range)),
                    None => Action::Ready,
                }
            }
            DownloadStep::Done => Action::Ready,
        }
    }

    pub(super) fn take_cached(&mut self, cached: Option<Vec<u8>>) -> Result<()> {
        let (DownloadStep::Recall, Some(entry)) = (&self.step, self.todo.front()) else {
            return Err(Error::from(Misuse::Rule("saved bytes received while none were expected")).into());
        };
        let delta = self.deltas.pop_front();
        match (cached.filter(|cached| cached.len() as u64 == entry.bytes), delta) {
            (Some(cached), Some(delta)) => {
                let assembler = ChunkAssembler::new(delta);
                self.step = DownloadStep::Delta { cached, delta: Vec::new(), assembler };
                self.patch_if_complete()
            }
            _ => {
                self.start();
                Ok(())
            }
        }
    }

    /// Takes the body of a response, which has to be the whole requested range.
    pub(super) fn feed(&mut self, body: Result<&[u8]>) -> Result<()> {
        if let DownloadStep::Delta { assembler, .. } = &self.step {
            // A delta only saves bytes. If it is missing or damaged, the artifact is fetched
            // instead.
            let want = assembler.next_range().map_or(0, |range| range.end - range.start);
            let taken = match body {
                Ok(body) if body.len() as u64 == want => self.offer(body)? as u64,
                _ => 0,
            };
            if taken != want {
                self.start_whole();
            }
            return self.settle();
        }
        let DownloadStep::Whole(assembler) = &self.step else {
            return Err(Error::from(Misuse::Rule("response received while none was expected")).into());
        };
        let (body, what) = (body?, assembler.entry().artifact.name());
        let want = assembler.next_range().map_or(0, |range| range.end - range.start);
        if body.len() as u64 != want {
            let got = body.len() as u64;
            return Err(Error::from(PeerMisbehaved::Length { what, got, want }).into());
        }
        if self.offer(body)? as u64 != want {
            return Err(Error::from(PeerMisbehaved::Digest(what)).into());
        }
        Ok(())
    }

    /// Absorbs the valid chunks at the start of `cached`, and returns their length in bytes.
    pub(super) fn offer(&mut self, cached: &[u8]) -> Result<usize> {
        match &mut self.step {
            DownloadStep::Delta { delta, assembler, .. } => {
                let taken = assembler.take(cached, &mut |chunk| {
                    delta.extend_from_slice(chunk);
                    Ok(())
                })?;
                self.patch_if_complete()?;
                Ok(taken)
            }
            DownloadStep::Whole(assembler) => {
                let taken = absorb(assembler, &mut self.consumer, cached);
                self.spoiled |= taken.is_err();
                let taken = taken?;
                self.settle()?;
                Ok(taken)
            }
            DownloadStep::Recall | DownloadStep::Done => {
                Err(Error::from(Misuse::Rule("bytes received while none were expected")).into())
            }
        }
    }

    /// Fetches the whole artifact instead of a delta.
    fn start_whole(&mut self) {
        self.deltas.clear();
        self.start();
    }

    /// Applies the delta once it is complete. Whatever the result, only chunks that match the
    /// catalog count, and the others are fetched.
    fn patch_if_complete(&mut self) -> Result<()> {
        let DownloadStep::Delta { cached, delta, assembler } = &mut self.step else { return Ok(()) };
        if assembler.next_range().is_some() {
            return Ok(());
        }
        let (mut cached, delta) = (std::mem::take(cached), std::mem::take(delta));
        let sound = assembler.finish().is_ok();
        self.start_whole();
        let (DownloadStep::Whole(whole), Some((patch, params))) = (&mut self.step, &self.patch) else {
            return Ok(());
        };
        if !sound || patch(params, whole.entry().artifact, &mut cached, &delta).is_err() {
            return Ok(());
        }
        let taken = absorb(whole, &mut self.consumer, &cached);
        self.spoiled |= taken.is_err();
        cached.truncate(taken?);
        self.patched = (!cached.is_empty()).then(|| (whole.entry().digest, cached));
        self.settle()
    }
}

fn absorb(
    assembler: &mut ChunkAssembler,
    consumer: &mut impl ArtifactConsumer,
    bytes: &[u8],
) -> Result<usize> {
    let artifact = assembler.entry().artifact;
    assembler.take(bytes, &mut |chunk| consumer.absorb(artifact, chunk))
}

/// A range of an artifact, and the request that fetches it.
pub(super) fn fetch(entry: &ArtifactEntry, range: Range<u64>) -> FetchRange {
    let path = routes::artifact(&entry.digest.to_string());
    let request = Request::get_range(path, range.clone());
    FetchRange { artifact: entry.artifact, digest: entry.digest, bytes: entry.bytes, range, request }
}

/// Sorts deltas by size. Called once for each download.
fn smallest_first(deltas: &mut [ArtifactEntry]) {
    deltas.sort_by_key(|delta| delta.bytes);
}
