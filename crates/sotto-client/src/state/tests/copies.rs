//! Copies, restored and moved states, damage, and states of something else.

use super::{Scene, is_accident};
use crate::ClientError;
use crate::state::{StateError, StateLoss};
use crate::table::TableEvent;

const ROWS: u64 = 20;

/// Opens the table, looks a row up, and returns the reason why the state was discarded, if it was.
fn lost(scene: &Scene) -> Option<StateLoss> {
    assert_eq!(scene.open().unwrap().get(9).unwrap(), scene.row(9));
    scene.no_slot_twice();
    let mut events = scene.events();
    assert!(events.len() < 2, "{events:?}");
    events.pop().map(|event| match event {
        TableEvent::StateReset(lost) => lost,
        other => panic!("{other:?}"),
    })
}

fn used_scene() -> Scene {
    let scene = Scene::new(ROWS, 50);
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    table.get(2).unwrap();
    scene
}

#[test]
fn an_older_copy_is_noticed_by_its_counter() {
    let scene = used_scene();
    let copy = scene.disk.copy();
    assert_eq!(lost(&scene), None);
    scene.disk.restore(&copy);
    let found = lost(&scene);
    assert_eq!(found, Some(StateLoss::RolledBack { state: 3, counter: 4 }));
    assert_eq!(lost(&scene), None, "the new one is good");
}

#[test]
fn an_older_counter_is_noticed_by_its_state() {
    let scene = used_scene();
    let copy = scene.counters.copy();
    assert_eq!(lost(&scene), None);
    scene.open().unwrap().get(3).unwrap();
    scene.counters.restore(&copy);
    assert_eq!(lost(&scene), Some(StateLoss::RolledBack { state: 5, counter: 3 }));
}

#[test]
fn a_missing_counter_is_noticed() {
    let scene = used_scene();
    let counter = scene.counters.names_now().pop().unwrap();
    scene.counters.delete(&counter);
    assert_eq!(lost(&scene), Some(StateLoss::NoRollbackCounter));
}

#[test]
fn a_copied_folder_is_noticed_and_the_original_goes_on() {
    let scene = used_scene();
    let copy = Scene { disk: scene.disk.copy(), events: Default::default(), ..scene.clone() };
    copy.disk.move_files();
    assert!(matches!(lost(&copy), Some(StateLoss::FilesMoved { .. })));
    assert_eq!(lost(&scene), None, "a copy costs the original nothing");
    assert_eq!(lost(&copy), None);
}

#[test]
fn a_cloned_machine_is_noticed() {
    let scene = used_scene();
    scene.disk.rename_machine("elsewhere");
    assert_eq!(lost(&scene), Some(StateLoss::FilesMoved("the machine")));
}

/// A flipped bit anywhere in a snapshot, a truncated snapshot, and a missing one.
#[test]
fn a_damaged_snapshot_is_thrown_away() {
    let scene = used_scene();
    let name = scene.disk.names_now().into_iter().find(|name| name.starts_with("hints-")).unwrap();
    let (disk, counters) = (scene.disk.copy(), scene.counters.copy());
    let again = || {
        scene.disk.restore(&disk);
        scene.counters.restore(&counters);
    };
    let mut len = 0;
    scene.disk.damage(&name, |bytes| len = bytes.len());
    for at in 0..len {
        again();
        scene.disk.damage(&name, |bytes| bytes[at] ^= 0x40);
        assert!(matches!(lost(&scene), Some(StateLoss::Damaged { .. })), "bit {at}");
        again();
        scene.disk.damage(&name, |bytes| bytes.truncate(at));
        assert!(matches!(lost(&scene), Some(StateLoss::Damaged { .. })), "cut at {at}");
    }
    again();
    scene.disk.damage(&name, |bytes| bytes.push(0));
    assert!(matches!(lost(&scene), Some(StateLoss::Damaged { .. })));
    again();
    scene.disk.delete(&name);
    assert!(matches!(lost(&scene), Some(StateLoss::Damaged { .. })));
}

