use super::*;
use crate::sessions::tests::{admit, owner};

fn roster(config: SessionConfig) -> SessionTable<AnySession> {
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
    roster: &mut SessionTable<AnySession>,
    number: u8,
    client: u8,
    stored: u64,
    now: u64,
) -> EvictedSessions {
    let session = Arc::new(admit("keys").1);
    let (client, session_bytes) = (ClientId([client; 16]), 10);
    roster.insert(
        id(number),
        NewSession {
            owner: owner(),
            client,
            stored_bytes: stored,
            stamp: u64::from(number),
            session,
            session_bytes,
        },
        now,
    )
}

fn in_memory(roster: &mut SessionTable<AnySession>, number: u8, now: u64) -> bool {
    matches!(roster.find(&id(number), &owner(), now), Some(SessionPlace::Memory(_)))
}

fn on_disk(roster: &mut SessionTable<AnySession>, number: u8, now: u64) -> bool {
    matches!(roster.find(&id(number), &owner(), now), Some(SessionPlace::Disk))
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut roster = roster(SessionConfig { max_bytes: 20, ..unbounded() });
    put(&mut roster, 1, 1, 0, 0);
    put(&mut roster, 2, 2, 0, 0);
    assert!(in_memory(&mut roster, 1, 0));
    assert_eq!(
        put(&mut roster, 3, 3, 0, 0),
        EvictedSessions { stored: vec![], why: vec![EvictionReason::Memory] }
    );
    assert!(!in_memory(&mut roster, 2, 0), "it was used least recently");
    assert!(in_memory(&mut roster, 1, 0) && in_memory(&mut roster, 3, 0));
    assert_eq!(roster.bytes(), (20, 0));
}

#[test]
fn what_is_stored_leaves_memory_and_comes_back() {
    let mut roster = roster(SessionConfig { max_bytes: 10, ..unbounded() });
    put(&mut roster, 1, 1, 5, 0);
    assert_eq!(
        put(&mut roster, 2, 2, 5, 0),
        EvictedSessions { stored: vec![], why: vec![EvictionReason::Memory] }
    );
    assert!(on_disk(&mut roster, 1, 0) && in_memory(&mut roster, 2, 0));
    assert_eq!(roster.bytes(), (10, 10));
    roster.admitted(&id(1), Arc::new(admit("keys").1), 10);
    assert!(in_memory(&mut roster, 1, 0) && on_disk(&mut roster, 2, 0));
    assert_eq!(roster.bytes(), (10, 10));
    roster.remove(&id(1), EvictionReason::Damaged);
    roster.admitted(&id(1), Arc::new(admit("keys").1), 10);
    assert!(roster.find(&id(1), &owner(), 0).is_none(), "what is gone stays gone");
    let counts = SessionCounts { sessions: 1, in_memory: 0 };
    assert_eq!(
        roster.counts(|owner| owner.table.to_string()).into_iter().collect::<Vec<_>>(),
        [("t".to_owned(), counts)]
    );
}

#[test]
fn the_disk_has_a_bound_of_its_own() {
    let mut roster = roster(SessionConfig { max_stored_bytes: 10, ..unbounded() });
    put(&mut roster, 1, 1, 5, 0);
    put(&mut roster, 2, 2, 5, 0);
    assert_eq!(
        put(&mut roster, 3, 3, 5, 0),
        EvictedSessions { stored: vec![id(1)], why: vec![EvictionReason::Disk] }
    );
    assert_eq!(roster.bytes(), (20, 10));
}

#[test]
fn a_thousand_registrations_of_one_client_push_out_its_own_alone() {
    let mut roster = roster(SessionConfig { sessions_per_client: 3, ..unbounded() });
    put(&mut roster, 1, 1, 5, 0);
    for _ in 0..300 {
        for number in 2..6 {
            put(&mut roster, number, 2, 5, 0);
        }
    }
    assert!(in_memory(&mut roster, 1, 0));
    assert_eq!((2..6).filter(|number| in_memory(&mut roster, *number, 0)).count(), 3);
    assert_eq!(roster.bytes(), (40, 20));
}

#[test]
fn unused_keys_expire_and_used_ones_do_not() {
    let mut roster = roster(unbounded());
    put(&mut roster, 1, 1, 5, 0);
    assert!(in_memory(&mut roster, 1, 50) && in_memory(&mut roster, 1, 100));
    assert_eq!(roster.unsaved(), [(id(1), 100)]);
    roster.saved(&[(id(1), 100)]);
    assert_eq!(roster.unsaved(), []);
    assert!(!in_memory(&mut roster, 1, 161));
    assert_eq!(
        roster.expire(161),
        EvictedSessions { stored: vec![id(1)], why: vec![EvictionReason::Expired] }
    );
    assert_eq!(roster.bytes(), (0, 0));
}

#[test]
fn one_session_is_held_whatever_the_limit() {
    let mut roster = roster(SessionConfig { max_bytes: 0, max_stored_bytes: 0, ..unbounded() });
    put(&mut roster, 1, 1, 5, 0);
    assert!(in_memory(&mut roster, 1, 0));
    put(&mut roster, 2, 1, 5, 0);
    assert!(!in_memory(&mut roster, 1, 0) && in_memory(&mut roster, 2, 0));
    assert!(!in_memory(&mut roster, 0, 0));
}

#[test]
fn a_session_is_good_for_its_table_and_parameters_alone() {
    let mut roster = roster(unbounded());
    put(&mut roster, 1, 1, 0, 0);
    for other in [
        SessionOwner { table: "u".into(), ..owner() },
        SessionOwner { server: 1, ..owner() },
        SessionOwner { digest: ParamsDigest([8; 32]), ..owner() },
    ] {
        assert!(roster.find(&id(1), &other, 0).is_none());
    }
}

#[test]
fn who_has_the_most_gives_way_where_bytes_run_out() {
    let mut roster = roster(SessionConfig { max_bytes: 60, max_stored_bytes: 35, ..unbounded() });
    put(&mut roster, 1, 1, 5, 0);
    // An address that registers without end, after one that has a single session.
    for number in 2..200 {
        put(&mut roster, number, 2, 5, 0);
    }
    assert!(in_memory(&mut roster, 1, 0), "it was used least recently of all, and is still there");
    assert!(!in_memory(&mut roster, 2, 0) && in_memory(&mut roster, 199, 0));
    assert_eq!(roster.bytes(), (60, 35));
}
