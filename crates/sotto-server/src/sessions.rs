//! Sessions with clients' keys, stored for a limited time: admitted keys in memory, and all keys on
//! disk if there is a state directory.
//!
//! | module | contents |
//! |---|---|
//! | [`table`] | the sessions, and the order of eviction; no I/O, no clock |
//! | [`coordinator`] | the same limits for a coordinator, which moves the bytes itself |
//!
//! A session id is 16 random bytes, so it cannot be guessed. A session belongs to a table and its
//! parameters, not to an epoch: keys do not depend on the data. A lost session costs its client one
//! more upload of keys and nothing else; so any failure of the disk is logged, and the session is
//! dropped or lives in memory alone.
//!
//! Three limits hold at any time: the number of sessions of one client, whose own least recently
//! used session is evicted first; bytes of admitted keys in memory, where an evicted session is
//! admitted again from the disk when it is needed; and bytes on disk. When bytes run out, the least
//! recently used session of the client that has the most is evicted, so that nobody's registrations
//! displace another client's keys.

pub mod coordinator;
mod table;

use crate::locked;
pub use table::{SessionCounts, SessionPlace};

use crate::client::{ClientHasher, ClientId, Peer};
use crate::database::{CopyTo, DatabaseError};
use crate::http_error::HttpError;
use crate::limits::counts::{self, Clock, CountStore};
use crate::limits::rate::Rate;
use crate::limits::rate::RateLimit;
use crate::metrics::{ByTable, EvictionReason, MediumLabel, ServerMetrics, gauge_value};
use crate::session_store::{SessionOwner, SessionStore, StoredSession, StoredSessions};
use crate::{SessionConfig, StartError};
use rand_core::Rng;
use sotto_core::AnySession;
use sotto_prg::EntropyError;
use sotto_wire::SessionId;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use table::{NewSession, SessionLimits, SessionTable};

/// Name of the file of sessions in the state directory.
const FILE: &str = "sessions.redb";

/// All sessions of a server.
pub struct Sessions<S = AnySession> {
    table: Mutex<SessionTable<S>>,
    /// Quota of each client for registrations.
    registrations: RateLimit,
    count_store: CountStore,
    metrics: Arc<ServerMetrics>,
    sweep: Duration,
    /// Lock for loading keys from the disk, one at a time: many requests for sessions that are not
    /// in memory must not read and expand megabytes each at once.
    pub(crate) loading: Arc<tokio::sync::Mutex<()>>,
}

/// A session to be added, with the keys it was admitted from.
pub struct Registration<'a, S> {
    /// What the keys are for.
    pub owner: SessionOwner,
    /// Address of the client.
    pub peer: Peer,
    /// Keys as the client sent them.
    pub keys: &'a [u8],
    /// The client's stamp of its keys; 0 if there is none.
    pub client_stamp: u64,
    /// The admitted keys.
    pub session: Arc<S>,
    /// Bytes of the admitted keys in memory.
    pub session_bytes: u64,
}

/// Seconds since 1970, for the expiry of keys. A clock that is set back makes keys last longer, one
/// that is set forward makes clients register again; neither does harm.
pub fn now() -> u64 {
    counts::of_day().as_secs()
}

impl Sessions {
    /// Opens the sessions that an earlier run has stored in `state`; without it, everything is in
    /// memory.
    ///
    /// # Errors
    /// As for [`Sessions::open_file`].
    pub(crate) fn open(
        config: &SessionConfig,
        state: Option<&Path>,
        metrics: Arc<ServerMetrics>,
        now: u64,
    ) -> Result<Self, StartError> {
        Sessions::open_file(config, state.map(|dir| (dir, FILE)), metrics, now)
    }

