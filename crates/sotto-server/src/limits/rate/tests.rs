use super::*;
use crate::SessionConfig;
use crate::sessions::Sessions;
use std::path::Path;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const HOUR_NANOS: u64 = 3600 * SECOND;
const HOUR: Duration = Duration::from_secs(3600);

fn client(number: u8) -> ClientId {
    ClientId([number; 16])
}

fn hourly(amount: u64) -> Buckets {
    Buckets::new(Rate::per(amount, Duration::from_secs(3600)))
}

/// The amounts that a client gets, one at a time, at each of these times.
fn gets(buckets: &mut Buckets, times: &[u64]) -> Vec<usize> {
    let mut all = |now| (0..100).take_while(|_| buckets.take(client(1), 1, now).is_ok()).count();
    times.iter().map(|&now| all(now)).collect()
}

#[test]
fn there_is_no_edge_at_which_all_of_it_is_there_twice() {
    for edge in [HOUR_NANOS, 2 * HOUR_NANOS, 7 * HOUR_NANOS + 13] {
        let mut buckets = hourly(10);
        // The whole burst at the end of any hour, and then one in six minutes.
        assert_eq!(gets(&mut buckets, &[edge - 1, edge, edge + 1, edge + 359 * SECOND]), [10, 0, 0, 0]);
        assert_eq!(
            gets(&mut buckets, &[edge + 360 * SECOND, edge + HOUR_NANOS, edge + 3 * HOUR_NANOS]),
            [1, 9, 10]
        );
    }
}

#[test]
fn all_or_nothing_is_counted_and_the_wait_is_true() {
    let mut buckets = hourly(10);
    let now = 5 * HOUR_NANOS;
    assert!(buckets.take(client(1), 8, now).is_ok());
    let wait = buckets.take(client(1), 4, now).unwrap_err();
    assert_eq!(wait, 2 * 360 * SECOND);
    assert!(buckets.take(client(1), 4, now + wait - 1).is_err() && buckets.take(client(2), 10, now).is_ok());
    assert!(buckets.take(client(1), 4, now + wait).is_ok() && buckets.check(client(1), now + wait).is_err());
    assert!(buckets.take(client(3), 11, now).is_err(), "more than there ever is");
}

#[test]
fn what_was_done_is_owed() {
    let mut buckets = Buckets::new(Rate { burst: 100, amount: 10, period: Duration::from_secs(1) });
    buckets.add(client(1), 99, 0);
    assert_eq!(buckets.check(client(1), 0), Ok(()));
    buckets.add(client(1), 51, 0);
    assert_eq!(buckets.check(client(1), 0), Err(5 * SECOND + 1));
    assert_eq!(buckets.check(client(1), 5 * SECOND + 1), Ok(()));
    assert_eq!(buckets.check(client(2), 0), Ok(()));
}

#[test]
fn a_clock_that_stands_gives_nothing() {
    let mut buckets = hourly(10);
    assert_eq!(gets(&mut buckets, &[HOUR_NANOS, HOUR_NANOS, HOUR_NANOS]), [10, 0, 0]);
    // A clock that went back nevertheless.
    assert_eq!(gets(&mut buckets, &[0, HOUR_NANOS - 1, HOUR_NANOS]), [0, 0, 0]);
}

#[test]
fn a_crowd_is_bounded_and_those_past_it_share() {
    let mut buckets = Buckets { clients: 3, ..hourly(10) };
    for number in 1..4 {
        assert!(buckets.take(client(number), 10, 0).is_ok());
    }
    assert!(buckets.take(client(4), 6, 0).is_ok() && buckets.take(client(5), 6, 0).is_err());
    assert_eq!(buckets.until.len(), 4);
    for number in 1..200 {
        buckets.add(client(number), 1, 0);
    }
    assert_eq!(buckets.until.len(), 4, "no more than there is room for");
    assert!(buckets.take(client(6), 10, 100 * HOUR_NANOS).is_ok());
    assert_eq!(buckets.until.len(), 1, "whoever has all of it again is forgotten");
}

fn peer(last: u8) -> Peer {
    Peer([192, 0, 2, last].into())
}

/// A quota of 160 an hour that is stored in a directory; `now` is the time in seconds since 1970.
fn stored(dir: &Path, now: u64) -> RateLimit {
    let sessions = Sessions::open(&SessionConfig::default(), Some(dir), Arc::default(), now).unwrap();
    RateLimit::open(Rate::per(160, HOUR), "enough", sessions.count_store(), Instant::now()).unwrap()
}

/// The quota that a client has left, taken one by one. The time that this takes adds nothing to the
/// quota.
fn left(quota: &RateLimit, last: u8) -> usize {
    let now = Instant::now();
    (0..1000).take_while(|_| quota.take(peer(last), 1, now).is_ok()).count()
}

