//! Queries are merged; panic, clients that hang up. Full queues and deadlines are in the tests of the
//! queue.

use crate::harness::http::{connect, head};
use crate::harness::*;
use sotto_server::{BatchConfig, ServerConfig};
use sotto_wire::{ProblemCode, routes};
use std::io::Write;

#[test]
fn asks_that_come_during_a_pass_share_the_next() {
    let world = world(&config());
    world.probe.hold();
    let first = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    let rest: Vec<_> = (1..8).map(|i| (i, world.query_later(&[i]))).collect();
    world.until("sotto_queue_depth", 7.0);
    world.probe.release();
    assert_answers(&first.join().unwrap(), &world.pin, &[0]);
    for (i, query) in rest {
        assert_answers(&query.join().unwrap(), &world.pin, &[i]);
    }
    assert_eq!(world.probe.batches(), [1, 7]);
}

#[test]
fn passes_are_bounded_and_a_large_ask_does_not_hold_up_a_small_one() {
    let batch = BatchConfig { max_queries: 4, ..BatchConfig::default() };
    let world = world(&ServerConfig { batch, ..config() });
    world.probe.hold();
    let first = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    let large = world.query_later(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    world.until("sotto_queue_depth", 1.0);
    let small = world.query_later(&[11]);
    world.until("sotto_queue_depth", 2.0);
    world.probe.release();
    assert_answers(&first.join().unwrap(), &world.pin, &[0]);
    assert_answers(&large.join().unwrap(), &world.pin, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_answers(&small.join().unwrap(), &world.pin, &[11]);
    // Four queries of the large request; then the small request and three more; then the rest.
    assert_eq!(world.probe.batches(), [1, 4, 4, 3]);
}

#[test]
fn a_client_that_hangs_up_costs_no_work() {
    let world = world(&config());
    world.probe.hold();
    let first = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    let frame = world.frame(&[1]);
    let mut gone = connect(world.at);
    let length = frame.len().to_string();
    gone.write_all(head("POST", &routes::query("t"), &[("content-length", &length)]).as_bytes()).unwrap();
    gone.write_all(&frame).unwrap();
    world.until("sotto_queue_depth", 1.0);
    world.until("sotto_connections", 2.0);
    drop(gone);
    world.until("sotto_connections", 1.0);
    world.probe.release();
    assert_answers(&first.join().unwrap(), &world.pin, &[0]);
    world.until("sotto_abandoned_requests_total", 1.0);
    assert_answers(&world.query(&[2]), &world.pin, &[2]);
    assert_eq!(world.probe.batches(), [1, 1]);
}

#[test]
fn a_client_that_hangs_up_during_its_pass_does_no_harm() {
    let world = world(&config());
    world.probe.hold();
    let frame = world.frame(&[1]);
    let mut gone = connect(world.at);
    let length = frame.len().to_string();
    gone.write_all(head("POST", &routes::query("t"), &[("content-length", &length)]).as_bytes()).unwrap();
    gone.write_all(&frame).unwrap();
    world.until("sotto_passes_total", 1.0);
    drop(gone);
    world.until("sotto_connections", 0.0);
    world.probe.release();
    assert_answers(&world.query(&[2]), &world.pin, &[2]);
}

#[test]
fn a_scheme_that_panics_costs_its_pass_and_no_more() {
    let world = world(&config());
    world.probe.panic_next();
    let response = world.query(&[1]);
    assert_refused(&response, ProblemCode::Internal);
    assert!(!response.text().contains("panic"), "a refusal tells nothing of the inside");
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}
