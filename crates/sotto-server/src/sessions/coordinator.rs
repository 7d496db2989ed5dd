//! Admission for a coordinator, which reads requests itself and has other machines answer them: the
//! limits of a server, for code that moves the bytes itself.
//!
//! A coordinator takes a [`RequestPermit`] before it reads a body, lets it grow by the bytes that
//! arrive and those that the answer will take, and holds it until the answer is sent. Clients' keys
//! are in one [`KeyStore`]; each process that computes with them has a [`SessionCache`] of those
//! that it has admitted.

use super::table::{NewSession, SessionLimits, SessionPlace, SessionTable};
use super::{Registration, Sessions, now};
use crate::client::{ClientId, Peer};
use crate::http_error::HttpError;
use crate::limits::slots::{Permit, Slots};
use crate::locked;
use crate::session_store::SessionOwner;
use crate::{SessionConfig, StartError};
use prometheus_client::metrics::gauge::Gauge;
use sotto_core::{AnySession, ParamsDigest};
use sotto_wire::{Problem, ProblemCode, SessionId};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Limits on requests in progress and their memory, per network and in total.
pub struct RequestAdmission {
    requests: Arc<Slots>,
    memory: Arc<Slots>,
}

/// An admitted request, and the memory that it holds, until this is dropped.
pub struct RequestPermit {
    _permit: Permit,
    memory: Permit,
}

/// The table and parameters that clients' keys are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOwner(SessionOwner);

/// Clients' keys in memory, and on disk across restarts, with limits on bytes and per network.
pub struct KeyStore(Sessions<Vec<u8>>);

/// Keys that a client registered.
pub struct StoredKeys {
    /// Id of the client: a keyed hash of its network.
    pub client: [u8; 16],
    /// Keys as the client sent them.
    pub keys: Arc<Vec<u8>>,
}

/// Admitted keys of one process, up to a number of bytes: of the network that has the most, the
/// least recently used are evicted first.
pub struct SessionCache<S = AnySession>(Mutex<SessionTable<S>>);

impl RequestAdmission {
    /// Admits at most `requests` requests at once, `per_network` of one network (0: any number),
    /// and `bytes` bytes for all of them.
    pub fn new(requests: usize, per_network: usize, bytes: u64) -> Self {
        let counted = [
            "the limit of requests in progress is reached",
            "the limit of requests in progress for this address is reached",
        ];
        RequestAdmission {
            requests: Slots::new(requests.max(1), per_network, Gauge::default(), counted),
            memory: Slots::memory(bytes, Gauge::default()),
        }
    }

    /// Admits a request of a client at this address.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`].
    pub fn enter(&self, address: IpAddr) -> Result<RequestPermit, Problem> {
        let peer = Peer(address);
        let permit = self.requests.take(peer, 1)?;
        Ok(RequestPermit { _permit: permit, memory: self.memory.none(peer) })
    }
}

impl RequestPermit {
    /// Takes `bytes` more bytes; on an error nothing.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`]; [`ProblemCode::TooLarge`] for more than a client can ever have.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Problem> {
        Ok(self.memory.grow(bytes)?)
    }
}

impl KeyOwner {
    /// Keys for a table of these parameters.
    pub fn new(table: &str, params: [u8; 32]) -> Self {
        KeyOwner(SessionOwner { table: table.into(), server: 0, digest: ParamsDigest(params) })
    }
}

impl KeyStore {
    /// Opens the keys that an earlier run has stored in `state`; without it, everything is in
    /// memory. Blocks on the disk.
    ///
    /// # Errors
    /// [`StartError::State`], [`StartError::Entropy`].
    pub fn open(limits: &SessionConfig, state: Option<&Path>) -> Result<Self, StartError> {
        let file = state.map(|dir| (dir, super::FILE));
        Ok(KeyStore(Sessions::open_file(limits, file, Arc::default(), now())?))
    }

