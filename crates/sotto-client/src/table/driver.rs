//! The caller of setups in a blocking client: requests over transports, bytes in a cache, and what
//! an opening led to.

use super::event::WaitReason;
use super::rows::{CheckpointTimer, stream};
use super::{Driver, Progress, Stage, TableEvent};
use crate::cache::{CacheEntry, CachedArtifact};
use crate::session::{
    ByteSource, FetchRange, LoadCached, LogMemory, RegisteredKeys, RequestPurpose, RowsDownload, Session,
    SessionSetup, SetupConfig, SetupIo, StateVersion,
};
use crate::state::StateLoss;
use crate::state::metadata::RowsVersion;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32, TableName};
use sotto_core::{Artifact, CryptoRng, Error, Misuse};
use std::time::Duration;
use web_time::{Instant, SystemTime};

/// The current time in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Result of advancing a state by rows deltas.
enum Catchup {
    /// The state is of the epoch that was asked for.
    Reached,
    /// No deltas lead there: the client has to be prepared again.
    Impossible,
}

impl SetupIo for Driver {
    fn call(&mut self, server: u8, purpose: RequestPurpose, request: &Request) -> Result<Response> {
        match purpose {
            RequestPurpose::Catalog => self.notify(Stage::Catalog, 0, 0),
            RequestPurpose::Keys => self.notify(Stage::Keys, 0, 0),
            RequestPurpose::Artifact(_) => {}
        }
        let response = self.servers.call(server, request)?;
        let traffic = match purpose {
            RequestPurpose::Catalog => &mut self.stats.catalog,
            RequestPurpose::Keys => &mut self.stats.keys,
            RequestPurpose::Artifact(_) => &mut self.stats.artifacts,
        };
        traffic.add(request.body.len() as u64, response.body.len() as u64);
        Ok(response)
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng> {
        Ok(self.rng.draw()?)
    }

    fn now(&self) -> Option<u64> {
        Some(now())
    }

    fn cached(&mut self, fetch: &FetchRange) -> Result<Vec<u8>> {
        self.notify(Stage::Artifact(fetch.artifact), fetch.range.start, fetch.bytes);
        Ok(self.slot(fetch)?.map(|slot| slot.read(fetch.range.clone())).transpose()?.unwrap_or_default())
    }

    fn verified(&mut self, fetch: &FetchRange, bytes: &[u8], source: ByteSource) -> Result<()> {
        let (len, stage) = (bytes.len() as u64, Stage::Artifact(fetch.artifact));
        let slot = self.slot.as_mut().filter(|(digest, _)| *digest == fetch.digest);
        match source {
            ByteSource::Cached => {
                // An interrupted download ends in half a chunk; a complete file does not.
                if len == 0 && slot.is_some_and(|(_, slot)| slot.is_whole()) {
                    self.state_guard.events.notify(TableEvent::Repaired("the cached hint of the table"));
                }
                self.stats.cached_bytes += len;
                if len > 0 {
                    self.notify(stage, fetch.range.start + len, fetch.bytes);
                }
            }
            ByteSource::Fetched => {
                if let Some((_, slot)) = slot {
                    slot.write(fetch.range.start, bytes)?;
                }
                self.notify(stage, fetch.range.end, fetch.bytes);
            }
            ByteSource::Patched => {
                self.stats.patched_bytes += len;
                if let Some(cache) = &self.cache {
                    let mut slot = cache.slot(&fetch.digest, fetch.bytes);
                    if slot.claim(self.wait_policy.limit)? && slot.held() < len {
                        slot.write(0, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The artifact of an older epoch, if it is cached and patching it costs less than continuing
    /// the download.
    fn older(&mut self, catalog: &Catalog, expected: &LoadCached) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entry(&catalog.table) else { return Ok(None) };
        let missing = expected.bytes - entry.cache.slot(&expected.digest, expected.bytes).held();
        let known = entry.known()?.filter(|known| known.epoch == expected.epoch);
        let old =
            known.and_then(|known| known.artifacts.get(expected.artifact.name())?.parse::<Hex32>().ok());
        match old {
            Some(old) if missing > expected.delta_bytes => {
                Ok(Some(entry.cache.slot(&old, expected.bytes).read(0..expected.bytes)?))
            }
            _ => Ok(None),
        }
    }

    fn rows(&mut self, rows: &mut RowsDownload<'_>) -> Result<()> {
        let Driver { servers, state_guard, stats, progress, .. } = self;
        let mut timer =
            state_guard.state().map(|state| CheckpointTimer::new(state.lease_preparation(), rows));
        stream(servers.first(), rows, &mut |rows, part| {
            stats.artifacts.add(0, part.received);
            timer.as_mut().map_or(Ok(()), |timer| timer.absorbed(rows, part))?;
            let stage = Stage::Artifact(Artifact::Rows);
            progress.notify(Progress { stage, done: part.done, total: part.total });
            Ok(())
        })
    }

    fn reuse_keys(
        &mut self,
        table: &TableName,
        reuse: &mut dyn FnMut(&RegisteredKeys) -> Result<bool>,
    ) -> Result<bool> {
        self.wait_for_keys(table, reuse)
    }

    fn repaired(&mut self, what: &'static str) {
        self.state_guard.events.notify(TableEvent::Repaired(what));
    }

    fn with_evidence(&self, error: ClientError, table: &TableName, shown: &[u8]) -> ClientError {
        match self.entry(table) {
            Some(entry) => entry.with_evidence(error, shown),
            None => error,
        }
    }
}

impl Driver {
    /// The cache file of what is fetched. Hints and trees have one: deltas and rows are used once.
    fn slot(&mut self, fetch: &FetchRange) -> Result<Option<&CachedArtifact>> {
        let is_stored = matches!(fetch.artifact, Artifact::Hint | Artifact::Tree);
        let Some(cache) = self.cache.as_ref().filter(|_| is_stored) else { return Ok(None) };
        if self.slot.as_ref().is_none_or(|(digest, _)| *digest != fetch.digest) {
            let mut slot = cache.slot(&fetch.digest, fetch.bytes);
            if !slot.claim(Duration::ZERO)? {
                self.progress.notify(Progress { stage: Stage::Waiting, done: 0, total: 0 });
                self.wait_policy
                    .wait_for(WaitReason::Artifact, |limit| slot.claim(limit).map(|it| it.then_some(())))?;
            }
            self.slot = Some((fetch.digest, slot));
        }
        Ok(self.slot.as_ref().map(|(_, slot)| slot))
    }

    /// The cache's entry of a table, if there is a cache.
    pub(super) fn entry(&self, table: &TableName) -> Option<CacheEntry<'_>> {
        let (origin, name) = (self.servers.origin(), table.to_string());
        self.cache.as_ref().map(|cache| CacheEntry { cache, origin, name })
    }

    /// Adds what the cache knows of the table to `config`.
    pub(super) fn load_known_table(&self, config: &mut SetupConfig) -> Result<()> {
        let Some(entry) = self.entry(&config.table) else { return Ok(()) };
        let repaired =
            || self.state_guard.events.notify(TableEvent::Repaired("the cache entry of the table"));
        config.remembered = entry.signer(config.pin.is_some(), repaired)?;
        if config.witnesses.is_some() { entry.cache.load_logs(&config.logs) } else { Ok(()) }
    }

    /// Stores what was seen of logs.
    pub(super) fn keep_logs(&self, logs: &LogMemory) -> Result<()> {
        self.cache.as_ref().map_or(Ok(()), |cache| cache.store_logs(logs))
    }

    /// Opens the newest epoch, and the following one if that epoch ends while its artifacts are
    /// fetched.
    pub(super) fn open_newest(&mut self, config: &SetupConfig) -> Result<Session> {
        let opened = match self.open(SessionSetup::new(config.clone())) {
            Err(changed @ (ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. })) => {
                self.forget_saved_preparation(&changed)?;
                self.open(SessionSetup::new(config.clone()))
            }
            outcome => outcome,
        };
        self.take_over(opened?)
    }

    /// Advances a session to the newest epoch, and to the following one if that epoch ends
    /// meanwhile.
    pub(super) fn advance_to_newest(&mut self, config: &SetupConfig, session: &mut Session) -> Result<()> {
        match self.renew(SessionSetup::after_session(config.clone(), session), session) {
            Err(ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. }) => {
                self.renew(SessionSetup::after_session(config.clone(), session), session)
            }
            outcome => outcome,
        }
    }

    /// Fetches the catalog of a setup.
    pub(super) fn fetch_catalog(&mut self, setup: &mut SessionSetup) -> Result<()> {
        setup.fetch_catalog(self)?;
        self.keep_logs(&setup.config().logs)
    }

    /// Advances a session to where a setup leads. After an error it is as it was.
    pub(super) fn renew(&mut self, mut setup: SessionSetup, session: &mut Session) -> Result<()> {
        self.fetch_catalog(&mut setup)?;
        self.load_client(&mut setup)?;
        let fetched = setup.fetch_tree(self);
        self.slot = None;
        fetched?;
        if !session.is_durable()
            && let Catchup::Reached = self.apply_delta_chain(&setup, session)?
        {
            return self.remember(&setup);
        }
        let setup = self.open(setup)?;
        if setup.is_continued() {
            session.advance_to(setup)?;
            return self.catch_up_or_restart(session);
        }
        *session = self.take_over(setup)?;
        Ok(())
    }

    /// Takes a setup to its end, and stores what it led to.
    pub(super) fn open(&mut self, mut setup: SessionSetup) -> Result<SessionSetup> {
        let start = Instant::now();
        // A preparation on disk is another setup, which begins with its own catalog.
        while setup.catalog().is_none() {
            self.fetch_catalog(&mut setup)?;
            self.load_client(&mut setup)?;
        }
        let completed = setup.complete(self);
        // Other processes may download the file now, and register keys if this one could not.
        self.slot = None;
        if completed.is_err() {
            self.keys.let_others_register();
        }
        completed?;
        self.remember(&setup)?;
        self.stats.opening += start.elapsed();
        self.notify(Stage::Ready, 0, 0);
        Ok(setup)
    }

    /// Registers a session's keys with a server again.
    pub(super) fn register(&mut self, session: &mut Session, server: u8) -> Result<()> {
        let Some(request) = session.registration(server) else { return Ok(()) };
        self.notify(Stage::Keys, 0, 0);
        let response = self.servers.call(server, &request)?;
        self.stats.keys.add(request.body.len() as u64, response.body.len() as u64);
        session.registered(server, &response)?;
        self.keep_keys(session)?;
        self.notify(Stage::Ready, 0, 0);
        Ok(())
    }

    /// Stores what is known of a setup's table.
    fn remember(&mut self, setup: &SessionSetup) -> Result<()> {
        if let Some(change) = setup.change() {
            self.state_guard.events.notify(TableEvent::SignerChanged(change));
        }
        let Some((catalog, seen, signed)) = setup.accepted() else { return Ok(()) };
        match self.entry(&catalog.table) {
            Some(entry) => entry.update(seen, catalog.epoch, &catalog.artifacts, signed),
            None => Ok(()),
        }
    }

    pub(super) fn notify(&mut self, stage: Stage, done: u64, total: u64) {
        self.progress.notify(Progress { stage, done, total });
    }
}

/// Advances a client's state when the table moves on, one epoch at a time; a durable state is on disk
/// after each.
impl Driver {
    /// Advances a stored client to its session's epoch. Returns the reason if that is not possible.
    ///
    /// # Errors
    /// Errors after which another attempt may succeed. The state is then of the last epoch that was
    /// reached.
    pub(super) fn catch_up(&mut self, session: &mut Session) -> Result<Option<StateLoss>> {
        let at = self.state_guard.state().and_then(|state| state.at()).filter(|_| session.is_durable());
        let Some(first) = at else { return Ok(None) };
        let newest = RowsVersion::of(session.catalog());
        if first == newest {
            return Ok(None);
        }
        let too_old = |why| Some(StateLoss::TooOld { from: first.epoch.0, to: newest.epoch.0, why });
        match self.catch_up_from(session, first) {
            Ok(reached) if reached == newest => {
                self.state_guard
                    .events
                    .notify(TableEvent::StateAdvanced { from: first.epoch, to: newest.epoch });
                Ok(None)
            }
            Ok(_) => Ok(too_old("the rows of the epoch differ".to_owned())),
            Err(ClientError::NoDeltaChain { why, .. }) => Ok(too_old(why.to_owned())),
            Err(error) => Err(error),
        }
    }

    /// Advances a client epoch by epoch, and returns the version that it reached.
    fn catch_up_from(&mut self, session: &mut Session, from: RowsVersion) -> Result<RowsVersion> {
        let rule = || Error::from(Misuse::Rule("the client has no durable state"));
        let config = self.state_guard.config.clone().ok_or_else(rule)?;
        let mut chain = session.delta_chain_from(&config, from.epoch, from.rows, self)?;
        let mut reached = from;
        while let Some(step) = chain.next_step(self)? {
            let to = step.version.epoch;
            if session.apply_delta(&step.delta).is_err() {
                return Err(ClientError::NoDeltaChain {
                    from: from.epoch,
                    to,
                    why: "the delta cannot be read",
                });
            }
            reached = RowsVersion { epoch: to, rows: step.version.rows };
            self.stats.patched_bytes += step.delta.len() as u64;
            if let Some(state) = self.state_guard.state() {
                state.commit_advanced(session.client(), reached)?;
            }
        }
        Ok(reached)
    }

    /// Advances a session's state to the epoch of a setup by rows deltas.
    ///
    /// # Errors
    /// Also the errors that keep the rows from being fetched.
    fn apply_delta_chain(&mut self, setup: &SessionSetup, session: &mut Session) -> Result<Catchup> {
        let Some(version) = session.state_version() else { return Ok(Catchup::Impossible) };
        match self.apply_delta_steps(setup, session, version) {
            Ok(()) if setup.catalog() == Some(session.catalog()) => Ok(Catchup::Reached),
            Ok(()) => Ok(Catchup::Impossible),
            Err(
                ClientError::NoDeltaChain { .. }
                | ClientError::Core(Error::Peer(_))
                | ClientError::Catalog(_),
            ) => Ok(Catchup::Impossible),
            Err(error) => Err(error),
        }
    }

    fn apply_delta_steps(
        &mut self,
        setup: &SessionSetup,
        session: &mut Session,
        version: StateVersion,
    ) -> Result<()> {
        let mut chain = setup.delta_chain(version, self)?;
        while let Some(step) = chain.next_step(self)? {
            self.stats.patched_bytes += step.delta.len() as u64;
            session.apply_delta_step(step)?;
        }
        Ok(())
    }
}
