use super::*;
use crate::SessionConfig;
use crate::metrics::Metrics;
use crate::sessions::Sessions;
use std::path::Path;
use std::sync::Arc;

const HOUR: Duration = Duration::from_secs(3600);

fn peer(last: u8) -> Peer {
    Peer([192, 0, 2, last].into())
}

/// A quota of 160 an hour that is stored in a directory; `now` is the time in seconds since 1970.
fn kept(dir: &Path, now: u64) -> ClientQuota {
    let sessions =
        Sessions::open(&SessionConfig::default(), Some(dir), Arc::new(Metrics::new()), now).unwrap();
    ClientQuota::kept(Rate::per(160, HOUR), "enough", sessions.keep(), Instant::now()).unwrap()
}

/// The quota that a client has left, taken one by one. The time that this takes adds nothing to the
/// quota.
fn left(allowance: &ClientQuota, last: u8) -> usize {
    let now = Instant::now();
    (0..1000).take_while(|_| allowance.take(peer(last), 1, now).is_ok()).count()
}

#[test]
fn so_much_at_once_and_then_with_time() {
    let allowance = ClientQuota::new(Rate::per(10, HOUR), "enough", &CountStore::in_memory(0));
    let start = Instant::now();
    let code = |outcome: Result<(), Refusal>| outcome.err().map(|refusal| (refusal.0.code, refusal.1));
    assert_eq!(code(allowance.take(peer(1), 7, start)), None);
    assert_eq!(code(allowance.take(peer(1), 4, start)), Some((Code::Busy, 360)));
    assert_eq!(code(allowance.take(peer(1), 3, start)), None);
    assert_eq!(code(allowance.check(peer(1), start)), Some((Code::Busy, 1)));
    assert_eq!(code(allowance.take(peer(2), 10, start)), None);
    assert_eq!(code(allowance.take(peer(1), 4, start + 4 * HOUR / 10)), None);
    let any = ClientQuota::new(Rate::per(0, HOUR), "enough", &CountStore::in_memory(0));
    any.add(peer(1), 1 << 60, start);
    assert_eq!(code(any.check(peer(1), start)), None);
    let refusal = allowance.take(peer(1), 4, start + 4 * HOUR / 10).unwrap_err();
    assert_eq!(refusal.0.message, "enough; the next may come in 1440 s");
}

#[test]
fn a_server_that_is_killed_forgets_nothing() {
    for used in [1, 9, 10, 11, 100, 151, 160] {
        let dir = tempfile::tempdir().unwrap();
        let first = kept(dir.path(), 1000);
        (0..used).for_each(|_| first.take(peer(1), 1, Instant::now()).unwrap());
        // Nothing is written when it is dropped.
        drop(first);
        let again = kept(dir.path(), 1000);
        let (left, others) = (left(&again, 1), left(&again, 2));
        let most = 160 - used;
        assert!(left <= most && left + 10 >= most, "{left} after {used}");
        assert_eq!(others, 160);
    }
}

#[test]
fn one_that_ends_in_order_is_exact() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(dir.path(), 1000);
    first.take(peer(1), 64, Instant::now()).unwrap();
    first.settle(Instant::now());
    drop(first);
    let again = kept(dir.path(), 1000);
    assert_eq!(left(&again, 1), 96);
    drop(again);
    // Half an hour later half of the quota is back, less what was written ahead.
    let later = kept(dir.path(), 1000 + 1800);
    assert!((70..=80).contains(&left(&later, 1)));
    later.sweep(Instant::now() + 3 * HOUR);
    drop(later);
    assert!(
        kept(dir.path(), 1000 + 1800).written.unwrap().into_inner().unwrap().is_empty(),
        "all is forgotten"
    );
}

#[test]
fn a_clock_that_was_set_back_gives_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(dir.path(), 1_000_000);
    assert_eq!(left(&first, 1), 160);
    first.settle(Instant::now());
    drop(first);
    for now in [0, 999_999, 1_000_000] {
        let again = kept(dir.path(), now);
        assert_eq!(left(&again, 1), 0, "at {now}");
        let refusal = again.take(peer(1), 1, Instant::now()).unwrap_err();
        assert!(refusal.1 <= 23, "nobody waits for longer either: {}", refusal.1);
        drop(again);
    }
}

#[test]
fn the_disk_is_not_written_for_each() {
    let dir = tempfile::tempdir().unwrap();
    let allowance = kept(dir.path(), 1000);
    let mut writes = std::collections::BTreeSet::new();
    for _ in 0..160 {
        allowance.take(peer(1), 1, Instant::now()).unwrap();
        writes.extend(allowance.written.as_ref().unwrap().lock().unwrap().values().copied());
    }
    assert!(writes.len() <= 16, "{}", writes.len());
}

#[test]
fn a_customer_of_many_ipv6_networks_has_what_four_clients_have() {
    let keep = CountStore::in_memory(0);
    let allowance = ClientQuota::new(Rate::per(10, Duration::from_secs(3600)), "enough", &keep);
    let now = Instant::now();
    let takes = |address: String| allowance.take(Peer(address.parse().unwrap()), 10, now).is_ok();
    let of_one_site = (0..256).filter(|i| takes(format!("2001:db8:0:{i:x}::1"))).count();
    let of_other_sites = (1..256).filter(|i| takes(format!("2001:db8:0:{i:x}00::1"))).count();
    assert_eq!((of_one_site, of_other_sites), (2, 2));
    assert!(takes("2001:db8:1::1".into()), "another customer");
    // An amount that one network refuses is counted in none.
    assert!(!takes("2001:db8:0:f00::2".into()) && takes("192.0.2.1".into()));
}
