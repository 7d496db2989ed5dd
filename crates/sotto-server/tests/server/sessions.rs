//! Keys are registered, expire, are evicted, outlive epochs and restarts.

use crate::harness::*;
use sotto_core::{AnyClient, Artifact, RecordIndex, Section};
use sotto_server::{RunningServer, ServerConfig, SessionConfig, TableEpoch};
use sotto_testkit::{CLEAR_KEYED, CLEAR_STREAM, rng::seeded};
use sotto_wire::{FrameHeader, ProblemCode, SessionId, answer, keys, query, routes};

fn keyed(sessions: SessionConfig) -> World {
    with_keys(&ServerConfig { sessions, ..config() }, TestSource::default())
}

/// A server of the keyed scheme's table at epoch 1.
fn with_keys(config: &ServerConfig, source: TestSource) -> World {
    let made = EncodedTable { scheme: &CLEAR_KEYED, ..EncodedTable::clear(1, &Probe::new()) };
    source.put(1, made.clone());
    world_of(config, source, made)
}

/// A prepared client of a table.
fn client(made: &EncodedTable, label: &str) -> Box<dyn AnyClient> {
    let parts = made.parts();
    let params = parts.catalog.params.to_string();
    let mut prepare = (made.scheme.prepare)(params.as_bytes(), &mut seeded(label)).unwrap();
    if let Some(hint) = parts.image.section(Section::Public(Artifact::Hint)) {
        prepare.absorb(Artifact::Hint, hint).unwrap();
    }
    prepare.finish().unwrap()
}

fn register(world: &World, pin: &FrameHeader, bytes: &[u8]) -> Response {
    post(world.at, &routes::keys("t"), &keys::encode(pin, bytes))
}

fn session(response: &Response) -> SessionId {
    assert_eq!(response.status, 200, "{}", response.text());
    SessionId(response.body.clone().try_into().unwrap())
}

/// Registers the keys of a client and returns its session.
fn registered(world: &World, client: &dyn AnyClient) -> SessionId {
    session(&register(world, &world.pin, &client.keys()))
}

/// Queries record 9 of a server, and checks that it is that of the epoch.
#[track_caller]
fn reads(running: &RunningServer, pin: &FrameHeader, id: SessionId, client: &mut dyn AnyClient) {
    let (queries, pending) = client.query(RecordIndex(9), &mut seeded("query")).unwrap();
    let response = post(running.public, &routes::query("t"), &query::encode(pin, &id, &queries).unwrap());
    assert_eq!(response.status, 200, "{}", response.text());
    let bytes = response.body.len() - answer::HEAD_BYTES;
    let answers = answer::decode(&response.body, pin, 1, bytes).unwrap();
    let read = client.recover(pending, &[answers[0].to_vec()]).unwrap();
    assert_eq!(read.bytes(), record(9, pin.epoch.0));
}

#[test]
fn each_session_is_answered_with_its_own_keys() {
    let world = keyed(SessionConfig::default());
    for label in ["a", "b"] {
        let mut client = client(&world.made, label);
        let id = registered(&world, client.as_ref());
        reads(&world.running, &world.pin, id, client.as_mut());
    }
    world.until("sotto_sessions{table=\"t\"}", 2.0);
    world.until("sotto_session_bytes{medium=\"memory\"}", 96.0);
    world.until("sotto_session_bytes{medium=\"disk\"}", 0.0);
}

#[test]
fn asks_without_a_held_session_are_told_to_register() {
    let world = keyed(SessionConfig { max_bytes: 48, ..SessionConfig::default() });
    let query_as = |id| post(world.at, &routes::query("t"), &frame(&world.pin, id, &[1]));
    assert_refused(&query_as(SessionId::NONE), ProblemCode::SessionExpired);
    assert_refused(&query_as(SessionId([7; 16])), ProblemCode::SessionExpired);
    let first = registered(&world, client(&world.made, "a").as_ref());
    assert_eq!(query_as(first).status, 200);
    let second = registered(&world, client(&world.made, "b").as_ref());
    assert_refused(&query_as(first), ProblemCode::SessionExpired);
    assert_eq!(query_as(second).status, 200);
    assert_eq!(world.metric("sotto_session_evictions_total{reason=\"memory\"}"), 1.0);
}

