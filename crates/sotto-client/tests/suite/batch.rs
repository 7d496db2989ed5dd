//! Several rows, and values of several keys, in one round over HTTP; what servers see of it, and what wrong answers change.

use crate::common::boxed;
use crate::watched::{Wire, serve_stack, url};
use sotto_catalog::stack::{FORMAT, Shard};
use sotto_catalog::{BatchAccess, LayerEntry, Stack as Document, TableName, ValueKind};
use sotto_client::stack::BatchStack;
use sotto_client::{Lookup, LookupResult, Stack};
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::ingest::{
    FileOptions, IndexOptions, IngestOptions, KeywordOptions, SourceLayout, ValueOptions,
};
use sotto_db::table::{Buckets, MappedTable, grouped};
use sotto_db::{
    EncodeOptions, RowProofs, StackDir, TableDir, TableSource, encode_buckets, ingest, progress::silent,
};
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_server::RunningServer;
use sotto_testkit::rng::seeded;
use std::path::Path;
use tempfile::TempDir;

/// Encodes a file of lines `key,value` as a stack for batches of `most` rows.
fn publish(folder: &Path, epoch: u64, lines: u64, layout: SourceLayout, items: usize) {
    let entry = sotto_registry::find("simplepir/1").unwrap();
    publish_by(entry, RowProofs::No, folder, epoch, lines, layout, |rows| {
        CodeSizes::fit(rows, items).unwrap()
    });
}

/// Publishes a stack with tables of any scheme, and of any code for this many rows.
pub(crate) fn publish_by(
    entry: &SchemeEntry,
    verified: RowProofs,
    folder: &Path,
    epoch: u64,
    lines: u64,
    layout: SourceLayout,
    sizes: impl Fn(u64) -> CodeSizes,
) {
    let text: String = (0..lines).map(|i| format!("key {i},value {i:06}\n")).collect();
    let source = folder.join("lines.csv");
    std::fs::write(&source, text).unwrap();
    let file = FileOptions::default();
    let read = ingest(&source, &IngestOptions { file, layout }, folder, &silent).unwrap();

    let dir = StackDir::create(&folder.join("stack")).unwrap();
    let key = dir.root().unwrap().signing_key(None, &mut seeded("key")).unwrap();
    let sizes = sizes(read.table.rows());
    let params = Params::new(sizes, PublicSeed([epoch as u8; 32]));
    let code = params.code().unwrap();
    let copy = MappedTable::copy(read.table.as_ref(), folder, &silent).unwrap();
    let buckets = Buckets::new(&copy, &code).unwrap();
    let tables = buckets.tables();
    let tables: Vec<&dyn TableSource> = tables.iter().map(|table| table as &dyn TableSource).collect();
    let groups = grouped(entry, &tables, code.buckets());
    let tables = groups.into_iter().enumerate().map(|(i, group)| {
        let table: TableName = format!("many-{i}").parse().unwrap();
        let folder = TableDir::create(&dir.table(&table)).unwrap();
        let options = EncodeOptions {
            value: ValueKind::Text,
            together: sizes.lookups() as u64,
            verified,
            threads: Some(1),
            ..EncodeOptions::new(table, &key)
        };
        let written = encode_buckets(entry, group, &folder.lock().unwrap(), &options, &silent).unwrap();
        Shard::of(folder.open_epoch(written.epoch).unwrap().catalog()).unwrap()
    });
    let document = Document {
        format: FORMAT.to_owned(),
        stack: "many".parse().unwrap(),
        epoch: Epoch(epoch),
        layers: BatchAccess::layers(&read.kind, &read.layers, &params),
        shards: tables.collect(),
        files: Vec::new(),
        anchor: None,
        attribution: None,
        created: 1,
        expires: None,
    };
    dir.publish(&document, &[], &key).unwrap();
}

pub(crate) fn rows() -> SourceLayout {
    let values = ValueOptions { width: Some(12), ..ValueOptions::default() };
    SourceLayout::Index(IndexOptions { value: "2".parse().unwrap(), row: None, values })
}

pub(crate) fn keys() -> SourceLayout {
    let values = ValueOptions { width: Some(12), ..ValueOptions::default() };
    let (key, value) = ("1".parse().unwrap(), Some("2".parse().unwrap()));
    SourceLayout::Keyword(KeywordOptions {
        key,
        form: KeyForm::Text,
        value,
        values,
        headroom: 0,
        probes: Some(2),
        slots: Some(4),
        bands: Default::default(),
        costing: None,
        seed: PublicSeed([9; 32]),
    })
}

