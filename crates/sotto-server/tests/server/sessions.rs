//! Keys are registered, expire, are evicted.

use crate::kit::*;
use sotto_core::{Artifact, RecordIndex};
use sotto_server::{LiveTable, SessionConfig};
use sotto_testkit::{CLEAR_KEYED, rng::seeded};
use sotto_wire::{Code, Pin, SessionId, answer, ask, keys, routes};

fn keyed(sessions: SessionConfig) -> World {
    let probe = Probe::new();
    let made = Made { scheme: &CLEAR_KEYED, sessions, ..Made::clear(1, &probe) };
    let shelf = Shelf::with(made.clone());
    let running = start(&config(), &shelf);
    World { at: running.public, pin: made.pin(), running, probe, shelf, made }
}

/// A prepared client of the keyed scheme.
fn client(world: &World, label: &str) -> Box<dyn sotto_core::AnyClient> {
    let parts = world.made.parts();
    let params = parts.catalog.params.to_string();
    let mut prepare = (CLEAR_KEYED.prepare)(params.as_bytes(), &mut seeded(label)).unwrap();
    let section = sotto_core::Section::Public(Artifact::Hint);
    prepare.absorb(Artifact::Hint, parts.image.section(section).unwrap()).unwrap();
    prepare.finish().unwrap()
}

fn register(world: &World, pin: &Pin, bytes: &[u8]) -> Response {
    post(world.at, &routes::keys("t"), &keys::encode(pin, bytes))
}

fn session(response: &Response) -> SessionId {
    assert_eq!(response.status, 200, "{}", response.text());
    SessionId(response.body.clone().try_into().unwrap())
}

#[test]
fn each_session_is_answered_with_its_own_keys() {
    let world = keyed(SessionConfig::default());
    for label in ["a", "b"] {
        let mut client = client(&world, label);
        let id = session(&register(&world, &world.pin, &client.keys()));
        let (queries, ticket) = client.query(RecordIndex(9), &mut seeded("query")).unwrap();
        let frame = ask::encode(&world.pin, &id, &queries).unwrap();
        let response = post(world.at, &routes::ask("t"), &frame);
        let answers = answer::decode(&response.body, &world.pin, 1, RECORD).unwrap();
        let read = client.recover(ticket, &[answers[0].to_vec()]).unwrap();
        assert_eq!(read.bytes(), record(9, 1));
    }
    world.until("sotto_sessions{table=\"t\"}", 2.0);
}

#[test]
fn asks_without_a_held_session_are_told_to_register() {
    let world = keyed(SessionConfig { max_bytes: 48, ..SessionConfig::default() });
    let ask_as = |id| post(world.at, &routes::ask("t"), &frame(&world.pin, id, &[1]));
    assert_refused(&ask_as(SessionId::NONE), Code::SessionExpired);
    assert_refused(&ask_as(SessionId([7; 16])), Code::SessionExpired);
    let first = session(&register(&world, &world.pin, &client(&world, "a").keys()));
    assert_eq!(ask_as(first).status, 200);
    let second = session(&register(&world, &world.pin, &client(&world, "b").keys()));
    assert_refused(&ask_as(first), Code::SessionExpired);
    assert_eq!(ask_as(second).status, 200);
}

#[test]
fn bad_keys_are_refused() {
    let world = keyed(SessionConfig::default());
    let good = client(&world, "a").keys();
    let mut damaged = good.clone();
    damaged[3] ^= 1;
    assert_refused(&register(&world, &world.pin, &damaged), Code::BadKeys);
    assert_refused(&register(&world, &world.pin, &good[1..]), Code::Malformed);
    assert_refused(&register(&world, &world.pin, &vec![0; 5000]), Code::TooLarge);
    let stale = Pin { epoch: sotto_core::Epoch(0), ..world.pin };
    assert_refused(&register(&world, &stale, &good), Code::StaleEpoch);
    // An ask where keys belong.
    assert_refused(&post(world.at, &routes::keys("t"), &world.frame(&[1])), Code::Malformed);
    assert_eq!(register(&world, &world.pin, &good).status, 200);
}

#[test]
fn a_scheme_without_keys_takes_none() {
    let world = world(&config());
    assert_refused(&register(&world, &world.pin, b""), Code::BadKeys);
    let with_session = frame(&world.pin, SessionId([1; 16]), &[1]);
    assert_refused(&post(world.at, &routes::ask("t"), &with_session), Code::SessionExpired);
}

#[test]
fn a_table_of_another_server_is_not_opened() {
    let made = Made::clear(1, &Probe::new());
    let wrong = LiveTable::new(made.parts(), 1, &SessionConfig::default());
    assert!(wrong.unwrap_err().to_string().contains("server = 1"));
    let mut parts = made.parts();
    parts.catalog.artifacts[0].bytes += 1;
    let wrong = LiveTable::new(parts, 0, &SessionConfig::default());
    assert!(wrong.unwrap_err().to_string().contains("hint"));
}
