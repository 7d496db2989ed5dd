//! Freshness of an open table: what was seen of publishers' logs, stored in the cache, and whether
//! the catalog is still good.

use super::{Driver, Table};
use crate::cache::{Cache, CacheError};
use crate::session::{LogMemory, WitnessError, Witnesses};
use crate::{ClientError, Result};
use sotto_tlog::WitnessKey;
use std::time::Duration;
use web_time::SystemTime;

/// The current time in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The witnesses that a caller requires for a publisher's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct WitnessPolicy {
    pub(crate) keys: Vec<WitnessKey>,
    pub(crate) needed: Option<usize>,
    pub(crate) age: Option<Duration>,
}

impl WitnessPolicy {
    /// The required witnesses; `None` if neither witnesses nor their number was set.
    pub(crate) fn witnesses(self) -> Option<Witnesses> {
        let mut all = Witnesses::all(self.keys);
        all.needed = self.needed.unwrap_or(all.needed);
        all.age = self.age.unwrap_or(all.age);
        // A caller that sets a number requires witnesses: if none is named, that is an error and is
        // not ignored.
        (!all.keys.is_empty() || self.needed.is_some()).then_some(all)
    }
}

/// Loads what a cache has of logs.
pub(crate) fn load_logs(cache: &Cache, logs: &LogMemory) -> Result<()> {
    for (publisher, checkpoint) in cache.logs()? {
        logs.recall(publisher, checkpoint);
    }
    let histories = cache.log_histories().map_err(|error| match error {
        CacheError::Memory { .. } => WitnessError::Kept { why: error.to_string() }.into(),
        error => ClientError::from(error),
    });
    histories?.into_iter().for_each(|history| logs.recall_history(history));
    Ok(())
}

/// Stores what is new of logs in a cache.
pub(crate) fn keep(cache: &Cache, logs: &LogMemory) -> Result<()> {
    let fresh = logs.take_fresh();
    fresh.iter().try_for_each(|(publisher, checkpoint)| cache.keep_log(publisher, checkpoint))?;
    Ok(logs.take_fresh_histories().iter().try_for_each(|history| cache.keep_log_history(history))?)
}

/// Stores two checkpoints that contradict each other, if the error is about two: together they are
/// evidence against the signer.
pub(crate) fn with_both(cache: &Cache, error: ClientError) -> ClientError {
    let ClientError::Witness(WitnessError::Fork { publisher, size, found, .. }) = error.root() else {
        return error;
    };
    let (publisher, size, found) = (*publisher, *size, found.clone());
    match cache.keep_conflicting_checkpoint(&publisher, &found) {
        Ok(kept) => WitnessError::Fork { publisher, size, found, kept: Some(kept) }.into(),
        Err(failed) => failed.into(),
    }
}

impl Driver {
    /// Stores what was seen of logs.
    pub(super) fn keep_logs(&self, logs: &LogMemory) -> Result<()> {
        self.cache.as_ref().map_or(Ok(()), |cache| keep(cache, logs))
    }
}

impl Table {
    /// Fetches the catalog again if it has expired, or if its cosignatures have become too old.
    /// This depends on the time alone.
    ///
    /// # Errors
    /// As for [`Table::refresh`].
    pub(super) fn recheck_catalog(&mut self) -> Result<()> {
        if self.good_until.is_none_or(|until| until > now()) {
            return Ok(());
        }
        match self.refresh() {
            Err(ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. }) => {
                self.refresh().map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    /// The time until which the open catalog is good; `None` for no limit.
    pub(super) fn catalog_deadline(&self) -> Option<u64> {
        let catalog = self.session.catalog();
        let good = || catalog.digest().map_or(0, |digest| self.config.logs.good_until(&digest));
        let witnessed = self.config.witnesses.is_some().then(good);
        [catalog.expires, witnessed].into_iter().flatten().min()
    }
}