#[test]
fn bad_keys_are_refused() {
    let world = keyed(SessionConfig::default());
    let good = client(&world.made, "a").keys();
    let mut damaged = good.clone();
    damaged[3] ^= 1;
    assert_refused(&register(&world, &world.pin, &damaged), ProblemCode::BadKeys);
    assert_refused(&register(&world, &world.pin, &good[1..]), ProblemCode::Malformed);
    assert_refused(&register(&world, &world.pin, &vec![0; 5000]), ProblemCode::TooLarge);
    let stale = FrameHeader { epoch: sotto_core::Epoch(0), ..world.pin };
    assert_refused(&register(&world, &stale, &good), ProblemCode::StaleEpoch);
    // A query frame instead of keys.
    assert_refused(&post(world.at, &routes::keys("t"), &world.frame(&[1])), ProblemCode::Malformed);
    assert_eq!(register(&world, &world.pin, &good).status, 200);
}

#[test]
fn a_scheme_without_keys_takes_none() {
    let world = world(&config());
    assert_refused(&register(&world, &world.pin, b""), ProblemCode::BadKeys);
    let with_session = frame(&world.pin, SessionId([1; 16]), &[1]);
    assert_refused(&post(world.at, &routes::query("t"), &with_session), ProblemCode::SessionExpired);
}

#[test]
fn a_client_that_registers_without_end_is_told_to_wait_and_pushes_out_only_itself() {
    let sessions =
        SessionConfig { sessions_per_client: 3, registrations_per_minute: 0, ..SessionConfig::default() };
    let world = keyed(sessions.clone());
    let mut client = client(&world.made, "a");
    let mut ids: Vec<SessionId> = (0..20).map(|_| registered(&world, client.as_ref())).collect();
    let last = ids.pop().unwrap();
    reads(&world.running, &world.pin, last, client.as_mut());
    let first = frame(&world.pin, ids[0], &[1]);
    assert_refused(&post(world.at, &routes::query("t"), &first), ProblemCode::SessionExpired);
    world.until("sotto_sessions{table=\"t\"}", 3.0);

    // One registration may become available in between, but not two.
    let world = keyed(SessionConfig { registrations_per_minute: 2, ..sessions });
    let keys = client.keys();
    let refused: Vec<_> = (0..6)
        .map(|_| register(&world, &world.pin, &keys))
        .filter(|response| response.status != 200)
        .collect();
    assert!(refused.len() >= 2);
    for response in refused {
        assert_refused(&response, ProblemCode::Busy);
        let wait: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert!((2..=30).contains(&wait), "two in a minute are one in 30 seconds, not {wait}");
    }
}

#[test]
fn an_office_behind_one_address_keeps_its_keys() {
    let world = keyed(SessionConfig::default());
    let client = client(&world.made, "a");
    let ids: Vec<_> = (0..100).map(|_| registered(&world, client.as_ref())).collect();
    for id in ids {
        assert_eq!(post(world.at, &routes::query("t"), &frame(&world.pin, id, &[1])).status, 200);
    }
}

#[test]
fn sessions_outlive_an_epoch_of_the_same_parameters() {
    let world = with_keys(&config(), TestSource::default());
    let mut old = client(&world.made, "a");
    let id = registered(&world, old.as_ref());
    let next = EncodedTable { epoch: 2, ..world.made.clone() };
    world.source.put(2, next.clone());
    assert!(world.running.reload());
    reads(&world.running, &world.pin, id, old.as_mut());
    // The same keys, with the hint of the next epoch.
    reads(&world.running, &next.pin(), id, client(&next, "a").as_mut());
    world.until("sotto_sessions{table=\"t\"}", 1.0);
}

#[test]
fn sessions_end_with_their_parameters() {
    let world = with_keys(&config(), TestSource::default());
    let id = registered(&world, client(&world.made, "a").as_ref());
    let next = EncodedTable { epoch: 2, scheme: &CLEAR_STREAM, ..world.made.clone() };
    world.source.put(2, next.clone());
    assert!(world.running.reload());
    let response = post(world.at, &routes::query("t"), &frame(&next.pin(), id, &[1]));
    assert_refused(&response, ProblemCode::SessionExpired);
}

