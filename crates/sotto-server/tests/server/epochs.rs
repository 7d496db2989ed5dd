//! Swaps, stale epochs, bad images.

use crate::harness::*;
use sotto_core::Epoch;
use sotto_server::{Server, ServerConfig, StartError};
use sotto_wire::{Code, FrameHeader, SessionId, routes};
use std::sync::atomic::{AtomicBool, Ordering};

fn pin_of(world: &World, epoch: u64) -> FrameHeader {
    FrameHeader { epoch: Epoch(epoch), ..world.pin }
}

fn ask_epoch(world: &World, epoch: u64) -> Response {
    post(world.at, &routes::query("t"), &frame(&pin_of(world, epoch), SessionId::NONE, &[5]))
}

#[test]
fn the_previous_epoch_stays_live_and_the_one_before_goes() {
    let world = world(&config());
    world.source.put(2, EncodedTable::clear(2, &world.probe));
    assert!(world.running.reload());
    assert_answers(&ask_epoch(&world, 1), &pin_of(&world, 1), &[5]);
    assert_answers(&ask_epoch(&world, 2), &pin_of(&world, 2), &[5]);
    assert_eq!(get(world.at, &routes::table("t", Some(Epoch(1)))).status, 200);

    world.source.put(3, EncodedTable::clear(3, &world.probe));
    let told = operate(world.running.admin, "/reload").text();
    assert!(told.contains(r#""live":[3,2]"#) && told.contains(r#""changed":true"#), "{told}");
    assert_refused(&ask_epoch(&world, 1), Code::StaleEpoch);
    assert_refused(&get(world.at, &routes::table("t", Some(Epoch(1)))), Code::EpochExpired);
    assert_answers(&ask_epoch(&world, 2), &pin_of(&world, 2), &[5]);
    assert_answers(&ask_epoch(&world, 3), &pin_of(&world, 3), &[5]);
    assert!(!world.running.reload(), "there is nothing newer");
}

#[test]
fn a_server_that_starts_late_serves_both_newest_epochs() {
    let probe = Probe::new();
    let made = EncodedTable::clear(7, &probe);
    let source = TestSource::with(made.clone());
    source.put(6, EncodedTable::clear(6, &probe));
    source.put(5, EncodedTable::clear(5, &probe));
    let running = start(&config(), &source);
    let world = World { at: running.public, pin: made.pin(), running, probe, source, made };
    assert_answers(&ask_epoch(&world, 7), &pin_of(&world, 7), &[5]);
    assert_answers(&ask_epoch(&world, 6), &pin_of(&world, 6), &[5]);
    assert_refused(&ask_epoch(&world, 5), Code::StaleEpoch);
}

#[test]
fn a_bad_image_is_refused_and_the_old_one_stays() {
    let world = world(&config());
    world.source.put_broken(2, "cut short");
    assert!(!world.running.reload());
    let told = operate(world.running.admin, "/reload").text();
    assert!(told.contains("cut short") && told.contains(r#""live":[1]"#), "{told}");
    assert_answers(&ask_epoch(&world, 1), &pin_of(&world, 1), &[5]);
    world.until("sotto_epoch_load_failures_total", 2.0);

    // Another table, or another epoch, under the name of a new epoch.
    world.source.put(2, EncodedTable { name: "other", ..EncodedTable::clear(2, &world.probe) });
    assert!(!world.running.reload());
    world.source.put(2, EncodedTable::clear(9, &world.probe));
    assert!(!world.running.reload());
    assert_answers(&ask_epoch(&world, 1), &pin_of(&world, 1), &[5]);

    world.source.put(2, EncodedTable::clear(2, &world.probe));
    assert!(world.running.reload(), "a good one is taken after all");
}

#[test]
fn a_damaged_newest_epoch_hides_no_good_one() {
    let probe = Probe::new();
    let made = EncodedTable::clear(3, &probe);
    let source = TestSource::with(made.clone());
    source.put(1, EncodedTable::clear(1, &probe));
    source.put_broken(4, "cut short");
    source.put_broken(2, "cut short");
    let running = start(&config(), &source);
    let world = World { at: running.public, pin: made.pin(), running, probe, source, made };
    assert_answers(&ask_epoch(&world, 3), &pin_of(&world, 3), &[5]);
    assert_answers(&ask_epoch(&world, 1), &pin_of(&world, 1), &[5]);
    // Two new ones at once, of which the newer is damaged.
    world.source.put(5, EncodedTable::clear(5, &world.probe));
    world.source.put_broken(6, "cut short");
    let told = operate(world.running.admin, "/reload").text();
    assert!(told.contains(r#""live":[5,3]"#) && told.contains("cut short"), "{told}");
    assert_answers(&ask_epoch(&world, 5), &pin_of(&world, 5), &[5]);
}

#[test]
fn new_epochs_are_found_without_being_told() {
    let world = world(&ServerConfig { reload_seconds: 1, ..config() });
    world.source.put(2, EncodedTable::clear(2, &world.probe));
    world.until(r#"sotto_live_epoch{table="t",generation="newest"}"#, 2.0);
    assert_answers(&ask_epoch(&world, 2), &pin_of(&world, 2), &[5]);
}

#[test]
fn epochs_are_swapped_while_questions_fly() {
    let world = world(&config());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut epoch = 1;
                while !stop.load(Ordering::Relaxed) {
                    let response = ask_epoch(&world, epoch);
                    match response.status {
                        200 => assert_answers(&response, &pin_of(&world, epoch), &[5]),
                        _ => {
                            assert_refused(&response, Code::StaleEpoch);
                            let problem = sotto_wire::Problem::read(409, &response.body);
                            epoch = problem.epoch.unwrap().0;
                        }
                    }
                }
                assert!(epoch > 1);
            });
        }
        for epoch in 2..30 {
            world.source.put(epoch, EncodedTable::clear(epoch, &world.probe));
            assert!(world.running.reload());
            let before = world.probe.batches().len();
            while world.probe.batches().len() < before + 3 {
                assert_answers(&ask_epoch(&world, epoch), &pin_of(&world, epoch), &[5]);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn an_ask_in_flight_outlives_its_epoch() {
    let world = world(&config());
    world.probe.hold();
    let query = world.query_later(&[5]);
    world.until("sotto_passes_total", 1.0);
    for epoch in [2, 3] {
        world.source.put(epoch, EncodedTable::clear(epoch, &world.probe));
        assert!(world.running.reload());
    }
    world.probe.release();
    assert_answers(&query.join().unwrap(), &world.pin, &[5]);
}

#[test]
fn a_server_does_not_start_without_tables_that_open() {
    let none = Server::start_with(&config(), vec![Box::new(TestSource::default())]);
    assert!(matches!(none, Err(StartError::NoEpoch { .. })));
    let broken = TestSource::default();
    broken.put_broken(1, "cut short");
    let broken = Server::start_with(&config(), vec![Box::new(broken)]);
    assert!(matches!(broken, Err(StartError::Table { .. })));
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let twice = Server::start_with(&config(), vec![Box::new(source.clone()), Box::new(source)]);
    assert!(matches!(twice, Err(StartError::SameName { .. })));
}
