//! Guards the state of a client whose hints are used up: it is written before a request is sent and
//! before a row is returned, and renewed.

use super::event::{Notifier, WaitPolicy, WaitReason};
use super::preparation::Adoption;
use super::{Driver, Stage, Table, TableEvent};
use crate::cache::lock::Lock;
use crate::session::durable_query::{RecoveredRequest, RowCheck};
use crate::session::{Session, SessionSetup, SetupConfig};
use crate::state::StateError;
use crate::state::disk::LockedFolder;
use crate::state::durable_state::{CommittedRequest, DurableState, OpenedState};
use crate::state::metadata::{RowsVersion, StateRequirement};
use crate::state::open::StatePaths;
use crate::state::preparation_file::PreparationOnDisk;
use crate::transport::Response;
use crate::{ClientError, Result};
use sotto_core::{Budget, Error, Misuse};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The durable state of an open table, and what opens it. Empty for a client without a state, or
/// with one in memory alone.
pub(crate) struct StateGuard {
    /// Factory of the state's folders; `None` if the caller named none.
    pub(super) paths_factory: Option<StatePathsFactory>,
    pub(super) state: Option<DurableState>,
    /// Configuration of the open table, for opening it again.
    pub(super) config: Option<SetupConfig>,
    /// Checks whether a row is the publisher's.
    pub(super) check: Option<RowCheck>,
    pub(super) events: Notifier<TableEvent>,
}

impl StateGuard {
    /// The state, if there is one. A build without states has none, which lets the compiler drop
    /// code.
    pub(super) fn state(&mut self) -> Option<&mut DurableState> {
        if cfg!(feature = "state") { self.state.as_mut() } else { None }
    }

    /// A setup that continues a half-done preparation, if that can be used.
    pub(super) fn setup_from(&self, config: SetupConfig, found: PreparationOnDisk) -> SessionSetup {
        match found {
            PreparationOnDisk::Partial(saved) => {
                self.events.notify(TableEvent::PreparationResumed(saved.epoch));
                return SessionSetup::resuming(config, saved);
            }
            PreparationOnDisk::Unusable(why) => self.events.notify(TableEvent::PreparationRestarted(why)),
            PreparationOnDisk::Nothing => {}
        }
        SessionSetup::new(config)
    }
}

impl Driver {
    /// Passes the client on disk to a setup that needs one, if it exists and may be used.
    pub(super) fn load_client(&mut self, setup: &mut SessionSetup) -> Result<()> {
        let Some(reader) = setup.state().filter(|_| !setup.is_continued()) else { return Ok(()) };
        let Some(requirement) = requirement(setup, self.servers.origins()) else {
            return Ok(());
        };
        if let Some(state) = self.state_guard.state() {
            return Ok(state.check(&requirement)?);
        }
        let Some(paths_factory) = &self.state_guard.paths_factory else {
            return Err(ClientError::StateNeeded(requirement.scheme));
        };
        let mut open = paths_factory.lock().unwrap_or_else(PoisonError::into_inner);
        let paths = open(&folder_of(&requirement))?;
        drop(open);
        let OpenedState { mut state, client, loss, dropped } =
            DurableState::open(paths, &requirement, reader, self.rng.draw()?)?;
        let found = match client {
            None => state.lease_preparation().resume(reader)?,
            Some(_) => PreparationOnDisk::Nothing,
        };
        let config = setup.config().clone();
        self.state_guard.state = Some(state);
        self.state_guard.config = Some(config.clone());
        if let Some(loss) = loss {
            self.state_guard.events.notify(TableEvent::StateReset(loss));
        }
        if let Some(why) = dropped {
            self.state_guard.events.notify(TableEvent::PreparationRestarted(why));
        }
        if let Some(client) = client {
            return setup.supply_client(client);
        }
        if !matches!(found, PreparationOnDisk::Nothing) {
            *setup = self.state_guard.setup_from(config, found);
        }
        Ok(())
    }

    /// Discards a half-done preparation on disk, if there is one.
    pub(super) fn forget_saved_preparation(&mut self, why: &ClientError) -> Result<()> {
        let Some(state) = self.state_guard.state() else { return Ok(()) };
        if state.lease_preparation().forget()? {
            self.state_guard.events.notify(TableEvent::PreparationRestarted(why.to_string()));
        }
        Ok(())
    }

    /// The session that a setup led to, with its client on disk and advanced to its epoch.
    pub(super) fn take_over(&mut self, setup: SessionSetup) -> Result<Session> {
        let mut session = setup.finish()?;
        let Some(state) = self.state_guard.state().filter(|_| session.is_durable()) else {
            self.keep_keys(&session)?;
            return Ok(session);
        };
        let offered = RowsVersion::of(session.catalog());
        match state.at() {
            None => state.adopt(session.client(), offered)?,
            Some(RowsVersion { epoch: seen, .. }) if seen > offered.epoch => {
                return Err(ClientError::Rollback { seen, offered: offered.epoch });
            }
            Some(_) => self.catch_up_or_restart(&mut session)?,
        }
        Ok(session)
    }

