//! A real scheme from a real table directory.

use crate::kit::*;
use sotto_catalog::{Catalog, SignedCatalog, TableKind, ValueKind};
use sotto_core::{AnyClient, ParamsDigest, Record, SchemeEntry};
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, TableDir, encode_table, progress::silent};
use sotto_server::{Config, Load, Running, Server, StartError, TableConfig};
use sotto_testkit::rng::seeded;
use sotto_wire::{Code, Pin, SessionId, Sizes, answer, ask, routes};
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
    let raw = dir.join("rows.raw");
    fs::write(&raw, rows(salt)).unwrap();
    let table = RawFile::new(File::open(&raw).unwrap(), &raw, ROWS, WIDTH).unwrap();
    let dir = TableDir::open(dir).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options = EncodeOptions {
        table: "real".parse().unwrap(),
        kind: TableKind::Index,
        value: ValueKind::Bytes,
        layers: Vec::new(),
        lookups_per_client: 1000,
        together: 1,
        goal: Default::default(),
        set: None,
        threads: Some(1),
        attribution: None,
        key: &key,
    };
    encode_table(scheme(), &table, &dir.lock().unwrap(), &options, &silent).unwrap();
}

fn serve(dir: &Path, load: Load) -> Running {
    Server::start(&Config { tables: vec![TableConfig::dir(dir)], load, ..config() }).unwrap()
}

/// A client of the newest epoch, prepared with what the server gives out.
struct Asker {
    catalog: Catalog,
    pin: Pin,
    client: Box<dyn AnyClient>,
}

fn prepare(running: &Running) -> Asker {
    let body = get(running.public, &routes::table("real", None)).body;
    let catalog = SignedCatalog::parse(&body).unwrap().verify(None).unwrap();
    let params = catalog.params.to_string();
    let mut prepare = (scheme().prepare)(params.as_bytes(), &mut seeded("client")).unwrap();
    for need in prepare.needs() {
        let entry = catalog.artifacts.iter().find(|entry| entry.artifact == need.artifact).unwrap();
        let bytes = get(running.public, &routes::artifact(&entry.digest.to_string())).body;
        prepare.absorb(need.artifact, &bytes).unwrap();
    }
    let digest = ParamsDigest(catalog.params_digest.0);
    let pin = Pin { server: 0, epoch: catalog.epoch, digest };
    Asker { catalog, pin, client: prepare.finish().unwrap() }
}

impl Asker {
    fn get(&mut self, running: &Running, row: u64) -> Vec<u8> {
        let terms = self.catalog.terms(scheme()).unwrap();
        let sizes = Sizes::new(&terms.report.costs, terms.packing.lookups());
        let records = terms.packing.records_of(row).unwrap().into_iter().map(|record| {
            let (queries, ticket) = self.client.query(record, &mut seeded("query")).unwrap();
            let frame = ask::encode(&self.pin, &SessionId::NONE, &queries).unwrap();
            assert_eq!(frame.len() as u64, sizes.ask_bytes(1));
            let response = post(running.public, &routes::ask("real"), &frame);
            assert_eq!(response.status, 200, "{}", response.text());
            let answers = answer::decode(&response.body, &self.pin, 1, sizes.answer_bytes as usize).unwrap();
            self.client.recover(ticket, &[answers[0].to_vec()]).unwrap()
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
    for load in [Load::Map, Load::Copy] {
        let running = serve(dir.path(), load);
        let mut asker = prepare(&running);
        for at in [0, 1, 350, ROWS - 1] {
            assert_eq!(asker.get(&running, at), row(0, at), "row {at}, {load:?}");
        }
    }
}

#[test]
fn new_images_go_live_and_damaged_ones_do_not() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Load::Map);
    let mut old = prepare(&running);
    encode(dir.path(), 9);
    assert!(running.reload());
    let mut new = prepare(&running);
    assert_eq!(old.get(&running, 5), row(0, 5));
    assert_eq!(new.get(&running, 5), row(9, 5));

    let image = TableDir::open(dir.path()).unwrap().image_path(sotto_core::Epoch(2));
    let bytes = fs::read(image).unwrap();
    let third = dir.path().join("epoch-00000003.sotto");
    for damaged in [&bytes[..bytes.len() / 2], b"", b"not an image", &bytes] {
        fs::write(&third, damaged).unwrap();
        assert!(!running.reload(), "an image cut short, or of another epoch, was taken");
        assert_eq!(new.get(&running, 6), row(9, 6));
    }
}

#[test]
fn a_single_image_file_is_served_too() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 3);
    let path = dir.path().join("epoch-00000001.sotto");
    let running = Server::start(&Config { tables: vec![TableConfig::path(path)], ..config() }).unwrap();
    assert_eq!(prepare(&running).get(&running, 8), row(3, 8));
    assert!(!running.reload());
}

#[test]
fn damaged_real_queries_never_stop_the_server() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Load::Map);
    let mut asker = prepare(&running);
    let (queries, _) = asker.client.query(sotto_core::RecordIndex(0), &mut seeded("query")).unwrap();
    let frame = ask::encode(&asker.pin, &SessionId::NONE, &queries).unwrap();
    for at in (0..frame.len()).step_by(frame.len() / 50) {
        let mut flipped = frame.clone();
        flipped[at] ^= 0x80;
        let status = post(running.public, &routes::ask("real"), &flipped).status;
        assert!([200, 400, 409, 410, 413].contains(&status), "byte {at}: {status}");
    }
    let mut padded = frame.clone();
    padded.push(0);
    let response = post(running.public, &routes::ask("real"), &padded);
    assert_refused(&response, Code::Malformed);
    assert_eq!(asker.get(&running, 1), row(0, 1));
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_download_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path(), 0);
    let running = serve(dir.path(), Load::Map);
    let mut asker = prepare(&running);
    let entry = asker.catalog.artifacts[0].clone();
    for _ in 0..20 {
        let mut gone = http::connect(running.public);
        let head = http::head("GET", &routes::artifact(&entry.digest.to_string()), &[]);
        gone.write_all(head.as_bytes()).unwrap();
        gone.read_exact(&mut [0; 100]).unwrap();
    }
    assert_eq!(asker.get(&running, 2), row(0, 2));
    assert_eq!(running.shutdown().cut_off, 0);
}

#[test]
fn folders_that_cannot_be_served_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let start = |table| Server::start(&Config { tables: vec![table], ..config() }).err().unwrap();
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