/// The tables that were queried since the last call, and the bytes of each request; sorted, since
/// they are made at the same time.
fn asked(wire: &Wire) -> Vec<(String, usize)> {
    let sent = wire.sent().into_iter().map(|request| (request.path, request.body.len()));
    let mut asked: Vec<_> = sent.collect();
    asked.sort();
    asked
}

fn open(wire: &Wire, running: &RunningServer) -> BatchStack {
    let (wire, url) = (wire.clone(), url(running));
    let make = move || Ok(vec![boxed(wire.to(&url))]);
    BatchStack::new(Stack::over("many", make).open().unwrap()).unwrap()
}

pub(crate) fn value(i: u64) -> Vec<u8> {
    format!("value {i:06}").into_bytes()
}

#[test]
fn rows_in_one_round() {
    let folder = TempDir::new().unwrap();
    publish(folder.path(), 1, 400, rows(), 12);
    let running = serve_stack(&folder.path().join("stack")).unwrap();
    let wire = Wire::default();
    let mut batch = open(&wire, &running);
    assert_eq!((batch.layers().max_batch(), batch.stack().tables().len()), (12, 18));
    assert!(asked(&wire).is_empty(), "opening tells nothing");

    let every: Vec<u64> = (0..12).map(|i| i * 33).collect();
    assert_eq!(batch.get_many(&every).unwrap(), every.iter().map(|i| value(*i)).collect::<Vec<_>>());
    let seen = asked(&wire);
    assert_eq!(seen.len(), 18);
    for expected in [&[][..], &[399], &[7, 7, 399, 7]] {
        let got = batch.get_many(expected).unwrap();
        assert_eq!(got, expected.iter().map(|i| value(*i)).collect::<Vec<_>>());
        assert_eq!(asked(&wire), seen, "{expected:?}");
    }
    let named = batch.get_all(&[Lookup::Row(3), Lookup::Key("17"), Lookup::Bit(3 * 96)]).unwrap();
    let granted = |row: u64, value| LookupResult { row: Some(row), value: Some(value) };
    assert_eq!(named, [granted(3, value(3)), granted(17, value(17)), granted(3, vec![b'v' & 1])]);
    assert_eq!(asked(&wire), seen);

    // More lookups than fit a round take several rounds that look alike, whatever the first returns.
    let several: Vec<u64> = (0..13).collect();
    assert_eq!(batch.get_many(&several).unwrap(), several.iter().map(|i| value(*i)).collect::<Vec<_>>());
    let twice = asked(&wire);
    assert_eq!(twice.len(), 2 * seen.len());
    let past_end: Vec<u64> = (400..413).collect();
    assert_eq!(batch.get_many(&past_end).unwrap_err().code(), "misuse");
    assert_eq!(asked(&wire), twice);
    // A lookup that cannot be served is refused after all tables were queried.
    assert_eq!(batch.get_many(&[400]).unwrap_err().code(), "misuse");
    assert_eq!(asked(&wire), seen);
    for lookup in [Lookup::Key("400"), Lookup::Key("x"), Lookup::Bit(400 * 96), Lookup::Bit(u64::MAX)] {
        assert_eq!(batch.get_all(&[lookup]).unwrap_err().code(), "no-such-row");
        assert_eq!(asked(&wire), seen);
    }
    // A failed lookup affects no other.
    let each = batch.get_each(&[Lookup::Key("x"), Lookup::Row(3)]).unwrap();
    assert_eq!(asked(&wire), seen);
    let [Err(none), Ok(there)] = &each[..] else { panic!("{each:?}") };
    assert_eq!((none.code(), there), ("no-such-row", &granted(3, value(3))));
    assert_eq!(batch.find_many(&["key 1"]).unwrap_err().code(), "no-such-row");
    assert!(asked(&wire).is_empty(), "whoever asks by key asks no such stack");

    // Wrong answers of one table are detected, and requests do not show it: every table is queried,
    // in this round and later.
    wire.tamper(|request, response| {
        if request.path.contains("many-4/") {
            // The expected number of bytes, half of them wrong.
            let half = response.body.len() / 2;
            response.body[..half].fill(0xFF);
        }
    });
    assert!(batch.get_many(&every).is_err());
    assert_eq!(asked(&wire), seen);
    wire.tamper(|_, _| ());
    assert_eq!(batch.get_many(&[8]).unwrap(), [value(8)]);
    assert_eq!(asked(&wire), seen);

    // Rows of two epochs are never mixed, and whether there is a second round does not depend on what
    // is looked up.
    for epoch in [2, 3] {
        publish(folder.path(), epoch, 360, rows(), 12);
        assert!(running.reload());
    }
    assert_eq!(batch.get_many(&[399]).unwrap_err().code(), "misuse");
    let over = asked(&wire).len();
    let mut other = open(&wire, &running);
    assert_eq!(other.get_many(&[359]).unwrap(), [value(359)]);
    asked(&wire);
    for epoch in [4, 5] {
        publish(folder.path(), epoch, 360, rows(), 12);
        assert!(running.reload());
    }
    assert_eq!(other.get_many(&[359, 0]).unwrap(), [value(359), value(0)]);
    assert_eq!(asked(&wire).len(), over);
}

