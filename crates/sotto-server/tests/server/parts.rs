//! A table in parts at one server: the answers of the whole table, and none if a part is missing.

use crate::harness::*;
use sotto_catalog::SignedCatalog;
use sotto_core::{AnyClient, Epoch, ParamsDigest, PartIndex, RecordIndex, SchemeEntry};
use sotto_db::parts::{cut_image, part_path};
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, TableDir, encode_table, progress::silent};
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig, TableStatus};
use sotto_testkit::rng::seeded;
use sotto_wire::{Code, FrameHeader, MessageSizes, SessionId, answer, keys, query, routes};
use std::fs::{self, File};
use std::path::Path;

const PARTS: u32 = 3;
const ROWS: u64 = 4096;
const WIDTH: usize = 1024;

fn encode(scheme: &SchemeEntry, dir: &Path) {
    let raw = dir.join("rows.raw");
    fs::write(&raw, (0..ROWS as usize * WIDTH).map(|i| (i * 31 / 7) as u8).collect::<Vec<_>>()).unwrap();
    let table = RawFile::new(File::open(&raw).unwrap(), &raw, ROWS, WIDTH).unwrap();
    let dir = TableDir::open(dir).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options =
        EncodeOptions { lookups_per_client: 1000, ..EncodeOptions::new("real".parse().unwrap(), &key) };
    encode_table(scheme, &table, &dir.lock().unwrap(), &options, &silent).unwrap();
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

struct Asker {
    pin: FrameHeader,
    sizes: MessageSizes,
    client: Box<dyn AnyClient>,
}

impl Asker {
    fn new(scheme: &SchemeEntry, running: &RunningServer) -> Self {
        let body = get(running.public, &routes::table("real", None)).body;
        let catalog = SignedCatalog::parse(&body).unwrap().verify(None).unwrap();
        let params = catalog.params.to_string();
        let mut prepare = (scheme.prepare)(params.as_bytes(), &mut seeded("client")).unwrap();
        for need in prepare.needs() {
            let entry = catalog.artifacts.iter().find(|entry| entry.artifact == need.artifact).unwrap();
            let bytes = get(running.public, &routes::artifact(&entry.digest.to_string())).body;
            prepare.absorb(need.artifact, &bytes).unwrap();
        }
        let pin =
            FrameHeader { server: 0, epoch: catalog.epoch, digest: ParamsDigest(catalog.params_digest.0) };
        let terms = catalog.terms(scheme).unwrap();
        let sizes = MessageSizes::new(&terms.report.costs, terms.packing.records_per_row());
        Asker { pin, sizes, client: prepare.finish().unwrap() }
    }

    fn session(&mut self, running: &RunningServer) -> SessionId {
        let frame = keys::encode(&self.pin, &self.client.keys());
        match self.sizes.keys_bytes {
            0 => SessionId::NONE,
            _ => {
                let reply = post(running.public, &routes::keys("real"), &frame);
                SessionId(reply.body.try_into().unwrap())
            }
        }
    }
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
    assert_refused(&post(other.public, &routes::query("real"), &frame), Code::NotReady);
}
