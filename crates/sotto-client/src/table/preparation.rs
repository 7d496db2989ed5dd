//! Preparation of the next client in the background, before it is needed.
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

use super::driver::now;
use super::event::Notifier;
use super::pacing::{Clock, PauseReason, PreparationSignal, RateLimitedTransport, at_low_priority};
use super::rows::{CheckpointTimer, stream};
use super::servers::{self, MakeTransports, Servers};
use super::{Progress, Stage, Table, TableEvent, Traffic};
use crate::parallel::THREADS;
use crate::session::{RequestPurpose, RowsDownload, Session, SessionSetup, SetupConfig, SetupIo};
use crate::state::durable_state::DurableState;
use crate::state::metadata::{RowsVersion, Snapshot};
use crate::state::preparation_file::{NextClientFiles, PreparationOnDisk};
use crate::transport::{Request, Response, Transport, TransportError};
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Budget, CryptoRng, Epoch, Error, Misuse, StateEntry};
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
        self.signal.change(|state| state.stop = true);
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
    /// [`ClientError::State`] if the client was ready, and cannot take
    /// the current one's place.
    pub fn pause(&mut self, max_wait: Duration) -> Result<bool> {
        let Some(preparation) = self.take_preparation() else { return Ok(true) };
        preparation.signal.change(|state| state.stop = true);
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
            preparation.signal.change(|state| (state.wait, state.hurry) = (true, state.hurry || hurry));
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
            let limited = RateLimitedTransport::new(inner, self.policy.rate, &signal, &clock);
            Box::new(limited) as Box<dyn Transport>
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

/// Pause after a first failure. It doubles each time, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Number of times that a table which has moved on is opened again at once. A server could report
/// that without end, so the thread then has to pause.
const CHANGES_AT_ONCE: u32 = 2;

/// A client that is ready to replace the current one.
struct PreparedClient {
    session: Session,
    /// Snapshot on disk; `None` for a client whose state is in memory.
    snapshot: Option<Snapshot>,
    /// Bytes and requests of its preparation.
    traffic: Traffic,
}

/// Result of a preparation.
enum PreparationOutcome {
    Ready(Box<PreparedClient>),
    /// The preparation was stopped, and its progress is on disk.
    Stopped,
    /// A caller waited for the preparation, and it cannot continue.
    Failed(ClientError),
}

/// Everything that a thread needs to prepare a client.
struct PreparationJob {
    config: SetupConfig,
    /// Epoch of the current client.
    epoch: Epoch,
    servers: Servers,
    /// Files of the next client; `None` for a client whose state is in memory.
    next_files: Option<NextClientFiles>,
    /// How a preparation is read from disk, with its parameters; `None` for a client that has keys
    /// and no state.
    reader: Option<(&'static StateEntry, Vec<u8>)>,
    /// Digest of those parameters.
    params: Hex32,
    signal: Arc<PreparationSignal>,
    clock: Arc<dyn Clock>,
    rng: ReseedingRng,
    events: Notifier<TableEvent>,
    progress: Notifier<Progress>,
    from: PreparationStart,
    traffic: Traffic,
}

/// How far a preparation is.
enum PreparationStart {
    /// As far as the files on disk, or not begun.
    Disk,
    /// As far as this setup.
    Partial(Box<SessionSetup>),
    /// The client is complete, and has to be advanced to the newest epoch.
    Whole(Box<Session>),
}

impl PreparationJob {
    /// Does all the work. After a failure it tries again, unless a caller waits.
    fn run(mut self) -> PreparationOutcome {
        let mut pause = FIRST_PAUSE;
        let mut changes = 0;
        loop {
            let before = self.traffic.down;
            let error = match self.attempt() {
                Ok(Some(prepared)) => return PreparationOutcome::Ready(Box::new(prepared)),
                Ok(None) => return PreparationOutcome::Stopped,
                Err(error) => error,
            };
            if self.signal.is_stopped() {
                return PreparationOutcome::Stopped;
            }
            if self.traffic.down > before {
                pause = FIRST_PAUSE;
            }
            if is_change(&error) && changes < CHANGES_AT_ONCE {
                changes += 1;
                continue;
            }
            if self.signal.state().wait {
                return PreparationOutcome::Failed(error);
            }
            self.events.notify(TableEvent::PreparationInterrupted(error.to_string()));
            self.clock.pause(pause, PauseReason::Failure, &self.signal);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Continues until the client is ready, is no longer needed, or something fails.
    fn attempt(&mut self) -> Result<Option<PreparedClient>> {
        loop {
            match std::mem::replace(&mut self.from, PreparationStart::Disk) {
                PreparationStart::Disk => self.from = PreparationStart::Partial(Box::new(self.begin()?)),
                PreparationStart::Partial(mut setup) => match self.advance(&mut setup) {
                    Ok(()) => self.from = PreparationStart::Whole(Box::new(setup.finish()?)),
                    Err(changed) if is_change(&changed) => {
                        self.forget(changed.to_string())?;
                        return Err(changed);
                    }
                    Err(error) => {
                        self.from = PreparationStart::Partial(setup);
                        return Err(error);
                    }
                },
                PreparationStart::Whole(mut session) => match self.advance_to_newest(&mut session) {
                    Ok(()) => return self.write_client(*session),
                    Err(ClientError::NoDeltaChain { from, to, why }) => {
                        self.forget(format!("the table moved from epoch {from} to {to}: {why}"))?;
                        return Err(ClientError::EpochChanged { asked: from, newest: Some(to) });
                    }
                    // The changes cannot be read, and the client may be in an intermediate state.
                    Err(error @ (ClientError::Core(Error::Peer(_)) | ClientError::Catalog(_))) => {
                        self.forget(error.to_string())?;
                        return Err(error);
                    }
                    Err(error) => {
                        self.from = PreparationStart::Whole(session);
                        return Err(error);
                    }
                },
            }
        }
    }

    fn begin(&mut self) -> Result<SessionSetup> {
        let config = self.config.clone();
        let found = match (&self.next_files, &self.reader) {
            (Some(next_files), Some((entry, literal))) => next_files.resume((entry, literal))?,
            _ => PreparationOnDisk::Nothing,
        };
        Ok(match found {
            PreparationOnDisk::Partial(saved) => {
                self.events.notify(TableEvent::PreparationResumed(saved.epoch));
                SessionSetup::resuming(config, saved)
            }
            PreparationOnDisk::Unusable(why) => {
                self.forget(why)?;
                SessionSetup::new(config)
            }
            PreparationOnDisk::Nothing => SessionSetup::new(config),
        })
    }

    /// Discards what is on disk, and reports the reason.
    fn forget(&mut self, why: String) -> Result<()> {
        if let Some(next_files) = &self.next_files {
            next_files.forget()?;
        }
        self.events.notify(TableEvent::PreparationRestarted(why));
        Ok(())
    }

    /// Takes a setup to its end.
    fn advance(&mut self, setup: &mut SessionSetup) -> Result<()> {
        if setup.catalog().is_none() {
            setup.fetch_catalog(self)?;
            self.check(setup)?;
        }
        setup.complete(self)
    }

    /// Refuses a table with other parameters for a client with state, which belongs to one
    /// parameter set. Keys do not: a client with nothing else is as good for the table's new epoch
    /// as for its old one.
    fn check(&self, setup: &SessionSetup) -> Result<()> {
        match setup.catalog() {
            Some(new) if self.reader.is_some() && new.params_digest != self.params => {
                let why = "the parameters changed";
                Err(ClientError::NoDeltaChain { from: self.epoch, to: new.epoch, why })
            }
            _ => Ok(()),
        }
    }

    /// Advances a client to the newest epoch, since its table may have moved on while the rows
    /// arrived.
    fn advance_to_newest(&mut self, session: &mut Session) -> Result<()> {
        let mut newest = SessionSetup::after_session(self.config.clone(), session);
        newest.fetch_catalog(self)?;
        newest.fetch_tree(self)?;
        let (from, to) = (session.epoch(), newest.catalog().map_or(session.epoch(), |new| new.epoch));
        if self.reader.is_none() {
            let why = "the parameters changed";
            let goes_on = newest.is_continued();
            return if goes_on {
                session.advance_to(newest)
            } else {
                Err(ClientError::NoDeltaChain { from, to, why })
            };
        }
        let Some(version) = session.state_version().filter(|_| newest.catalog() != Some(session.catalog()))
        else {
            return Ok(());
        };
        let mut chain = newest.delta_chain(version, self)?;
        while let Some(step) = chain.next_step(self)? {
            session.apply_delta_step(step)?;
        }
        if newest.catalog() != Some(session.catalog()) {
            let why = "the rows of the epoch differ";
            return Err(ClientError::NoDeltaChain { from, to, why });
        }
        Ok(())
    }

    /// Writes the whole client. Returns `None` if it is no longer needed.
    fn write_client(&mut self, mut session: Session) -> Result<Option<PreparedClient>> {
        let snapshot = match &self.next_files {
            None => None,
            Some(next_files) => {
                let at = RowsVersion::of(session.catalog());
                match next_files.whole(session.client(), at) {
                    Ok(None) => return Ok(None),
                    Ok(written) => written,
                    Err(error) => {
                        self.from = PreparationStart::Whole(Box::new(session));
                        return Err(error);
                    }
                }
            }
        };
        Ok(Some(PreparedClient { session, snapshot, traffic: self.traffic }))
    }
}

impl SetupIo for PreparationJob {
    fn call(&mut self, server: u8, _: RequestPurpose, request: &Request) -> Result<Response> {
        let response = self.servers.call(server, request)?;
        self.traffic.add(request.body.len() as u64, response.body.len() as u64);
        Ok(response)
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng> {
        Ok(self.rng.draw()?)
    }

    fn now(&self) -> Option<u64> {
        Some(now())
    }

    /// Streams rows, and writes checkpoints at intervals.
    fn rows(&mut self, rows: &mut RowsDownload<'_>) -> Result<()> {
        let PreparationJob { servers, next_files, signal, progress, traffic, .. } = self;
        let mut timer = next_files.clone().map(|next_files| CheckpointTimer::new(next_files, rows));
        let streamed = stream(servers.first(), rows, &mut |rows, part| {
            traffic.add(0, part.received);
            progress.notify(Progress { stage: Stage::NextClient, done: part.done, total: part.total });
            // A client that lacks nothing is completed.
            if signal.is_stopped() && rows.checkpoint().is_some() {
                return Err(TransportError::Lost("preparation stopped".to_owned()).into());
            }
            timer.as_mut().map_or(Ok(()), |timer| timer.absorbed(rows, part))
        });
        if let (Err(_), Some(timer)) = (&streamed, &mut timer) {
            timer.write(rows)?;
        }
        streamed
    }
}

/// Whether the table has moved on.
fn is_change(error: &ClientError) -> bool {
    matches!(error, ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. })
}
