//! Processes that end at any step of the disk, the rollback counter or the network, and start again.

use super::common::boxed;
use super::sim::Fault;
use super::{Scene, cut, is_accident};
use crate::ClientError;
use crate::state::StateError;
use crate::table::{TableBuilder, TableEvent};
use crate::transport::TransportError;
use rand_core::Rng;
use sotto_core::Budget;
use sotto_testkit::rng;
use std::io::ErrorKind;

/// Number of rows of the table.
const ROWS: u64 = 20;

/// How a table is opened.
type OpenTable = fn(&Scene) -> TableBuilder;

/// Opens the table and looks rows up until something fails. Every returned row has to be correct.
fn live(scene: &Scene, open: OpenTable, random: &mut impl Rng) -> Result<(), ClientError> {
    let mut table = open(scene).open()?;
    for _ in 0..random.next_u32() % 5 + 1 {
        let expected: Vec<u64> =
            (0..random.next_u32() % 3 + 1).map(|_| u64::from(random.next_u32()) % ROWS).collect();
        let rows = match table.get_many(&expected) {
            Err(ClientError::Core(sotto_core::Error::Exhausted(_))) => return Ok(()),
            outcome => outcome?,
        };
        let right: Vec<_> = expected.iter().map(|&row| scene.row(row)).collect();
        assert_eq!(rows, right);
    }
    Ok(())
}

/// Runs processes one after the other, each of which fails at a random step of its disk, its
/// rollback counter or its network, while the table moves on.
fn lives(seed: u64, slots: u64, open: OpenTable) -> (usize, usize, usize) {
    let random = &mut rng::seeded(&format!("lives {seed}"));
    let scene = Scene::new(ROWS, slots);
    let (mut resent, mut renewed) = (0, 0);
    for life in 0..6 {
        match random.next_u32() % 4 {
            0 => scene.disk.fuse(u64::from(random.next_u32() % 220), Fault::Death),
            1 => scene.counters.fuse(u64::from(random.next_u32() % 12), Fault::Death),
            2 => {
                scene.server.tamper(cut(random.next_u32() as usize % 5, random.next_u32().is_multiple_of(2)))
            }
            _ => {
                let kinds = [ErrorKind::StorageFull, ErrorKind::Other];
                let kind = kinds[random.next_u32() as usize % 2];
                scene.disk.fuse(u64::from(random.next_u32() % 220), Fault::Once(kind));
            }
        }
        if let Err(error) = live(&scene, open, random) {
            assert!(is_accident(&error), "seed {seed}, life {life}: {error:?}");
        }
        if random.next_u32().is_multiple_of(4) {
            let row = u64::from(random.next_u32()) % ROWS;
            scene.server.with(|world| {
                world.earlier.push((world.catalog.epoch, world.signed()));
                world.change(&[row], life as u8);
            });
        }
        scene.crash(&format!("seed {seed} life {life}"));
    }
    live(&scene, open, random)
        .unwrap_or_else(|error| panic!("seed {seed}: nothing is broken any more, and yet {error:?}"));
    for event in scene.events() {
        match event {
            TableEvent::StateReset(lost) => panic!("seed {seed}: a crash is no reason to start over, {lost}"),
            TableEvent::Resent(requests) => resent += requests,
            TableEvent::HintsRenewed(_) => renewed += 1,
            _ => {}
        }
    }
    (scene.no_slot_twice(), resent, renewed)
}

#[test]
fn a_thousand_lives_and_no_slot_twice() {
    let (mut slots, mut resent) = (0, 0);
    for seed in 0..400 {
        let (more_slots, more_resent, _) = lives(seed, 400, Scene::builder);
        slots += more_slots;
        resent += more_resent;
    }
    assert!(slots > 5_000, "only {slots} slots were used");
    assert!(resent > 100, "only {resent} requests were sent again");
}

/// Crashes of clients with few hints, while the next ones are prepared in the background.
#[test]
fn lives_with_many_clients() {
    let ahead = |scene: &Scene| {
        let server = scene.server.clone();
        scene.builder().low_water(6).preparation_transports(move || vec![boxed(server.transport())])
    };
    let renewed: usize = (0..200).map(|seed| lives(seed, 8, ahead).2).sum();
    assert!(renewed > 200, "only {renewed} clients were renewed");
}

