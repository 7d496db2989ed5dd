//! Tables in folders, encoded from rows, and a client of what a server makes of them.

use super::{get, post};
use sotto_catalog::{Catalog, SignedCatalog};
use sotto_core::{AnyClient, ParamsDigest, SchemeEntry};
use sotto_db::progress::silent;
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, TableDir, encode_table};
use sotto_server::RunningServer;
use sotto_testkit::rng::seeded;
use sotto_wire::{FrameHeader, MessageSizes, SessionId, keys, routes};
use std::fs::{self, File};
use std::path::Path;

/// Encodes the next epoch of a folder.
pub(crate) fn encode_rows(scheme: &SchemeEntry, dir: &Path, name: &str, rows: &[u8], width: usize) {
    let raw = dir.join("rows.raw");
    fs::write(&raw, rows).unwrap();
    let count = (rows.len() / width) as u64;
    let table = RawFile::new(File::open(&raw).unwrap(), &raw, count, width).unwrap();
    let dir = TableDir::open(dir).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options = EncodeOptions {
        lookups_per_client: 1000,
        threads: Some(1),
        ..EncodeOptions::new(name.parse().unwrap(), &key)
    };
    encode_table(scheme, &table, &dir.lock().unwrap(), &options, &silent).unwrap();
}

/// A client of the newest epoch of table `real`, prepared with the server's artifacts.
pub(crate) struct Asker {
    pub(crate) catalog: Catalog,
    pub(crate) pin: FrameHeader,
    pub(crate) sizes: MessageSizes,
    pub(crate) client: Box<dyn AnyClient>,
}

impl Asker {
    pub(crate) fn new(scheme: &SchemeEntry, running: &RunningServer) -> Self {
        let body = get(running.public, &routes::table("real", None)).body;
        let catalog = SignedCatalog::parse(&body).unwrap().verify(None).unwrap();
        let params = catalog.params.to_string();
        let mut prepare = (scheme.prepare)(params.as_bytes(), &mut seeded("client")).unwrap();
        for need in prepare.needs() {
            let entry = catalog.artifacts.iter().find(|entry| entry.artifact == need.artifact).unwrap();
            let bytes = get(running.public, &routes::artifact(&entry.digest.to_string())).body;
            prepare.absorb(need.artifact, &bytes).unwrap();
        }
        let digest = ParamsDigest(catalog.params_digest.0);
        let pin = FrameHeader { server: 0, epoch: catalog.epoch, digest };
        let terms = catalog.terms(scheme).unwrap();
        let sizes = MessageSizes::new(&terms.report.costs, terms.packing.records_per_row());
        Asker { catalog, pin, sizes, client: prepare.finish().unwrap() }
    }

    pub(crate) fn session(&self, running: &RunningServer) -> SessionId {
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