    /// Advances the client to its session's epoch by deltas, or prepares another one if there are
    /// none.
    pub(super) fn catch_up_or_restart(&mut self, session: &mut Session) -> Result<()> {
        let Some(loss) = self.catch_up(session)? else { return Ok(()) };
        let Some(again) = self.state_guard.config.clone().map(SessionSetup::new) else { return Ok(()) };
        let rule = Error::from(Misuse::Rule("no state to discard"));
        // Until the next client is ready: its preparation may fail.
        session.discard();
        let state = self.state_guard.state.take().ok_or(rule)?;
        self.state_guard.state = Some(state.start_over(self.rng.draw()?)?);
        self.state_guard.events.notify(TableEvent::StateReset(loss));
        let setup = self.open(again)?;
        *session = self.take_over(setup)?;
        Ok(())
    }
}

impl Driver {
    /// Commits a request to disk before it may be sent.
    pub(super) fn commit(&mut self, session: &mut Session, rows: &[u64]) -> Result<CommittedRequest> {
        let Some(state) = self.state_guard.state() else {
            return Err(ClientError::StateNeeded(session.catalog().scheme.clone()));
        };
        let entry = session.draft_query(rows, self.rng.draw()?)?;
        state.commit(&entry, session.epoch())
    }

    /// Reads the responses to a committed request, and writes what the client learned before the
    /// rows are returned.
    pub(super) fn settle(
        &mut self,
        session: &mut Session,
        committed: &CommittedRequest,
        responses: &[Response],
        rows: Option<&[u64]>,
    ) -> Result<RecoveredRequest> {
        let recovered = session.read(committed.logged(), responses, rows, self.state_guard.check.as_ref())?;
        if let Some(state) = self.state_guard.state() {
            state.settle(committed, &recovered.journal, recovered.whole)?;
        }
        Ok(recovered)
    }

    /// Requests hints, if some are due. Returns whether some were.
    pub(super) fn refill_hints(&mut self, session: &mut Session) -> Result<bool> {
        let Some(request) = session.hint_request()? else { return Ok(false) };
        self.notify(Stage::Hints, 0, 0);
        let response = self.servers.call(request.server(), request.request())?;
        self.stats.hint_requests.add(request.request().body.len() as u64, response.body.len() as u64);
        session.apply_hint_response(&request, &response)?;
        if let Some(state) = self.state_guard.state().filter(|_| session.is_durable()) {
            state.commit_hints(&session.journal()?)?;
            state.compact(session.client())?;
        }
        self.notify(Stage::Ready, 0, 0);
        Ok(true)
    }

    /// Requests hints until they last for a lookup of `rows` rows, or no more are due.
    fn provide(&mut self, session: &mut Session, rows: usize) -> Result<()> {
        let needed = rows.saturating_mul(session.packing().records_per_row()) as u64;
        while matches!(session.budget(), Budget::Left(left) if left < needed) {
            if !self.refill_hints(session)? {
                break;
            }
        }
        Ok(())
    }

    /// Writes a snapshot of the client, if that is worth its cost.
    pub(super) fn compact(&mut self, session: &mut Session) -> Result<()> {
        self.state_guard.state().map_or(Ok(()), |state| state.compact(session.client()))
    }
}

impl Table {
    /// Prepares a request that uses hints up: completes what a broken connection left undone, since
    /// the client may be of an earlier epoch than its session, or a request unsettled; and ensures
    /// hints for `rows` rows.
    pub(super) fn make_ready(&mut self, rows: usize) -> Result<()> {
        self.driver.catch_up_or_restart(&mut self.session)?;
        self.resend()?;
        self.adopt_prepared()?;
        self.driver.provide(&mut self.session, rows)?;
        self.afford(rows)
    }

    /// Streams the table's rows again for a new client in place of this one, with a key and a
    /// budget of its own. This happens by itself, in the background once hints are low
    /// ([`TableBuilder::low_water`](super::TableBuilder::low_water)), and at once if the budget
    /// does not last for a lookup; here at the rate that
    /// [`TableBuilder::preparation_rate`](super::TableBuilder::preparation_rate) allows. Work done
    /// in the background, or before a crash, is continued.
    ///
    /// # Errors
    /// As for [`TableBuilder::open`](super::TableBuilder::open). The client is then as it was.
    /// [`Misuse::Rule`] for a table whose client makes any number of queries.
    pub fn renew(&mut self) -> Result<()> {
        self.renew_now(false)
    }

