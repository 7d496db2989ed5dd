//! Clients' keys, held for a while: admitted ones in memory, all of them on disk if there is a place for them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`roster`] | which sessions there are, and which one goes first; no I/O, no clock |
//! | [`client`] | who asks, by address |
//! | [`keep`] | what counts of clients go by: their names, the time, the disk |
//! | [`store`] | keys on disk, in one file |
//! | [`entry`] | the bytes a stored session is described by |
//! | [`coordinator`] | the same bounds for a coordinator, which carries the bytes itself |
//!
//! A session id is 16 random bytes, so an id that was not given out cannot be guessed. A session belongs to a
//! table and its parameters, not to an epoch: keys do not depend on the data. A lost session costs its
//! client one more upload of keys and nothing else; so whatever goes wrong with the disk is logged, and the
//! session is dropped or lives in memory alone.
//!
//! Three bounds hold at any time: sessions of one client, where its own least recently used goes first; bytes of
//! admitted keys in memory, where one is dropped, to be admitted again from the disk when it is asked for; and bytes
//! on disk. Where bytes run out, the client that has the most gives way, with what it has not used for longest: so
//! nobody's registrations push out somebody else's keys.

mod client;
pub mod coordinator;
mod count_store;
mod entry;
mod store;
mod table;

pub(crate) use client::{ClientId, Network, Peer, Requester};
pub(crate) use count_store::CountStore;
pub(crate) use table::{SessionCounts, SessionOwner, SessionPlace};

use crate::client_quota::ClientQuota;
use crate::clock::{self, Clock};
use crate::database::{CopyTo, DatabaseError};
use crate::metrics::{EvictionReason, Metrics};
use crate::rate_limiter::Rate;
use crate::refusal::Refusal;
use crate::{SessionConfig, StartError};
use client::ClientHasher;
use rand_core::Rng;
use sotto_core::AnySession;
use sotto_prg::EntropyError;
use sotto_wire::SessionId;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{SessionStore, StoredSessions};
use table::{NewSession, SessionLimits, SessionTable};

/// The file of sessions in the state directory.
const FILE: &str = "sessions.redb";

/// Every session of a server.
pub(crate) struct Sessions<S = AnySession> {
    roster: Mutex<SessionTable<S>>,
    /// How often each client may register.
    registrations: ClientQuota,
    keep: CountStore,
    metrics: Arc<Metrics>,
    sweep: Duration,
    /// Keys are brought back from the disk one at a time: a flood of asks for sessions that are not in
    /// memory must not read and expand megabytes for each of them at once.
    pub(crate) bringing_back: Arc<tokio::sync::Mutex<()>>,
}

/// Seconds since 1970, for keys that expire. A clock that is set back makes keys last longer, one that is set forward makes
/// clients register again; neither does harm.
pub(crate) fn now() -> u64 {
    crate::clock::of_day().as_secs()
}

impl Sessions {
    /// Takes up what an earlier run has stored in `state`; without it, everything is in memory.
    ///
    /// # Errors
    /// As [`Sessions::open_file`].
    pub(crate) fn open(
        config: &SessionConfig,
        state: Option<&Path>,
        metrics: Arc<Metrics>,
        now: u64,
    ) -> Result<Self, StartError> {
        Sessions::open_file(config, state.map(|dir| (dir, FILE)), metrics, now)
    }
}

