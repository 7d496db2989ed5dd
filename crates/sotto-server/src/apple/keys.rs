//! Users' keys, kept as other clients' are: in memory those that were used last, and all on disk over restarts.
//!
//! A session's id is random there. Here it follows from the user's name and from what the keys are for, by a hash under a key
//! that never leaves the server; so neither is written down, and a user's new keys take the place of the old ones.

use crate::StartError;
use crate::config::AppleKeys;
use crate::database::CopyTo;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::sessions::{self, CountStore, Peer, SessionCounts, SessionOwner, SessionPlace, Sessions};
use sotto_apple::config::ConfigDigest;
use sotto_apple::service::{DecodeKeys, KeyStore, StoredKeys};
use sotto_core::ParamsDigest;
use sotto_wire::SessionId;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Their file in the state directory.
const FILE: &str = "apple-keys.redb";

/// What sessions call a table is what these keys are for, in all.
const TABLE: &str = "apple";

/// The keys of all users.
pub(crate) struct UserKeyStore {
    sessions: Sessions<StoredKeys>,
    table: Arc<str>,
}

impl UserKeyStore {
    /// Takes up what an earlier run has stored. Reads no keys.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &AppleKeys,
        state: Option<&Path>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let file = state.map(|dir| (dir, FILE));
        let sessions = Sessions::open_file(&config.sessions(), file, metrics, sessions::now())?;
        Ok(UserKeyStore { sessions, table: TABLE.into() })
    }

    /// Where they outlive the process, if they do.
    pub(crate) fn store(&self) -> Option<&dyn CopyTo> {
        self.sessions.store()
    }

    /// The same as a store, for a request from this address.
    pub(crate) fn from(&self, peer: Peer) -> PeerKeyStore<'_> {
        PeerKeyStore { ring: self, peer }
    }

    /// Counts an upload of `peer`, if there may be one now.
    ///
    /// # Errors
    /// [`sotto_wire::BatchLayout::RequestGuard`], with the seconds until there may.
    pub(crate) fn may_upload(&self, peer: Peer) -> Result<(), Refusal> {
        self.sessions.may_register(peer, Instant::now())
    }

    /// What clients are counted with.
    pub(crate) fn keep(&self) -> &CountStore {
        self.sessions.keep()
    }

    /// Drops keys that have expired, and writes down which were used. Blocks on the disk.
    pub(crate) fn sweep(&self) {
        self.sessions.sweep(sessions::now());
    }

    /// How often to sweep.
    pub(crate) fn sweep_every(&self) -> Duration {
        self.sessions.sweep_every()
    }

    /// Bytes held, in memory and on disk.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        self.sessions.bytes()
    }

    /// How many there are, by the digest of what they are for.
    pub(crate) fn counts(&self) -> BTreeMap<ConfigDigest, SessionCounts> {
        self.sessions.counts(|owner| owner.digest.0)
    }

    fn owner(&self, id: &ConfigDigest) -> SessionOwner {
        SessionOwner { table: self.table.clone(), server: 0, digest: ParamsDigest(*id) }
    }

    fn id(&self, user: &str, id: &ConfigDigest) -> SessionId {
        SessionId(self.sessions.keep().named(user, id))
    }
}

/// Keys for a request from an address: what is sent counts as that address's. Blocks on the disk.
pub(crate) struct PeerKeyStore<'a> {
    ring: &'a UserKeyStore,
    peer: Peer,
}

impl KeyStore for PeerKeyStore<'_> {
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64> {
        self.ring.sessions.client_stamp(&self.ring.id(user, id), &self.ring.owner(id), sessions::now())
    }

    fn get(&self, user: &str, id: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys> {
        let (sessions, session) = (&self.ring.sessions, self.ring.id(user, id));
        match sessions.find(&session, &self.ring.owner(id), sessions::now())? {
            SessionPlace::Memory(stored) => Some(StoredKeys::clone(&stored)),
            SessionPlace::Disk => {
                let sent = sessions.keys(&session)?;
                let Some(stored) = read(&sent) else {
                    tracing::warn!("stored keys are not read any more; they are dropped");
                    sessions.drop_session(&session);
                    return None;
                };
                sessions.admitted(&session, Arc::new(stored.clone()), stored.bytes as u64);
                Some(stored)
            }
        }
    }

    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, sent: &[u8]) {
        let named = (self.ring.id(user, &id), keys.timestamp);
        let whose = (self.ring.owner(&id), self.peer);
        let bytes = keys.bytes as u64;
        self.ring.sessions.insert_named(named, whose, sent, (Arc::new(keys), bytes), sessions::now());
    }
}