/// A process that ends at each step of a first opening and a lookup, and the next process after it.
#[test]
fn every_step_of_a_first_lookup() {
    let whole = Scene::new(ROWS, 50);
    whole.open().unwrap().get(3).unwrap();
    let steps = whole.disk.steps();
    assert!(steps > 20, "{steps}");
    for step in 0..steps {
        let scene = Scene::new(ROWS, 50);
        scene.disk.fuse(step, Fault::Death);
        let outcome = scene.open().and_then(|mut table| table.get(3));
        // What happens after the row was settled may fail without the row.
        assert!(outcome.is_ok() || scene.disk.is_dead());
        scene.crash(&format!("step {step}"));
        for _ in 0..2 {
            assert_eq!(scene.open().unwrap().get(4).unwrap(), scene.row(4), "after step {step}");
        }
        assert!(
            !scene.events().iter().any(|event| matches!(event, TableEvent::StateReset(_))),
            "step {step}"
        );
        scene.no_slot_twice();
    }
}

/// A client whose state could not be written makes no more queries until the state is opened again.
#[test]
fn nothing_is_sent_that_is_not_on_disk() {
    for (kind, on_counter) in
        [(ErrorKind::StorageFull, false), (ErrorKind::Other, false), (ErrorKind::Other, true)]
    {
        let scene = Scene::new(ROWS, 50);
        let mut table = scene.open().unwrap();
        table.get(1).unwrap();
        let received = scene.server.with(|world| world.log.clone()).len();
        let disk = if on_counter { &scene.counters } else { &scene.disk };
        disk.fuse(0, Fault::Once(kind));
        let error = table.get(2).unwrap_err();
        assert!(
            matches!(error, ClientError::State(StateError::Full { .. } | StateError::Io { .. })),
            "{error:?}"
        );
        let error = table.get(2).unwrap_err();
        assert!(matches!(error, ClientError::State(StateError::Broken)), "{error:?}");
        assert_eq!(
            scene.server.with(|world| world.log.clone()).len(),
            received,
            "something left all the same"
        );
        drop(table);
        assert_eq!(scene.open().unwrap().get(2).unwrap(), scene.row(2));
        scene.no_slot_twice();
    }
}

/// After a lost answer the next lookup first sends the same bytes again, then its own request.
#[test]
fn a_lost_answer_is_asked_for_again_with_the_same_bytes() {
    let scene = Scene::new(ROWS, 50);
    let mut table = scene.open().unwrap();
    scene.server.tamper(cut(0, true));
    table.get(5).unwrap_err();
    scene.server.with(|world| world.tamper = None);
    assert_eq!(table.get(6).unwrap(), scene.row(6));
    let queries: Vec<_> = scene
        .server
        .with(|world| world.log.clone())
        .into_iter()
        .filter(|request| request.path.ends_with("/ask"))
        .collect();
    assert_eq!(queries.len(), 3);
    assert!(queries[0] == queries[1] && queries[1] != queries[2]);
    assert_eq!(scene.events(), [TableEvent::Resent(1)]);
    assert_eq!(scene.no_slot_twice(), 2);
}

/// A snapshot replaces the journal from time to time; both together are the client.
#[test]
fn snapshots_follow_journals() {
    let scene = Scene::new(ROWS, 12_000);
    let mut table = scene.open().unwrap();
    for round in 0..40 {
        table.get_many(&vec![round % ROWS; 60]).unwrap();
    }
    drop(table);
    let hints: Vec<_> =
        scene.disk.names_now().into_iter().filter(|name| name.starts_with("hints-")).collect();
    assert_eq!(hints.len(), 1, "{hints:?}");
    assert_ne!(hints[0], "hints-1", "no snapshot was made");
    let mut table = scene.open().unwrap();
    assert_eq!(table.budget(), Budget::Left(12_000 - 2_400));
    assert_eq!(table.get(7).unwrap(), scene.row(7));
    scene.no_slot_twice();
}

