//! Turns and limits are per address, and not per name that a request contains.

use crate::harness::http::{connect_as, head};
use crate::harness::{EncodedTable, Probe, Response, TestSource, eventually, frame, post as send};
use crate::use_case::*;
use sotto_apple::image;
use sotto_apple::sets::WeakParams;
use sotto_guest_server::apple::{AppleConfig, AppleSetup, UseCaseEpoch};
use sotto_server::{Server, ServerConfig};
use sotto_testkit::rng::seeded;
use sotto_wire::{SessionId, routes};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// Posts from another address of this machine.
fn post_from(client: u8, at: SocketAddr, user: &str, body: &[u8]) -> Response {
    let length = body.len().to_string();
    let headers = [("user-identifier", user), ("user-agent", AGENT), ("content-length", &length)];
    let mut stream = connect_as(client, at);
    stream.write_all(head("POST", "/queries", &headers).as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    Response::read(&mut stream)
}

#[test]
fn one_address_with_many_names_keeps_no_other_out() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let opened = image::open(&root.path().join("a"), WeakParams::Reject).unwrap();
    let found =
        UseCaseEpoch { name: opened.name, digest: opened.digest, use_case: Arc::new(opened.use_case) };
    let apple = AppleConfig { max_requests: 3, ..AppleConfig::default() };
    let apple = AppleSetup::with_sources(apple, vec![Box::new(FixedUseCase(found))]);
    let config = ServerConfig { deadline_ms: 60_000, ..crate::harness::config() };
    // A table whose passes can be paused, and with them all waiting work.
    let probe = Probe::new();
    let made = EncodedTable::clear(1, &probe);
    let source = TestSource::with(made.clone());
    let running =
        Server::start_with_all(&config, vec![Box::new(source)], vec![Box::new(apple)], |_| ()).unwrap();
    let at = running.public;
    let honest = User::new(at, "honest", "a");
    let names: Vec<String> = (0..4).map(|i| format!("invented {i}")).collect();
    names.iter().for_each(|name| {
        let keys = honest.client.key_request(&mut seeded("keys"));
        assert_eq!(post(at, "/key", name, &keys).status, 200);
    });

    probe.hold();
    let pin = made.pin();
    let held = std::thread::spawn(move || send(at, &routes::query("t"), &frame(&pin, SessionId::NONE, &[0])));
    eventually("a pass is under way", || metric(&running, "sotto_passes_total") == 1.0);
    let many: Vec<String> = (0..20).map(key).collect();
    let many: Vec<&[u8]> = many.iter().map(|key| key.as_bytes()).collect();
    let (body, _) = honest.client.query(&many, &mut seeded("many")).unwrap();
    let flood: Vec<_> = names
        .into_iter()
        .map(|name| {
            let body = body.clone();
            std::thread::spawn(move || post(at, "/queries", &name, &body).status)
        })
        .collect();
    // Three requests wait, and the fourth name is refused: its address has the most.
    eventually("one is refused", || {
        metric(&running, "sotto_requests_total{route=\"apple-queries\",outcome=\"busy\"") == 1.0
    });
    let requested = key(7);
    let (body, pending) = honest.client.query(&[requested.as_bytes()], &mut seeded("one")).unwrap();
    let asking = std::thread::spawn(move || post_from(9, at, "honest", &body));
    eventually("another gives way", || metric(&running, "sotto_queue_evictions_total") == 1.0);
    assert_eq!(metric(&running, "sotto_apple_open_requests"), 3.0);
    probe.release();
    let answer = asking.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(honest.client.open(pending, answer.body.into()).unwrap(), [Some(value(7, 1))]);
    let mut statuses: Vec<u16> = flood.into_iter().map(|one| one.join().unwrap()).collect();
    statuses.sort_unstable();
    assert_eq!((statuses, held.join().unwrap().status), (vec![200, 200, 429, 429], 200));
    assert_eq!(metric(&running, "sotto_apple_open_requests"), 0.0, "all places were given back");
}
