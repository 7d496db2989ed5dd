//! Hints to order: made by the server whose role it is, one after the other, beside the passes.

use crate::kit::*;
use sotto_server::{EpochSource, RunningServer, ScanConfig, ServerConfig};
use sotto_testkit::{CLEAR, CLEAR_HELPED};
use sotto_wire::{Code, SessionId, answer, hints, query, routes};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A helper's server, and a table of one server beside it.
struct Helper {
    running: RunningServer,
    probe: Arc<Probe>,
    helped: EncodedTable,
    single: EncodedTable,
}

fn helper(config: &ServerConfig, role: u8) -> Helper {
    let probe = Probe::new();
    let helped = EncodedTable { scheme: &CLEAR_HELPED, role, ..EncodedTable::clear(1, &probe) };
    let single = EncodedTable { name: "single", scheme: &CLEAR, ..EncodedTable::clear(1, &probe) };
    let shelves: Vec<Box<dyn EpochSource>> =
        [&helped, &single].map(|made| Box::new(Shelf::with(made.clone())) as Box<dyn EpochSource>).into();
    let running = sotto_server::Server::start_with(config, shelves).unwrap();
    Helper { running, probe, helped, single }
}

impl Helper {
    fn frame(&self, number: u64) -> Vec<u8> {
        hints::encode(&self.helped.pin(), &number.to_le_bytes())
    }

    fn order(&self, number: u64) -> Response {
        post(self.running.public, &routes::hints("t"), &self.frame(number))
    }

    fn order_later(&self, number: u64) -> JoinHandle<Response> {
        let (at, frame) = (self.running.public, self.frame(number));
        std::thread::spawn(move || post(at, &routes::hints("t"), &frame))
    }

    fn assert_filled(&self, response: &Response, number: u64) {
        assert_eq!(response.status, 200, "{}", response.text());
        let supply = hints::decode_response(&response.body, &self.helped.pin(), 16).unwrap();
        assert_eq!(supply[..8], number.to_le_bytes());
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }

    fn until_open(&self, orders: u64) {
        let wanted = format!("sotto_open_hint_requests {orders}\n");
        eventually(&wanted, || get(self.running.admin, "/metrics").text().contains(&wanted));
    }
}

#[test]
fn an_order_is_filled() {
    let helper = helper(&config(), 1);
    for number in [0, 1, 1, 7] {
        helper.assert_filled(&helper.order(number), number);
    }
    let metrics = get(helper.running.admin, "/metrics").text();
    assert!(metrics.contains("sotto_hint_requests_total{table=\"t\"} 4\n"), "{metrics}");
    assert!(metrics.contains("sotto_requests_total{route=\"hints\",outcome=\"ok\"} 4\n"), "{metrics}");
}

#[test]
fn each_server_sees_its_part_alone() {
    let asked = helper(&config(), 0);
    assert_refused(&asked.order(0), Code::WrongServer);
    let query = |helper: &Helper, index: u64| {
        let queries = [[index.to_le_bytes(), [0; 8]].concat()];
        let frame = query::encode(&helper.helped.pin(), &SessionId::NONE, &queries).unwrap();
        post(helper.running.public, &routes::query("t"), &frame)
    };
    // Answers are masked alike, so that what two of them differ by is what the records differ by.
    let [one, other] = [3, 4].map(|index| {
        let response = query(&asked, index);
        assert_eq!(response.status, 200, "{}", response.text());
        answer::decode(&response.body, &asked.helped.pin(), 1, RECORD).unwrap()[0].to_vec()
    });
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<u8>>();
    assert_eq!(differ(&one, &other), differ(&record(3, 1), &record(4, 1)));
    let helping = helper(&config(), 1);
    assert_refused(&query(&helping, 3), Code::WrongServer);
    assert_eq!(helping.probe.batches(), [0; 0]);
    // A table without hints has no server that makes them.
    let order = hints::encode(&helping.single.pin(), &[0; 8]);
    let response = post(helping.running.public, &routes::hints("single"), &order);
    assert_refused(&response, Code::TooLarge);
    let response = post(helping.running.public, &routes::hints("single"), &order[..hints::HEAD_BYTES]);
    assert_refused(&response, Code::WrongServer);
}

