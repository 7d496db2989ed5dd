//! Refusals of hostile requests; other users are unharmed.

use crate::harness::{self, eventually, http};
use crate::use_case::*;
use prost::Message;
use sotto_apple::proto::{PirRequest, Requests};
use sotto_server::RunningServer;
use sotto_testkit::rng::seeded;

struct World {
    running: RunningServer,
    user: User,
    _root: tempfile::TempDir,
}

fn world(change: impl Fn(&mut Config)) -> World {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let mut config = config(root.path(), &["a"]);
    change(&mut config);
    let running = start(&config);
    let user = User::new(running.public, "user", "a");
    World { running, user, _root: root }
}

impl World {
    fn status(&self, path: &str, body: &[u8]) -> u16 {
        post(self.running.public, path, "user", body).status
    }

    /// The status of a lookup that was changed in one place.
    fn changed(&self, change: impl Fn(&mut PirRequest)) -> u16 {
        let (body, _) = self.user.client.query(&[b"x"], &mut seeded("changed")).unwrap();
        let mut requests = Requests::decode(&*body).unwrap();
        requests.requests.iter_mut().filter_map(|request| request.pir_request.as_mut()).for_each(change);
        self.status("/queries", &requests.encode_to_vec())
    }
}

#[test]
fn bad_requests_are_refused_with_the_status_that_phones_know() {
    let world = world(|_| ());
    assert_eq!(world.changed(|_| ()), 200);
    assert_eq!(world.changed(|it| it.configuration_hash = vec![1; 32].into()), 410);
    assert_eq!(world.changed(|it| it.query = None), 400);
    // Another user has no keys.
    let (body, _) = world.user.client.query(&[b"x"], &mut seeded("other")).unwrap();
    assert_eq!(post(world.running.public, "/queries", "another", &body).status, 400);
    // Headers, methods, paths.
    let at = world.running.public;
    let length = body.len().to_string();
    let bare = [("content-length", &*length)];
    assert_eq!(http::request(at, "POST", "/queries", &bare, &body).status, 400);
    assert_eq!(harness::get(at, "/config").status, 405);
    assert_eq!(world.status("/queriez", &body), 404);
    assert_eq!(world.status("/config", &[0x0A, 1, b'x']), 404, "another use case");
    assert_eq!(
        metric(&world.running, "sotto_requests_total{route=\"apple-config\",outcome=\"no-such-use-case\"}"),
        1.0
    );
    world.user.reads(at, 1);
}

#[test]
fn bodies_are_limited_before_they_are_read_and_bombs_cost_nothing() {
    let world = world(|_| ());
    let at = world.running.public;
    for path in ["/config", "/key", "/queries"] {
        assert_eq!(world.status(path, &[0xFF; 100]), 400, "{path}");
        // A body that is announced, and never sent.
        let length = (1_u64 << 40).to_string();
        let headers = [("user-identifier", "user"), ("user-agent", AGENT), ("content-length", &length)];
        assert_eq!(http::request(at, "POST", path, &headers, b"").status, 413, "{path}");
    }
    assert_eq!(world.status("/queries", &[0x0A, 0].repeat(100_000)), 400, "more parts than may be");
    // A query of empty ciphertexts only.
    let bomb = [0x0A, 0].repeat(5_000);
    assert_eq!(world.changed(|it| it.query = Some(Message::decode(&*bomb).unwrap())), 400);
    world.user.reads(at, 1);
    eventually("all memory is given back", || metric(&world.running, "sotto_request_memory_bytes") == 0.0);
}

#[test]
fn who_asks_too_much_is_told_to_come_back_and_others_are_answered() {
    let world = world(|config| {
        config.guests.apple.max_requests = 3;
        config.server.deadline_ms = 60_000;
    });
    let at = world.running.public;
    let other = User::new(at, "other", "a");
    let keys: Vec<String> = (0..60).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let (body, _) = world.user.client.query(&keys, &mut seeded("many")).unwrap();
    let asking: Vec<_> = (0..6)
        .map(|_| {
            let body = body.clone();
            std::thread::spawn(move || post(at, "/queries", "user", &body))
        })
        .collect();
    other.reads(at, 1);
    let answers: Vec<_> = asking.into_iter().map(|asking| asking.join().unwrap()).collect();
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 429)));
    assert!(answers.iter().any(|answer| answer.status == 200), "one of them is answered");
    for refused in answers.iter().filter(|answer| answer.status == 429) {
        assert!(refused.header("retry-after").is_some());
    }
    other.reads(at, 1);
    assert_eq!(metric(&world.running, "sotto_apple_open_requests"), 0.0, "all places were given back");
}