    fn renew_now(&mut self, hurry: bool) -> Result<()> {
        if self.session.budget() == Budget::Unlimited {
            return Err(Error::from(Misuse::Rule("a client that is renewed has a budget")).into());
        }
        self.driver.catch_up_or_restart(&mut self.session)?;
        self.resend()?;
        if let Adoption::Adopted = self.wait_for_next(hurry)? {
            return Ok(());
        }
        let begun = self.next_client_setup()?;
        let setup = match self.driver.open(begun) {
            Err(changed @ (ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. })) => {
                self.driver.forget_saved_preparation(&changed)?;
                self.driver.open(SessionSetup::new(self.config.clone()))?
            }
            outcome => outcome?,
        };
        let mut session = setup.finish()?;
        if let Some(state) = self.driver.state_guard.state() {
            let at = RowsVersion::of(session.catalog());
            state.adopt(session.client(), at)?;
        }
        self.session = session;
        self.remember_table();
        self.driver.state_guard.events.notify(TableEvent::HintsRenewed(self.session.budget()));
        Ok(())
    }

    /// Renews the client if its budget does not allow queries for `rows` rows and a new client's
    /// does, unless [`TableBuilder::fail_when_exhausted`](super::TableBuilder::fail_when_exhausted)
    /// makes that an error.
    fn afford(&mut self, rows: usize) -> Result<()> {
        let needed = rows.saturating_mul(self.session.packing().records_per_row()) as u64;
        let fresh = self.session.report().costs.budget;
        match self.session.budget() {
            Budget::Left(left) if left < needed && needed <= fresh && !self.policy.refuses => {
                self.renew_now(true)?;
                // With a hint server, a new client has no hints yet.
                self.driver.provide(&mut self.session, rows)
            }
            _ => Ok(()),
        }
    }

    /// Sends requests again that were logged and not settled, the oldest first, and drops their
    /// rows.
    ///
    /// # Errors
    /// The errors of a lookup. Requests that have not been settled stay logged.
    fn resend(&mut self) -> Result<()> {
        let (driver, session) = (&mut self.driver, &mut self.session);
        let left = driver.state_guard.state().map(|state| state.committed().to_vec()).unwrap_or_default();
        if left.is_empty() {
            return Ok(());
        }
        for committed in &left {
            let requests = session.requests(committed.logged())?;
            let responses = driver.servers.call_all(&requests)?;
            for (request, response) in requests.iter().zip(&responses) {
                driver.stats.query_requests.add(request.body.len() as u64, response.body.len() as u64);
            }
            let recovered = driver.settle(session, committed, &responses, None)?;
            // An unreadable row matters to nobody any more. A missing answer still has to arrive.
            match recovered.rows {
                Err(error) if !recovered.whole => return Err(error),
                _ => {}
            }
        }
        driver.compact(session)?;
        driver.state_guard.events.notify(TableEvent::Resent(left.len()));
        Ok(())
    }
}

/// Opens the folders of a state, given its folder's name.
pub(crate) type StatePathsFactory = Arc<Mutex<dyn FnMut(&str) -> Result<StatePaths, StateError> + Send>>;

/// Opens a state's folder in `dir`, and rollback counters in `counters` or in the default folder.
/// Waits for another process that has the state.
pub(crate) fn folders(dir: PathBuf, counters: Option<PathBuf>, wait_policy: WaitPolicy) -> StatePathsFactory {
    Arc::new(Mutex::new(move |name: &str| {
        let counters = counters.clone().map_or_else(default_rollback_dir, Ok)?;
        let take_lock =
            |lock: &Path| wait_policy.wait_for(WaitReason::State, |limit| Lock::take(lock, limit));
        // The contents are as private as the folder.
        LockedFolder::shared(&dir)?;
        let disk = Arc::new(LockedFolder::locked(&dir.join(name), &take_lock)?);
        Ok(StatePaths { disk, counters: Box::new(LockedFolder::shared(&counters)?) })
    }))
}

/// The default folder for rollback counters: the user's folder for states, by the XDG rules.
///
/// # Errors
/// [`StateError::NoRollbackCounter`] if there is no such folder.
fn default_rollback_dir() -> Result<PathBuf, StateError> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    folder.map(|folder| folder.join("sotto").join("rollback")).ok_or(StateError::NoRollbackCounter)
}

/// The name of a state's folder: a hash, since an origin is not a valid file name.
pub(crate) fn folder_of(requirement: &StateRequirement) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state folder v1");
    hasher.update(&(requirement.origin.len() as u64).to_le_bytes());
    hasher.update(requirement.origin.as_bytes());
    hasher.update(requirement.table.as_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// What a setup requires of a state; `None` before the catalog has arrived.
pub(crate) fn requirement(setup: &SessionSetup, origin: String) -> Option<StateRequirement> {
    let (catalog, key) = setup.catalog().zip(setup.signer())?;
    let literal = catalog.params.to_string();
    Some(StateRequirement {
        table: catalog.table.to_string(),
        origin,
        scheme: catalog.scheme.clone(),
        public_key: key.without_ml_dsa().to_string(),
        params: catalog.params_digest,
        literal,
    })
}
