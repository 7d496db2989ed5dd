//! Preparation of the next client in the background, before it is needed.
//!
//! | module | contents |
//! |---|---|
//! | `job` | the work of the thread |
//! | `pacing` | how fast rows may arrive, and how the thread yields to lookups |
//!
//! ```text
//! table                                     thread, with transports of its own
//!   hints are low                  -------->  catalog; rows, part by part; checkpoints at intervals
//!   lookups go on with this client            the newest epoch, by deltas
//!                                             a snapshot, in a file that is not the state's yet
//!   before a lookup: is it ready?  <--------  the next client is ready
//!   one transaction: it is the state's
//! ```
//!
//! The current client makes queries until the transaction, and the next one from there on. No
//! request involves both.

pub(crate) mod job;
pub(crate) mod pacing;

use super::servers::{self, MakeTransports, Servers};
use super::{Table, TableEvent};
use crate::Result;
use crate::parallel::THREADS;
use crate::session::SessionSetup;
use crate::state::durable_state::DurableState;
use crate::state::preparation_file::NextClientFiles;
use crate::transport::{Transport, TransportError};
use job::{PreparationJob, PreparationOutcome, PreparationStart, PreparedClient};
use pacing::{Clock, PreparationSignal, RateLimitedTransport, RateLimiter, at_low_priority};
use sotto_core::{Artifact, Budget, Error, Misuse};
use sotto_prg::ReseedingRng;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// When and how a table prepares its next client.
pub(crate) struct PreparationPolicy {
    /// Factory of the thread's transports; `None` if there are none.
    pub(crate) transports: Option<MakeTransports>,
    /// Number of queries below which the preparation begins; `None` for a quarter of a new client's
    /// budget.
    pub(crate) low_water: Option<u64>,
    /// Maximum rate in bytes per second.
    pub(crate) rate: Option<u64>,
    /// Whether a lookup without hints fails, instead of waiting for the next client.
    pub(crate) refuses: bool,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A preparation in progress.
pub(crate) struct Preparation {
    signal: Arc<PreparationSignal>,
    outcome: Receiver<PreparationOutcome>,
    next_files: Option<NextClientFiles>,
}

impl Drop for Preparation {
    /// The thread ends by itself, as soon as its network call returns.
    fn drop(&mut self) {
        self.signal.stop();
    }
}

/// Whether the next client has taken the current one's place.
pub(super) enum Adoption {
    Adopted,
    /// The current client stays: the next one has to be advanced first, or no thread can prepare it.
    Postponed,
}

impl Table {
    /// Whether the next client is being prepared in the background.
    pub fn is_preparing(&self) -> bool {
        self.preparation.is_some()
    }