/// Damage anywhere in the state's file: the state is used, discarded or refused, without a panic and
/// without a slot in two requests.
#[test]
fn a_damaged_file_does_no_harm() {
    let scene = used_scene();
    // An unsettled request, so that there is one to damage.
    let mut table = scene.open().unwrap();
    scene.server.tamper(super::cut(0, true));
    table.get(5).unwrap_err();
    drop(table);
    scene.server.with(|world| world.tamper = None);
    let (disk, counters) = (scene.disk.copy(), scene.counters.copy());
    let mut len = 0;
    scene.disk.damage("state", |bytes| len = bytes.len());
    let (mut good, mut refused, mut started) = (0, 0, 0);
    let flips = (0..len).step_by(13).map(|at| (at, false));
    for (at, cut) in flips.chain((0..len).step_by(101).map(|at| (at, true))) {
        scene.disk.restore(&disk);
        scene.counters.restore(&counters);
        // The server forgets its requests: two runs that start from one state may use the same slot.
        scene.server.with(|world| world.log.truncate(8));
        scene.disk.damage("state", |bytes| if cut { bytes.truncate(at) } else { bytes[at] ^= 0x11 });
        match scene.open().and_then(|mut table| table.get(4)) {
            Ok(row) => {
                assert_eq!(row, scene.row(4));
                good += 1;
            }
            Err(ClientError::State(StateError::Unusable { .. } | StateError::WrongState { .. })) => {
                refused += 1
            }
            Err(error) => panic!("byte {at}, cut {cut}: {error:?}"),
        }
        scene.no_slot_twice();
        started += scene.events().iter().filter(|event| matches!(event, TableEvent::StateReset(_))).count();
    }
    assert!(good > 0 && refused + started > 0, "{good} good, {refused} refused, {started} started over");
}

/// The file of an earlier format stays as it is.
#[test]
fn a_state_of_an_earlier_format_is_refused_and_kept() {
    let scene = used_scene();
    scene.disk.put("state.redb", b"a database");
    let error = scene.open().map(drop).unwrap_err();
    assert!(matches!(error, ClientError::State(StateError::WrongState { what: "format", .. })), "{error:?}");
    assert_eq!(scene.disk.bytes("state.redb").unwrap(), b"a database");
    scene.disk.delete("state.redb");
    assert_eq!(lost(&scene), None);
}

#[test]
fn a_state_of_another_publisher_is_refused_and_kept() {
    let scene = used_scene();
    let key = scene.server.with(|world| {
        let other = sotto_catalog::SigningKey::generate(&mut sotto_testkit::rng::seeded("another publisher"));
        std::mem::replace(&mut world.key, other)
    });
    let error = scene.open().map(drop).unwrap_err();
    assert!(
        matches!(error, ClientError::State(StateError::WrongState { what: "publisher", .. })),
        "{error:?}"
    );
    assert!(is_accident(&error));
    scene.server.with(|world| world.key = key);
    assert_eq!(lost(&scene), None, "nothing was overwritten");
}

#[test]
fn a_state_under_other_parameters_is_refused() {
    let mut scene = used_scene();
    let other = Scene::new(ROWS + 1, 50);
    other.server.with(|world| {
        let key = scene.server.with(|world| world.key.to_file());
        world.key = sotto_catalog::SigningKey::from_file(&key).unwrap();
        world.catalog.epoch = sotto_core::Epoch(2);
    });
    scene.server = other.server;
    let error = scene.open().map(drop).unwrap_err();
    assert!(
        matches!(error, ClientError::State(StateError::WrongState { what: "digest of parameters", .. })),
        "{error:?}"
    );
}

/// A row that the caller's check refuses is unreadable and forgotten, and later requests do not show
/// it.
#[test]
fn rows_that_do_not_prove_themselves_are_rejected() {
    let scene = used_scene();
    scene.events();
    let mut table = scene.builder().check_rows(|row, _| row != 7).open().unwrap();
    let error = table.get_many(&[3, 7]).unwrap_err();
    assert!(matches!(error, ClientError::Core(sotto_core::Error::Unreadable)), "{error:?}");
    assert_eq!(table.get(3).unwrap(), scene.row(3));
    drop(table);
    assert_eq!(lost(&scene), None, "a rejected row is settled");
    let queries = scene
        .server
        .with(|world| world.log.clone())
        .into_iter()
        .filter(|request| request.path.ends_with("/ask"));
    assert_eq!(queries.map(|query| query.body.len()).collect::<std::collections::BTreeSet<_>>().len(), 2);
}
