//! A layer over tables, end to end: proofs of a log that grows, by color, over HTTP.

use crate::watched::{serve_stack, url};
use sotto_catalog::stack::{FORMAT, Shard, StackFile};
use sotto_catalog::{Hex32, LayerEntry, Stack as Document, TableName};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport as _};
use sotto_client::{ClientError, Stack};
use sotto_core::{Epoch, Error, ParamsError, SchemeEntry};
use sotto_db::{EncodeOptions, StackDir, TableDir, TableSource, encode_table};
use sotto_layers::ColorProof;
use sotto_testkit::rng::seeded;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, verify};
use sotto_tree::{Coloring, PerfectTree};
use sotto_wire::routes;
use std::sync::LazyLock;
use tempfile::TempDir;

struct Table {
    rows: Vec<Vec<u8>>,
}

impl TableSource for Table {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }
    fn row_bytes(&self) -> usize {
        self.rows[0].len()
    }
    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        for (row, out) in self.rows[first as usize..].iter().zip(out.chunks_mut(self.row_bytes())) {
            out.copy_from_slice(row);
        }
        Ok(())
    }
}

fn leaf(i: u64) -> Hash {
    hash::leaf(&i.to_be_bytes())
}

/// Complete nodes by level, and the log's right edge.
fn log(leaves: u64) -> (Vec<Vec<Hash>>, Peaks) {
    let (mut peaks, mut nodes) = (Peaks::new(), vec![Vec::new(); 24]);
    (0..leaves).for_each(|i| {
        peaks.append(leaf(i), |CompleteSubtree { level, hash, .. }| nodes[usize::from(level)].push(hash))
    });
    (nodes, peaks)
}

/// Writes the next epochs of tables, and returns their entries in a stack.
fn write_tables(dir: &StackDir, tables: Vec<Table>) -> Vec<Shard> {
    let together = tables.len() as u64;
    let root = dir.root().unwrap();
    let key = root.signing_key(None, &mut seeded("key")).unwrap();
    let entry = sotto_registry::find("simplepir/1").unwrap();
    let tables = tables.iter().enumerate().map(|(i, table)| {
        let name: TableName = format!("log-{i}").parse().unwrap();
        let folder = TableDir::create(&dir.table(&name)).unwrap();
        let options = EncodeOptions {
            lookups_per_client: 1000,
            together,
            threads: Some(1),
            ..EncodeOptions::new(name, &key)
        };
        let written = encode_table(entry, table, &folder.lock().unwrap(), &options, &|_| {}).unwrap();
        Shard::of(folder.open_epoch(written.epoch).unwrap().catalog()).unwrap()
    });
    tables.collect()
}

fn publish(dir: &StackDir, epoch: u64, layer: &str, shards: Vec<Shard>, files: &[(&str, Vec<u8>)]) {
    let key = dir.root().unwrap().signing_key(None, &mut seeded("key")).unwrap();
    let document = Document {
        format: FORMAT.to_owned(),
        stack: "log".parse().unwrap(),
        epoch: Epoch(epoch),
        layers: vec![LayerEntry { name: layer.to_owned(), params: serde_json::json!({}) }],
        shards,
        files: files.iter().map(|(name, bytes)| StackFile::of(name.parse().unwrap(), bytes)).collect(),
        anchor: None,
        attribution: None,
        created: 1,
        expires: None,
    };
    let files: Vec<Vec<u8>> = files.iter().map(|(_, bytes)| bytes.clone()).collect();
    dir.publish(&document, &files, &key).unwrap();
}

fn hashes(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks::<32>().0.to_vec()
}

