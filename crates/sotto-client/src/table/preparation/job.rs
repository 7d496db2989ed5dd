//! The work of the preparation thread: from the first request to a client that is on disk and of
//! the newest epoch.

use super::super::event::Notifier;
use super::super::freshness::now;
use super::super::rows::{CheckpointTimer, stream};
use super::super::servers::Servers;
use super::super::{Progress, Stage, TableEvent, Traffic};
use super::pacing::{Clock, PauseReason, PreparationSignal};
use crate::session::delta_chain::DeltaChain;
use crate::session::{Action, Session, SessionSetup, SetupConfig};
use crate::state::metadata::{RowsVersion, Snapshot};
use crate::state::preparation_file::{NextClientFiles, PreparationOnDisk};
use crate::transport::{Request, Response, TransportError};
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch, Error, StateEntry};
use sotto_prg::ReseedingRng;
use std::sync::Arc;
use std::time::Duration;

/// Pause after a first failure. It doubles each time, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Number of times that a table which has moved on is opened again at once. A server could report
/// that without end, so the thread then has to pause.
const CHANGES_AT_ONCE: u32 = 2;

/// A client that is ready to replace the current one.
pub(crate) struct PreparedClient {
    pub(crate) session: Session,
    /// Snapshot on disk; `None` for a client whose state is in memory.
    pub(crate) snapshot: Option<Snapshot>,
    /// Bytes and requests of its preparation.
    pub(crate) traffic: Traffic,
}

/// Result of a preparation.
pub(crate) enum PreparationOutcome {
    Ready(Box<PreparedClient>),
    /// The preparation was stopped, and its progress is on disk.
    Stopped,
    /// A caller waited for the preparation, and it cannot continue.
    Failed(ClientError),
}

/// Everything that a thread needs to prepare a client.
pub(crate) struct PreparationJob {
    pub(crate) config: SetupConfig,
    /// Epoch of the current client.
    pub(crate) epoch: Epoch,
    pub(crate) servers: Servers,
    /// Files of the next client; `None` for a client whose state is in memory.
    pub(crate) next_files: Option<NextClientFiles>,
    /// How a preparation is read from disk, with its parameters; `None` for a client that has keys
    /// and no state.
    pub(crate) reader: Option<(&'static StateEntry, Vec<u8>)>,
    /// Digest of those parameters.
    pub(crate) params: Hex32,
    pub(crate) signal: Arc<PreparationSignal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: ReseedingRng,
    pub(crate) events: Notifier<TableEvent>,
    pub(crate) progress: Notifier<Progress>,
    pub(crate) from: PreparationStart,
    pub(crate) traffic: Traffic,
}

/// How far a preparation is.
pub(crate) enum PreparationStart {
    /// As far as the files on disk, or not begun.
    Disk,
    /// As far as this setup.
    Partial(Box<SessionSetup>),
    /// The client is complete, and has to be advanced to the newest epoch.
    Whole(Box<Session>),
}

impl PreparationJob {
    /// Does all the work. After a failure it tries again, unless a caller waits.
    pub(crate) fn run(mut self) -> PreparationOutcome {
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
            if self.signal.is_waited_for() {
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

    /// Takes a setup to its end, and writes checkpoints at intervals.
    fn advance(&mut self, setup: &mut SessionSetup) -> Result<()> {
        loop {
            match setup.next() {
                Action::Ready => return Ok(()),
                Action::Recall(_) => setup.cached_artifact(None)?,
                Action::Catalog { server, request } | Action::Keys { server, request } => {
                    setup.set_time(now());
                    let response = self.call(server, &request)?;
                    setup.feed(&response, self.rng.draw()?)?;
                    self.check(setup)?;
                }
                Action::Fetch(fetch) if fetch.artifact == Artifact::Rows => self.stream_rows(setup)?,
                Action::Fetch(fetch) => {
                    let response = self.call(0, &fetch.request)?;
                    setup.feed(&response, self.rng.draw()?)?;
                }
            }
        }
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

    fn stream_rows(&mut self, setup: &mut SessionSetup) -> Result<()> {
        let PreparationJob { servers, next_files, signal, rng, progress, traffic, .. } = self;
        let mut timer = next_files.clone().map(|next_files| CheckpointTimer::new(next_files, setup));
        let streamed = stream(servers.first(), setup, rng.draw()?, &mut |setup, part| {
            traffic.add(0, part.received);
            progress.notify(Progress { stage: Stage::NextClient, done: part.done, total: part.total });
            // A client that lacks nothing is completed.
            if signal.is_stopped() && setup.checkpoint().is_some() {
                return Err(TransportError::Lost("preparation stopped".to_owned()).into());
            }
            timer.as_mut().map_or(Ok(()), |timer| timer.absorbed(setup, part))
        });
        if let (Err(_), Some(timer)) = (&streamed, &mut timer) {
            timer.write(setup)?;
        }
        streamed
    }

    /// Advances a client to the newest epoch, since its table may have moved on while the rows
    /// arrived.
    fn advance_to_newest(&mut self, session: &mut Session) -> Result<()> {
        let mut newest = SessionSetup::after_session(self.config.clone(), session);
        while newest.catalog().is_none() || newest.wants_tree() {
            let (server, request) = match newest.next() {
                Action::Catalog { server, request } => (server, request),
                Action::Fetch(fetch) => (0, fetch.request),
                Action::Recall(_) => {
                    newest.cached_artifact(None)?;
                    continue;
                }
                _ => break,
            };
            newest.set_time(now());
            let response = self.call(server, &request)?;
            newest.feed(&response, self.rng.draw()?)?;
        }
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
        let mut chain = newest.delta_chain(version)?;
        loop {
            while let Some(request) = next_request(&chain) {
                let response = self.call(0, &request)?;
                chain.feed(&response)?;
            }
            match chain.take()? {
                Some(step) => session.apply_delta_step(step)?,
                None => break,
            }
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

    fn call(&mut self, server: u8, request: &Request) -> Result<Response> {
        let response = self.servers.call(server, request)?;
        self.traffic.add(request.body.len() as u64, response.body.len() as u64);
        Ok(response)
    }
}

/// The request that a delta chain needs next, if any.
fn next_request(chain: &DeltaChain) -> Option<Request> {
    match chain.next() {
        Action::Catalog { request, .. } => Some(request),
        Action::Fetch(fetch) => Some(fetch.request),
        _ => None,
    }
}

/// Whether the table has moved on.
fn is_change(error: &ClientError) -> bool {
    matches!(error, ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. })
}