/// A state follows its table over any number of epochs, unsettled requests included.
#[test]
fn epochs_are_followed() {
    let scene = Scene::new(ROWS, 50);
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    scene.server.tamper(cut(0, true));
    table.get(2).unwrap_err();
    scene.server.with(|world| world.tamper = None);
    for rows in [&[1, 2][..], &[2, 3], &[19]] {
        scene.server.with(|world| {
            world.earlier.push((world.catalog.epoch, world.signed()));
            world.change(rows, 0xAB);
        });
    }
    for row in 0..5 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    let events = scene.events();
    assert!(matches!(events[..], [TableEvent::StateAdvanced { .. }, TableEvent::Resent(1)]), "{events:?}");
    drop(table);
    let mut table = scene.open().unwrap();
    assert_eq!(table.get(19).unwrap(), scene.row(19));
    assert_eq!(scene.events(), []);
    scene.no_slot_twice();
}

/// If an epoch in between is no longer served, the state starts over, and an event reports it.
#[test]
fn a_gap_between_epochs_means_starting_over() {
    let scene = Scene::new(ROWS, 50);
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    scene.server.with(|world| world.change(&[1], 1));
    scene.server.with(|world| world.change(&[2], 2));
    assert_eq!(table.get(2).unwrap(), scene.row(2));
    let events = scene.events();
    assert!(
        matches!(events[..], [TableEvent::StateReset(super::super::StateLoss::TooOld { .. })]),
        "{events:?}"
    );
    scene.no_slot_twice();
}

/// A delta that cannot be applied, and then no rows to start over with: the next lookup tries again.
#[test]
fn a_client_that_could_not_follow_is_replaced_once_that_can_be() {
    let scene = Scene::new(ROWS, 50);
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    scene.server.with(|world| {
        world.earlier.push((world.catalog.epoch, world.signed()));
        world.change(&[1], 1);
        world.spoil_delta();
    });
    scene.server.tamper(|request, response| match request.range {
        Some(ref range) if range.end == 8 * ROWS => Err(TransportError::Lost("no rows today".to_owned())),
        _ => Ok(response),
    });
    for _ in 0..2 {
        let error = table.get(2).unwrap_err();
        assert!(matches!(error, ClientError::Transport(_)), "{error:?}");
    }
    scene.server.with(|world| world.tamper = None);
    for row in 0..5 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    let events = scene.events();
    assert!(
        matches!(events[..], [TableEvent::StateReset(super::super::StateLoss::TooOld { .. })]),
        "{events:?}"
    );
    drop(table);
    assert_eq!(scene.open().unwrap().get(6).unwrap(), scene.row(6));
    // One slot was used for the previous epoch, and discarded with its client.
    assert_eq!((scene.events(), scene.no_slot_twice()), (Vec::new(), 8));
}

/// A client without hints is replaced by another one, with other slots, also during crashes.
#[test]
fn a_client_that_is_used_up_is_renewed() {
    let scene = Scene::new(ROWS, 8);
    let mut table = scene.open().unwrap();
    for row in 0..19 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    let renewed =
        scene.events().into_iter().filter(|event| matches!(event, TableEvent::HintsRenewed(_))).count();
    assert_eq!((renewed, table.budget()), (2, Budget::Left(5)));
    assert_eq!(scene.no_slot_twice(), 19);
    table.renew().unwrap();
    assert_eq!(table.budget(), Budget::Left(8));
    let error = table.get_many(&[1; 9]).unwrap_err();
    assert!(matches!(error, ClientError::Core(sotto_core::Error::Exhausted(_))), "{error:?}");
    drop(table);
    for step in (0..400).step_by(7) {
        scene.disk.fuse(step, Fault::Death);
        if let Ok(mut table) = scene.open()
            && let Ok(()) = table.renew()
            && let Ok(row) = table.get(3)
        {
            assert_eq!(row, scene.row(3));
        }
        scene.crash(&format!("renewing {step}"));
        assert_eq!(scene.open().unwrap().get(4).unwrap(), scene.row(4));
        scene.no_slot_twice();
    }
    assert!(!scene.events().iter().any(|event| matches!(event, TableEvent::StateReset(_))));
}
