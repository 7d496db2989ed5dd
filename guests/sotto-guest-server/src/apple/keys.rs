//! Users' keys, stored as other clients' keys are: the most recently used in memory, and all on
//! disk across restarts.
//!
//! For other clients, session ids are random. Here an id follows from the user's name and from the
//! purpose of the keys, by a hash under a key that never leaves the server; so neither is stored,
//! and a user's new keys replace the old ones.

use super::AppleKeys;
use sotto_apple::config::ConfigDigest;
use sotto_apple::service::{DecodeKeys, KeyStore, StoredKeys};
use sotto_core::ParamsDigest;
use sotto_server::StartError;
use sotto_server::extension::{Peer, Registration, ServerMetrics, SessionOwner, SessionPlace, Sessions, now};
use sotto_wire::SessionId;
use std::path::Path;
use std::sync::Arc;

/// Name of the key file in the state directory.
const FILE: &str = "apple-keys.redb";

/// Table name of these sessions, whose purpose is in the parameters' digest.
const TABLE: &str = "apple";

/// The keys of all users.
pub(crate) struct UserKeyStore {
    /// Each under the digest of its purpose.
    pub(crate) sessions: Sessions<StoredKeys>,
    table: Arc<str>,
}

impl UserKeyStore {
    /// Opens the keys that an earlier run has stored, without reading them.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &AppleKeys,
        state: Option<&Path>,
        metrics: Arc<ServerMetrics>,
    ) -> Result<Self, StartError> {
        let file = state.map(|dir| (dir, FILE));
        let sessions = Sessions::open_file(&config.sessions(), file, metrics, now())?;
        Ok(UserKeyStore { sessions, table: TABLE.into() })
    }

    /// A view of the store for a request from the address `peer`.
    pub(crate) fn from(&self, peer: Peer) -> PeerKeyStore<'_> {
        PeerKeyStore { store: self, peer }
    }

    fn owner(&self, id: &ConfigDigest) -> SessionOwner {
        SessionOwner { table: self.table.clone(), server: 0, digest: ParamsDigest(*id) }
    }

    fn id(&self, user: &str, id: &ConfigDigest) -> SessionId {
        SessionId(self.sessions.count_store().named(user, id))
    }
}

/// Keys for a request from an address, to which uploads are counted. Blocks on the disk.
pub(crate) struct PeerKeyStore<'a> {
    store: &'a UserKeyStore,
    peer: Peer,
}

impl KeyStore for PeerKeyStore<'_> {
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64> {
        self.store.sessions.client_stamp(&self.store.id(user, id), &self.store.owner(id), now())
    }

    fn get(&self, user: &str, id: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys> {
        let (sessions, session) = (&self.store.sessions, self.store.id(user, id));
        match sessions.find(&session, &self.store.owner(id), now())? {
            SessionPlace::Memory(stored) => Some(StoredKeys::clone(&stored)),
            SessionPlace::Disk => {
                let sent = sessions.keys(&session)?;
                let Some(stored) = read(&sent) else {
                    tracing::warn!("stored keys are no longer readable and are dropped");
                    sessions.drop_session(&session);
                    return None;
                };
                sessions.admitted(&session, Arc::new(stored.clone()), stored.bytes as u64);
                Some(stored)
            }
        }
    }

    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, sent: &[u8]) {
        let new = Registration {
            owner: self.store.owner(&id),
            peer: self.peer,
            keys: sent,
            client_stamp: keys.timestamp,
            session_bytes: keys.bytes as u64,
            session: Arc::new(keys),
        };
        self.store.sessions.insert_named(self.store.id(user, &id), new, now());
    }
}
