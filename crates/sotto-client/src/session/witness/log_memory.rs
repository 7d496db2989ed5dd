//! What was seen of publishers' logs, and which catalogs were found in them.

use sotto_catalog::{Hex32, PublicKey, TableName};
use sotto_tlog::LogHistory;
use sotto_tlog::catalogs::EntryKind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    pub(super) fn history(
        &self,
        publisher: PublicKey,
        kind: EntryKind,
        name: &TableName,
    ) -> Option<LogHistory> {
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
    pub(super) fn record(&self, history: LogHistory, checkpoint: String, digest: Hex32, until: u64) {
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
