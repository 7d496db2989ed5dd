use super::*;
use crate::sessions::tests::{admit, owner};
use sotto_core::ParamsDigest;

fn table(config: SessionConfig) -> SessionTable<AnySession> {
    SessionTable::new(SessionLimits::of(&config))
}

fn unbounded() -> SessionConfig {
    SessionConfig { sessions_per_client: 0, ttl_seconds: 60, ..SessionConfig::default() }
}

fn id(number: u8) -> SessionId {
    SessionId([number; 16])
}

/// Adds a session of client `client` with 10 bytes in memory, and `stored` bytes on disk.
fn put(
    table: &mut SessionTable<AnySession>,
    number: u8,
    client: u8,
    stored: u64,
    now: u64,
) -> EvictedSessions {
    let session = Arc::new(admit("keys").1);
    let (client, session_bytes) = (ClientId([client; 16]), 10);
    table.insert(
        id(number),
        NewSession {
            owner: owner(),
            client,
            stored_bytes: stored,
            client_stamp: u64::from(number),
            session,
            session_bytes,
        },
        now,
    )
}

fn in_memory(table: &mut SessionTable<AnySession>, number: u8, now: u64) -> bool {
    matches!(table.find(&id(number), &owner(), now), Some(SessionPlace::Memory(_)))
}

fn on_disk(table: &mut SessionTable<AnySession>, number: u8, now: u64) -> bool {
    matches!(table.find(&id(number), &owner(), now), Some(SessionPlace::Disk))
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut table = table(SessionConfig { max_bytes: 20, ..unbounded() });
    put(&mut table, 1, 1, 0, 0);
    put(&mut table, 2, 2, 0, 0);
    assert!(in_memory(&mut table, 1, 0));
    assert_eq!(
        put(&mut table, 3, 3, 0, 0),
        EvictedSessions { stored: vec![], reasons: vec![EvictionReason::Memory] }
    );
    assert!(!in_memory(&mut table, 2, 0), "it was used least recently");
    assert!(in_memory(&mut table, 1, 0) && in_memory(&mut table, 3, 0));
    assert_eq!(table.bytes(), (20, 0));
}

#[test]
fn what_is_stored_leaves_memory_and_comes_back() {
    let mut table = table(SessionConfig { max_bytes: 10, ..unbounded() });
    put(&mut table, 1, 1, 5, 0);
    assert_eq!(
        put(&mut table, 2, 2, 5, 0),
        EvictedSessions { stored: vec![], reasons: vec![EvictionReason::Memory] }
    );
    assert!(on_disk(&mut table, 1, 0) && in_memory(&mut table, 2, 0));
    assert_eq!(table.bytes(), (10, 10));
    table.admitted(&id(1), Arc::new(admit("keys").1), 10);
    assert!(in_memory(&mut table, 1, 0) && on_disk(&mut table, 2, 0));
    assert_eq!(table.bytes(), (10, 10));
    table.remove(&id(1), EvictionReason::Damaged);
    table.admitted(&id(1), Arc::new(admit("keys").1), 10);
    assert!(table.find(&id(1), &owner(), 0).is_none(), "what is gone stays gone");
    let counts = SessionCounts { sessions: 1, in_memory: 0 };
    assert_eq!(
        table.counts(|owner| owner.table.to_string()).into_iter().collect::<Vec<_>>(),
        [("t".to_owned(), counts)]
    );
}

#[test]
fn the_disk_has_a_bound_of_its_own() {
    let mut table = table(SessionConfig { max_stored_bytes: 10, ..unbounded() });
    put(&mut table, 1, 1, 5, 0);
    put(&mut table, 2, 2, 5, 0);
    assert_eq!(
        put(&mut table, 3, 3, 5, 0),
        EvictedSessions { stored: vec![id(1)], reasons: vec![EvictionReason::Disk] }
    );
    assert_eq!(table.bytes(), (20, 10));
}

#[test]
fn a_thousand_registrations_of_one_client_push_out_its_own_alone() {
    let mut table = table(SessionConfig { sessions_per_client: 3, ..unbounded() });
    put(&mut table, 1, 1, 5, 0);
    for _ in 0..300 {
        for number in 2..6 {
            put(&mut table, number, 2, 5, 0);
        }
    }
    assert!(in_memory(&mut table, 1, 0));
    assert_eq!((2..6).filter(|number| in_memory(&mut table, *number, 0)).count(), 3);
    assert_eq!(table.bytes(), (40, 20));
}

#[test]
fn unused_keys_expire_and_used_ones_do_not() {
    let mut table = table(unbounded());
    put(&mut table, 1, 1, 5, 0);
    assert!(in_memory(&mut table, 1, 50) && in_memory(&mut table, 1, 100));
    assert_eq!(table.unsaved(), [(id(1), 100)]);
    table.saved(&[(id(1), 100)]);
    assert_eq!(table.unsaved(), []);
    assert!(!in_memory(&mut table, 1, 161));
    assert_eq!(
        table.expire(161),
        EvictedSessions { stored: vec![id(1)], reasons: vec![EvictionReason::Expired] }
    );
    assert_eq!(table.bytes(), (0, 0));
}

#[test]
fn one_session_is_held_whatever_the_limit() {
    let mut table = table(SessionConfig { max_bytes: 0, max_stored_bytes: 0, ..unbounded() });
    put(&mut table, 1, 1, 5, 0);
    assert!(in_memory(&mut table, 1, 0));
    put(&mut table, 2, 1, 5, 0);
    assert!(!in_memory(&mut table, 1, 0) && in_memory(&mut table, 2, 0));
    assert!(!in_memory(&mut table, 0, 0));
}

#[test]
fn a_session_is_good_for_its_table_and_parameters_alone() {
    let mut table = table(unbounded());
    put(&mut table, 1, 1, 0, 0);
    for other in [
        SessionOwner { table: "u".into(), ..owner() },
        SessionOwner { server: 1, ..owner() },
        SessionOwner { digest: ParamsDigest([8; 32]), ..owner() },
    ] {
        assert!(table.find(&id(1), &other, 0).is_none());
    }
}

#[test]
fn who_has_the_most_gives_way_where_bytes_run_out() {
    let mut table = table(SessionConfig { max_bytes: 60, max_stored_bytes: 35, ..unbounded() });
    put(&mut table, 1, 1, 5, 0);
    // An address that registers without end, after one that has a single session.
    for number in 2..200 {
        put(&mut table, number, 2, 5, 0);
    }
    assert!(in_memory(&mut table, 1, 0), "it was used least recently of all, and is still there");
    assert!(!in_memory(&mut table, 2, 0) && in_memory(&mut table, 199, 0));
    assert_eq!(table.bytes(), (60, 35));
}
