//! Advances a client's state when the table moves on, one epoch at a time; a durable state is on
//! disk after each.

use super::driver::{Catchup, Step};
use super::{Driver, Stage, TableEvent};
use crate::session::delta_chain::DeltaChain;
use crate::session::{Action, Session, SessionSetup, StateVersion};
use crate::state::StateLoss;
use crate::state::metadata::RowsVersion;
use crate::{ClientError, Result};
use sotto_core::{Error, Misuse};

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
        let config = self.state_guard.config.as_ref().ok_or_else(rule)?;
        let mut chain = session.delta_chain_from(config, from.epoch, from.rows)?;
        let mut reached = from;
        loop {
            if let Step::Taken = self.fetch_part(&mut chain)? {
                continue;
            }
            let Some(step) = chain.take()? else { break };
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
    pub(super) fn apply_delta_chain(
        &mut self,
        setup: &SessionSetup,
        session: &mut Session,
    ) -> Result<Catchup> {
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
        let mut chain = setup.delta_chain(version)?;
        loop {
            if let Step::Taken = self.fetch_part(&mut chain)? {
                continue;
            }
            let Some(step) = chain.take()? else { return Ok(()) };
            self.stats.patched_bytes += step.delta.len() as u64;
            session.apply_delta_step(step)?;
        }
    }

    /// Fetches what a delta chain needs next.
    fn fetch_part(&mut self, chain: &mut DeltaChain) -> Result<Step> {
        let (stage, request) = match chain.next() {
            Action::Catalog { request, .. } => (Stage::Catalog, request),
            Action::Fetch(fetch) => (Stage::Artifact(fetch.artifact), fetch.request),
            _ => return Ok(Step::Complete),
        };
        self.notify(stage, 0, 0);
        let response = self.servers.call(0, &request)?;
        let catalog = stage == Stage::Catalog;
        let traffic = if catalog { &mut self.stats.catalog } else { &mut self.stats.artifacts };
        traffic.add(0, response.body.len() as u64);
        chain.feed(&response)?;
        Ok(Step::Taken)
    }
}
