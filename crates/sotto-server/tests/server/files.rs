//! A real scheme from a real table directory.

use crate::harness::*;
use sotto_core::{Epoch, Record, SchemeEntry, Section, TableShape};
use sotto_db::image::header::FilePart;
use sotto_db::{ImageFile, TableDir};
use sotto_server::{Residency, RunningServer, Server, ServerConfig, StartError, TableConfig, TableStatus};
use sotto_testkit::rng::seeded;
use sotto_wire::{ProblemCode, SessionId, answer, keys, query, routes};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

const ROWS: u64 = 700;
const WIDTH: usize = 24;

fn rows(salt: u8) -> Vec<u8> {
    (0..ROWS as usize * WIDTH).map(|i| (i * 31 / 7) as u8 ^ salt).collect()
}

fn scheme() -> &'static SchemeEntry {
    sotto_registry::find("simplepir/1").unwrap()
}

/// Encodes the next epoch of a folder.
fn encode(dir: &Path, salt: u8) {
    encode_as(dir, "real", salt);
}

fn encode_as(dir: &Path, name: &str, salt: u8) {
    encode_rows(scheme(), dir, name, &rows(salt), WIDTH);
}

/// Flips a bit in the middle of the section that passes read, or flips it back.
fn flip(image: &Path) {
    let entry = *ImageFile::open(image).unwrap().header().entry(FilePart::Scheme(Section::Resident)).unwrap();
    let mut bytes = fs::read(image).unwrap();
    bytes[(entry.offset + entry.bytes / 2) as usize] ^= 4;
    // Replaced by another file of that name, as `spec/image.md` says.
    let other = image.with_extension("other");
    fs::write(&other, bytes).unwrap();
    fs::rename(other, image).unwrap();
}

fn reloaded(running: &RunningServer) -> String {
    operate(running.admin, "/reload").text()
}

fn serve(dir: &Path, residency: Residency) -> RunningServer {
    Server::start(&ServerConfig { tables: vec![TableConfig::dir(dir)], residency, ..config() }).unwrap()
}

fn prepare(running: &RunningServer) -> Asker {
    Asker::new(scheme(), running)
}

impl Asker {
    fn get(&mut self, running: &RunningServer, row: u64) -> Vec<u8> {
        let terms = self.catalog.terms(scheme()).unwrap();
        let records = terms.packing.records_of(row).into_iter().map(|record| {
            let (queries, pending) = self.client.query(record, &mut seeded("query")).unwrap();
            let frame = query::encode(&self.pin, &SessionId::NONE, &queries).unwrap();
            assert_eq!(frame.len() as u64, self.sizes.query_frame_bytes(1));
            let response = post(running.public, &routes::query("real"), &frame);
            assert_eq!(response.status, 200, "{}", response.text());
            let answers =
                answer::decode(&response.body, &self.pin, 1, self.sizes.answer_bytes as usize).unwrap();
            self.client.recover(pending, &[answers[0].to_vec()]).unwrap()
        });
        terms.packing.extract(row, &records.collect::<Vec<Record>>()).unwrap()
    }
}

fn row(salt: u8, row: u64) -> Vec<u8> {
    rows(salt)[row as usize * WIDTH..][..WIDTH].to_vec()
}

#[test]
fn rows_come_back_mapped_or_copied() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    for residency in [Residency::Auto, Residency::Copy, Residency::Map] {
        let running = serve(dir.path(), residency);
        let mut client = prepare(&running);
        for at in [0, 1, 350, ROWS - 1] {
            assert_eq!(client.get(&running, at), row(0, at), "row {at}, {residency:?}");
        }
    }
}

