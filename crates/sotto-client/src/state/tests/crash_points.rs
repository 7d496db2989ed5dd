//! Preparations that a crash interrupts, and preparation files that return when they must not be
//! used.

use super::sim::Fault;
use super::{Scene, drip, is_accident};
use crate::state::preparation_file::{FILE, PreparationHeader};
use crate::table::TableEvent;
use sotto_core::{Budget, Epoch};

/// Seven chunks of rows.
const ROWS: u64 = 400;
const WIDTH: usize = 1024;

fn scene() -> Scene {
    Scene::of(ROWS, WIDTH, 50)
}

/// Interrupts a first preparation after `chunks` chunks, and returns its file.
fn half(scene: &Scene, chunks: usize) -> Vec<u8> {
    scene.server.tamper(drip(chunks));
    assert!(is_accident(&scene.open().unwrap_err()));
    scene.crash("half");
    assert_eq!(scene.events(), []);
    scene.disk.bytes(FILE).unwrap()
}

/// The starts of the ranges that were requested from the server.
fn starts(scene: &Scene) -> Vec<u64> {
    scene.server.received().into_iter().filter_map(|request| Some(request.range?.start)).collect()
}

/// Looks a row up, and returns the events.
fn look(scene: &Scene) -> Vec<TableEvent> {
    assert_eq!(scene.open().unwrap().get(9).unwrap(), scene.row(9));
    scene.events()
}

#[test]
fn a_first_preparation_goes_on_after_a_crash() {
    let scene = scene();
    half(&scene, 3);
    starts(&scene);
    assert_eq!(look(&scene), [TableEvent::PreparationResumed(Epoch(1))]);
    assert_eq!(starts(&scene)[0], 3 << 16);
    assert_eq!(scene.disk.bytes(FILE), None, "a client that is whole is not half prepared");
    assert_eq!(look(&scene), []);
}

/// The file after each chunk, with any byte changed, and truncated anywhere.
#[test]
fn damage_is_noticed_and_costs_the_preparation() {
    let scene = scene();
    let bytes = half(&scene, 2);
    let (disk, counters) = (scene.disk.copy(), scene.counters.copy());
    let again = |bytes: &[u8]| {
        scene.disk.restore(&disk);
        scene.counters.restore(&counters);
        scene.disk.put(FILE, bytes);
    };
    for at in (0..bytes.len()).step_by(41).chain(bytes.len() - 32..bytes.len()) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        for damaged in [&flipped[..], &bytes[..at]] {
            again(damaged);
            let events = look(&scene);
            assert!(matches!(&events[..], [TableEvent::PreparationRestarted(_)]), "byte {at}: {events:?}");
        }
    }
    again(&[&bytes[..], &[0]].concat());
    assert!(matches!(&look(&scene)[..], [TableEvent::PreparationRestarted(_)]));
    again(&bytes);
    assert_eq!(look(&scene), [TableEvent::PreparationResumed(Epoch(1))]);
}

/// The preparation file of a client that is or was in use is refused: its key would use slots again.
#[test]
fn an_old_checkpoint_is_refused_however_it_comes_back() {
    let scene = scene();
    let old = half(&scene, 3);
    assert_eq!(look(&scene), [TableEvent::PreparationResumed(Epoch(1))]);
    scene.disk.put(FILE, &old);
    let events = look(&scene);
    assert!(
        matches!(&events[..], [TableEvent::PreparationRestarted(why)] if why.contains("after 0 clients")),
        "{events:?}"
    );
    assert_eq!(scene.disk.bytes(FILE), None);
    // While the table is open, too.
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    scene.disk.put(FILE, &old);
    table.renew().unwrap();
    table.get(2).unwrap();
    assert_eq!(table.budget(), Budget::Left(49));
    assert_eq!(scene.disk.bytes(FILE), None);
    drop(table);
    // On a machine that was cloned during the preparation, the copy starts over.
    let other = Scene { disk: scene.disk.copy(), events: Default::default(), ..scene.clone() };
    other.disk.put(FILE, &old);
    other.disk.move_files();
    let events = look(&other);
    assert!(matches!(&events[..], [TableEvent::StateReset(_)]), "{events:?}");
    other.disk.put(FILE, &old);
    let events = look(&other);
    assert!(
        matches!(&events[..], [TableEvent::PreparationRestarted(why)] if why.contains("another state")),
        "{events:?}"
    );
    scene.no_slot_twice();
}

#[test]
fn an_epoch_that_is_over_ends_what_was_half_prepared() {
    let scene = scene();
    half(&scene, 3);
    scene.server.with(|world| world.change(&[1], 7));
    let events = look(&scene);
    let [TableEvent::PreparationResumed(Epoch(1)), TableEvent::PreparationRestarted(why)] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert!(why.contains("epoch 1"), "{events:?}");
    assert_eq!(look(&scene), []);
}

/// A process that ends at each step of a first preparation, and a second one at each step after.
#[test]
fn every_step_of_a_preparation_in_parts() {
    let whole = scene();
    whole.server.tamper(drip(9));
    whole.open().unwrap();
    let steps = whole.disk.steps();
    let mut resumed = 0;
    for step in 0..steps {
        let scene = scene();
        for _ in 0..2 {
            scene.server.tamper(drip(9));
            scene.disk.fuse(step, Fault::Death);
            assert!(scene.open().is_ok() || scene.disk.is_dead());
            scene.crash(&format!("step {step}"));
        }
        assert_eq!(scene.open().unwrap().get(4).unwrap(), scene.row(4), "after step {step}");
        let events = scene.events();
        assert!(!events.iter().any(|event| matches!(event, TableEvent::StateReset(_))), "{events:?}");
        resumed += events.iter().filter(|event| matches!(event, TableEvent::PreparationResumed(_))).count();
        scene.no_slot_twice();
    }
    assert!(resumed as u64 > steps / 4, "{resumed} of {steps}");
}

#[test]
fn heads_survive() {
    let head = PreparationHeader {
        id: *b"0123456789abcdef0123456789abcdef",
        clients: 3,
        epoch: Epoch(9),
        params: [7; 32].into(),
        rows: [8; 32].into(),
    };
    let bytes = head.encode();
    assert_eq!(bytes.len(), PreparationHeader::BYTES);
    assert_eq!(PreparationHeader::decode(&bytes), Some(head));
    for cut in 0..bytes.len() {
        assert_eq!(PreparationHeader::decode(&bytes[..cut]), None, "cut at {cut}");
    }
}
