//! What was seen of publishers' logs, between openings: in the cache, if there is one; and whether what is open is still good.

use super::{Driver, Table};
use crate::cache::{Cache, CacheError};
use crate::session::{LogMemory, WitnessError, Witnesses};
use crate::{ClientError, Result};
use sotto_tlog::WitnessKey;
use std::time::Duration;
use web_time::SystemTime;

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whose word a caller wants about a publisher's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct WitnessPolicy {
    pub(crate) keys: Vec<WitnessKey>,
    pub(crate) needed: Option<usize>,
    pub(crate) age: Option<Duration>,
}

impl WitnessPolicy {
    /// Nobody's, if no witness was named and no number of them.
    pub(crate) fn witnesses(self) -> Option<Witnesses> {
        let mut all = Witnesses::all(self.keys);
        all.needed = self.needed.unwrap_or(all.needed);
        all.age = self.age.unwrap_or(all.age);
        // Whoever says a number asks for witnesses: that there are none is an error, and not silence.
        (!all.keys.is_empty() || self.needed.is_some()).then_some(all)
    }
}

/// Takes what a cache has of logs.
pub(crate) fn recollect(cache: &Cache, logs: &LogMemory) -> Result<()> {
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

/// Has a cache keep what is new of logs.
pub(crate) fn keep(cache: &Cache, logs: &LogMemory) -> Result<()> {
    let fresh = logs.take_fresh();
    fresh.iter().try_for_each(|(publisher, checkpoint)| cache.keep_log(publisher, checkpoint))?;
    Ok(logs.take_fresh_histories().iter().try_for_each(|history| cache.keep_log_history(history))?)
}

/// Keeps two checkpoints that contradict each other, where it is that: together they convict whoever has the key.
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
    /// Keeps what was seen of logs.
    pub(super) fn keep_logs(&self, logs: &LogMemory) -> Result<()> {
        self.cache.as_ref().map_or(Ok(()), |cache| keep(cache, logs))
    }
}

impl Table {
    /// Looks at the catalog again, if it is past its time or its witnesses' word has become old. Depends on the time and
    /// on nothing else.
    ///
    /// # Errors
    /// As [`Table::refresh`].
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

    /// Until when the catalog that is open is good; `None` for ever.
    pub(super) fn catalog_deadline(&self) -> Option<u64> {
        let catalog = self.session.catalog();
        let good = || catalog.digest().map_or(0, |digest| self.config.logs.good_until(&digest));
        let witnessed = self.config.witnesses.is_some().then(good);
        [catalog.expires, witnessed].into_iter().flatten().min()
    }
}
