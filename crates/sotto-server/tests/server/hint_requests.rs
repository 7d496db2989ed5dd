//! Hint requests: answered by the server of that role, one after the other, concurrently with
//! passes.

use crate::harness::*;
use sotto_server::{EpochSource, RunningServer, ScanConfig, ServerConfig};
use sotto_testkit::{CLEAR, CLEAR_HELPED};
use sotto_wire::{ProblemCode, SessionId, answer, hints, query, routes};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A hint server, and a table of one server next to it.
struct HintServer {
    running: RunningServer,
    probe: Arc<Probe>,
    table: EncodedTable,
    single: EncodedTable,
}

fn hint_server(config: &ServerConfig, role: u8) -> HintServer {
    let probe = Probe::new();
    let table = EncodedTable { scheme: &CLEAR_HELPED, role, ..EncodedTable::clear(1, &probe) };
    let single = EncodedTable { name: "single", scheme: &CLEAR, ..EncodedTable::clear(1, &probe) };
    let shelves: Vec<Box<dyn EpochSource>> =
        [&table, &single].map(|made| Box::new(TestSource::with(made.clone())) as Box<dyn EpochSource>).into();
    let running = sotto_server::Server::start_with(config, shelves).unwrap();
    HintServer { running, probe, table, single }
}

impl HintServer {
    fn frame(&self, number: u64) -> Vec<u8> {
        hints::encode(&self.table.pin(), &number.to_le_bytes())
    }

    fn request(&self, number: u64) -> Response {
        post(self.running.public, &routes::hints("t"), &self.frame(number))
    }

    fn request_later(&self, number: u64) -> JoinHandle<Response> {
        let (at, frame) = (self.running.public, self.frame(number));
        std::thread::spawn(move || post(at, &routes::hints("t"), &frame))
    }

    fn assert_answered(&self, response: &Response, number: u64) {
        assert_eq!(response.status, 200, "{}", response.text());
        let made = hints::decode_response(&response.body, &self.table.pin(), 16).unwrap();
        assert_eq!(made[..8], number.to_le_bytes());
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }

    fn until_open(&self, requests: u64) {
        let expected = format!("sotto_open_hint_requests {requests}\n");
        eventually(&expected, || get(self.running.admin, "/metrics").text().contains(&expected));
    }
}

#[test]
fn an_order_is_filled() {
    let hint_server = hint_server(&config(), 1);
    for number in [0, 1, 1, 7] {
        hint_server.assert_answered(&hint_server.request(number), number);
    }
    let metrics = get(hint_server.running.admin, "/metrics").text();
    assert!(metrics.contains("sotto_hint_requests_total{table=\"t\"} 4\n"), "{metrics}");
    assert!(metrics.contains("sotto_requests_total{route=\"hints\",outcome=\"ok\"} 4\n"), "{metrics}");
}

#[test]
fn each_server_sees_its_part_alone() {
    let query_server = hint_server(&config(), 0);
    assert_refused(&query_server.request(0), ProblemCode::WrongServer);
    let query = |hint_server: &HintServer, index: u64| {
        let queries = [[index.to_le_bytes(), [0; 8]].concat()];
        let frame = query::encode(&hint_server.table.pin(), &SessionId::NONE, &queries).unwrap();
        post(hint_server.running.public, &routes::query("t"), &frame)
    };
    // Both answers have the same mask, so that they differ by the difference of the records.
    let [one, other] = [3, 4].map(|index| {
        let response = query(&query_server, index);
        assert_eq!(response.status, 200, "{}", response.text());
        answer::decode(&response.body, &query_server.table.pin(), 1, RECORD).unwrap()[0].to_vec()
    });
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<u8>>();
    assert_eq!(differ(&one, &other), differ(&record(3, 1), &record(4, 1)));
    let server = hint_server(&config(), 1);
    assert_refused(&query(&server, 3), ProblemCode::WrongServer);
    assert_eq!(server.probe.batches(), [0; 0]);
    // A table without hints has no hint server.
    let request = hints::encode(&server.single.pin(), &[0; 8]);
    let response = post(server.running.public, &routes::hints("single"), &request);
    assert_refused(&response, ProblemCode::TooLarge);
    let response = post(server.running.public, &routes::hints("single"), &request[..hints::HEAD_BYTES]);
    assert_refused(&response, ProblemCode::WrongServer);
}

