//! Tests of the next client, prepared in the background: lookups go on meanwhile, a crash costs
//! little, and no slot is used twice.

use super::common::{self, boxed};
use super::gate::{Gate, Gated, Leaping};
use super::sim::Fault;
use super::{Scene, drip, is_accident};
use crate::state::StateError;
use crate::state::preparation_file::FILE;
use crate::table::pacing::Clock;
use crate::table::{Stage, Table, TableBuilder, TableEvent};
use crate::transport::Response;
use crate::{ClientError, Result};
use sotto_core::{Budget, Epoch, Error};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Seven chunks of rows.
const ROWS: u64 = 400;
const WIDTH: usize = 1024;
/// Number of queries of a client, and number left at which the next client is begun.
const SLOTS: u64 = 20;
const LOW: u64 = 10;

/// A table whose rows arrive chunk by chunk, and a gate for those that arrive in the background.
fn scene() -> (Scene, Gate) {
    let scene = Scene::of(ROWS, WIDTH, SLOTS);
    scene.server.tamper(drip(usize::MAX));
    (scene, Gate::default())
}

fn builder(scene: &Scene, gate: &Gate) -> TableBuilder {
    let (server, gate) = (scene.server.clone(), gate.clone());
    let make = move || vec![boxed(Gated(server.transport(), gate.clone()))];
    scene.builder().low_water(LOW).preparation_transports(make).clock(Leaping::default())
}

/// Looks rows up until the next client is begun.
fn run_low(scene: &Scene, table: &mut Table) {
    while !table.is_preparing() {
        assert_eq!(table.get(3).unwrap(), scene.row(3));
    }
}

/// A table whose next client has some of its rows, and waits for others.
fn under_way() -> (Scene, Gate, Table) {
    let (scene, gate) = scene();
    let mut table = builder(&scene, &gate).open().unwrap();
    run_low(&scene, &mut table);
    gate.open(3);
    gate.wait(4);
    (scene, gate, table)
}

/// Waits until the next client is in use, or the disk has failed.
fn wait(scene: &Scene, table: &mut Table) -> Result<()> {
    while table.is_preparing() && !scene.disk.is_dead() {
        table.adopt_prepared()?;
        thread::yield_now();
    }
    Ok(())
}

#[test]
fn lookups_go_on_while_the_next_client_is_prepared() {
    let (scene, gate) = scene();
    let mut table = builder(&scene, &gate).open().unwrap();
    run_low(&scene, &mut table);
    assert_eq!(table.budget(), Budget::Left(LOW - 1));
    gate.open(3);
    gate.wait(4);
    for row in 0..LOW - 2 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
        assert!(table.is_preparing());
    }
    assert_eq!((table.budget(), scene.events()), (Budget::Left(1), vec![]));
    let asked = scene.no_slot_twice();
    gate.open(100);
    wait(&scene, &mut table).unwrap();
    assert_eq!(scene.events(), [TableEvent::HintsRenewed(Budget::Left(SLOTS))]);
    assert_eq!(table.get(5).unwrap(), scene.row(5));
    assert_eq!(table.budget(), Budget::Left(SLOTS - 1));
    assert_eq!(scene.no_slot_twice(), asked + 1, "the new client has a key of its own");
    let names = scene.disk.names_now();
    assert_eq!(names.iter().filter(|name| name.starts_with("hints-")).count(), 1, "{names:?}");
    assert!(!names.iter().any(|name| name == FILE), "{names:?}");
    drop(table);
    assert_eq!(scene.open().unwrap().budget(), Budget::Left(SLOTS - 1));
    assert_eq!(scene.events(), []);
}

#[test]
fn hints_that_end_too_early_are_waited_for_or_refused() {
    let (scene, gate) = scene();
    let mut table = builder(&scene, &gate).fail_when_exhausted().open().unwrap();
    run_low(&scene, &mut table);
    gate.wait(1);
    (0..LOW - 1).for_each(|row| drop(table.get(row).unwrap()));
    let error = table.get(1).unwrap_err();
    assert!(matches!(error, ClientError::Core(Error::Exhausted(Budget::Left(0)))), "{error:?}");
    gate.open(100);
    wait(&scene, &mut table).unwrap();
    assert_eq!(table.get(1).unwrap(), scene.row(1));
    drop(table);

    let gate = Gate::default();
    let mut table = builder(&scene, &gate).open().unwrap();
    run_low(&scene, &mut table);
    gate.open(4);
    gate.wait(5);
    scene.server.received();
    (0..LOW - 1).for_each(|row| drop(table.get(row).unwrap()));
    let opens = thread::spawn(move || gate.open(100));
    assert_eq!(table.get(7).unwrap(), scene.row(7));
    opens.join().unwrap();
    let parts = scene.server.received().into_iter().filter(|request| request.range.is_some()).count();
    assert!(parts <= 4, "{parts} parts of 7 came after the first four");
    assert_eq!(table.budget(), Budget::Left(SLOTS - 1));
}

