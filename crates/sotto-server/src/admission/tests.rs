use super::*;
use sotto_core::Shape;
use sotto_testkit::CLEAR_KEYED;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;

/// Real sessions, admitted by an open table.
fn admit(count: usize) -> Vec<AnySession> {
    let params = (CLEAR_KEYED.select)(&Shape::new(4, 32, 1)).unwrap();
    let sink = MemorySink::new();
    (CLEAR_KEYED.server.encode)(&params, &MemoryRows::new(32, vec![7; 128]), &sink).unwrap();
    let table = (CLEAR_KEYED.server.open)(&params, Arc::new(sink.into_image())).unwrap();
    let mut rng = seeded("keys");
    let mut one = |_| {
        let mut prepare = (CLEAR_KEYED.prepare)(&params, &mut rng).unwrap();
        prepare.absorb(sotto_core::Artifact::Hint, &[0; 32]).unwrap();
        table.admit(&prepare.finish().unwrap().keys()).unwrap()
    };
    (0..count).map(&mut one).collect()
}

fn sessions(most: u64, ttl_seconds: u64) -> Sessions {
    Sessions::new(SessionLimits::new(&SessionConfig { max_bytes: most * 48, ttl_seconds }, 48))
}

#[test]
fn the_least_recently_used_goes_first() {
    let (held, now) = (sessions(2, 60), Instant::now());
    let mut three = admit(3).into_iter();
    let a = held.insert(three.next().unwrap(), now).unwrap();
    let b = held.insert(three.next().unwrap(), now).unwrap();
    assert!(held.get(&a, now).is_some());
    let c = held.insert(three.next().unwrap(), now).unwrap();
    assert_eq!(held.len(), 2);
    assert!(held.get(&b, now).is_none(), "b was used least recently");
    assert!(held.get(&a, now).is_some() && held.get(&c, now).is_some());
}

#[test]
fn unused_keys_expire_and_used_ones_do_not() {
    let (held, start) = (sessions(9, 60), Instant::now());
    let after = |seconds| start + Duration::from_secs(seconds);
    let mut two = admit(2).into_iter();
    let a = held.insert(two.next().unwrap(), start).unwrap();
    assert!(held.get(&a, after(50)).is_some());
    assert!(held.get(&a, after(100)).is_some(), "the use at 50 s counts");
    assert!(held.get(&a, after(161)).is_none());
    assert_eq!(held.len(), 0, "an expired session is dropped when it is met");
    held.insert(two.next().unwrap(), after(200)).unwrap();
    assert_eq!(held.len(), 1);
}

#[test]
fn one_session_is_held_whatever_the_limit() {
    let (held, now) = (sessions(0, 60), Instant::now());
    let mut two = admit(2).into_iter();
    let a = held.insert(two.next().unwrap(), now).unwrap();
    let b = held.insert(two.next().unwrap(), now).unwrap();
    assert_ne!(a, b);
    assert!(held.get(&a, now).is_none() && held.get(&b, now).is_some());
    assert!(held.get(&SessionId::NONE, now).is_none());
}
