//! Witnesses: whether a catalog is in its publisher's log, and who has witnessed that log.
//!
//! A publisher can sign one catalog for everybody and another one for a single client. A client
//! that requires witnesses accepts only a catalog that is in the publisher's log, under a
//! checkpoint that enough witnesses cosigned recently; and that log must extend the one seen
//! before, at whichever server. The client also reads the log's entries: two of one table and epoch
//! mean that the publisher shows two catalogs to different clients. What is fetched for this
//! depends on the catalog, the time and what was seen of the log before, and not on what is looked
//! up.

#[cfg(feature = "witness")]
mod log_check;

pub(crate) use log_check::check_log;

pub use crate::error::witness::WitnessError;

use sotto_catalog::{Hex32, PublicKey, TableName};
use sotto_tlog::catalogs::EntryKind;
use sotto_tlog::{LogHistory, Policy, WitnessKey};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Default maximum age of a cosignature.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// The witnesses that are required for a publisher's log.
#[derive(Debug, Clone)]
pub struct Witnesses {
    /// Which of them have to have cosigned, and which logs are listed.
    pub policy: Arc<Policy>,
    /// Maximum age of a cosignature.
    pub age: Duration,
}

impl Witnesses {
    /// Requires all of these witnesses, within a day.
    pub fn all(keys: &[WitnessKey]) -> Self {
        let names: std::collections::BTreeSet<&str> = keys.iter().map(WitnessKey::name).collect();
        Witnesses::of(Policy::threshold(keys, names.len()))
    }

    /// Requires the quorum of a policy, within a day.
    pub fn of(policy: Policy) -> Self {
        Witnesses { policy: Arc::new(policy), age: DEFAULT_MAX_AGE }
    }
}

/// The last checkpoint of each publisher's log, and the times until which catalogs are good. Clones
/// share the memory.
#[derive(Debug, Clone, Default)]
pub struct LogMemory(Arc<Mutex<LogMemoryInner>>);

#[derive(Debug, Default)]
struct LogMemoryInner {
    last: HashMap<PublicKey, String>,
    /// Publishers with a newer checkpoint than was taken by [`LogMemory::take_fresh`].
    fresh: Vec<PublicKey>,
    good: HashMap<Hex32, u64>,
    /// Entries read for each name, and whether they are new.
    histories: HashMap<(PublicKey, EntryKind, TableName), (LogHistory, bool)>,
}

impl LogMemory {
    /// Adds a checkpoint that an earlier process has seen, with its signatures, which are verified
    /// when it is used.
    pub fn recall(&self, publisher: PublicKey, checkpoint: String) {
        self.lock().last.insert(publisher, checkpoint);
    }

    /// Adds the log entries that an earlier process has read for one name.
    pub fn recall_history(&self, history: LogHistory) {
        if let Some((kind, name)) = history.only().cloned() {
            self.lock().histories.insert((history.publisher(), kind, name), (history, false));
        }
    }

    /// The log entries read for one name.
    #[cfg(feature = "witness")]
    fn history(&self, publisher: PublicKey, kind: EntryKind, name: &TableName) -> Option<LogHistory> {
        self.lock().histories.get(&(publisher, kind, name.clone())).map(|(history, _)| history.clone())
    }

    /// The histories that are new since the last call, for callers that store them.
    pub fn take_fresh_histories(&self) -> Vec<LogHistory> {
        let mut memory = self.lock();
        let fresh = memory.histories.values_mut().filter(|(_, fresh)| *fresh);
        fresh.map(|(history, fresh)| (history.clone(), std::mem::take(fresh)).0).collect()
    }

    /// The last checkpoint of a publisher's log, with its signatures.
    pub fn last(&self, publisher: &PublicKey) -> Option<String> {
        self.lock().last.get(publisher).cloned()
    }

    /// The checkpoints that are new since the last call, for callers that store them.
    pub fn take_fresh(&self) -> Vec<(PublicKey, String)> {
        let mut memory = self.lock();
        let fresh = std::mem::take(&mut memory.fresh);
        fresh.into_iter().filter_map(|key| Some((key, memory.last.get(&key)?.clone()))).collect()
    }

    /// The time until which a catalog of this digest has its witnesses, in seconds since 1970; 0 if
    /// it never had.
    pub fn good_until(&self, digest: &Hex32) -> u64 {
        self.lock().good.get(digest).copied().unwrap_or(0)
    }

    /// Records that a catalog was found, with the checkpoint of its log and the entries that were
    /// read.
    #[cfg(feature = "witness")]
    fn record(&self, history: LogHistory, checkpoint: String, digest: Hex32, until: u64) {
        let (mut memory, publisher) = (self.lock(), history.publisher());
        if let Some((kind, name)) = history.only().cloned() {
            let kept = memory.histories.entry((publisher, kind, name));
            let kept = kept.or_insert_with(|| (history.clone(), true));
            // Another setup may have read more meanwhile.
            if kept.0.size() < history.size() {
                *kept = (history, true);
            }
        }
        if memory.last.get(&publisher) != Some(&checkpoint) {
            memory.last.insert(publisher, checkpoint);
            memory.fresh.retain(|key| *key != publisher);
            memory.fresh.push(publisher);
        }
        memory.good.insert(digest, until);
    }

    fn lock(&self) -> MutexGuard<'_, LogMemoryInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A build without witnesses: a setup that requires some is refused.
#[cfg(not(feature = "witness"))]
mod log_check {
    use super::{LogMemory, WitnessError, Witnesses};
    use crate::Result;
    use crate::transport::{Request, Response};
    use sotto_catalog::MlDsaPublicKey;
    use sotto_tlog::LogEntry;

    /// # Errors
    /// [`WitnessError::NotBuilt`].
    pub(crate) fn check_log(
        _: LogEntry,
        _: Option<&MlDsaPublicKey>,
        _: &Witnesses,
        _: &LogMemory,
        _: Option<u64>,
        _: &mut dyn FnMut(&Request) -> Result<Response>,
    ) -> Result<()> {
        Err(WitnessError::NotBuilt.into())
    }
}