#[test]
fn sessions_outlive_a_restart_if_there_is_a_place_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let kept = ServerConfig { state: Some(dir.path().join("state")), ..config() };
    let world = with_keys(&kept, TestSource::default());
    let mut client = client(&world.made, "a");
    let id = registered(&world, client.as_ref());
    world.until("sotto_session_bytes{medium=\"disk\"}", 48.0);
    world.running.shutdown();

    let world = with_keys(&kept, TestSource::default());
    assert_eq!(world.metric("sotto_sessions{table=\"t\"}"), 1.0);
    assert_eq!(world.metric("sotto_sessions_in_memory{table=\"t\"}"), 0.0);
    reads(&world.running, &world.pin, id, client.as_mut());
    reads(&world.running, &world.pin, id, client.as_mut());
    assert_eq!(world.metric("sotto_session_readmissions_total"), 1.0);
    world.running.shutdown();

    let forgetful = with_keys(&config(), TestSource::default());
    let response = post(forgetful.at, &routes::query("t"), &frame(&forgetful.pin, id, &[1]));
    assert_refused(&response, ProblemCode::SessionExpired);
}

#[test]
fn a_copy_of_the_state_has_the_sessions_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let kept = ServerConfig { state: Some(state.clone()), ..config() };
    let world = with_keys(&kept, TestSource::default());
    let mut client = client(&world.made, "a");
    let id = registered(&world, client.as_ref());
    let copied = operate(world.running.admin, "/backup");
    assert_eq!(copied.status, 200, "{}", copied.text());
    assert!(copied.text().contains("sessions.redb"), "{}", copied.text());
    // Other requests are answered meanwhile.
    reads(&world.running, &world.pin, id, client.as_mut());
    let restored =
        with_keys(&ServerConfig { state: Some(state.join("backup")), ..config() }, TestSource::default());
    reads(&restored.running, &restored.pin, id, client.as_mut());

    let forgetful = with_keys(&config(), TestSource::default());
    let refused = operate(forgetful.running.admin, "/backup");
    assert_refused(&refused, ProblemCode::NoSuchRoute);
    assert!(refused.text().contains("--state"), "{}", refused.text());
}

#[test]
fn sessions_without_room_in_memory_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = SessionConfig { max_bytes: 48, ..SessionConfig::default() };
    let world = with_keys(
        &ServerConfig { state: Some(dir.path().into()), sessions, ..config() },
        TestSource::default(),
    );
    let mut clients = ["a", "b", "c"].map(|label| client(&world.made, label));
    let ids = [0, 1, 2].map(|i: usize| registered(&world, clients[i].as_ref()));
    for _ in 0..3 {
        for (client, id) in clients.iter_mut().zip(ids) {
            reads(&world.running, &world.pin, id, client.as_mut());
        }
    }
    assert_eq!(world.metric("sotto_session_bytes{medium=\"memory\"}"), 48.0);
    // Concurrent queries of one session load it once.
    let before = world.metric("sotto_session_readmissions_total");
    let at_once: Vec<_> = (0..8)
        .map(|_| {
            let (at, frame) = (world.at, frame(&world.pin, ids[0], &[1]));
            std::thread::spawn(move || post(at, &routes::query("t"), &frame).status)
        })
        .collect();
    assert!(at_once.into_iter().all(|response| response.join().unwrap() == 200));
    assert_eq!(world.metric("sotto_session_readmissions_total"), before + 1.0);
}

#[test]
fn a_table_of_another_server_is_not_opened() {
    let made = EncodedTable::clear(1, &Probe::new());
    let wrong = TableEpoch::new(made.parts(), 1);
    assert!(wrong.unwrap_err().to_string().contains("`role` is 1; set `role`"));
    let mut parts = made.parts();
    parts.catalog.artifacts[0].bytes += 1;
    let wrong = TableEpoch::new(parts, 0);
    assert!(wrong.unwrap_err().to_string().contains("hint"));
}
