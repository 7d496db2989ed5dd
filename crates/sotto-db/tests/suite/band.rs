//! Keys in sums of rows: from a file to an image, where that costs least, and through updates.

use crate::common::{folder, key, options, write};
use sotto_core::{Epoch, Goal, Layer, Row};
use sotto_db::ingest::{
    BandPolicy, CostModel, FileOptions, IngestOptions, IngestProblem, KeywordOptions, SourceLayout,
    ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::update::ChangeCounts;
use sotto_db::{
    DbError, EncodeOptions, EncodeSummary, IngestedTable, RowProofs, TableDir, UpdateOptions, encode_table,
    ingest, update_table,
};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_testkit::CLEAR;
use sotto_testkit::rng::seeded;
use std::path::Path;

fn keyed(bands: BandPolicy, lookups_per_client: u64) -> KeywordOptions {
    let costing = CostModel {
        entry: &simplepir::ENTRY,
        lookups_per_client,
        goal: Goal::TotalBytes,
        set: None,
        batch: None,
    };
    KeywordOptions {
        key: "1".parse().unwrap(),
        form: KeyForm::Text,
        value: Some("2".parse().unwrap()),
        values: ValueOptions { width: Some(6), ..Default::default() },
        headroom: 100,
        probes: None,
        slots: None,
        bands,
        costing: Some(costing),
        seed: PublicSeed([3; 32]),
    }
}

fn read(scratch: &Path, keyed: KeywordOptions) -> Result<IngestedTable, DbError> {
    let lines: String = (0..3000).map(|i| format!("key {i},v{i}\n")).collect();
    let options = IngestOptions { file: FileOptions::default(), layout: SourceLayout::Keyword(keyed) };
    ingest(&write(scratch, "t.csv", lines), &options, scratch, &silent)
}

fn encode(dir: &TableDir, ingested: &IngestedTable, verified: RowProofs) -> Result<EncodeSummary, DbError> {
    let signer = key();
    let options = EncodeOptions {
        kind: ingested.kind.clone(),
        value: ingested.value,
        layers: ingested.layers.clone(),
        goal: Goal::TotalBytes,
        verified,
        ..options(&signer)
    };
    encode_table(&simplepir::ENTRY, ingested.table.as_ref(), &dir.lock().unwrap(), &options, &silent)
}

/// All rows, which are the records.
fn rows(dir: &TableDir) -> Vec<Vec<u8>> {
    let image = dir.open_latest().unwrap();
    let catalog = image.catalog().clone();
    let records = (simplepir::ENTRY.server.records)(catalog.params.to_string().as_bytes(), image).unwrap();
    let row = |row| {
        let mut bytes = vec![0; catalog.row_bytes as usize];
        records.read_part(row, 0, &mut bytes).unwrap();
        bytes
    };
    (0..catalog.rows).map(row).collect()
}

fn get(dir: &TableDir, key: &str) -> Option<String> {
    let (image, rows) = (dir.open_latest().unwrap(), rows(dir));
    let keyword = image.catalog().keyword().unwrap().unwrap();
    let (first, plan) = keyword.plan(key.as_bytes(), &mut seeded("keys")).unwrap();
    let ones = plan.row_mask().unwrap();
    let mut sum = vec![0u8; rows[0].len()];
    let added = rows.iter().skip(first[0] as usize).take(128).enumerate();
    for (_, row) in added.filter(|(i, _)| ones >> i & 1 == 1) {
        sum.iter_mut().zip(row).for_each(|(sum, byte)| *sum = sum.wrapping_add(*byte));
    }
    let value = keyword.assemble(plan, vec![Row::new(sum)]).unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

#[test]
fn every_epoch_has_the_sums() {
    let (temp, dir) = folder();
    let ingested = read(temp.path(), keyed(BandPolicy::Always, 1)).unwrap();
    // Verified rows cannot be added up.
    assert!(matches!(encode(&dir, &ingested, RowProofs::Yes), Err(DbError::Scheme(_))));
    let done = encode(&dir, &ingested, RowProofs::IfCheap).unwrap();
    assert_eq!(
        (done.path, done.records_per_row, done.rows, done.record_bytes),
        (None, 1, done.records, done.row_bytes)
    );
    let keyword = dir.open_latest().unwrap().catalog().keyword().unwrap().unwrap();
    assert_eq!(done.stored_rows_bytes, 80 + keyword.params().rows * keyword.params().row_bytes());
    for i in [0, 1, 1500, 2999] {
        assert_eq!(get(&dir, &format!("key {i}")), Some(format!("v{i}")));
    }
    assert_eq!(get(&dir, "key 3000"), None);
    let update = |text: &str, epoch: u64| {
        let path = write(temp.path(), "c.jsonl", text);
        let key = key();
        let options = UpdateOptions {
            file: FileOptions::default(),
            columns: None,
            delete: None,
            encoding: None,
            threads: Some(1),
            lifetime: None,
            key: &key,
        };
        let done = update_table(&simplepir::ENTRY, &dir.lock().unwrap(), &path, &options, &silent).unwrap();
        assert_eq!((done.epoch, done.rows_appended), (Epoch(epoch), 0));
        assert!(done.delta_bytes.is_some_and(|bytes| bytes < done.artifact_bytes));
        done.keys.unwrap()
    };
    let tally = update("{\"key\":\"key 7\",\"value\":\"other\"}\n{\"key\":\"new\",\"value\":\"n\"}\n", 2);
    assert_eq!(tally, ChangeCounts { set: 1, added: 1, ..ChangeCounts::default() });
    let tally = update("{\"key\":\"key 8\",\"value\":null}\n", 3);
    assert_eq!(tally, ChangeCounts { removed: 1, ..ChangeCounts::default() });
    for (key, value) in [("key 7", Some("other")), ("new", Some("n")), ("key 8", None), ("key 9", Some("v9"))]
    {
        assert_eq!(get(&dir, key).as_deref(), value);
    }
    dir.open_latest().unwrap().verify(&silent).unwrap();
}

/// Sums are used by schemes that add rows up, where they cost less; not where keys must be stored
/// in rows.
#[test]
fn sums_are_for_tables_that_are_cheaper_with_them() {
    let scratch = tempfile::tempdir().unwrap();
    let is_band = |options: KeywordOptions| {
        let read = read(scratch.path(), options).unwrap();
        assert_eq!(read.table.made_of().is_some(), read.layers[0].params.get("band").is_some());
        read.table.made_of().is_some()
    };
    assert!(is_band(keyed(BandPolicy::Always, 1000)));
    assert!(is_band(keyed(BandPolicy::IfCheaper, 1)));
    assert!(!is_band(keyed(BandPolicy::Never, 1)));
    assert!(!is_band(KeywordOptions { probes: Some(2), ..keyed(BandPolicy::IfCheaper, 1) }));
    assert!(!is_band(KeywordOptions { slots: Some(20), ..keyed(BandPolicy::IfNoRowProofs, 1) }));
    let mut options = keyed(BandPolicy::IfCheaper, 1);
    options.costing.as_mut().unwrap().entry = &CLEAR;
    assert!(!is_band(options.clone()));
    options.bands = BandPolicy::Always;
    let Err(DbError::Ingest(error)) = read(scratch.path(), options) else { panic!("a scheme without sums") };
    assert!(matches!(error.problem, IngestProblem::Options(_)));
}
