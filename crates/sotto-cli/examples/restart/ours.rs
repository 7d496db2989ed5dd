//! Clients of a table of sotto: each registers keys and receives a session. All have the keys of
//! one client, which the server cannot tell.

use super::{IN_MEMORY, memory, register, registered};
use sotto_catalog::{Catalog, SignedCatalog, SigningKey};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_core::{AnyClient, ParamsDigest};
use sotto_db::progress::silent;
use sotto_db::{EncodeOptions, TableDir, TableSource, encode_table};
use sotto_server::{RunningServer, Server, ServerConfig, SessionConfig, TableConfig};
use sotto_testkit::rng::seeded;
use sotto_wire::{FrameHeader, SessionId, answer, keys, query, routes};
use std::fs;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

const NAME: &str = "restart";
const ROWS: u64 = 4096;
const ROW_BYTES: usize = 64;

/// Rows filled with the bytes of their index.
struct Rows;

impl TableSource for Rows {
    fn rows(&self) -> u64 {
        ROWS
    }

    fn row_bytes(&self) -> usize {
        ROW_BYTES
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let rows = out.chunks_exact_mut(ROW_BYTES);
        (first..).zip(rows).for_each(|(row, out)| out.copy_from_slice(&row.to_le_bytes().repeat(8)));
        Ok(())
    }
}

fn config(folder: &Path) -> ServerConfig {
    let sessions = SessionConfig {
        max_bytes: IN_MEMORY,
        max_stored_bytes: u64::MAX,
        sessions_per_client: 0,
        registrations_per_minute: 0,
        ..SessionConfig::default()
    };
    ServerConfig {
        tables: vec![TableConfig::dir(folder.join("table"))],
        state: Some(folder.join("state")),
        sessions,
        reload_seconds: 0,
        ..ServerConfig::on_free_ports()
    }
}

fn line(running: &RunningServer) -> HttpTransport {
    HttpTransport::new(&format!("http://{}", running.public), &HttpSettings::default()).unwrap()
}

fn call(http: &mut HttpTransport, request: &Request) -> Vec<u8> {
    let answer = http.call(request).unwrap();
    assert!(answer.is_success(), "{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    answer.body
}

/// The catalog, the frame header, and the client whose keys all clients have.
fn opened(running: &RunningServer) -> (Catalog, FrameHeader, Box<dyn AnyClient>) {
    let request = Request::get(routes::table(NAME, None), SignedCatalog::MAX_BYTES as u64);
    let signed = SignedCatalog::parse(&call(&mut line(running), &request)).unwrap();
    let catalog = signed.verify(None).unwrap();
    let entry = sotto_registry::find(&catalog.scheme).unwrap();
    let params = catalog.params.to_string();
    // The client is the same in every process.
    let prepare = (entry.prepare)(params.as_bytes(), &mut seeded("the client of all")).unwrap();
    let pin = FrameHeader { server: 0, epoch: catalog.epoch, digest: ParamsDigest(catalog.params_digest.0) };
    (catalog, pin, prepare.finish().unwrap())
}

pub(super) fn fill(folder: &Path, users: usize, scheme: &str) {
    if !folder.join("table").exists() {
        let entry = sotto_registry::find(&format!("{scheme}/1")).unwrap();
        let lock = TableDir::create(&folder.join("table")).unwrap().lock().unwrap();
        let key = SigningKey::generate(&mut sotto_prg::system_rng().unwrap());
        let options = EncodeOptions::new(NAME.parse().unwrap(), &key);
        encode_table(entry, &Rows, &lock, &options, &silent).unwrap();
    }
    let running = Server::start(&config(folder)).unwrap();
    let (_, pin, client) = opened(&running);
    let frame = keys::encode(&pin, &client.keys());
    let ids = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join("ids")).unwrap();
    register(folder, users, frame.len(), |i| {
        let id = call(&mut line(&running), &Request::post(routes::keys(NAME), frame.clone(), 1 << 20));
        ids.write_all_at(&id, i as u64 * 16).unwrap();
    });
    running.shutdown();
}

pub(super) fn start(folder: &Path) {
    let users = registered(folder, "sessions.redb");
    let ids = fs::read(folder.join("ids")).unwrap();
    let began = Instant::now();
    let running = Server::start(&config(folder)).unwrap();
    println!("started after {:.0} ms; {}", began.elapsed().as_secs_f64() * 1e3, memory());
    let (catalog, pin, mut client) = opened(&running);
    let packing = catalog.terms(sotto_registry::find(&catalog.scheme).unwrap()).unwrap().packing;
    for i in [0, users - 1, users / 2] {
        let id = SessionId(ids[i * 16..][..16].try_into().unwrap());
        let row = i as u64 % ROWS;
        let index = packing.records_of(row)[0];
        let (queries, pending) = client.query(index, &mut seeded("query")).unwrap();
        let asked = Instant::now();
        let frame = query::encode(&pin, &id, &queries).unwrap();
        let body = call(&mut line(&running), &Request::post(routes::query(NAME), frame, 1 << 24));
        let took = asked.elapsed().as_secs_f64() * 1e3;
        let answers = answer::decode(&body, &pin, 1, body.len() - answer::HEAD_BYTES).unwrap();
        let record = client.recover(pending, &[answers[0].to_vec()]).unwrap();
        assert_eq!(packing.extract(row, &[record]).unwrap(), row.to_le_bytes().repeat(8));
        println!(
            "answer to client {i} after {took:.1} ms, {:.0} ms after the start began; {}",
            began.elapsed().as_secs_f64() * 1e3,
            memory()
        );
    }
    running.shutdown();
}