#[test]
fn metrics_say_where_tables_lie() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let bytes = |running: &RunningServer, place: &str| -> u64 {
        let text = get(running.admin, "/metrics").text();
        let start = format!("sotto_table_bytes{{table=\"real\",medium=\"{place}\",");
        let values = text.lines().filter_map(|line| line.strip_prefix(&start)?.rsplit(' ').next());
        values.map(|value| value.parse::<u64>().unwrap()).sum()
    };
    let table = ImageFile::open(&dir.path().join("epoch-00000001.sotto")).unwrap();
    let table = table.header().entry(FilePart::Scheme(Section::Resident)).unwrap().bytes;
    let copied = serve(dir.path(), Residency::Copy);
    assert_eq!((bytes(&copied, "memory"), bytes(&copied, "file")), (table, 0));
    // The next epoch is copied too, and the one after it replaces the first.
    for epochs in [2, 2] {
        encode(dir.path(), 1);
        copied.reload();
        assert_eq!((bytes(&copied, "memory"), bytes(&copied, "file")), (epochs * table, 0));
    }
    // A table this small is not copied.
    for residency in [Residency::Auto, Residency::Map] {
        let mapped = serve(dir.path(), residency);
        assert_eq!((bytes(&mapped, "memory"), bytes(&mapped, "file")), (0, 2 * table), "{residency:?}");
    }
}

#[test]
fn new_images_go_live_and_damaged_ones_do_not() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Residency::Auto);
    let mut old = prepare(&running);
    encode(dir.path(), 9);
    assert!(running.reload());
    let mut new = prepare(&running);
    assert_eq!(old.get(&running, 5), row(0, 5));
    assert_eq!(new.get(&running, 5), row(9, 5));

    let image = TableDir::open(dir.path()).unwrap().image_path(Epoch(2));
    let bytes = fs::read(image).unwrap();
    let third = dir.path().join("epoch-00000003.sotto");
    for damaged in [&bytes[..bytes.len() / 2], b"", b"not an image", &bytes] {
        fs::write(&third, damaged).unwrap();
        assert!(!running.reload(), "an image cut short, or of another epoch, was taken");
        assert_eq!(new.get(&running, 6), row(9, 6));
    }
}

#[test]
fn a_flipped_bit_costs_its_table_and_no_other() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [damaged, good] = [dirs[0].path(), dirs[1].path()];
    encode_as(damaged, "other", 5);
    encode(good, 0);
    let image = damaged.join("epoch-00000001.sotto");
    flip(&image);
    let tables = vec![TableConfig::dir(damaged), TableConfig::dir(good)];
    let running = Server::start(&ServerConfig { tables: tables.clone(), ..config() }).unwrap();
    assert_eq!(prepare(&running).get(&running, 5), row(0, 5));
    let refused = get(running.public, &routes::table("other", None));
    assert_refused(&refused, ProblemCode::NotReady);
    assert!(refused.text().contains("damaged"), "{}", refused.text());
    let standing: Vec<_> = running.tables();
    let (name, TableStatus::Refused(why)) = &standing[0] else { panic!("{standing:?}") };
    assert!(
        name == "other" && why.contains("resident does not match") && why.contains("encode the table afresh"),
        "{why}"
    );
    assert!(matches!(&standing[1].1, TableStatus::Live(_)), "{standing:?}");
    let ready = get(running.admin, "/readyz");
    assert!(ready.status == 200 && ready.text().contains("not served: other"), "{}", ready.text());
    assert!(get(running.admin, "/metrics").text().contains("sotto_table_up{table=\"other\"} 0"));
    // A reload finds no other file, and then the new copy.
    assert!(!running.reload());
    flip(&image);
    assert!(running.reload());
    assert_eq!(get(running.public, &routes::table("other", None)).status, 200);

    // Of two epochs the intact one is served; an image that is not checked is served as it is.
    encode_as(damaged, "other", 6);
    let second = damaged.join("epoch-00000002.sotto");
    flip(&second);
    assert!(!running.reload(), "a new epoch is read through too");
    assert!(reloaded(&running).contains("resident does not match"));
    let live = |config: &ServerConfig| Server::start(config).unwrap().tables()[0].1.clone();
    let TableStatus::Live(table) = live(&ServerConfig { tables: tables.clone(), ..config() }) else {
        panic!("not served")
    };
    assert_eq!(table.catalog().epoch, Epoch(1));
    let trusting = ServerConfig { tables: tables[..1].to_vec(), skip_image_check: true, ..config() };
    let TableStatus::Live(table) = live(&trusting) else { panic!("not served") };
    assert_eq!(table.catalog().epoch, Epoch(2));
    // A server does not start if all images are damaged.
    flip(&image);
    let error = Server::start(&ServerConfig { skip_image_check: false, ..trusting }).err().unwrap();
    assert!(matches!(error, StartError::Table { .. }) && error.to_string().contains("resident"), "{error}");
}