    /// Sets the gauges to the current values, for these tables.
    pub(crate) fn update_gauges(&self, tables: impl Iterator<Item = String>) {
        let (memory, disk) = self.bytes();
        for (medium, bytes) in [("memory", memory), ("disk", disk)] {
            self.metrics.session_bytes.get_or_create(&MediumLabel { medium }).set(gauge_value(bytes));
        }
        let counts = self.counts(|owner| owner.table.to_string());
        for table in tables {
            let count = counts.get(&table).copied().unwrap_or_default();
            let label = ByTable::of(table);
            self.metrics.sessions.get_or_create(&label).set(count.sessions as i64);
            self.metrics.sessions_in_memory.get_or_create(&label).set(count.in_memory as i64);
        }
    }
}

impl<S> Sessions<S> {
    /// Opens the sessions that an earlier run has stored in a file of a directory; without it,
    /// everything is in memory.
    ///
    /// # Errors
    /// [`StartError::State`] if there is something else in the file's place, or another server uses it;
    /// [`StartError::Entropy`].
    pub fn open_file(
        config: &SessionConfig,
        state: Option<(&Path, &'static str)>,
        metrics: Arc<ServerMetrics>,
        now: u64,
    ) -> Result<Self, StartError> {
        let mut table = SessionTable::new(SessionLimits::of(config));
        let mut fresh = [0; 32];
        sotto_prg::system_rng().map_err(|EntropyError| StartError::Entropy)?.fill_bytes(&mut fresh);
        let (store, hasher, written) = match state {
            None => (None, ClientHasher::new(fresh), 0),
            Some((dir, file)) => {
                let (store, StoredSessions { key, entries, time }) = SessionStore::open(dir, file, fresh)?;
                entries.into_iter().for_each(|(id, entry)| table.restore(id, entry));
                (Some(Arc::new(store)), ClientHasher::new(key), time)
            }
        };
        // No earlier than the time that the last run has stored: a clock that was set back gives
        // nobody back a used quota.
        let clock = Clock::starting(counts::nanos(Duration::from_secs(now)).max(written));
        let count_store = CountStore { hasher, clock, store, metrics: metrics.clone() };
        let minute = Duration::from_secs(60);
        let message = "the limit of key registrations per minute for this address is reached";
        let rate = Rate::per(u64::from(config.registrations_per_minute), minute);
        let registrations = RateLimit::new(rate, message, &count_store);
        // Often enough that keys go soon after they expire, and rarely enough to cost nothing.
        let sweep = Duration::from_secs((config.ttl_seconds / 8).clamp(1, 60));
        let sessions = Sessions {
            table: Mutex::new(table),
            registrations,
            count_store,
            metrics,
            sweep,
            loading: Arc::default(),
        };
        sessions.sweep(now);
        Ok(sessions)
    }

    /// The database of sessions, if they outlive the process.
    pub fn store(&self) -> Option<&dyn CopyTo> {
        self.count_store.store.as_deref().map(|store| store as &dyn CopyTo)
    }

    /// The store of counts per client.
    pub fn count_store(&self) -> &CountStore {
        &self.count_store
    }

    /// Counts a registration of `peer`, if another one is allowed now.
    ///
    /// # Errors
    /// [`sotto_wire::ProblemCode::Busy`], with the seconds until a registration is allowed.
    pub fn may_register(&self, peer: Peer, now: Instant) -> Result<(), HttpError> {
        self.registrations.take(peer, 1, now)
    }

    /// Adds a session under a random id. Blocks on the disk.
    ///
    /// # Errors
    /// [`EntropyError`].
    pub(crate) fn insert(&self, new: Registration<'_, S>, now: u64) -> Result<SessionId, EntropyError> {
        let mut id = SessionId::NONE;
        sotto_prg::system_rng()?.fill_bytes(&mut id.0);
        self.insert_named(id, new, now);
        Ok(id)
    }

    /// Adds a session under a given id, in place of one of that id. Blocks on the disk.
    pub fn insert_named(&self, id: SessionId, new: Registration<'_, S>, now: u64) {
        let Registration { owner, peer, keys, client_stamp, session, session_bytes } = new;
        let client = self.count_store.client(peer);
        let entry = StoredSession { client_stamp, ..StoredSession::new(owner.clone(), client, keys, now) };
        let stored =
            self.count_store.store.as_ref().is_some_and(|store| self.done(store.put(&id, &entry, keys)));
        let stored_bytes = if stored { entry.keys_bytes } else { 0 };
        let new = NewSession { owner, client, stored_bytes, client_stamp, session, session_bytes };
        let evicted = locked(&self.table).insert(id, new, now);
        self.forget(evicted);
    }

    /// The client's stamp of a session of `owner`. The session does not count as used.
    pub fn client_stamp(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<u64> {
        locked(&self.table).client_stamp(id, owner, now)
    }

    /// Where the session of this id is, if it belongs to `owner`; it counts as used.
    pub fn find(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<SessionPlace<S>> {
        locked(&self.table).find(id, owner, now)
    }

    /// The client of a session.
    fn client_of(&self, id: &SessionId) -> Option<ClientId> {
        locked(&self.table).client(id)
    }

    /// The stored keys of a session; `None` if they are missing or damaged, and then the session is
    /// dropped too. Blocks on the disk.
    pub fn keys(&self, id: &SessionId) -> Option<Vec<u8>> {
        let keys = match self.count_store.store.as_ref()?.keys(id) {
            Ok(keys) => keys,
            Err(error) => {
                self.count_store.failed(&error);
                None
            }
        };
        if keys.is_none() {
            tracing::warn!("stored keys are missing or damaged; their session is dropped");
            self.drop_session(id);
        }
        keys
    }

    /// Drops a session whose stored keys cannot be used. Blocks on the disk.
    pub fn drop_session(&self, id: &SessionId) {
        let evicted = locked(&self.table).remove(id, EvictionReason::Damaged);
        self.forget(evicted);
    }

    /// Puts a session that was admitted from stored keys into memory. Blocks on the disk.
    pub fn admitted(&self, id: &SessionId, session: Arc<S>, session_bytes: u64) {
        self.metrics.session_readmissions.inc();
        let evicted = locked(&self.table).admitted(id, session, session_bytes);
        self.forget(evicted);
    }

    /// Drops what has expired, and stores the times of use. Blocks on the disk.
    pub fn sweep(&self, now: u64) {
        let evicted = locked(&self.table).expire(now);
        self.forget(evicted);
        let Some(store) = &self.count_store.store else { return };
        let used = locked(&self.table).unsaved();
        if self.done(store.touch(&used)) {
            locked(&self.table).saved(&used);
        }
    }

    /// Interval between two calls of [`Self::sweep`].
    pub fn sweep_every(&self) -> Duration {
        self.sweep
    }

    /// Bytes of keys in memory and on disk.
    pub fn bytes(&self) -> (u64, u64) {
        locked(&self.table).bytes()
    }

    /// Number of sessions, grouped by `of` their owner.
    pub fn counts<K: Ord>(&self, of: impl Fn(&SessionOwner) -> K) -> BTreeMap<K, SessionCounts> {
        locked(&self.table).counts(of)
    }

    /// Counts evicted sessions, and removes them from the disk.
    fn forget(&self, evicted: table::EvictedSessions) {
        for reason in &evicted.reasons {
            self.metrics.evicted(*reason);
        }
        if let Some(store) = self.count_store.store.as_ref().filter(|_| !evicted.stored.is_empty()) {
            self.done(store.remove(&evicted.stored));
        }
    }

    fn done(&self, outcome: Result<(), DatabaseError>) -> bool {
        self.count_store.done(outcome)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! Tests of sessions over their store, and real sessions for the tests of both.

    use super::*;
    use sotto_core::{Artifact, ParamsDigest, TableShape};
    use sotto_testkit::CLEAR_KEYED;
    use sotto_testkit::memory::{MemoryRows, MemorySink};
    use sotto_testkit::rng::seeded;
    use std::net::IpAddr;

    /// Keys of the keyed test scheme in the clear, and the session that an open table admits from them.
    pub(super) fn admit(label: &str) -> (Vec<u8>, AnySession) {
        let params = (CLEAR_KEYED.select)(&TableShape::new(4, 32, 1)).unwrap();
        let sink = MemorySink::new();
        (CLEAR_KEYED.server.encode)(&params, &MemoryRows::new(32, vec![7; 128]), &sink).unwrap();
        let table = (CLEAR_KEYED.server.open)(&params, Arc::new(sink.into_image())).unwrap();
        let mut prepare = (CLEAR_KEYED.prepare)(&params, &mut seeded(label)).unwrap();
        prepare.absorb(Artifact::Hint, &[0; 32]).unwrap();
        let keys = prepare.finish().unwrap().keys();
        let session = table.admit(&keys).unwrap();
        (keys, session)
    }

    pub(crate) fn owner() -> SessionOwner {
        SessionOwner { table: "t".into(), server: 0, digest: ParamsDigest([9; 32]) }
    }

    fn peer(last: u8) -> Peer {
        Peer(IpAddr::from([192, 0, 2, last]))
    }

    fn open(config: &SessionConfig, state: Option<&Path>, now: u64) -> Sessions {
        Sessions::open(config, state, Arc::default(), now).unwrap()
    }

    fn register(sessions: &Sessions, last: u8, now: u64) -> SessionId {
        let (keys, session) = admit("keys");
        let session = Arc::new(session);
        let new = Registration {
            owner: owner(),
            peer: peer(last),
            keys: &keys,
            client_stamp: 0,
            session,
            session_bytes: 48,
        };
        sessions.insert(new, now).unwrap()
    }

    #[test]
    fn a_session_outlives_the_process_if_there_is_a_place_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let config = SessionConfig::default();
        let sessions = open(&config, Some(dir.path()), 100);
        let id = register(&sessions, 1, 100);
        assert!(matches!(sessions.find(&id, &owner(), 100), Some(SessionPlace::Memory(_))));
        drop(sessions);

        let again = open(&config, Some(dir.path()), 200);
        assert_eq!(again.bytes(), (0, 48));
        assert!(matches!(again.find(&id, &owner(), 200), Some(SessionPlace::Disk)));
        assert_eq!(again.keys(&id).unwrap(), admit("keys").0);
        again.admitted(&id, Arc::new(admit("keys").1), 48);
        assert!(matches!(again.find(&id, &owner(), 200), Some(SessionPlace::Memory(_))));
        drop(again);

        let memory_alone = open(&config, None, 300);
        assert!(memory_alone.find(&id, &owner(), 300).is_none());
    }

    #[test]
    fn a_use_is_written_down_and_counts_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let config = SessionConfig { ttl_seconds: 100, ..SessionConfig::default() };
        let sessions = open(&config, Some(dir.path()), 0);
        let (used, unused) = (register(&sessions, 1, 0), register(&sessions, 1, 0));
        assert!(sessions.find(&used, &owner(), 90).is_some());
        sessions.sweep(95);
        drop(sessions);
        let again = open(&config, Some(dir.path()), 150);
        assert!(again.find(&used, &owner(), 150).is_some());
        assert!(again.find(&unused, &owner(), 150).is_none());
        assert!(again.keys(&unused).is_none(), "what has expired is gone from the disk");
    }

    #[test]
    fn a_client_is_the_same_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let config = SessionConfig { sessions_per_client: 2, ..SessionConfig::default() };
        let sessions = open(&config, Some(dir.path()), 0);
        let (first, other) = (register(&sessions, 1, 0), register(&sessions, 2, 0));
        drop(sessions);
        let again = open(&config, Some(dir.path()), 1);
        register(&again, 1, 1);
        assert!(again.find(&first, &owner(), 1).is_some());
        register(&again, 1, 1);
        register(&again, 1, 1);
        assert!(again.find(&first, &owner(), 1).is_none() && again.find(&other, &owner(), 1).is_some());
    }
}
