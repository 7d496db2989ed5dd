//! Lists, catalogs, artifacts and their ranges; and logs of publishers' catalogs: their files and no
//! others, proofs, growth.

use crate::harness::*;
use sotto_catalog::{Hex32, SignedCatalog, SigningKey};
use sotto_core::{Artifact, Epoch, Section};
use sotto_server::{Server, ServerConfig, StartError};
use sotto_testkit::rng::seeded;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::{EntryKind, log_key};
use sotto_tlog::{Checkpoint, InclusionProof, LogEntry};
use sotto_wire::{ProblemCode, routes};
use std::path::Path;

#[test]
fn the_tables_are_listed() {
    let world = world(&config());
    let response = get(world.at, routes::TABLES);
    let list: routes::TableList = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(list.tables, ["t"]);
}

#[test]
fn the_catalog_is_signed_and_revalidated_by_tag() {
    let world = world(&config());
    let path = routes::table("t", None);
    let response = get(world.at, &path);
    let signed = SignedCatalog::parse(&response.body).unwrap();
    assert_eq!(signed.verify(None).unwrap(), world.made.parts().catalog);
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    let etag = response.header("etag").unwrap().to_owned();
    for tags in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".into()] {
        let again = request(world.at, "GET", &path, &[("if-none-match", &tags)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{tags}");
    }
    assert_eq!(request(world.at, "GET", &path, &[("if-none-match", "\"x\"")], b"").status, 200);
}

#[test]
fn a_catalog_by_epoch() {
    let world = world(&config());
    assert_eq!(get(world.at, &routes::table("t", Some(Epoch(1)))).status, 200);
    assert_refused(&get(world.at, &routes::table("t", Some(Epoch(2)))), ProblemCode::EpochExpired);
    assert_refused(&get(world.at, "/v1/tables/t?epoch=one"), ProblemCode::Malformed);
}

fn hint(world: &World) -> (String, Vec<u8>) {
    let parts = world.made.parts();
    let bytes = parts.image.section(Section::Public(Artifact::Hint)).unwrap().to_vec();
    (routes::artifact(&parts.catalog.artifacts[0].digest.to_string()), bytes)
}

#[test]
fn artifacts_are_served_whole_and_for_ever() {
    let world = world(&config());
    let (path, bytes) = hint(&world);
    let response = get(world.at, &path);
    assert_eq!((response.status, &response.body), (200, &bytes));
    assert_eq!(response.header("content-length"), Some("200"));
    assert_eq!(response.header("accept-ranges"), Some("bytes"));
    assert!(response.header("cache-control").unwrap().contains("immutable"));
    let etag = response.header("etag").unwrap();
    let again = request(world.at, "GET", &path, &[("if-none-match", etag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn artifacts_are_served_in_ranges() {
    let world = world(&config());
    let (path, bytes) = hint(&world);
    let etag = get(world.at, &path).header("etag").unwrap().to_owned();
    let ranged = |headers: &[(&str, &str)]| request(world.at, "GET", &path, headers, b"");
    let part = ranged(&[("range", "bytes=10-19")]);
    assert_eq!((part.status, &part.body[..]), (206, &bytes[10..20]));
    assert_eq!(part.header("content-range"), Some("bytes 10-19/200"));
    assert_eq!(part.header("content-length"), Some("10"));
    assert_eq!(ranged(&[("range", "bytes=190-")]).body, bytes[190..]);
    assert_eq!(ranged(&[("range", "bytes=-5")]).body, bytes[195..]);
    let held = ranged(&[("range", "bytes=0-0"), ("if-range", &etag)]);
    assert_eq!((held.status, held.body.len()), (206, 1));
    let changed = ranged(&[("range", "bytes=0-0"), ("if-range", "\"other\"")]);
    assert_eq!((changed.status, changed.body.len()), (200, 200));
    let outside = ranged(&[("range", "bytes=200-")]);
    assert_refused(&outside, ProblemCode::BadRange);
    assert_eq!(outside.header("content-range"), Some("bytes */200"));
}

#[test]
fn head_gives_the_headers_alone() {
    let world = world(&config());
    let (path, _) = hint(&world);
    let response = request(world.at, "HEAD", &path, &[], b"");
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(response.header("content-length"), Some("200"));
}

#[test]
fn unknown_artifacts_are_refused() {
    let world = world(&config());
    for digest in ["00".repeat(32), "zz".repeat(32), "AB".repeat(32), "1".into(), "..%2f..".into()] {
        assert_refused(&get(world.at, &routes::artifact(&digest)), ProblemCode::NoSuchArtifact);
    }
}

#[test]
fn the_admin_port_tells_health_and_nothing_that_could_name_a_client() {
    let world = world(&config());
    let admin = world.running.admin;
    assert_eq!(get(admin, "/healthz").status, 200);
    assert_eq!(get(admin, "/readyz").status, 200);
    assert_refused(&get(admin, "/other"), ProblemCode::NoSuchRoute);
    assert_refused(&get(world.at, "/metrics"), ProblemCode::NoSuchRoute);
    world.query(&[1, 2]);
    post(world.at, &routes::query("t"), b"bad");
    get(world.at, "/v1/secret-looking-path");
    let text = get(admin, "/metrics").text();
    for want in [
        r#"sotto_requests_total{route="ask",outcome="ok"} 1"#,
        r#"sotto_requests_total{route="ask",outcome="malformed"} 1"#,
        r#"sotto_requests_total{route="none",outcome="no-such-route"} 2"#,
        r#"sotto_query_requests_total{table="t"} 1"#,
        r#"sotto_queries_total{table="t"} 2"#,
        r#"sotto_live_epoch{table="t",generation="newest"} 1"#,
        r#"sotto_request_bytes_total 80"#,
    ] {
        assert!(text.contains(want), "{want} is not in\n{text}");
    }
    let labels = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        Some(line.split_once('{')?.1.split_once('}')?.0.split(',').map(|l| l.split('=').next().unwrap()))
    });
    for label in labels.flatten() {
        assert!(
            ["route", "outcome", "table", "generation", "le", "medium", "pages", "reason"].contains(&label),
            "label {label}"
        );
    }
    assert!(!text.contains("secret-looking"));
}

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
    let path = routes::log_proof(&key.public().ed25519.to_string(), &entry.digest.to_string());
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
    let hex = key.public().ed25519.to_string();
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
        assert_refused(&file(path), ProblemCode::NotLogged);
    }
    let other = SigningKey::generate(&mut seeded("other")).public().ed25519.to_string();
    assert_refused(&get(world.at, &routes::log_file(&other, "checkpoint")), ProblemCode::NotLogged);
    let absent = entry(&key, 301).digest.to_string();
    assert_refused(&get(world.at, &routes::log_proof(&hex, &absent)), ProblemCode::NotLogged);

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
