//! The share of one client in a server that others query too.

use crate::harness::http::post_as;
use crate::harness::*;
use sotto_server::{BatchConfig, ScanConfig, ServerConfig};
use sotto_wire::{ProblemCode, routes};
use std::time::Duration;

/// A client other than that of all other tests.
const OTHER: u8 = 9;

impl World {
    fn query_as(&self, client: u8, records: &[u64]) -> Response {
        post_as(client, self.at, &routes::query("t"), &self.frame(records))
    }
}

#[test]
fn one_clients_flood_keeps_no_other_out() {
    let batch = BatchConfig { max_queries: 4, ..BatchConfig::default() };
    let world = world(&ServerConfig { max_queue: 20, batch, ..config() });
    world.probe.hold();
    let mut flood = vec![world.query_later(&[0])];
    world.until("sotto_passes_total", 1.0);
    flood.extend((0..20).map(|_| world.query_later(&[1, 2, 3, 4, 5, 6, 7, 8])));
    world.until("sotto_queue_depth", 20.0);
    assert_refused(&world.query(&[0]), ProblemCode::Busy);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| world.query_as(OTHER, &[7]));
        world.until("sotto_queue_evictions_total", 1.0);
        world.until("sotto_queue_depth", 20.0);
        world.probe.release();
        assert_answers(&other.join().unwrap(), &world.pin, &[7]);
    });
    let outcomes: Vec<_> = flood.into_iter().map(|query| query.join().unwrap().status).collect();
    assert_eq!(outcomes.iter().filter(|status| **status == 429).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 20, "{outcomes:?}");
    // The query of the other client shares passes with the flood: no pass is shortened for it.
    assert_eq!(world.probe.batches().iter().sum::<usize>(), 1 + 19 * 8 + 1);
    assert_eq!(world.probe.batches().len(), 1 + (19 * 8 + 1usize).div_ceil(4));
}

#[test]
fn a_client_that_has_had_its_time_waits_and_no_other() {
    let scan_budget =
        ScanConfig { percent_per_client: 1, burst_seconds_per_client: 1, ..ScanConfig::default() };
    let world = world(&ServerConfig { scan_budget, ..config() });
    world.probe.hold();
    let long = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    std::thread::sleep(Duration::from_millis(1300));
    world.probe.release();
    assert_answers(&long.join().unwrap(), &world.pin, &[0]);
    let refused = world.query(&[0]);
    assert_refused(&refused, ProblemCode::Busy);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((20..400).contains(&wait), "{wait} seconds");
    assert_answers(&world.query_as(OTHER, &[3]), &world.pin, &[3]);
    assert_eq!(world.metric("sotto_budget_refusals_total{scope=\"client\"}"), 1.0);
    assert!(world.metric("sotto_scan_seconds_total") > 1.2);
}

#[test]
fn all_clients_together_have_so_much_time() {
    let scan_budget = ScanConfig { percent: 10, burst_seconds: 1, ..ScanConfig::default() };
    let world = world(&ServerConfig { scan_budget, ..config() });
    world.probe.hold();
    let long = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    std::thread::sleep(Duration::from_millis(1100));
    world.probe.release();
    assert_eq!(long.join().unwrap().status, 200);
    assert_refused(&world.query_as(OTHER, &[3]), ProblemCode::Busy);
    assert_eq!(world.metric("sotto_budget_refusals_total{scope=\"all\"}"), 1.0);
    eventually("there is more", || world.query_as(OTHER, &[3]).status == 200);
}
