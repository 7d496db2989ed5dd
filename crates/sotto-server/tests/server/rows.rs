//! Rows by range, and deltas over old epochs: of whole images, remnants, and none.

use crate::harness::*;
use sotto_catalog::{ArtifactEntry, SignedCatalog};
use sotto_core::{Artifact, Epoch, Image, Section};
use sotto_db::progress::silent;
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, Retention, TableDir, UpdateOptions, encode_table, retain, update_table};
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, PastEpoch, RunningServer, Server, SourceError, TableEpoch};
use sotto_testkit::CLEAR_ROWS;
use sotto_testkit::rng::seeded;
use sotto_wire::{ProblemCode, routes};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

const ROWS: u64 = 5000;
const WIDTH: usize = 32;

/// A table directory, served with a scheme that is in no registry.
struct Folder(TableDir, u64);

impl EpochSource for Folder {
    fn name(&self) -> String {
        "folder".into()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(self.0.epochs().unwrap())
    }

    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError> {
        let image = self.0.open_epoch(epoch).unwrap();
        let (signed, catalog) = (image.signed_catalog().clone(), image.catalog().clone());
        let terms = catalog.terms(&CLEAR_ROWS)?;
        let server = (CLEAR_ROWS.server.open)(catalog.params.to_string().as_bytes(), image.clone())?;
        let (report, packing) = (terms.report, terms.packing);
        TableEpoch::new(
            TableEpochParts { scheme: &CLEAR_ROWS, signed, catalog, report, packing, server, image },
            0,
        )
    }

    fn past(&self, newest: Epoch) -> Vec<Arc<PastEpoch>> {
        PastEpoch::all(&self.0, newest, self.1)
    }
}

fn encode(dir: &TableDir) {
    let raw = dir.path().join("rows.raw");
    fs::write(&raw, (0..ROWS as usize * WIDTH).map(|i| (i / 7) as u8).collect::<Vec<_>>()).unwrap();
    let table = RawFile::new(File::open(&raw).unwrap(), &raw, ROWS, WIDTH).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options = EncodeOptions { threads: Some(1), ..EncodeOptions::new("t".parse().unwrap(), &key) };
    encode_table(&CLEAR_ROWS, &table, &dir.lock().unwrap(), &options, &silent).unwrap();
}

fn update(dir: &TableDir, row: u64) {
    let changes = dir.path().join("changes.csv");
    fs::write(&changes, format!("{row},abcd\n")).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options = UpdateOptions { threads: Some(1), ..UpdateOptions::new(&key) };
    update_table(&CLEAR_ROWS, &dir.lock().unwrap(), Some(&changes), &options, &silent).unwrap();
}

/// Epochs 1 to `last`, and a server that serves this many deltas.
fn serve(path: &Path, last: u64, keep: u64) -> (TableDir, RunningServer) {
    let dir = TableDir::create(path).unwrap();
    encode(&dir);
    (2..=last).for_each(|epoch| update(&dir, epoch));
    let source = Folder(dir.clone(), keep);
    let running = Server::start_with(&config(), vec![Box::new(source)]).unwrap();
    (dir, running)
}

fn catalog(running: &RunningServer, epoch: u64) -> Response {
    get(running.public, &routes::table("t", Some(Epoch(epoch))))
}

fn entry(catalog: &Response, artifact: Artifact) -> ArtifactEntry {
    let catalog = SignedCatalog::parse(&catalog.body).unwrap().verify(None).unwrap();
    catalog.artifacts.into_iter().find(|entry| entry.artifact == artifact).unwrap()
}

fn fetch(running: &RunningServer, entry: &ArtifactEntry) -> Response {
    get(running.public, &routes::artifact(&entry.digest.to_string()))
}

/// The epochs whose catalogs and deltas are served, and form a chain.
fn way(running: &RunningServer, last: u64) -> Vec<u64> {
    let served = |epoch: &u64| {
        let catalog = catalog(running, *epoch);
        if catalog.status != 200 {
            assert_refused(&catalog, ProblemCode::EpochExpired);
            return false;
        }
        let delta = entry(&catalog, Artifact::RowsDelta);
        assert_eq!(delta.from_epoch, Some(Epoch(epoch - 1)));
        let response = fetch(running, &delta);
        assert!(response.status == 200 && delta.is_chunk(0, &response.body));
        true
    };
    (2..=last).filter(served).collect()
}

#[test]
fn rows_come_by_range_and_may_be_kept_by_any_cache() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, running) = serve(temp.path(), 1, 16);
    let image = dir.open_latest().unwrap();
    let rows = image.section(Section::Public(Artifact::Rows)).unwrap();
    let entry = entry(&catalog(&running, 1), Artifact::Rows);
    let path = routes::artifact(&entry.digest.to_string());
    let whole = get(running.public, &path);
    assert!(whole.body == rows && whole.header("cache-control").unwrap().contains("immutable"));
    let head = request(running.public, "HEAD", &path, &[], b"");
    assert_eq!((head.header("content-length"), head.body.len()), (Some("160000"), 0));
    let part = request(running.public, "GET", &path, &[("range", "bytes=70000-159999")], b"");
    assert!(part.status == 206 && part.body == rows[70_000..]);
    assert_eq!(part.header("etag"), whole.header("etag"));
    let outside = request(running.public, "GET", &path, &[("range", "bytes=160000-")], b"");
    assert_refused(&outside, ProblemCode::BadRange);
}

#[test]
fn the_way_over_old_epochs_is_served_as_far_as_it_is_kept() {
    let temp = tempfile::tempdir().unwrap();
    let (_, running) = serve(temp.path(), 6, 16);
    assert_eq!(way(&running, 6), [2, 3, 4, 5, 6], "the first epoch has none that leads to it");
    assert_refused(&catalog(&running, 1), ProblemCode::EpochExpired);
    let temp = tempfile::tempdir().unwrap();
    let (_, running) = serve(temp.path(), 6, 3);
    assert_eq!(way(&running, 6), [4, 5, 6]);
    // Of a past epoch only the delta is served.
    let rows = entry(&catalog(&running, 4), Artifact::Rows);
    assert_refused(&fetch(&running, &rows), ProblemCode::NoSuchArtifact);
}

#[test]
fn a_remnant_leads_as_well_as_an_image() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, running) = serve(temp.path(), 5, 16);
    retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 3 }, &silent).unwrap();
    assert_eq!(way(&running, 5), [2, 3, 4, 5], "what is mapped stays until the next epoch");
    update(&dir, 6);
    assert!(running.reload());
    assert_eq!(way(&running, 6), [3, 4, 5, 6]);
    // An epoch that was encoded afresh ends every chain of deltas.
    encode(&dir);
    assert!(running.reload());
    update(&dir, 8);
    assert!(running.reload());
    assert_eq!(catalog(&running, 8).status, 200);
    assert_refused(&catalog(&running, 6), ProblemCode::EpochExpired);
}

#[test]
fn a_damaged_remnant_ends_the_way_and_nothing_else() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, running) = serve(temp.path(), 5, 16);
    retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 16 }, &silent).unwrap();
    let remnant = dir.remnant_path(Epoch(3));
    let bytes = fs::read(&remnant).unwrap();
    fs::remove_file(&remnant).unwrap();
    fs::write(&remnant, &bytes[..bytes.len() - 1]).unwrap();
    update(&dir, 6);
    assert!(running.reload());
    assert_eq!(way(&running, 6), [4, 5, 6]);
}