#[test]
fn so_much_at_once_and_then_with_time() {
    let quota = RateLimit::new(Rate::per(10, HOUR), "enough", &CountStore::in_memory(0));
    let start = Instant::now();
    let code = |outcome: Result<(), HttpError>| {
        outcome.err().map(|refusal| (refusal.summary().0, refusal.summary().2))
    };
    assert_eq!(code(quota.take(peer(1), 7, start)), None);
    assert_eq!(code(quota.take(peer(1), 4, start)), Some((ProblemCode::Busy, 360)));
    assert_eq!(code(quota.take(peer(1), 3, start)), None);
    assert_eq!(code(quota.check(peer(1), start)), Some((ProblemCode::Busy, 1)));
    assert_eq!(code(quota.take(peer(2), 10, start)), None);
    assert_eq!(code(quota.take(peer(1), 4, start + 4 * HOUR / 10)), None);
    let any = RateLimit::new(Rate::per(0, HOUR), "enough", &CountStore::in_memory(0));
    any.add(peer(1), 1 << 60, start);
    assert_eq!(code(any.take(peer(1), u64::MAX, start)), None);
    assert_eq!(code(any.check(peer(1), start)), None);
    let refusal = quota.take(peer(1), 4, start + 4 * HOUR / 10).unwrap_err();
    assert_eq!(refusal.summary().1, "enough; the next may come in 1440 s");
}

#[test]
fn a_server_that_is_killed_forgets_nothing() {
    for used in [1, 9, 10, 11, 100, 151, 160] {
        let dir = tempfile::tempdir().unwrap();
        let first = stored(dir.path(), 1000);
        (0..used).for_each(|_| first.take(peer(1), 1, Instant::now()).unwrap());
        // Nothing is written when it is dropped.
        drop(first);
        let again = stored(dir.path(), 1000);
        let (left, others) = (left(&again, 1), left(&again, 2));
        let max = 160 - used;
        assert!(left <= max && left + 10 >= max, "{left} after {used}");
        assert_eq!(others, 160);
    }
}

#[test]
fn one_that_ends_in_order_is_exact() {
    let dir = tempfile::tempdir().unwrap();
    let first = stored(dir.path(), 1000);
    first.take(peer(1), 64, Instant::now()).unwrap();
    first.settle(Instant::now());
    drop(first);
    let again = stored(dir.path(), 1000);
    assert_eq!(left(&again, 1), 96);
    drop(again);
    // Half an hour later half of the quota is back, less what was written ahead.
    let later = stored(dir.path(), 1000 + 1800);
    assert!((70..=80).contains(&left(&later, 1)));
    later.sweep(Instant::now() + 3 * HOUR);
    drop(later);
    assert!(
        stored(dir.path(), 1000 + 1800).written.unwrap().into_inner().unwrap().is_empty(),
        "all is forgotten"
    );
}

#[test]
fn a_clock_that_was_set_back_gives_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let first = stored(dir.path(), 1_000_000);
    assert_eq!(left(&first, 1), 160);
    first.settle(Instant::now());
    drop(first);
    for now in [0, 999_999, 1_000_000] {
        let again = stored(dir.path(), now);
        assert_eq!(left(&again, 1), 0, "at {now}");
        let refusal = again.take(peer(1), 1, Instant::now()).unwrap_err();
        assert!(refusal.summary().2 <= 23, "nobody waits for longer either: {}", refusal.summary().2);
        drop(again);
    }
}

#[test]
fn the_disk_is_not_written_for_each() {
    let dir = tempfile::tempdir().unwrap();
    let quota = stored(dir.path(), 1000);
    let mut writes = std::collections::BTreeSet::new();
    for _ in 0..160 {
        quota.take(peer(1), 1, Instant::now()).unwrap();
        writes.extend(quota.written.as_ref().unwrap().lock().unwrap().values().copied());
    }
    assert!(writes.len() <= 16, "{}", writes.len());
}

#[test]
fn a_customer_of_many_ipv6_networks_has_what_four_clients_have() {
    let count_store = CountStore::in_memory(0);
    let quota = RateLimit::new(Rate::per(10, Duration::from_secs(3600)), "enough", &count_store);
    let now = Instant::now();
    let takes = |address: String| quota.take(Peer(address.parse().unwrap()), 10, now).is_ok();
    let of_one_site = (0..256).filter(|i| takes(format!("2001:db8:0:{i:x}::1"))).count();
    let of_other_sites = (1..256).filter(|i| takes(format!("2001:db8:0:{i:x}00::1"))).count();
    assert_eq!((of_one_site, of_other_sites), (2, 2));
    assert!(takes("2001:db8:1::1".into()), "another customer");
    // An amount that one network refuses is counted in none.
    assert!(!takes("2001:db8:0:f00::2".into()) && takes("192.0.2.1".into()));
}