/// The tables of a colored log, and the layers above them.
fn colored(leaves: u64, layers: usize) -> (Vec<Table>, Vec<(&'static str, Vec<u8>)>) {
    let coloring = Coloring::new(PerfectTree::new(2, layers as u8).unwrap());
    let mut rows = vec![Vec::new(); layers];
    let mut peaks = Peaks::new();
    for i in 0..leaves {
        peaks.append(leaf(i), |CompleteSubtree { level, index, hash }| {
            if usize::from(level) < layers {
                let seeker = ((index ^ 1) << level) & ((1 << layers) - 1);
                let place = coloring.copath(seeker).unwrap()[layers - 1 - usize::from(level)];
                rows[usize::from(place.color)].push(hash.to_vec());
            }
        });
    }
    let public = log(leaves).0[layers..12].iter().rev().flatten().flatten().copied().collect();
    let tables = rows.into_iter().map(|rows| Table { rows }).collect();
    (tables, vec![("peaks", peaks.hashes().concat()), ("public", public)])
}

/// The layer that a client makes of what is public.
fn color(stack: &Stack, leaves: u64, layers: usize) -> ColorProof {
    let peaks = Peaks::from_hashes(leaves, hashes(stack.file("peaks").unwrap())).unwrap();
    let mut public = hashes(stack.file("public").unwrap());
    let levels = (layers..12).rev().map(|level| public.drain(..(leaves >> level) as usize).collect());
    let levels = levels.collect();
    ColorProof::new(Coloring::new(PerfectTree::new(2, layers as u8).unwrap()), peaks, levels).unwrap()
}

#[test]
fn a_log_that_grows_is_proved_by_color() {
    let folder = TempDir::new().unwrap();
    let dir = StackDir::create(folder.path()).unwrap();
    let (tables, files) = colored(1000, 9);
    publish(&dir, 1, "colour/1", write_tables(&dir, tables), &files);
    let running = serve_stack(folder.path()).unwrap();
    let mut stack = Stack::connect(&url(&running), "log").open().unwrap();
    let at = Stack::connect(&url(&running), "log").snapshot(stack.document().digest().unwrap());
    let mut still = at.open().unwrap();
    assert_eq!(stack.document().layers[0].name, "colour/1");
    assert_eq!(stack.tables().len(), 9);

    let layer = color(&stack, 1000, 9);
    let root = log(1000).1.root();
    for i in [0, 1, 511, 512, 700, 998, 999] {
        let proof = stack.lookup(&layer, &i).unwrap();
        verify(&leaf(i), i, 1000, &proof, &root).unwrap();
    }
    // A layer of another length than the tables is detected before anything is queried.
    let asked = stack.tables()[0].stats();
    let other = ColorProof::new(
        Coloring::new(PerfectTree::new(2, 9).unwrap()),
        log(900).1,
        vec![Vec::new(), Vec::new(), log(900).0[9].clone()],
    );
    assert!(matches!(stack.lookup(&other.unwrap(), &3), Err(ClientError::Core(_))));
    assert_eq!(stack.tables()[0].stats().query_requests, asked.query_requests);

    // The tables are of the next epoch, which the stack does not name yet.
    let (tables, files) = colored(1300, 9);
    let shards = write_tables(&dir, tables);
    running.reload();
    assert!(!stack.refresh().unwrap());
    verify(&leaf(5), 5, 1000, &stack.lookup(&layer, &5).unwrap(), &root).unwrap();

    // Now it does. Clients of the previous epoch are still answered.
    publish(&dir, 2, "colour/1", shards, &files);
    assert!(running.reload());
    verify(&leaf(6), 6, 1000, &stack.lookup(&layer, &6).unwrap(), &root).unwrap();
    // Clients of the old stack still get its files.
    let old = stack.document().file("peaks").unwrap().clone();
    let mut http = HttpTransport::new(&url(&running), &HttpSettings::default()).unwrap();
    let got = http.call(&Request::get(routes::artifact(&old.digest.to_string()), old.bytes)).unwrap();
    assert!(old.is(&got.body));
    // A client that requires the old one does not follow.
    assert_eq!(still.refresh().unwrap_err().code(), "other-snapshot");
    verify(&leaf(6), 6, 1000, &still.lookup(&layer, &6).unwrap(), &root).unwrap();
    assert!(stack.refresh().unwrap());
    assert_ne!(stack.document().file("peaks").unwrap(), &old);
    assert!(stack.lookup(&layer, &7).is_err(), "a layer of the old epoch");
    let layer = color(&stack, 1300, 9);
    for i in [0, 999, 1000, 1299] {
        let proof = stack.lookup(&layer, &i).unwrap();
        verify(&leaf(i), i, 1300, &proof, &log(1300).1.root()).unwrap();
    }
}

/// SimplePIR with a failure probability of 2^-41 per lookup: enough for one lookup or two.
static FAILING: LazyLock<SchemeEntry> = LazyLock::new(|| {
    let report = |params: &[u8]| {
        let mut report = (sotto_registry::find("simplepir/1").unwrap().report)(params)?;
        report.failure_log2 = -41.0;
        Ok(report)
    };
    SchemeEntry { report, ..*sotto_registry::find("simplepir/1").unwrap() }
});

#[test]
fn tables_that_fail_too_often_together_are_not_asked() {
    let folder = TempDir::new().unwrap();
    let dir = StackDir::create(folder.path()).unwrap();
    let (tables, files) = colored(1000, 9);
    publish(&dir, 1, "colour/1", write_tables(&dir, tables), &files);
    let running = serve_stack(folder.path()).unwrap();
    let open = || Stack::connect(&url(&running), "log");
    let mut stack = open().resolve(|_| Some(&FAILING)).open().unwrap();
    let layer = color(&stack, 1000, 9);
    let before = stack.tables()[0].stats().query_requests;
    let refused = stack.lookup(&layer, &3).unwrap_err();
    assert!(matches!(
        refused,
        ClientError::Core(Error::Params(ParamsError::UnreliableTogether { lookups: 9, .. }))
    ));
    assert_eq!(stack.tables()[0].stats().query_requests, before);

    let mut stack = open().open().unwrap();
    assert!(stack.failure_log2(&layer).unwrap() <= -40.0);
    verify(&leaf(3), 3, 1000, &stack.lookup(&layer, &3).unwrap(), &log(1000).1.root()).unwrap();
}

/// A stack whose publisher adds an ML-DSA-44 key: its tables have to be signed with it too.
#[test]
fn a_pin_of_two_keys_holds_for_the_tables_of_a_stack() {
    let folder = TempDir::new().unwrap();
    let dir = StackDir::create(folder.path()).unwrap();
    let (tables, files) = colored(100, 6);
    let before = write_tables(&dir, tables);
    let root = dir.root().unwrap();
    let key = root.signing_key(None, &mut seeded("key")).unwrap();
    let one = key.public();
    let path = folder.path().join(sotto_db::epoch::KEY);
    let both = root.add_ml_dsa(&path, key, &mut seeded("ML-DSA")).unwrap().public();
    publish(&dir, 1, "colour/1", before, &files);
    let running = serve_stack(folder.path()).unwrap();
    let open = |pin| Stack::connect(&url(&running), "log").pin(pin).open().map(|stack| stack.public_key());
    for pin in [one, both] {
        assert_eq!(open(pin).unwrap_err().code(), "no-ml-dsa-signature");
    }
    publish(&dir, 2, "colour/1", write_tables(&dir, colored(100, 6).0), &files);
    assert!(running.reload());
    for pin in [one, both] {
        assert_eq!(open(pin).unwrap(), both);
    }
}

#[test]
fn what_is_not_the_stack_is_refused() {
    let folder = TempDir::new().unwrap();
    let dir = StackDir::create(folder.path()).unwrap();
    let (tables, files) = colored(100, 6);
    publish(&dir, 1, "colour/1", write_tables(&dir, tables), &files);
    let running = serve_stack(folder.path()).unwrap();
    let url = url(&running);
    let stack = Stack::connect(&url, "log").open().unwrap();
    let stranger = sotto_catalog::SigningKey::generate(&mut seeded("stranger")).public();
    assert_eq!(Stack::connect(&url, "log").pin(stranger).open().unwrap_err().code(), "wrong-key");
    assert_eq!(Stack::connect(&url, "other").open().unwrap_err().code(), "no-such-table");
    assert!(Stack::connect(&url, "log").pin(stack.public_key()).open().is_ok());
    let (right, wrong) = (stack.document().digest().unwrap(), Hex32::from([7; 32]));
    assert!(Stack::connect(&url, "log").snapshot(right).open().is_ok());
    let error = Stack::connect(&url, "log").snapshot(wrong).open().unwrap_err();
    assert_eq!(error.code(), "other-snapshot");
    assert!(stack.file("nothing").is_err());
    // A public file that was changed on the disk keeps a server from starting.
    let file = std::fs::read_dir(folder.path().join("files")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, b"something else").unwrap();
    assert!(serve_stack(folder.path()).is_err());
}