impl<S> Sessions<S> {
    /// Takes up what an earlier run has stored in a file of a directory; without it, everything is in memory.
    ///
    /// # Errors
    /// [`StartError::QueueState`] if there is something else in the file's place, or another server uses it;
    /// [`StartError::Entropy`].
    pub(crate) fn open_file(
        config: &SessionConfig,
        state: Option<(&Path, &'static str)>,
        metrics: Arc<Metrics>,
        now: u64,
    ) -> Result<Self, StartError> {
        let mut roster = SessionTable::new(SessionLimits::of(config));
        let mut fresh = [0; 32];
        sotto_prg::system_rng().map_err(|EntropyError| StartError::Entropy)?.fill_bytes(&mut fresh);
        let (store, hasher, written) = match state {
            None => (None, ClientHasher::new(fresh), 0),
            Some((dir, file)) => {
                let (store, StoredSessions { key, entries, time }) = SessionStore::open(dir, file, fresh)?;
                entries.into_iter().for_each(|(id, entry)| roster.restore(id, entry));
                (Some(Arc::new(store)), ClientHasher::new(key), time)
            }
        };
        // No earlier than what the last run has written: a clock that was set back gives nobody what was used up.
        let clock = Clock::starting(clock::nanos(Duration::from_secs(now)).max(written));
        let keep = CountStore { hasher, clock, store, metrics: metrics.clone() };
        let minute = Duration::from_secs(60);
        let often = "as many keys were registered from one address as may be in a minute";
        let registrations = ClientQuota::new(Rate::per(u64::from(config.per_minute), minute), often, &keep);
        // Enough steps that keys go soon after they expire, and few enough to cost nothing.
        let sweep = Duration::from_secs((config.ttl_seconds / 8).clamp(1, 60));
        let sessions = Sessions {
            roster: Mutex::new(roster),
            registrations,
            keep,
            metrics,
            sweep,
            bringing_back: Arc::default(),
        };
        sessions.sweep(now);
        Ok(sessions)
    }

    /// Where they outlive the process, if they do.
    pub(crate) fn store(&self) -> Option<&dyn CopyTo> {
        self.keep.store.as_deref().map(|store| store as &dyn CopyTo)
    }

    /// What counts of clients go by.
    pub(crate) fn keep(&self) -> &CountStore {
        &self.keep
    }

    /// Counts a registration of `peer`, if it may register now.
    ///
    /// # Errors
    /// [`sotto_wire::BatchLayout::RequestGuard`], with the seconds until it may.
    pub(crate) fn may_register(&self, peer: Peer, now: Instant) -> Result<(), Refusal> {
        self.registrations.take(peer, 1, now)
    }

    /// Takes a session in, with the keys it was admitted from. Blocks on the disk.
    ///
    /// # Errors
    /// [`EntropyError`].
    pub(crate) fn insert(
        &self,
        whose: (SessionOwner, Peer),
        keys: &[u8],
        (session, session_bytes): (S, u64),
        now: u64,
    ) -> Result<SessionId, EntropyError> {
        let mut id = SessionId::NONE;
        sotto_prg::system_rng()?.fill_bytes(&mut id.0);
        self.insert_named((id, 0), whose, keys, (Arc::new(session), session_bytes), now);
        Ok(id)
    }

    /// Takes a session in under an id of its own, in place of one of that id, with what its client calls it. Blocks on the disk.
    pub(crate) fn insert_named(
        &self,
        (id, stamp): (SessionId, u64),
        (owner, peer): (SessionOwner, Peer),
        keys: &[u8],
        (session, session_bytes): (Arc<S>, u64),
        now: u64,
    ) {
        let client = self.keep.client(peer);
        let entry =
            entry::StoredSession { stamp, ..entry::StoredSession::new(owner.clone(), client, keys, now) };
        let stored = self.keep.store.as_ref().is_some_and(|store| self.done(store.put(&id, &entry, keys)));
        let stored_bytes = if stored { entry.keys_bytes } else { 0 };
        let new = NewSession { owner, client, stored_bytes, stamp, session, session_bytes };
        let gone = self.roster().insert(id, new, now);
        self.forget(gone);
    }

    /// What the client of a session of `owner` calls it. It does not count as used.
    pub(crate) fn client_stamp(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<u64> {
        self.roster().stamp(id, owner, now)
    }

    /// Where the session of this id is, if it is one of `owner`; it counts as used.
    pub(crate) fn find(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<SessionPlace<S>> {
        self.roster().find(id, owner, now)
    }

    /// Who has a session.
    fn client_of(&self, id: &SessionId) -> Option<ClientId> {
        self.roster().client(id)
    }

    /// The stored keys of a session; `None` if they are gone or damaged, and then the session is too. Blocks on
    /// the disk.
    pub(crate) fn keys(&self, id: &SessionId) -> Option<Vec<u8>> {
        let keys = match self.keep.store.as_ref()?.keys(id) {
            Ok(keys) => keys,
            Err(error) => {
                self.keep.failed(&error);
                None
            }
        };
        if keys.is_none() {
            tracing::warn!("stored keys are missing or damaged; their session is dropped");
            self.drop_session(id);
        }
        keys
    }

    /// Drops a session whose stored keys are of no use. Blocks on the disk.
    pub(crate) fn drop_session(&self, id: &SessionId) {
        let gone = self.roster().remove(id, EvictionReason::Damaged);
        self.forget(gone);
    }

    /// Takes back into memory what was admitted from stored keys. Blocks on the disk.
    pub(crate) fn admitted(&self, id: &SessionId, session: Arc<S>, session_bytes: u64) {
        self.metrics.readmitted.inc();
        let gone = self.roster().admitted(id, session, session_bytes);
        self.forget(gone);
    }

    /// Drops what has expired, and writes down what was used. Blocks on the disk.
    pub(crate) fn sweep(&self, now: u64) {
        let gone = self.roster().expire(now);
        self.forget(gone);
        let Some(store) = &self.keep.store else { return };
        let used = self.roster().unsaved();
        if self.done(store.touch(&used)) {
            self.roster().saved(&used);
        }
    }

    /// How often to sweep.
    pub(crate) fn sweep_every(&self) -> Duration {
        self.sweep
    }

    /// Bytes held, in memory and on disk.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        self.roster().bytes()
    }

    /// How many there are, by what is said of their owners.
    pub(crate) fn counts<K: Ord>(&self, of: impl Fn(&SessionOwner) -> K) -> BTreeMap<K, SessionCounts> {
        self.roster().counts(of)
    }

    /// Counts what went, and removes it from the disk.
    fn forget(&self, gone: table::EvictedSessions) {
        for why in &gone.why {
            self.metrics.evicted(*why);
        }
        if let Some(store) = self.keep.store.as_ref().filter(|_| !gone.stored.is_empty()) {
            self.done(store.remove(&gone.stored));
        }
    }

    fn done(&self, outcome: Result<(), DatabaseError>) -> bool {
        self.keep.done(outcome)
    }

    fn roster(&self) -> MutexGuard<'_, SessionTable<S>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