    /// Stops preparing the next client, if that is in progress, and writes how far it is: the next
    /// process continues from there, and this one with the next lookup. Waits for that as long as
    /// `max_wait`, and returns whether it was long enough. Dropping a table stops without waiting:
    /// then the work since the last checkpoint is lost.
    ///
    /// # Errors
    /// [`ClientError::State`](crate::ClientError::State) if the client was ready, and cannot take
    /// the current one's place.
    pub fn pause(&mut self, max_wait: Duration) -> Result<bool> {
        let Some(preparation) = self.take_preparation() else { return Ok(true) };
        preparation.signal.stop();
        match preparation.outcome.recv_timeout(max_wait) {
            Ok(PreparationOutcome::Ready(prepared)) => {
                self.adopt(preparation, *prepared)?;
                self.preparation = None;
                Ok(true)
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
        }
    }

    /// Replaces the client by the next one, if that is ready.
    pub(crate) fn adopt_prepared(&mut self) -> Result<()> {
        let Some(preparation) = self.take_preparation() else { return Ok(()) };
        match preparation.outcome.try_recv() {
            Ok(PreparationOutcome::Ready(prepared)) => self.adopt(preparation, *prepared).map(drop),
            Ok(PreparationOutcome::Stopped | PreparationOutcome::Failed(_))
            | Err(TryRecvError::Disconnected) => Ok(()),
            Err(TryRecvError::Empty) => {
                self.preparation = Some(preparation);
                Ok(())
            }
        }
    }

    /// Begins to prepare the next client, if hints are low, or if keys have reached three quarters
    /// of their lifetime.
    pub(super) fn start_preparation_if_low(&mut self) {
        let fresh = self.session.report().costs.budget;
        let mark = self.policy.low_water.unwrap_or(fresh / 4);
        let is_low = matches!(self.session.budget(), Budget::Left(left) if left < mark);
        if (is_low || self.driver.keys.are_low())
            && self.preparation.is_none()
            && !self.session.is_discarded()
        {
            // What keeps it from beginning will be an error once the client is needed.
            self.preparation = self.begin(PreparationStart::Disk, None).ok().flatten();
        }
    }

    /// The preparation in progress, if there is one. Without threads there never is, which lets the
    /// compiler drop code.
    fn take_preparation(&mut self) -> Option<Preparation> {
        if THREADS { self.preparation.take() } else { None }
    }

    /// Waits for the next client, and replaces the current one by it, unless no thread can prepare
    /// it; with `hurry`, at any rate.
    pub(super) fn wait_for_next(&mut self, hurry: bool) -> Result<Adoption> {
        loop {
            self.preparation = match self.take_preparation() {
                None => self.begin(PreparationStart::Disk, None)?,
                preparation => preparation,
            };
            let Some(preparation) = self.take_preparation() else { return Ok(Adoption::Postponed) };
            preparation.signal.wait_for();
            if hurry {
                preparation.signal.hurry();
            }
            match preparation.outcome.recv() {
                Ok(PreparationOutcome::Ready(prepared)) => {
                    if let Adoption::Adopted = self.adopt(preparation, *prepared)? {
                        return Ok(Adoption::Adopted);
                    }
                }
                Ok(PreparationOutcome::Failed(error)) => return Err(error),
                Ok(PreparationOutcome::Stopped) | Err(_) => {
                    let ended = "the thread that prepares the next client has ended";
                    return Err(TransportError::Lost(ended.to_owned()).into());
                }
            }
        }
    }

    /// Starts a thread that prepares a client, if possible.
    fn begin(
        &mut self,
        from: PreparationStart,
        next_files: Option<NextClientFiles>,
    ) -> Result<Option<Preparation>> {
        let streams = self.session.catalog().artifacts.iter().any(|entry| entry.artifact == Artifact::Rows);
        let entry = self.session.scheme().state.as_ref().filter(|_| streams);
        // Hints from a hint server do not end.
        if !THREADS
            || self.session.scheme().hint_server.is_some()
            || entry.is_none() && self.session.keys().is_none()
        {
            return Ok(None);
        }
        let Some(transports) = &self.policy.transports else { return Ok(None) };
        let (signal, clock) = (Arc::new(PreparationSignal::default()), Arc::clone(&self.policy.clock));
        let limited = |inner| {
            let limiter = RateLimiter::new(self.policy.rate, Arc::clone(&signal), Arc::clone(&clock));
            Box::new(RateLimitedTransport { inner, limiter }) as Box<dyn Transport>
        };
        let mut transports = servers::make(transports)?.into_iter().map(limited);
        let none = || Error::from(Misuse::Rule("fewer transports than the scheme has servers"));
        let servers = Servers::new(transports.next().ok_or_else(none)?, transports.collect());
        let next_files =
            next_files.or_else(|| self.driver.state_guard.state().map(DurableState::lease_preparation));
        let literal = self.session.catalog().params.to_string().into_bytes();
        let work = PreparationJob {
            config: self.config.clone(),
            epoch: self.session.epoch(),
            servers,
            next_files: next_files.clone(),
            reader: entry.map(|entry| (entry, literal)),
            params: self.session.catalog().params_digest,
            signal: Arc::clone(&signal),
            clock,
            rng: ReseedingRng::open()?,
            events: self.driver.state_guard.events.clone(),
            progress: self.driver.progress.clone(),
            from,
            traffic: Default::default(),
        };
        let (ready, outcome) = sync_channel(1);
        let spawned = thread::Builder::new().name("sotto-pass".to_owned()).spawn(move || {
            // The receiver may be gone.
            let _ = ready.send(at_low_priority(work.signal.clone(), work.clock.clone(), || work.run()));
        });
        spawned.map_err(Error::Storage)?;
        Ok(Some(Preparation { signal, outcome, next_files }))
    }

    /// Replaces the client by one that is ready. If the table has moved on meanwhile, the new client
    /// has to be advanced first.
    fn adopt(&mut self, preparation: Preparation, prepared: PreparedClient) -> Result<Adoption> {
        let PreparedClient { session, snapshot, traffic } = prepared;
        let has_keys = session.keys().is_some();
        let stats = &mut self.driver.stats;
        let sum = if has_keys { &mut stats.keys } else { &mut stats.artifacts };
        sum.requests += traffic.requests;
        sum.up += traffic.up;
        sum.down += traffic.down;
        if let Some(state) = self.driver.state_guard.state() {
            // The state at the beginning of the preparation may have been discarded.
            let (Some(snapshot), true) = (snapshot, state.has_leased(preparation.next_files.as_ref())) else {
                return Ok(Adoption::Postponed);
            };
            if session.epoch() >= self.session.epoch() {
                state.adopt_written(snapshot)?;
            }
        }
        if session.epoch() < self.session.epoch() {
            self.preparation =
                self.begin(PreparationStart::Whole(Box::new(session)), preparation.next_files.clone())?;
            return Ok(Adoption::Postponed);
        }
        self.session = session;
        self.remember_table();
        self.driver.keep_logs(&self.config.logs)?;
        self.driver.keep_keys(&self.session)?;
        self.driver.state_guard.events.notify(match has_keys {
            true => TableEvent::KeysRotated,
            false => TableEvent::HintsRenewed(self.session.budget()),
        });
        Ok(Adoption::Adopted)
    }

    /// A setup for the next client, from what is on disk of it.
    pub(super) fn next_client_setup(&mut self) -> Result<SessionSetup> {
        let reader = self.session.scheme().state.as_ref();
        let (Some(state), Some(entry)) = (self.driver.state_guard.state(), reader) else {
            return Ok(SessionSetup::new(self.config.clone()));
        };
        let literal = self.session.catalog().params.to_string();
        let found = state.lease_preparation().resume((entry, literal.as_bytes()))?;
        Ok(self.driver.state_guard.setup_from(self.config.clone(), found))
    }
}
