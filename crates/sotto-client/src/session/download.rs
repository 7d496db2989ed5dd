//! The download of artifacts: what is asked of the caller, in which order.

use super::accepted;
use super::artifacts::{
    ArtifactConsumer, ArtifactDownload, ChunkAssembler, LoadCached, RowsDownload, fetch, whole,
};
use super::setup_io::{ByteSource, RequestPurpose, SetupIo};
use crate::{ClientError, Result};
use sotto_catalog::{ArtifactEntry, Catalog};
use sotto_core::{Artifact, Epoch, Error, Misuse, PeerMisbehaved};

impl ArtifactDownload {
    /// Downloads what is left. After an error it can be called again, unless the download is spoiled.
    pub(super) fn run(
        &mut self,
        catalog: &Catalog,
        consumer: &mut dyn ArtifactConsumer,
        io: &mut dyn SetupIo,
    ) -> Result<()> {
        while let Some(entry) = self.todo.front().cloned() {
            if self.current.is_none() {
                let is_rows = entry.artifact == Artifact::Rows;
                let kept = if is_rows { std::mem::take(&mut self.kept) } else { 0 };
                self.current = Some(ChunkAssembler::resumed(entry.clone(), kept));
                self.patch_older(catalog, &entry, consumer, io)?;
            }
            while let Some(fetch) = self.next_fetch() {
                if entry.artifact == Artifact::Rows {
                    io.rows(&mut RowsDownload { catalog, download: self, consumer })?;
                    if self.next_fetch().is_some() {
                        return Err(Error::from(Misuse::Rule("rows are missing")).into());
                    }
                    break;
                }
                let cached = io.cached(&fetch)?;
                let taken = self.absorb(consumer, &cached)?;
                io.verified(&fetch, cached.get(..taken).unwrap_or_default(), ByteSource::Cached)?;
                if taken == 0 {
                    let purpose = RequestPurpose::Artifact(entry.artifact);
                    let response = io.call(0, purpose, &fetch.request)?;
                    self.take(consumer, &fetch, catalog.epoch, &response)?;
                    io.verified(&fetch, &response.body, ByteSource::Fetched)?;
                }
            }
            if let Some(current) = &self.current
                && let Err(error) = current.finish()
            {
                self.spoiled = true;
                return Err(error);
            }
            self.current = None;
            self.todo.pop_front();
        }
        Ok(())
    }

    /// Makes the current artifact from an older epoch's and a delta, if both are there. A delta only
    /// saves bytes: if it is missing or damaged, or leads to chunks that do not match the catalog,
    /// the others are fetched.
    fn patch_older(
        &mut self,
        catalog: &Catalog,
        entry: &ArtifactEntry,
        consumer: &mut dyn ArtifactConsumer,
        io: &mut dyn SetupIo,
    ) -> Result<()> {
        // A delta as large as its target saves nothing.
        self.deltas.retain(|delta| delta.bytes < entry.bytes);
        let Some((_, patch, params)) = self.patch.clone().filter(|patch| patch.0 == entry.artifact) else {
            return Ok(());
        };
        while let Some(delta) = self.deltas.pop_front() {
            let expected = LoadCached {
                artifact: entry.artifact,
                epoch: delta.from_epoch.unwrap_or(Epoch(0)),
                digest: entry.digest,
                bytes: entry.bytes,
                delta_bytes: delta.bytes,
            };
            let older = io.older(catalog, &expected)?;
            let Some(mut made) = older.filter(|older| older.len() as u64 == entry.bytes) else { continue };
            self.deltas.clear();
            let FetchedDelta::Complete(delta) = fetch_delta(delta, catalog.epoch, io)? else { break };
            if patch(&params, entry.artifact, &mut made, &delta).is_err() {
                break;
            }
            let taken = self.absorb(consumer, &made)?;
            made.truncate(taken);
            if !made.is_empty() {
                io.verified(&fetch(entry, 0..taken as u64), &made, ByteSource::Patched)?;
            }
        }
        Ok(())
    }
}

/// A delta that was requested.
pub(super) enum FetchedDelta {
    /// All of its bytes, verified.
    Complete(Vec<u8>),
    /// A refusal of the server, or bytes that are not the requested ones.
    Unusable(ClientError),
}

/// Fetches a whole delta.
pub(super) fn fetch_delta(entry: ArtifactEntry, epoch: Epoch, io: &mut dyn SetupIo) -> Result<FetchedDelta> {
    let (mut assembler, mut delta) = (ChunkAssembler::new(entry), Vec::new());
    while let Some(range) = assembler.next_range() {
        let fetch = fetch(assembler.entry(), range);
        // Nothing is cached of a delta, which is used once; this reports the progress.
        io.cached(&fetch)?;
        let response = io.call(0, RequestPurpose::Artifact(fetch.artifact), &fetch.request)?;
        let body = match accepted(&response, Some(epoch)).and_then(|body| whole(&fetch, body)) {
            Ok(body) => body,
            Err(error) => return Ok(FetchedDelta::Unusable(error)),
        };
        let taken = assembler.take(body, &mut |chunk| {
            delta.extend_from_slice(chunk);
            Ok(())
        })?;
        if taken != body.len() {
            let error = Error::from(PeerMisbehaved::Digest(fetch.artifact.name()));
            return Ok(FetchedDelta::Unusable(error.into()));
        }
        io.verified(&fetch, body, ByteSource::Fetched)?;
    }
    Ok(assembler.finish().map_or_else(FetchedDelta::Unusable, |()| FetchedDelta::Complete(delta)))
}