#[test]
fn a_process_that_dies_leaves_the_next_client_half_prepared() {
    let (scene, gate) = scene();
    let mut table = builder(&scene, &gate).open().unwrap();
    run_low(&scene, &mut table);
    gate.open(4);
    gate.wait(5);
    scene.disk.fuse(0, Fault::Death);
    drop(table);
    scene.crash("half a pass");
    let half = scene.disk.bytes(FILE).unwrap();
    gate.open(100);

    scene.server.tamper(drip(usize::MAX));
    scene.server.received();
    let mut table = builder(&scene, &Gate::default()).open().unwrap();
    assert!(table.is_preparing(), "hints are low from the start");
    assert_eq!(table.get(2).unwrap(), scene.row(2));
    drop(table);
    let open = Gate::default();
    open.open(100);
    let mut table = builder(&scene, &open).open().unwrap();
    wait(&scene, &mut table).unwrap();
    let ranges = scene.server.received().into_iter().filter_map(|request| request.range);
    assert!(ranges.map(|range| range.start).all(|start| start >= 3 << 16));
    let events = scene.events();
    assert_eq!(events.last(), Some(&TableEvent::HintsRenewed(Budget::Left(SLOTS))));
    assert!(events.contains(&TableEvent::PreparationResumed(Epoch(1))), "{events:?}");
    table.get(4).unwrap();
    drop(table);

    // A backup of its file would restore a key that has made queries.
    scene.disk.put(FILE, &half);
    let mut table = builder(&scene, &open).low_water(SLOTS).open().unwrap();
    wait(&scene, &mut table).unwrap();
    let events = scene.events();
    assert!(
        matches!(&events[..], [TableEvent::PreparationRestarted(_), TableEvent::HintsRenewed(_)]),
        "{events:?}"
    );
    table.get(5).unwrap();
    scene.no_slot_twice();
}

#[test]
fn a_pause_writes_down_what_there_is() {
    let (scene, gate) = scene();
    let mut table = builder(&scene, &gate).open().unwrap();
    run_low(&scene, &mut table);
    gate.wait(1);
    assert!(!table.pause(Duration::ZERO).unwrap(), "the network holds it");
    assert!(!table.is_preparing() && table.pause(Duration::ZERO).unwrap());
    gate.open(100);

    table.get(1).unwrap();
    while table.is_preparing() {
        assert!(table.pause(Duration::MAX).unwrap());
    }
    let is_whole = table.budget() == Budget::Left(SLOTS);
    assert!(is_whole || scene.disk.bytes(FILE).is_some());
}

/// A process that ends at each step of a preparation and of the switch to its client.
#[test]
fn every_step_of_a_pass() {
    let (whole, open) = scene();
    open.open(u64::MAX / 2);
    let mut table = builder(&whole, &open).open().unwrap();
    run_low(&whole, &mut table);
    let first = whole.disk.steps();
    wait(&whole, &mut table).unwrap();
    let steps = whole.disk.steps() - first;
    assert!(steps > 60, "{steps}");
    let (mut resumed, mut renewed) = (0, 0);
    for step in (0..steps + 5).step_by(2) {
        let (scene, _) = scene();
        let mut table = builder(&scene, &open).open().unwrap();
        (0..SLOTS - LOW).for_each(|row| drop(table.get(row).unwrap()));
        scene.disk.fuse(step, Fault::Death);
        let died = table.get(1).and_then(|_| wait(&scene, &mut table)).and_then(|()| table.get(2));
        if let Err(error) = died {
            assert!(is_accident(&error), "step {step}: {error:?}");
        }
        drop(table);
        scene.crash(&format!("pass {step}"));
        scene.server.tamper(drip(usize::MAX));
        scene.events();
        let mut table = builder(&scene, &open).open().unwrap();
        wait(&scene, &mut table).unwrap();
        for row in 0..5 {
            assert_eq!(table.get(row).unwrap(), scene.row(row), "after step {step}");
        }
        let events = scene.events();
        assert!(!events.iter().any(|event| matches!(event, TableEvent::StateReset(_))), "{events:?}");
        resumed += events.iter().filter(|event| matches!(event, TableEvent::PreparationResumed(_))).count();
        renewed += events.iter().filter(|event| matches!(event, TableEvent::HintsRenewed(_))).count();
        scene.no_slot_twice();
    }
    assert!(resumed > 5 && renewed > 5, "{resumed} went on, {renewed} were renewed after a crash");
}

