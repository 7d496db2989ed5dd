//! Updates of keyword tables: the rows that are stored for them, and the state that a killed or
//! damaged update leaves.

use crate::common::{folder, key, names, options, place, rows_of, write};
use sotto_core::{Epoch, Layer, Row, SchemeEntry};
use sotto_db::ingest::{
    ColumnSelector, FileOptions, IngestOptions, IngestProblem, KeywordOptions, SourceLayout, ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::update::ChangeCounts;
use sotto_db::{
    DbError, EncodeOptions, IngestedTable, TableDir, UpdateOptions, UpdateSummary, encode_table, ingest,
    update_table,
};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_testkit::CLEAR;
use sotto_testkit::rng::seeded;
use std::fs;
use tempfile::TempDir;

const ENTRY: &SchemeEntry = &CLEAR;

/// A table of `keys` keys `key 0` ... and values of up to 6 bytes.
fn table(keys: usize, headroom: u64) -> (TempDir, TableDir) {
    let (temp, dir) = folder();
    let lines: String = (0..keys).map(|i| format!("key {i},v{i}\n")).collect();
    let layout = SourceLayout::Keyword(KeywordOptions {
        key: "1".parse().unwrap(),
        form: KeyForm::Text,
        value: Some("2".parse().unwrap()),
        values: ValueOptions { width: Some(6), ..Default::default() },
        headroom,
        probes: None,
        slots: None,
        bands: Default::default(),
        costing: None,
        seed: PublicSeed([3; 32]),
    });
    let options_in = IngestOptions { file: FileOptions::default(), layout };
    let path = write(temp.path(), "t.csv", lines);
    let IngestedTable { table, kind, value, layers, .. } =
        ingest(&path, &options_in, temp.path(), &silent).unwrap();
    let signer = key();
    let options = EncodeOptions { kind, value, layers, ..options(&signer) };
    let done = encode_table(ENTRY, table.as_ref(), &dir.lock().unwrap(), &options, &silent).unwrap();
    assert_eq!(done.stored_rows_bytes, 80 + done.table_bytes);
    (temp, dir)
}

fn update(dir: &TableDir, changes: &str) -> Result<UpdateSummary, DbError> {
    let scratch = tempfile::tempdir().unwrap();
    let name = if changes.starts_with('{') { "c.jsonl" } else { "c.csv" };
    let path = write(scratch.path(), name, changes);
    let delete = changes.starts_with("key,").then(|| "gone".parse::<ColumnSelector>().unwrap());
    let file = FileOptions { header: Some(delete.is_some()), ..FileOptions::default() };
    let key = key();
    let options = UpdateOptions {
        file,
        columns: None,
        delete,
        encoding: None,
        threads: Some(1),
        lifetime: None,
        key: &key,
    };
    update_table(ENTRY, &dir.lock()?, &path, &options, &silent)
}

fn get(dir: &TableDir, key: &str) -> Option<String> {
    let image = dir.open_latest().unwrap();
    let rows = rows_of(&image, ENTRY);
    let keyword = image.catalog().keyword().unwrap().unwrap();
    let (wanted, plan) = keyword.plan(key.as_bytes(), &mut seeded("keys")).unwrap();
    let width = keyword.params().row_bytes() as usize;
    let wanted = wanted.iter().map(|row| Row::new(rows[*row as usize * width..][..width].to_vec()));
    let value = keyword.assemble(plan, wanted.collect()).unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

#[test]
fn each_epoch_is_made_from_the_one_before() {
    let (_temp, dir) = table(300, 400);
    for round in 0..4 {
        let done = update(&dir, &format!("key {round},again\nnew {round},n{round}\n")).unwrap();
        assert_eq!(done.keys, Some(ChangeCounts { set: 1, added: 1, ..ChangeCounts::default() }));
        assert!(done.rows_changed <= 4 && done.written_bytes < 1000, "{done:?}");
    }
    let done =
        update(&dir, "{\"key\":\"key 0\",\"value\":null}\n{\"key\":\"none\",\"value\":null}\n").unwrap();
    assert_eq!(done.keys, Some(ChangeCounts { removed: 1, absent: 1, ..ChangeCounts::default() }));
    assert_eq!(get(&dir, "key 0"), None);
    assert_eq!(get(&dir, "key 3").as_deref(), Some("again"));
    for i in 4..300 {
        assert_eq!(get(&dir, &format!("key {i}")), Some(format!("v{i}")));
        if i < 8 {
            assert_eq!(get(&dir, &format!("new {}", i - 4)), Some(format!("n{}", i - 4)));
        }
    }
    // Only the rows of the newest epoch are stored.
    let rows: Vec<_> = names(dir.path()).into_iter().filter(|name| name.ends_with(".rows")).collect();
    assert_eq!(rows, ["epoch-00000006.rows"]);
}

#[test]
fn what_goes_makes_room_for_what_comes() {
    let (_temp, dir) = table(40, 0);
    let come: String = (0..40).map(|i| format!("new {i},x,\n")).collect();
    let full = update(&dir, &format!("key,value,gone\n{come}")).unwrap_err();
    assert!(matches!(place(full).2, IngestProblem::Full));
    let go: String = (0..40).map(|i| format!("key {i},,yes\n")).collect();
    let done = update(&dir, &format!("key,value,gone\n{come}{go}")).unwrap();
    assert_eq!(done.keys, Some(ChangeCounts { added: 40, removed: 40, ..ChangeCounts::default() }));
    assert_eq!((get(&dir, "key 7"), get(&dir, "new 7").as_deref()), (None, Some("x")));
}

#[test]
fn a_refused_update_leaves_everything_as_it_was() {
    let (_temp, dir) = table(50, 0);
    let before = names(dir.path());
    assert!(matches!(
        place(update(&dir, "key 1,much too long\n").unwrap_err()).2,
        IngestProblem::Misfit { bytes: 13, most: 6 }
    ));
    // A missing value does not remove the key: it may be a misspelled column.
    let missing = place(update(&dir, "{\"key\":\"key 1\",\"values\":\"x\"}\n").unwrap_err());
    assert!(matches!(missing, (1, _, IngestProblem::Missing)));
    let same = place(update(&dir, "a,1\nb,1\na,1\n").unwrap_err());
    assert!(matches!(same, (3, Some(1), IngestProblem::SameKey { other: 1 })));
    assert!(matches!(update(&dir, "key 1,v1\n"), Err(DbError::NoChanges { .. })), "the value it has");
    assert_eq!((names(dir.path()), get(&dir, "key 1").as_deref()), (before, Some("v1")));
}

/// Rows get their name before the image does, and the rows of the epoch before are removed last.
#[test]
fn a_killed_update_leaves_an_epoch_and_its_rows() {
    let (_temp, dir) = table(50, 0);
    let (first, second) = (dir.rows_path(Epoch(1)), dir.rows_path(Epoch(2)));
    fs::copy(&first, &second).unwrap();
    fs::write(dir.path().join(".encoding-x.rows"), "half").unwrap();
    let old = fs::read(&first).unwrap();
    assert_eq!(update(&dir, "key 1,new\n").unwrap().epoch, Epoch(2));
    assert!(!names(dir.path()).iter().any(|name| name.starts_with(".encoding")));
    // Killed after the image of epoch 2 was named: its rows exist, and those of epoch 1 still do.
    fs::write(&first, old).unwrap();
    assert_eq!(update(&dir, "key 2,new\n").unwrap().epoch, Epoch(3));
    assert!(!first.exists() && !second.exists());
    assert_eq!((get(&dir, "key 1").as_deref(), get(&dir, "key 2").as_deref()), (Some("new"), Some("new")));
}

#[test]
fn rows_that_are_damaged_or_another_epochs_are_refused() {
    let (_temp, dir) = table(50, 0);
    let path = dir.rows_path(Epoch(1));
    let good = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match update(&dir, "key 1,new\n").unwrap_err() {
            DbError::Rows { why, .. } => why,
            other => panic!("{other}"),
        }
    };
    for (at, word) in [
        (0, "not a file of stored rows"),
        (20, "another table or epoch"),
        (60, "damaged"),
        (good.len() - 1, "damaged"),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(refused(&bad).contains(word), "byte {at}");
    }
    assert!(refused(&good[..good.len() - 1]).contains("truncated"));
    fs::write(&path, &good).unwrap();
    assert_eq!(update(&dir, "key 1,new\n").unwrap().epoch, Epoch(2));
    fs::remove_file(dir.rows_path(Epoch(2))).unwrap();
    assert!(
        matches!(update(&dir, "key 1,newer\n"), Err(DbError::Rows { why, .. }) if why.contains("missing"))
    );
    assert_eq!(get(&dir, "key 1").as_deref(), Some("new"));
}
