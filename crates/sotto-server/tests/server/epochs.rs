//! Swaps of epochs, stale epochs, bad images; a table in parts: the same answers as of the whole table,
//! and none with a part missing.

use crate::harness::*;
use sotto_core::{Epoch, PartIndex, RecordIndex, SchemeEntry};
use sotto_db::TableDir;
use sotto_db::parts::{cut_image, part_path};
use sotto_db::progress::silent;
use sotto_server::{RunningServer, Server, ServerConfig, StartError, TableConfig, TableStatus};
use sotto_testkit::rng::seeded;
use sotto_wire::{FrameHeader, ProblemCode, SessionId, answer, query, routes};
use std::fs::{self, File};
use std::path::Path;
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
    let report = operate(world.running.admin, "/reload").text();
    assert!(report.contains(r#""live":[3,2]"#) && report.contains(r#""changed":true"#), "{report}");
    assert_refused(&ask_epoch(&world, 1), ProblemCode::StaleEpoch);
    assert_refused(&get(world.at, &routes::table("t", Some(Epoch(1)))), ProblemCode::EpochExpired);
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
    let world = world_of(&config(), source, made);
    assert_answers(&ask_epoch(&world, 7), &pin_of(&world, 7), &[5]);
    assert_answers(&ask_epoch(&world, 6), &pin_of(&world, 6), &[5]);
    assert_refused(&ask_epoch(&world, 5), ProblemCode::StaleEpoch);
}

#[test]
fn a_bad_image_is_refused_and_the_old_one_stays() {
    let world = world(&config());
    world.source.put_broken(2, "cut short");
    assert!(!world.running.reload());
    let report = operate(world.running.admin, "/reload").text();
    assert!(report.contains("cut short") && report.contains(r#""live":[1]"#), "{report}");
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
    let world = world_of(&config(), source, made);
    assert_answers(&ask_epoch(&world, 3), &pin_of(&world, 3), &[5]);
    assert_answers(&ask_epoch(&world, 1), &pin_of(&world, 1), &[5]);
    // Two new ones at once, of which the newer is damaged.
    world.source.put(5, EncodedTable::clear(5, &world.probe));
    world.source.put_broken(6, "cut short");
    let report = operate(world.running.admin, "/reload").text();
    assert!(report.contains(r#""live":[5,3]"#) && report.contains("cut short"), "{report}");
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
                            assert_refused(&response, ProblemCode::StaleEpoch);
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

const PARTS: u32 = 3;
const ROWS: u64 = 4096;
const WIDTH: usize = 1024;

fn encode(scheme: &SchemeEntry, dir: &Path) {
    let rows: Vec<u8> = (0..ROWS as usize * WIDTH).map(|i| (i * 31 / 7) as u8).collect();
    encode_rows(scheme, dir, "real", &rows, WIDTH);
}

/// Cuts an epoch into parts, and removes the whole image.
fn cut(scheme: &SchemeEntry, dir: &Path, epoch: u64) {
    let dir = TableDir::open(dir).unwrap();
    let image = dir.open_epoch(Epoch(epoch)).unwrap();
    cut_image(scheme, &image, &dir.lock().unwrap(), PARTS, &silent).unwrap();
    fs::remove_file(dir.image_path(Epoch(epoch))).unwrap();
}

fn serve(dir: &Path) -> RunningServer {
    Server::start(&ServerConfig { tables: vec![TableConfig::dir(dir)], ..config() }).unwrap()
}

#[test]
fn answers_have_the_bytes_of_the_whole_table() {
    for name in ["simplepir/1", "fspiral/1"] {
        let scheme = sotto_registry::find(name).unwrap();
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        encode(scheme, whole.path());
        let image = "epoch-00000001.sotto";
        fs::copy(whole.path().join(image), parts.path().join(image)).unwrap();
        cut(scheme, parts.path(), 1);
        let running = [serve(whole.path()), serve(parts.path())];
        let mut client = Asker::new(scheme, &running[1]);
        // There is one session for all parts: keys are registered once.
        let sessions = running.each_ref().map(|running| client.session(running));
        for (rows, record) in [(1, 0), (1, 7), (3, 1)] {
            let query: Vec<_> = (0..rows)
                .map(|i| client.client.query(RecordIndex(record + i), &mut seeded("query")).unwrap())
                .collect();
            let queries: Vec<Vec<u8>> = query.iter().flat_map(|(queries, _)| queries.clone()).collect();
            let [a, b] = [0, 1].map(|at| {
                let frame = query::encode(&client.pin, &sessions[at], &queries).unwrap();
                let response = post(running[at].public, &routes::query("real"), &frame);
                assert_eq!(response.status, 200, "{}", response.text());
                let bytes = client.sizes.answer_bytes as usize;
                let answers =
                    answer::decode(&response.body, &client.pin, queries.len() as u16, bytes).unwrap();
                answers.iter().map(|answer| answer.to_vec()).collect::<Vec<_>>()
            });
            assert!(a == b, "{name}: an answer differs from that of the whole table");
        }
    }
}

#[test]
fn without_a_part_nothing_is_answered_and_the_old_epoch_goes_on() {
    let scheme = sotto_registry::find("simplepir/1").unwrap();
    let dir = tempfile::tempdir().unwrap();
    encode(scheme, dir.path());
    cut(scheme, dir.path(), 1);
    let running = serve(dir.path());
    let epoch = |running: &RunningServer| match &running.tables()[0].1 {
        TableStatus::Live(live) => live.pin().epoch.0,
        other => panic!("{other:?}"),
    };
    assert_eq!(epoch(&running), 1);
    encode(scheme, dir.path());
    cut(scheme, dir.path(), 2);
    let front = TableDir::open(dir.path()).unwrap().front_path(Epoch(2));
    let path = |part| part_path(&front, PartIndex::new(part, PARTS).unwrap());
    let aside = dir.path().join("aside");
    fs::rename(path(1), &aside).unwrap();
    assert!(!running.reload());
    assert_eq!(epoch(&running), 1);
    assert!(get(running.admin, "/readyz").status == 200);
    // Another part under its name is refused too.
    fs::copy(path(2), path(1)).unwrap();
    assert!(!running.reload());
    fs::remove_file(path(1)).unwrap();
    // A damaged part is verified and refused.
    let good = fs::read(&aside).unwrap();
    let mut damaged = good.clone();
    damaged[5000] ^= 4;
    fs::write(path(1), damaged).unwrap();
    assert!(!running.reload());
    assert_eq!(epoch(&running), 1);
    fs::remove_file(path(1)).unwrap();
    fs::rename(&aside, path(1)).unwrap();
    assert!(running.reload());
    assert_eq!(epoch(&running), 2);

    // A part that is written to while it is served is lost, and nothing is answered from the
    // others.
    let other = serve(dir.path());
    let mut client = Asker::new(scheme, &other);
    let (queries, _) = client.client.query(RecordIndex(3), &mut seeded("query")).unwrap();
    let frame = query::encode(&client.pin, &SessionId::NONE, &queries).unwrap();
    assert_eq!(post(other.public, &routes::query("real"), &frame).status, 200);
    File::options().write(true).open(path(1)).unwrap().set_len(4096).unwrap();
    assert_refused(&post(other.public, &routes::query("real"), &frame), ProblemCode::NotReady);
}
