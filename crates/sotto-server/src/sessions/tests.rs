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
    let new =
        Registration { owner: owner(), peer: peer(last), keys: &keys, stamp: 0, session, session_bytes: 48 };
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