    /// Counts a registration of a client at this address; returns the seconds until it may register
    /// if that is not now.
    pub fn may_register(&self, address: IpAddr) -> Option<u64> {
        match self.0.may_register(Peer(address), Instant::now()) {
            Err(HttpError::Problem(_, seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// Stores keys of a client at this address; returns the id of the session. Blocks on the disk.
    ///
    /// # Errors
    /// [`ProblemCode::Internal`] without randomness.
    pub fn insert(&self, owner: &KeyOwner, address: IpAddr, keys: Vec<u8>) -> Result<[u8; 16], Problem> {
        let keys = Arc::new(keys);
        let new = Registration {
            owner: owner.0.clone(),
            peer: Peer(address),
            keys: &keys,
            client_stamp: 0,
            session: keys.clone(),
            session_bytes: keys.len() as u64,
        };
        self.0
            .insert(new, now())
            .map(|id| id.0)
            .map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))
    }

    /// The keys of a session, if they are stored and for this owner; they count as used. Blocks on
    /// the disk.
    pub fn get(&self, owner: &KeyOwner, id: [u8; 16]) -> Option<StoredKeys> {
        let id = SessionId(id);
        let found = self.0.find(&id, &owner.0, now())?;
        let client = self.0.client_of(&id)?.0;
        let keys = match found {
            SessionPlace::Memory(keys) => keys,
            SessionPlace::Disk => {
                let keys = Arc::new(self.0.keys(&id)?);
                let bytes = keys.len() as u64;
                self.0.admitted(&id, keys.clone(), bytes);
                keys
            }
        };
        Some(StoredKeys { client, keys })
    }

    /// Drops what has expired, and stores the times of use. Blocks on the disk.
    pub fn sweep(&self) {
        self.0.sweep(now());
    }

    /// Number of stored sessions, their bytes in memory, and those on disk.
    pub fn usage(&self) -> (usize, u64, u64) {
        let (memory, disk) = self.0.bytes();
        let sessions = self.0.counts(|_| ()).values().map(|counts| counts.sessions).sum();
        (sessions, memory, disk)
    }
}

impl<S> SessionCache<S> {
    /// A cache of at most `max_bytes` bytes.
    pub fn new(max_bytes: u64) -> Self {
        let defaults = SessionConfig::default();
        let config = SessionConfig { max_bytes, sessions_per_client: 0, max_stored_bytes: 0, ..defaults };
        SessionCache(Mutex::new(SessionTable::new(SessionLimits::of(&config))))
    }

    /// The admitted keys of a session; they count as used.
    pub fn get(&self, owner: &KeyOwner, id: [u8; 16]) -> Option<Arc<S>> {
        match locked(&self.0).find(&SessionId(id), &owner.0, now())? {
            SessionPlace::Memory(session) => Some(session),
            SessionPlace::Disk => None,
        }
    }

    /// Adds the admitted keys of a session, of `bytes` bytes, for the client with this id.
    pub fn insert(
        &self,
        owner: &KeyOwner,
        id: [u8; 16],
        client: [u8; 16],
        session: Arc<S>,
        session_bytes: u64,
    ) {
        let (owner, client) = (owner.0.clone(), ClientId(client));
        let new = NewSession { owner, client, stored_bytes: 0, client_stamp: 0, session, session_bytes };
        locked(&self.0).insert(SessionId(id), new, now());
    }

    /// Bytes of all admitted keys.
    pub fn bytes(&self) -> u64 {
        locked(&self.0).bytes().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn requests_are_bounded_by_count_and_bytes_of_a_network_and_in_all() {
        let admission = RequestAdmission::new(3, 2, 64 << 10);
        let code = |last| admission.enter(address(last)).map(drop).map_err(|problem| problem.code);
        let mut one = admission.enter(address(1)).unwrap();
        let other = admission.enter(address(1)).unwrap();
        assert_eq!((code(1), code(2)), (Err(ProblemCode::Busy), Ok(())));
        drop(other);
        // Bytes are taken as they arrive, and a refusal takes none; a client leaves some to others.
        one.grow(56 << 10).unwrap();
        assert!(one.grow(1).is_err() && one.grow(0).is_ok());
        let mut two = admission.enter(address(2)).unwrap();
        two.grow(7 << 10).unwrap();
        assert_eq!(two.grow(1 << 10).map_err(|problem| problem.code), Err(ProblemCode::Busy));
        drop(one);
        two.grow(40 << 10).unwrap();
        drop(two);
        let mut again = admission.enter(address(1)).unwrap();
        again.grow(56 << 10).unwrap();
    }

    #[test]
    fn admitted_keys_are_bounded_by_bytes_and_a_flood_pushes_out_its_own() {
        // 10,000 sessions of 8 MiB, in a cache for 64 of them.
        let (cache, owner) = (SessionCache::<u32>::new(512 << 20), KeyOwner::new("people", [7; 32]));
        let id = |number: u32| {
            let mut id = [1; 16];
            id[..4].copy_from_slice(&number.to_le_bytes());
            id
        };
        cache.insert(&owner, id(0), [1; 16], Arc::new(0), 8 << 20);
        for number in 1..10_000 {
            cache.insert(&owner, id(number), [2; 16], Arc::new(number), 8 << 20);
            assert!(cache.bytes() <= 512 << 20);
        }
        assert_eq!(cache.get(&owner, id(0)).as_deref(), Some(&0), "of a client that has little");
        assert_eq!(cache.get(&owner, id(9_999)).as_deref(), Some(&9_999));
        assert!(cache.get(&owner, id(1)).is_none() && cache.bytes() == 512 << 20);
        assert!(cache.get(&KeyOwner::new("people", [8; 32]), id(0)).is_none(), "other parameters");
    }

    #[test]
    fn keys_are_bounded_by_bytes_and_a_flood_pushes_out_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let limits = SessionConfig {
            max_bytes: 3000,
            max_stored_bytes: 10_000,
            sessions_per_client: 20,
            registrations_per_minute: 2,
            ..SessionConfig::default()
        };
        let owner = KeyOwner::new("people", [7; 32]);
        let store = KeyStore::open(&limits, Some(folder.path())).unwrap();
        let honest = store.insert(&owner, address(1), vec![1; 1000]).unwrap();
        for byte in 0..50 {
            store.insert(&owner, address(2), vec![byte; 1000]).unwrap();
        }
        let (sessions, memory, disk) = store.usage();
        assert!(memory <= 3000 && disk <= 10_000 && sessions == 10, "{sessions} {memory} {disk}");
        let found = store.get(&owner, honest).unwrap();
        assert_eq!(*found.keys, vec![1; 1000]);
        assert!(store.get(&KeyOwner::new("people", [8; 32]), honest).is_none(), "other parameters");
        assert!(store.may_register(address(2)).is_none() && store.may_register(address(2)).is_none());
        assert!(store.may_register(address(2)).is_some_and(|seconds| seconds > 1), "two in a minute");
        assert!(store.may_register(address(1)).is_none());
        drop(store);
        // Keys outlive a restart, in a file for this user alone.
        let again = KeyStore::open(&limits, Some(folder.path())).unwrap();
        assert_eq!(*again.get(&owner, honest).unwrap().keys, vec![1; 1000]);
        assert_eq!(again.get(&owner, honest).unwrap().client, found.client);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = std::fs::metadata(folder.path().join(crate::sessions::FILE)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }
}
