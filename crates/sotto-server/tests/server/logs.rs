//! Logs of publishers' catalogs: their files and no others, proofs, growth.

use crate::harness::*;
use sotto_catalog::{Hex32, SigningKey};
use sotto_core::Epoch;
use sotto_server::{Server, ServerConfig, StartError};
use sotto_testkit::rng::seeded;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::{EntryKind, log_key};
use sotto_tlog::{Checkpoint, InclusionProof, LogEntry};
use sotto_wire::{Code, routes};
use std::path::Path;

fn entry(key: &SigningKey, number: u64) -> LogEntry {
    let digest = Hex32::from(*blake3::hash(&number.to_be_bytes()).as_bytes());
    let name = "t".parse().unwrap();
    LogEntry::new(EntryKind::Catalog, name, Epoch(number), digest, key.public())
}

/// The entry in the log, which names the previous one.
fn chained(key: &SigningKey, number: u64) -> LogEntry {
    let mut previous = None;
    let mut last = entry(key, number);
    for number in 1..=number {
        last = LogEntry { previous, ..entry(key, number) };
        previous = Some(Hex32::from(last.leaf()));
    }
    last
}

fn add(folder: &Path, key: &SigningKey, numbers: std::ops::RangeInclusive<u64>) {
    let mut log = Appender::open(folder, key).unwrap();
    numbers.for_each(|number| assert!(log.add(&entry(key, number)).unwrap()));
    log.publish().unwrap();
}

fn proven(world: &World, key: &SigningKey, number: u64) -> Checkpoint {
    let entry = chained(key, number);
    let path = routes::log_proof(&key.public().0.to_string(), &entry.digest.to_string());
    let response = get(world.at, &path);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), Some(routes::TEXT));
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    let proof = InclusionProof::parse(&response.body).unwrap();
    proof.verify(&entry.leaf(), &log_key(&key.public()).unwrap()).unwrap()
}

#[test]
fn a_log_is_served_with_proofs_and_grows() {
    let (dir, key) = (tempfile::tempdir().unwrap(), SigningKey::generate(&mut seeded("publisher")));
    add(dir.path(), &key, 1..=300);
    let world = world(&ServerConfig { logs: vec![dir.path().to_owned()], ..config() });
    let hex = key.public().0.to_string();
    let file = |path: &str| get(world.at, &routes::log_file(&hex, path));
    assert_eq!(proven(&world, &key, 7).size, 300);
    assert_eq!(proven(&world, &key, 7).size, 300, "and once more, from memory");
    assert_eq!(file("checkpoint").body, std::fs::read(dir.path().join("checkpoint")).unwrap());
    let tile = file("tile/0/001.p/44");
    assert_eq!((tile.status, tile.body.len()), (200, 44 * 32));
    assert!(tile.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(file("tile/entries/000").status, 200);

    // Files in the log's folder that do not belong to the log are not found.
    for path in [
        "write.lock",
        "witnessed",
        "tile/0/001.p/45",
        "tile/0/002",
        "tile/9/000",
        "tile/0/1",
        "tile/0/x000/001",
        "tile/data/000",
        "tile/0/..%2f..%2fcheckpoint",
        "%2e%2e/secret",
        "tile",
        "proofs/xyz",
    ] {
        assert_refused(&file(path), Code::NotLogged);
    }
    let other = SigningKey::generate(&mut seeded("other")).public().0.to_string();
    assert_refused(&get(world.at, &routes::log_file(&other, "checkpoint")), Code::NotLogged);
    let absent = entry(&key, 301).digest.to_string();
    assert_refused(&get(world.at, &routes::log_proof(&hex, &absent)), Code::NotLogged);

    add(dir.path(), &key, 301..=600);
    world.running.reload();
    assert_eq!((proven(&world, &key, 7).size, proven(&world, &key, 600).size), (600, 600));
    // A log that does not extend the old one is refused, and the old one stays.
    std::fs::rename(dir.path().join("checkpoint"), dir.path().join("kept")).unwrap();
    std::fs::write(dir.path().join("checkpoint"), "damaged").unwrap();
    world.running.reload();
    assert_eq!(proven(&world, &key, 7).size, 600);
}

#[test]
fn a_server_with_a_bad_log_does_not_start() {
    let (dir, key) = (tempfile::tempdir().unwrap(), SigningKey::generate(&mut seeded("publisher")));
    let refused = |logs: &[&Path]| {
        let logs = logs.iter().map(|path| path.to_path_buf()).collect();
        let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
        match Server::start_with(&ServerConfig { logs, ..config() }, vec![Box::new(source)]) {
            Err(StartError::Settings(why)) => why,
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    assert!(refused(&[dir.path()]).contains("checkpoint is missing"));
    add(dir.path(), &key, 1..=2);
    assert!(refused(&[dir.path(), dir.path()]).contains("another log"));
}