#[test]
fn orders_that_are_none_are_refused() {
    let hint_server = hint_server(&config(), 1);
    let send = |body: &[u8]| post(hint_server.running.public, &routes::hints("t"), body);
    let good = hint_server.frame(5);
    for len in 0..good.len() {
        assert_refused(&send(&good[..len]), ProblemCode::Malformed);
    }
    assert_refused(&send(&[&good[..], b"x"].concat()), ProblemCode::TooLarge);
    for (at, code) in [
        (0, ProblemCode::Malformed),
        (4, ProblemCode::WrongVersion),
        (5, ProblemCode::WrongServer),
        (6, ProblemCode::Malformed),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 2;
        assert_refused(&send(&bad), code);
    }
    let mut bad = good.clone();
    bad[16] ^= 1;
    assert_refused(&send(&bad), ProblemCode::WrongParams);
    // Well-formed, but no hint request of this scheme.
    assert_refused(&hint_server.request(u64::MAX), ProblemCode::BadQuery);
    hint_server.assert_answered(&hint_server.request(5), 5);
}

#[test]
fn an_order_delays_no_ask() {
    let hint_server = hint_server(&config(), 1);
    hint_server.probe.hold_hint_requests();
    let waiting = hint_server.request_later(0);
    hint_server.until_open(1);
    let frame = frame(&hint_server.single.pin(), SessionId::NONE, &[3]);
    let response = post(hint_server.running.public, &routes::query("single"), &frame);
    assert_answers(&response, &hint_server.single.pin(), &[3]);
    assert!(!waiting.is_finished());
    hint_server.probe.release_hint_requests();
    hint_server.assert_answered(&waiting.join().unwrap(), 0);
    hint_server.until_open(0);
}

#[test]
fn so_many_orders_in_all_and_of_one_client() {
    for (max_hint_requests, hint_requests_per_client) in [(2, 0), (5, 2)] {
        let hint_server =
            hint_server(&ServerConfig { max_hint_requests, hint_requests_per_client, ..config() }, 1);
        hint_server.probe.hold_hint_requests();
        let waiting = [0, 1].map(|number| hint_server.request_later(number));
        hint_server.until_open(2);
        assert_refused(&hint_server.request(2), ProblemCode::Busy);
        hint_server.probe.release_hint_requests();
        for (number, response) in (0..).zip(waiting) {
            hint_server.assert_answered(&response.join().unwrap(), number);
        }
        hint_server.until_open(0);
        hint_server.assert_answered(&hint_server.request(2), 2);
    }
}

/// The hourly limit of hints, and the time that hints share with passes.
#[test]
fn so_much_work_for_one_client_and_no_more() {
    let scan_budget =
        ScanConfig { percent_per_client: 1, burst_seconds_per_client: 1, ..ScanConfig::default() };
    let limits = [
        (ServerConfig { hint_seconds_per_client: 1, ..config() }, "hourly limit", 200),
        (ServerConfig { scan_budget, ..config() }, "scan time budget of this address", 429),
    ];
    for (config, message, query_status) in limits {
        let hint_server = hint_server(&config, 1);
        hint_server.assert_answered(&hint_server.request(0), 0);
        // The request during which the second ends is finished, and is the last.
        hint_server.probe.hold_hint_requests();
        let waiting = hint_server.request_later(1);
        hint_server.until_open(1);
        std::thread::sleep(Duration::from_millis(1200));
        hint_server.probe.release_hint_requests();
        hint_server.assert_answered(&waiting.join().unwrap(), 1);
        let refused = hint_server.request(2);
        assert_refused(&refused, ProblemCode::Busy);
        assert!(refused.text().contains(message), "{}", refused.text());
        let frame = frame(&hint_server.single.pin(), SessionId::NONE, &[3]);
        let query = post(hint_server.running.public, &routes::query("single"), &frame);
        assert_eq!(query.status, query_status, "{message}");
    }
}

#[test]
fn a_scheme_that_panics_costs_its_order_alone() {
    let hint_server = hint_server(&config(), 1);
    hint_server.probe.panic_next();
    assert_refused(&hint_server.request(0), ProblemCode::Internal);
    hint_server.assert_answered(&hint_server.request(0), 0);
}

#[test]
fn a_shutdown_waits_for_no_order() {
    let hint_server = hint_server(&ServerConfig { drain_seconds: 0, ..config() }, 1);
    hint_server.probe.hold_hint_requests();
    let waiting = hint_server.request_later(0);
    // Not observed through the metrics, since that would leave another connection to be cut off.
    eventually("an order is begun", || hint_server.probe.hint_requests() == 1);
    assert_eq!(hint_server.running.shutdown().unfinished, 1, "the one that waits");
    hint_server.probe.release_hint_requests();
    assert!(waiting.join().is_err(), "its connection was cut off");
}
