//! Artifacts: from the cache as far as possible, patched from an older epoch's, or downloaded.

use super::event::WaitReason;
use super::{Driver, Progress, Stage, TableEvent};
use crate::Result;
use crate::cache::CachedArtifact;
use crate::session::{FetchRange, LoadCached, SessionSetup};
use crate::transport::Request;
use sotto_catalog::Hex32;
use sotto_core::Artifact;
use std::time::Duration;

impl Driver {
    /// Gets a range of an artifact: from the cache as far as possible, otherwise from the server.
    pub(super) fn fetch(
        &mut self,
        setup: &mut SessionSetup,
        fetch: &FetchRange,
        slot: &mut Option<(Hex32, CachedArtifact)>,
    ) -> Result<()> {
        let stage = Stage::Artifact(fetch.artifact);
        self.notify(stage, fetch.range.start, fetch.bytes);
        let slot = self.slot(fetch, slot)?;
        if let Some(slot) = &slot {
            let cached = slot.read(fetch.range.clone())?;
            let taken = setup.offer_cached(&cached)? as u64;
            self.stats.cached_bytes += taken;
            // An interrupted download ends in half a chunk; a complete file does not.
            if slot.is_whole() && taken == 0 {
                self.state_guard.events.notify(TableEvent::Repaired("the cached hint of the table"));
            }
            if taken > 0 {
                self.notify(stage, fetch.range.start + taken, fetch.bytes);
                return Ok(());
            }
        }
        let body = self.call_for(setup, &fetch.request)?;
        if let Some(slot) = slot {
            slot.write(fetch.range.start, &body)?;
        }
        self.notify(stage, fetch.range.end, fetch.bytes);
        Ok(())
    }

    /// Stores what a delta has produced, if anything: a prefix of an artifact, or all of it.
    pub(super) fn keep_patched(&mut self, setup: &mut SessionSetup) -> Result<()> {
        let Some((digest, made)) = setup.take_patched() else { return Ok(()) };
        self.stats.patched_bytes += made.len() as u64;
        let entries = setup.catalog().map(|catalog| catalog.artifacts.as_slice()).unwrap_or_default();
        let entry = entries.iter().find(|entry| entry.digest == digest && entry.from_epoch.is_none());
        if let (Some(cache), Some(entry)) = (&self.cache, entry) {
            let mut slot = cache.slot(&digest, entry.bytes);
            if slot.claim(self.wait_policy.limit)? && slot.held() < made.len() as u64 {
                slot.write(0, &made)?;
            }
        }
        Ok(())
    }

    /// Fetches a range of an artifact, and returns it once the setup has verified it.
    fn call_for(&mut self, setup: &mut SessionSetup, request: &Request) -> Result<Vec<u8>> {
        let response = self.servers.call(0, request)?;
        self.stats.artifacts.add(0, response.body.len() as u64);
        setup.feed(&response, self.rng.draw()?)?;
        Ok(response.body)
    }

    /// The cache file of what is fetched. Hints and trees have one: deltas and rows are used once.
    fn slot<'a>(
        &mut self,
        fetch: &FetchRange,
        cached: &'a mut Option<(Hex32, CachedArtifact)>,
    ) -> Result<Option<&'a mut CachedArtifact>> {
        let Some(cache) =
            self.cache.as_ref().filter(|_| matches!(fetch.artifact, Artifact::Hint | Artifact::Tree))
        else {
            return Ok(None);
        };
        if cached.as_ref().is_none_or(|(digest, _)| *digest != fetch.digest) {
            let mut slot = cache.slot(&fetch.digest, fetch.bytes);
            if !slot.claim(Duration::ZERO)? {
                self.progress.notify(Progress { stage: Stage::Waiting, done: 0, total: 0 });
                self.wait_policy
                    .wait_for(WaitReason::Artifact, |limit| slot.claim(limit).map(|it| it.then_some(())))?;
            }
            *cached = Some((fetch.digest, slot));
        }
        Ok(cached.as_mut().map(|(_, slot)| slot))
    }

    /// The artifact of an older epoch, if it is cached and patching it costs less than continuing
    /// the download.
    pub(super) fn recall(&mut self, setup: &SessionSetup, recall: &LoadCached) -> Result<Option<Vec<u8>>> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let missing = recall.bytes - cache.slot(&recall.digest, recall.bytes).held();
        let Some(catalog) = setup.catalog() else { return Ok(None) };
        let Some(entry) = self.entry(&catalog.table) else { return Ok(None) };
        let known = entry.known()?.filter(|known| known.epoch == recall.epoch);
        let old = known.and_then(|known| known.artifacts.get(recall.artifact.name())?.parse::<Hex32>().ok());
        match old {
            Some(old) if missing > recall.delta_bytes => {
                Ok(Some(cache.slot(&old, recall.bytes).read(0..recall.bytes)?))
            }
            _ => Ok(None),
        }
    }
}