#[test]
fn an_image_that_is_written_to_costs_its_table_until_it_is_back() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    encode_as(dirs[0].path(), "other", 5);
    encode(dirs[1].path(), 0);
    let tables = dirs.iter().map(|dir| TableConfig::dir(dir.path())).collect();
    let running = Server::start(&ServerConfig { tables, ..config() }).unwrap();
    let image = dirs[1].path().join("epoch-00000001.sotto");
    let bytes = fs::read(&image).unwrap();
    let mut client = prepare(&running);
    let frame = {
        let (queries, _) = client.client.query(sotto_core::RecordIndex(0), &mut seeded("query")).unwrap();
        query::encode(&client.pin, &SessionId::NONE, &queries).unwrap()
    };
    let query = || post(running.public, &routes::query("real"), &frame);
    assert_eq!(query().status, 200);
    let hint = routes::artifact(&client.catalog.artifacts[0].digest.to_string());
    // Truncated; and overwritten with the same length, which raises no fault.
    for write in [
        |image: &Path, bytes: &[u8]| {
            File::options().write(true).open(image).unwrap().set_len(bytes.len() as u64 / 2).unwrap()
        },
        |image: &Path, bytes: &[u8]| {
            fs::write(image, bytes.iter().map(|byte| byte ^ 1).collect::<Vec<_>>()).unwrap()
        },
    ] {
        write(&image, &bytes);
        assert_refused(&query(), ProblemCode::NotReady);
        assert_refused(&get(running.public, &hint), ProblemCode::NotReady);
        assert!(!running.reload());
        assert_refused(&query(), ProblemCode::NotReady);
        assert_eq!(get(running.public, &routes::table("other", None)).status, 200);
        assert!(get(running.admin, "/metrics").text().contains("sotto_table_up{table=\"real\"} 0"));
        fs::write(&image, &bytes).unwrap();
        let report = reloaded(&running);
        assert!(report.contains(r#""live":[1],"reading":false,"refused":null,"table":"real""#), "{report}");
        assert_eq!(client.get(&running, 7), row(0, 7));
    }
}

#[test]
fn a_single_image_file_is_served_too() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 3);
    let path = dir.path().join("epoch-00000001.sotto");
    let running = Server::start(&ServerConfig { tables: vec![TableConfig::path(path)], ..config() }).unwrap();
    assert_eq!(prepare(&running).get(&running, 8), row(3, 8));
    assert!(!running.reload());
}

#[test]
fn damaged_real_queries_never_stop_the_server() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Residency::Auto);
    let mut client = prepare(&running);
    let (queries, _) = client.client.query(sotto_core::RecordIndex(0), &mut seeded("query")).unwrap();
    let frame = query::encode(&client.pin, &SessionId::NONE, &queries).unwrap();
    for at in (0..frame.len()).step_by(frame.len() / 50) {
        let mut flipped = frame.clone();
        flipped[at] ^= 0x80;
        let status = post(running.public, &routes::query("real"), &flipped).status;
        assert!([200, 400, 409, 410, 413].contains(&status), "byte {at}: {status}");
    }
    let mut padded = frame.clone();
    padded.push(0);
    let response = post(running.public, &routes::query("real"), &padded);
    assert_refused(&response, ProblemCode::Malformed);
    assert_eq!(client.get(&running, 1), row(0, 1));
}