#[test]
fn a_pass_brings_no_more_than_it_may() {
    let (scene, gate) = scene();
    gate.open(100);
    let clock = Leaping::default();
    let received: Arc<Mutex<Vec<(u64, Duration)>>> = Arc::default();
    let (sink, now) = (Arc::clone(&received), clock.clone());
    let mut table = builder(&scene, &gate)
        .preparation_rate(10_000)
        .clock(clock.clone())
        .progress(move |at| {
            if at.stage == Stage::NextClient {
                assert_eq!(at.total, ROWS * WIDTH as u64);
                sink.lock().unwrap().push((at.done, now.now()));
            }
        })
        .open()
        .unwrap();
    run_low(&scene, &mut table);
    wait(&scene, &mut table).unwrap();
    let received = received.lock().unwrap().clone();
    assert_eq!(received.last().map(|(done, _)| *done), Some(ROWS * WIDTH as u64));
    for (done, at) in received {
        let least = Duration::from_secs_f64(done as f64 / 10_000.0);
        assert!(at >= least, "{done} bytes at {at:?}");
    }
}

#[test]
fn a_table_that_moves_on_takes_the_next_client_along() {
    let (scene, gate, mut table) = under_way();
    scene.server.with(|world| {
        world.earlier.push((world.catalog.epoch, world.signed()));
        world.change(&[2, 399], 0xCD);
    });
    gate.open(100);
    wait(&scene, &mut table).unwrap();
    assert_eq!(table.catalog().epoch, Epoch(2));
    assert_eq!(scene.events(), [TableEvent::HintsRenewed(Budget::Left(SLOTS))]);
    for row in [2, 3, 399] {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    assert_eq!(scene.events(), []);
    scene.no_slot_twice();
}

#[test]
fn a_pass_whose_epoch_is_gone_begins_anew_and_says_so() {
    let (scene, gate, mut table) = under_way();
    scene.server.with(|world| {
        world.artifacts.clear();
        world.change(&[2], 0xCD);
    });
    gate.open(100);
    wait(&scene, &mut table).unwrap();
    let events = scene.events();
    assert!(
        matches!(&events[..], [TableEvent::PreparationRestarted(why), TableEvent::HintsRenewed(_)] if why.contains("epoch 1")),
        "{events:?}"
    );
    assert_eq!(table.get(2).unwrap(), scene.row(2));
    scene.no_slot_twice();
}

#[test]
fn a_pass_that_breaks_off_goes_on() {
    let (scene, gate) = scene();
    gate.open(100);
    let mut table = builder(&scene, &gate).open().unwrap();
    let (mut came, mut drip) = (0, drip(usize::MAX));
    scene.server.tamper(move |request, response| {
        came += u32::from(request.range.is_some());
        match request.range.is_some() && came.is_multiple_of(3) {
            true => Ok(Response::new(500, b"{}".to_vec())),
            false => drip(request, response),
        }
    });
    run_low(&scene, &mut table);
    wait(&scene, &mut table).unwrap();
    let events = scene.events();
    let held = events.iter().filter(|event| matches!(event, TableEvent::PreparationInterrupted(_))).count();
    assert!(held >= 2 && events.len() == held + 1, "{events:?}");
    assert_eq!(table.get(9).unwrap(), scene.row(9));
}

/// The lock belongs to the table and not to the thread: it is released with the table.
#[test]
fn one_process_has_a_state_at_a_time() {
    let (scene, gate) = scene();
    let (state, counters) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = || {
        let (server, gate) = (scene.server.clone(), gate.clone());
        let table = common::Server::table(&scene.server).low_water(SLOTS);
        let table = table.state_dir(state.path()).rollback_dir(counters.path());
        let table = table.max_wait(Duration::ZERO);
        table.preparation_transports(move || vec![boxed(Gated(server.transport(), gate.clone()))]).open()
    };
    let mut table = open().unwrap();
    table.get(1).unwrap();
    assert!(table.is_preparing());
    gate.wait(1);
    let busy = open().unwrap_err();
    assert!(matches!(busy, ClientError::State(StateError::Busy { .. })), "{busy:?}");
    drop(table);
    assert_eq!(open().unwrap().get(2).unwrap(), scene.row(2));
    gate.open(100);
}

/// Twenty threads that start at the same time wait for each other, and none fails.
#[test]
fn twenty_at_once_take_turns() {
    let (scene, _gate) = scene();
    let (state, counters) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::thread::scope(|threads| {
        for row in 0..20 {
            let (scene, state, counters) = (&scene, state.path(), counters.path());
            threads.spawn(move || {
                let table = common::Server::table(&scene.server).low_water(0);
                let mut table = table.state_dir(state).rollback_dir(counters).open().unwrap();
                assert_eq!(table.get(row % SLOTS).unwrap(), scene.row(row % SLOTS));
            });
        }
    });
    assert!(scene.no_slot_twice() >= 20);
}

/// The next client of a client in memory is in memory too.
#[test]
fn a_client_in_memory_is_renewed_too() {
    let (scene, gate) = scene();
    gate.open(1000);
    let server = scene.server.clone();
    let mut table = scene
        .server
        .table()
        .state_in_memory()
        .preparation_transports(move || vec![boxed(Gated(server.transport(), gate.clone()))])
        .open()
        .unwrap();
    for row in 0..SLOTS * 3 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    assert_eq!(scene.no_slot_twice() as u64, SLOTS * 3);
}