#[test]
fn keys_in_one_round() {
    let folder = TempDir::new().unwrap();
    // Two rows for each of six keys.
    publish(folder.path(), 1, 300, keys(), 12);
    let running = serve_stack(&folder.path().join("stack")).unwrap();
    let wire = Wire::default();
    let mut batch = open(&wire, &running);
    assert_eq!(batch.layers().max_batch(), 6);
    let there = ["key 0", "key 7", "key 299", "key 100", "key 8", "key 9"];
    let found = batch.find_many(&there).unwrap();
    assert_eq!(found, [0, 7, 299, 100, 8, 9].map(|i| Some(value(i))));
    let seen = asked(&wire);
    assert_eq!(seen.len(), batch.stack().tables().len());
    let missing = ["none", "key 300", "key 7", "key 7", "no", "nobody"];
    assert_eq!(batch.find_many(&missing).unwrap(), [None, None, Some(value(7)), Some(value(7)), None, None]);
    assert_eq!(asked(&wire), seen);
    assert_eq!(batch.find_many(&[""; 0]).unwrap(), Vec::<Option<Vec<u8>>>::new());
    assert_eq!(asked(&wire), seen);
    assert_eq!(batch.find_many(&["key 1"; 7]).unwrap(), vec![Some(value(1)); 7]);
    assert_eq!(asked(&wire).len(), 2 * seen.len());
    // An invalid key affects no other lookup, at any position.
    let each = batch
        .get_each(&[Lookup::Key("key 7"), Lookup::Key(""), Lookup::Row(1), Lookup::Key("key 8")])
        .unwrap();
    assert_eq!(asked(&wire), seen);
    let found =
        each.into_iter().map(|granted| granted.map(|granted| granted.value).map_err(|error| error.code()));
    let none = Err("no-such-row");
    assert_eq!(found.collect::<Vec<_>>(), [Ok(Some(value(7))), none.clone(), none, Ok(Some(value(8)))]);
    for bad in ["", &"x".repeat(4000)] {
        assert_eq!(batch.find_many(&[bad]).unwrap_err().code(), "no-such-row");
        assert_eq!(asked(&wire), seen);
    }
    assert_eq!(batch.get_many(&[1]).unwrap_err().code(), "no-such-row");
    assert_eq!(asked(&wire), seen);
}

#[test]
fn another_stack_is_no_batch() {
    let folder = TempDir::new().unwrap();
    publish(folder.path(), 1, 20, rows(), 3);
    let running = serve_stack(&folder.path().join("stack")).unwrap();
    let url = url(&running);
    let cache = folder.path().join("cache");
    let open = || Stack::connect(&url, "many").cache_dir(&cache).open();
    assert_eq!(open().unwrap().trust(), sotto_client::Trust::FirstUse);
    assert_eq!(open().unwrap().trust(), sotto_client::Trust::Remembered);

    // The same tables under an unknown layer, then in a stack that is signed by another key.
    let dir = StackDir::find(&folder.path().join("stack")).unwrap();
    let (_, document) = dir.read().unwrap();
    let layers = vec![LayerEntry { name: "tree-tile/1".to_owned(), params: serde_json::json!({}) }];
    let document = Document { epoch: Epoch(2), layers, ..document };
    let key = dir.root().unwrap().signing_key(None, &mut seeded("key")).unwrap();
    dir.publish(&document, &[], &key).unwrap();
    running.reload();
    let stack = open().unwrap();
    assert_eq!(BatchStack::new(stack).unwrap_err().code(), "unknown-layer");
    let stranger = sotto_catalog::SigningKey::generate(&mut seeded("stranger"));
    dir.publish(&document, &[], &stranger).unwrap();
    running.reload();
    assert_eq!(open().unwrap_err().code(), "wrong-key");
    // An epoch older than one seen before is refused too.
    dir.publish(&Document { epoch: Epoch(1), ..document }, &[], &key).unwrap();
    running.reload();
    assert_eq!(open().unwrap_err().code(), "rollback");
}