#[test]
fn mutated_keys_reach_the_parser_of_their_scheme() {
    // Of the smallest keys that there are, and of the largest.
    let bytes = |scheme: &&SchemeEntry| {
        let params = (scheme.select)(&TableShape::new(ROWS, WIDTH as u64, 1000)).unwrap();
        (scheme.report)(&params).unwrap().costs.keys_bytes
    };
    let keyed = || sotto_registry::SCHEMES.iter().filter(|scheme| bytes(scheme) > 0).copied();
    for scheme in [keyed().min_by_key(bytes).unwrap(), keyed().max_by_key(bytes).unwrap()] {
        let dir = tempfile::tempdir().unwrap();
        encode_rows(scheme, dir.path(), "real", &rows(0), WIDTH);
        let running = serve(dir.path(), Residency::Auto);
        let TableStatus::Live(table) = running.tables().remove(0).1 else { panic!("not served") };
        let params = table.catalog().params.to_string();
        let prepare = (scheme.prepare)(params.as_bytes(), &mut seeded("client")).unwrap();
        let keys = prepare.finish().unwrap().keys();
        let mut parsed = [0; 2];
        let step = (keys.len() / 4).max(1);
        for at in (0..keys.len()).step_by(step) {
            // Values that may be reduced or not, and one that is certainly not reduced.
            for flipped in [at..at + 1, at..(at + step).min(keys.len())] {
                let mut keys = keys.clone();
                keys[flipped].fill(0xff);
                let response = post(running.public, &routes::keys("real"), &keys::encode(table.pin(), &keys));
                let text = response.text();
                assert!(
                    response.status == 200 || text.contains("invalid keys for these parameters"),
                    "{} {text}",
                    scheme.id.0
                );
                parsed[usize::from(response.status == 200)] += 1;
            }
        }
        assert!(parsed[0] >= 2, "{} refuses {parsed:?} of them", scheme.id.0);
        let metrics = get(running.admin, "/metrics").text();
        let refused = format!("sotto_requests_total{{route=\"keys\",outcome=\"bad-keys\"}} {}", parsed[0]);
        assert!(metrics.contains(&refused) && !metrics.contains("outcome=\"busy\""), "{metrics}");
    }
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_download_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Residency::Auto);
    let mut client = prepare(&running);
    let entry = client.catalog.artifacts[0].clone();
    for _ in 0..20 {
        let mut gone = http::connect(running.public);
        let head = http::head("GET", &routes::artifact(&entry.digest.to_string()), &[]);
        gone.write_all(head.as_bytes()).unwrap();
        gone.read_exact(&mut [0; 100]).unwrap();
    }
    assert_eq!(client.get(&running, 2), row(0, 2));
    assert_eq!(running.shutdown().unfinished, 0);
}

#[test]
fn folders_that_cannot_be_served_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let start = |table| Server::start(&ServerConfig { tables: vec![table], ..config() }).err().unwrap();
    let empty = start(TableConfig::dir(dir.path()));
    assert!(matches!(empty, StartError::NoEpoch { .. }) && empty.to_string().contains("sotto encode"));
    let missing = start(TableConfig::dir(dir.path().join("none")));
    assert!(matches!(missing, StartError::Table { .. }) && missing.to_string().contains("none"));
    let file = dir.path().join("x.sotto");
    fs::write(&file, "no image").unwrap();
    let wrong = start(TableConfig::path(&file));
    assert!(matches!(wrong, StartError::Table { .. }) && wrong.to_string().contains("x.sotto"));
    let none = Server::start(&config()).err().unwrap();
    assert!(none.to_string().contains("[[tables]]"), "{none}");
    let neither = start(TableConfig::default());
    assert!(matches!(neither, StartError::Settings(_)));
}
