//! Carries out the steps of a [`SessionSetup`], with a cache and transports.

use super::freshness::now;
use super::{Driver, Progress, Stage, TableEvent};
use crate::cache::{CacheEntry, CachedArtifact};
use crate::session::{Action, FetchRange, LogMemory, Session, SessionSetup, SetupConfig};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Hex32, SignedCatalog, TableName};
use sotto_core::Artifact;
use web_time::Instant;

/// Whether a state machine needed another step.
pub(super) enum Step {
    Taken,
    /// None is left.
    Complete,
}

/// Result of advancing a state by rows deltas.
pub(super) enum Catchup {
    /// The state is of the epoch that was asked for.
    Reached,
    /// No deltas lead there: the client has to be prepared again.
    Impossible,
}

impl Driver {
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

    /// Advances a session to where a setup leads. After an error it is as it was.
    pub(super) fn renew(&mut self, mut setup: SessionSetup, session: &mut Session) -> Result<()> {
        while setup.catalog().is_none() {
            self.step(&mut setup)?;
        }
        self.load_client(&mut setup)?;
        let mut slot = None;
        while setup.wants_tree() {
            self.take_step(&mut setup, &mut slot)?;
        }
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

    /// Takes a setup to its end, and stores what it led to.
    pub(super) fn open(&mut self, mut setup: SessionSetup) -> Result<SessionSetup> {
        let start = Instant::now();
        let mut slot = None;
        while let Step::Taken = self.take_step(&mut setup, &mut slot)? {}
        self.remember(&setup)?;
        self.stats.opening += start.elapsed();
        self.notify(Stage::Ready, 0, 0);
        Ok(setup)
    }

    /// Carries out the next step of a setup.
    fn take_step(
        &mut self,
        setup: &mut SessionSetup,
        slot: &mut Option<(Hex32, CachedArtifact)>,
    ) -> Result<Step> {
        match setup.next() {
            Action::Ready => return Ok(Step::Complete),
            Action::Recall(recall) => {
                let held = self.recall(setup, &recall)?;
                setup.cached_artifact(held)?;
            }
            Action::Fetch(FetchRange { artifact: Artifact::Rows, .. }) => self.stream_rows(setup)?,
            Action::Fetch(fetch) => self.fetch(setup, &fetch, slot)?,
            Action::Catalog { .. } => {
                self.step(setup)?;
                self.load_client(setup)?;
            }
            Action::Keys { .. } => self.register_first(setup)?,
        }
        self.keep_patched(setup)?;
        Ok(Step::Taken)
    }

    /// Carries out a step that needs only the network.
    pub(super) fn step(&mut self, setup: &mut SessionSetup) -> Result<()> {
        let (stage, server, request) = match setup.next() {
            Action::Catalog { server, request } => (Stage::Catalog, server, request),
            Action::Keys { server, request } => (Stage::Keys, server, request),
            _ => return Ok(()),
        };
        self.notify(stage, 0, 0);
        setup.set_time(now());
        let response = self.exchange(stage, server, &request)?;
        match setup.feed(&response, self.rng.draw()?) {
            Err(error) if stage == Stage::Catalog && is_damage(&error, &response) => {}
            outcome => {
                let entry = self.entry(&setup.config().table);
                outcome.map_err(|error| match entry {
                    Some(entry) => entry.with_evidence(error, &response.body),
                    None => error,
                })?;
                return self.keep_logs(&setup.config().logs);
            }
        }
        // The signer did not sign these bytes. The catalog is the same for everyone, so a second
        // request reveals nothing.
        let again = self.exchange(stage, server, &request)?;
        let is_same = again.body == response.body;
        match setup.feed(&again, self.rng.draw()?) {
            Ok(()) => {
                self.state_guard.events.notify(TableEvent::Repaired("the table's catalog"));
                self.keep_logs(&setup.config().logs)
            }
            Err(error) if is_damage(&error, &again) && !is_same => {
                Err(ClientError::CatalogDamaged { why: error.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    fn exchange(&mut self, stage: Stage, server: u8, request: &Request) -> Result<Response> {
        let response = self.servers.call(server, request)?;
        let (up, down) = (request.body.len() as u64, response.body.len() as u64);
        let traffic = if stage == Stage::Keys { &mut self.stats.keys } else { &mut self.stats.catalog };
        traffic.add(up, down);
        Ok(response)
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

/// Whether a catalog was refused that nobody has signed as it is: then it may arrive undamaged
/// another time.
fn is_damage(error: &ClientError, response: &Response) -> bool {
    let signed = || SignedCatalog::parse(&response.body).and_then(|signed| signed.verify(None));
    matches!(error.root(), ClientError::Catalog(_)) && signed().is_err()
}