#[test]
fn orders_that_are_none_are_refused() {
    let helper = helper(&config(), 1);
    let send = |body: &[u8]| post(helper.running.public, &routes::hints("t"), body);
    let good = helper.frame(5);
    for len in 0..good.len() {
        assert_refused(&send(&good[..len]), Code::Malformed);
    }
    assert_refused(&send(&[&good[..], b"x"].concat()), Code::TooLarge);
    for (at, code) in
        [(0, Code::Malformed), (4, Code::WrongVersion), (5, Code::WrongServer), (6, Code::Malformed)]
    {
        let mut bad = good.clone();
        bad[at] ^= 2;
        assert_refused(&send(&bad), code);
    }
    let mut bad = good.clone();
    bad[16] ^= 1;
    assert_refused(&send(&bad), Code::WrongParams);
    // Well-formed, and not an order of this scheme.
    assert_refused(&helper.order(u64::MAX), Code::BadQuery);
    helper.assert_filled(&helper.order(5), 5);
}

#[test]
fn an_order_delays_no_ask() {
    let helper = helper(&config(), 1);
    helper.probe.hold_orders();
    let waiting = helper.order_later(0);
    helper.until_open(1);
    let frame = frame(&helper.single.pin(), SessionId::NONE, &[3]);
    let response = post(helper.running.public, &routes::query("single"), &frame);
    assert_answers(&response, &helper.single.pin(), &[3]);
    assert!(!waiting.is_finished());
    helper.probe.release_orders();
    helper.assert_filled(&waiting.join().unwrap(), 0);
    helper.until_open(0);
}

#[test]
fn so_many_orders_in_all_and_of_one_client() {
    for (max_hint_requests, hint_requests_per_client) in [(2, 0), (5, 2)] {
        let helper = helper(&ServerConfig { max_hint_requests, hint_requests_per_client, ..config() }, 1);
        helper.probe.hold_orders();
        let waiting = [0, 1].map(|number| helper.order_later(number));
        helper.until_open(2);
        assert_refused(&helper.order(2), Code::Busy);
        helper.probe.release_orders();
        for (number, response) in (0..).zip(waiting) {
            helper.assert_filled(&response.join().unwrap(), number);
        }
        helper.until_open(0);
        helper.assert_filled(&helper.order(2), 2);
    }
}

#[test]
fn so_much_work_for_one_client_and_no_more() {
    let helper = helper(&ServerConfig { hint_seconds_per_client: 1, ..config() }, 1);
    helper.assert_filled(&helper.order(0), 0);
    // The one that goes past the second is finished, and is the last.
    helper.probe.hold_orders();
    let waiting = helper.order_later(1);
    helper.until_open(1);
    std::thread::sleep(Duration::from_millis(1100));
    helper.probe.release_orders();
    helper.assert_filled(&waiting.join().unwrap(), 1);
    let refused = helper.order(2);
    assert_refused(&refused, Code::Busy);
    assert!(refused.text().contains("in an hour"), "{}", refused.text());
}

#[test]
fn hints_are_charged_like_passes() {
    let scan_budget =
        ScanConfig { percent_per_client: 1, burst_seconds_per_client: 1, ..ScanConfig::default() };
    let helper = helper(&ServerConfig { scan_budget, ..config() }, 1);
    helper.probe.hold_orders();
    let waiting = helper.order_later(1);
    helper.until_open(1);
    std::thread::sleep(Duration::from_millis(1200));
    helper.probe.release_orders();
    helper.assert_filled(&waiting.join().unwrap(), 1);
    let refused = helper.order(2);
    assert_refused(&refused, Code::Busy);
    assert!(refused.text().contains("was read for one address"), "{}", refused.text());
    let frame = frame(&helper.single.pin(), SessionId::NONE, &[3]);
    assert_refused(&post(helper.running.public, &routes::query("single"), &frame), Code::Busy);
}

#[test]
fn a_scheme_that_panics_costs_its_order_alone() {
    let helper = helper(&config(), 1);
    helper.probe.panic_next();
    assert_refused(&helper.order(0), Code::Internal);
    helper.assert_filled(&helper.order(0), 0);
}

#[test]
fn a_shutdown_waits_for_no_order() {
    let helper = helper(&ServerConfig { drain_seconds: 0, ..config() }, 1);
    helper.probe.hold_orders();
    let waiting = helper.order_later(0);
    // Not by the metrics, which would leave connections of their own to be cut off.
    eventually("an order is begun", || helper.probe.orders() == 1);
    assert_eq!(helper.running.shutdown().unfinished, 1, "the one that waits");
    helper.probe.release_orders();
    assert!(waiting.join().is_err(), "its connection was cut off");
}
