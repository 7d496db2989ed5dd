//! Keyword tables: from a file to rows and to sums of rows, and updates of their keys.

use crate::common::{
    all, complaint, folder, get, key, keyword_of, names, options, place, read, rows_of, update, value_of,
};
use sotto_catalog::{TableKind, ValueKind};
use sotto_core::{Epoch, Goal, Layer, Row, SchemeEntry};
use sotto_db::ingest::{
    BandPolicy, ColumnSelector, CostModel, Encoding, FileOptions, IngestProblem, KeywordOptions,
    SourceLayout, ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::update::{ChangeCounts, ChangeFile};
use sotto_db::{
    DbError, EncodeOptions, EncodeSummary, IngestedTable, RowProofs, TableDir, UpdateSummary, encode_table,
};
use sotto_layers::keyword::{KeyError, KeyForm};
use sotto_prg::PublicSeed;
use sotto_testkit::CLEAR;
use sotto_testkit::rng::seeded;
use std::fs;
use tempfile::TempDir;

fn keyed(form: KeyForm) -> KeywordOptions {
    KeywordOptions::new(form, PublicSeed([9; 32]))
}

fn csv(text: &str, options: KeywordOptions) -> Result<IngestedTable, DbError> {
    read("t.csv", text, SourceLayout::Keyword(options))
}

fn fault(text: &str, options: KeywordOptions) -> (u64, Option<usize>, IngestProblem) {
    place(csv(text, options).map(drop).unwrap_err())
}

/// Lines of `keys` keys `key 0` ... with the values `v0` ....
fn lines(keys: usize) -> String {
    (0..keys).map(|i| format!("key {i},v{i}\n")).collect()
}

fn costing(goal: Goal, lookups_per_client: u64) -> Option<CostModel> {
    let (set, batch) = (None, None);
    Some(CostModel { entry: &simplepir::ENTRY, lookups_per_client, goal, set, batch })
}

fn encode(
    dir: &TableDir,
    entry: &SchemeEntry,
    read: &IngestedTable,
    verified: RowProofs,
) -> Result<EncodeSummary, DbError> {
    let signer = key();
    let (kind, value, layers) = (read.kind.clone(), read.value, read.layers.clone());
    let options = EncodeOptions { kind, value, layers, goal: Goal::TotalBytes, verified, ..options(&signer) };
    encode_table(entry, read.table.as_ref(), &dir.lock().unwrap(), &options, &silent)
}

#[test]
fn keys_are_found_in_any_spelling() {
    let text = "Example.com,spam\nbücher.example.,\n\"a.example\",x\n";
    let table = csv(text, keyed(KeyForm::Domain)).unwrap();
    assert_eq!((&table.kind, table.value, table.notes.lines), (&TableKind::Keyword, ValueKind::Text, 3));
    assert_eq!(get(&table, "EXAMPLE.com.").unwrap(), "spam");
    assert_eq!(get(&table, "xn--bcher-kva.example").unwrap(), "");
    assert_eq!(get(&table, "a.example").unwrap(), "x");
    assert_eq!(get(&table, "b.example"), None);
    // The same file and seed give the same rows.
    let again = csv(text, keyed(KeyForm::Domain)).unwrap();
    assert_eq!(all(table.table.as_ref()), all(again.table.as_ref()));
}

#[test]
fn a_table_of_keys_alone_is_a_set() {
    let table = csv("192.0.2.1\n::1\n", KeywordOptions { value: None, ..keyed(KeyForm::Ip) }).unwrap();
    assert_eq!(get(&table, "::ffff:192.0.2.1").unwrap(), "");
    assert_eq!(get(&table, "192.0.2.2"), None);
}

#[test]
fn numbers_have_one_width() {
    let values = ValueOptions { encoding: Encoding::Unsigned(4), ..Default::default() };
    let table = csv("a,1\nb,70000\n", KeywordOptions { values, ..keyed(KeyForm::Text) }).unwrap();
    assert!(all(table.table.as_ref()).windows(4).any(|bytes| bytes == 70000u32.to_le_bytes()));
}

/// One probe costs least where many lookups share the hint, and requested options are used.
#[test]
fn a_table_is_arranged_for_its_scheme() {
    let text: String = (0..4000).map(|i| format!("key {i},{i}\n")).collect();
    let options = |lookups_per_client| KeywordOptions {
        costing: costing(Goal::default(), lookups_per_client),
        ..keyed(KeyForm::Text)
    };
    let arranged = |options: KeywordOptions| {
        let table = csv(&text, options).unwrap();
        for i in [0, 1777, 3999] {
            assert_eq!(get(&table, &format!("key {i}")), Some(i.to_string()));
        }
        assert_eq!(get(&table, "key 4000"), None);
        let keyword = keyword_of(&table);
        (keyword.params().probes, keyword.params().slots)
    };
    // For a single lookup the hint dominates the costs, and it is smallest where rows are narrow.
    assert_eq!(arranged(options(1_000_000)).0, 1);
    assert!(arranged(options(1)).0 > 1);
    let options = options(100);
    assert_eq!(arranged(KeywordOptions { probes: Some(2), slots: Some(4), ..options.clone() }), (2, 4));
    assert_eq!(arranged(KeywordOptions { probes: Some(3), ..options.clone() }).0, 3);
    assert_eq!(arranged(KeywordOptions { slots: Some(12), ..options }), (1, 12));
}

#[test]
fn what_is_wrong_is_named_by_line() {
    let text = keyed(KeyForm::Text);
    assert!(matches!(fault("", text.clone()), (0, None, IngestProblem::Empty)));
    assert!(matches!(fault("a,1\n,2\n", text.clone()), (2, Some(1), IngestProblem::Key(KeyError::Empty))));
    let twice = fault("a,1\nb,2\n\"c\nd\",3\nb,4\na,5\n", text.clone());
    assert!(matches!(twice, (5, None, IngestProblem::SameKey { other: 2 })), "{twice:?}");
    let long = format!("a,1\n{},2\n", "k".repeat(4097));
    assert!(matches!(fault(&long, text.clone()), (2, Some(1), IngestProblem::Key(KeyError::Long { .. }))));
    let width = KeywordOptions { values: ValueOptions { width: Some(2), ..Default::default() }, ..text };
    assert!(matches!(
        fault("a,12\nb,123\n", width),
        (2, Some(2), IngestProblem::TooLong { bytes: 3, width: 2 })
    ));
    let domain = fault("a.example,1\nno domain,2\n", keyed(KeyForm::Domain));
    assert!(matches!(domain, (2, Some(1), IngestProblem::Key(KeyError::Not(_)))));
}

/// A table of `keys` keys and values of up to 6 bytes.
fn table(keys: usize, headroom: u64) -> (TempDir, TableDir) {
    let (temp, dir) = folder();
    let values = ValueOptions { width: Some(6), ..Default::default() };
    let read = csv(&lines(keys), KeywordOptions { values, headroom, ..keyed(KeyForm::Text) }).unwrap();
    let done = encode(&dir, &CLEAR, &read, RowProofs::No).unwrap();
    assert_eq!(done.stored_rows_bytes, 80 + done.table_bytes);
    (temp, dir)
}

fn change(dir: &TableDir, lines: &str) -> Result<UpdateSummary, DbError> {
    let name = if lines.starts_with('{') { "c.jsonl" } else { "c.csv" };
    let delete = lines.starts_with("key,").then(|| "gone".parse::<ColumnSelector>().unwrap());
    let file = FileOptions { header: Some(delete.is_some()), ..FileOptions::default() };
    update(dir, &CLEAR, name, lines, ChangeFile { file, delete, ..ChangeFile::default() })
}

fn stored(dir: &TableDir, key: &str) -> Option<String> {
    let image = dir.open_latest().unwrap();
    value_of(&image.catalog().keyword().unwrap().unwrap(), &rows_of(&image, &CLEAR), key)
}

#[test]
fn each_epoch_is_made_from_the_one_before() {
    let (_temp, dir) = table(300, 400);
    for round in 0..4 {
        let done = change(&dir, &format!("key {round},again\nnew {round},n{round}\n")).unwrap();
        assert_eq!(done.keys, Some(ChangeCounts { set: 1, added: 1, ..ChangeCounts::default() }));
        assert!(done.rows_changed <= 4 && done.written_bytes < 1000, "{done:?}");
    }
    let done =
        change(&dir, "{\"key\":\"key 0\",\"value\":null}\n{\"key\":\"none\",\"value\":null}\n").unwrap();
    assert_eq!(done.keys, Some(ChangeCounts { removed: 1, absent: 1, ..ChangeCounts::default() }));
    assert_eq!(stored(&dir, "key 0"), None);
    assert_eq!(stored(&dir, "key 3").as_deref(), Some("again"));
    for i in 4..300 {
        assert_eq!(stored(&dir, &format!("key {i}")), Some(format!("v{i}")));
        if i < 8 {
            assert_eq!(stored(&dir, &format!("new {}", i - 4)), Some(format!("n{}", i - 4)));
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
    let full = change(&dir, &format!("key,value,gone\n{come}")).unwrap_err();
    assert!(matches!(place(full).2, IngestProblem::Full));
    let go: String = (0..40).map(|i| format!("key {i},,yes\n")).collect();
    let done = change(&dir, &format!("key,value,gone\n{come}{go}")).unwrap();
    assert_eq!(done.keys, Some(ChangeCounts { added: 40, removed: 40, ..ChangeCounts::default() }));
    assert_eq!((stored(&dir, "key 7"), stored(&dir, "new 7").as_deref()), (None, Some("x")));
}

#[test]
fn a_refused_update_leaves_everything_as_it_was() {
    let (_temp, dir) = table(50, 0);
    let before = names(dir.path());
    assert!(matches!(
        place(change(&dir, "key 1,much too long\n").unwrap_err()).2,
        IngestProblem::Misfit { bytes: 13, limit: 6 }
    ));
    // A missing value does not remove the key: it may be a misspelled column.
    let missing = place(change(&dir, "{\"key\":\"key 1\",\"values\":\"x\"}\n").unwrap_err());
    assert!(matches!(missing, (1, _, IngestProblem::Missing)));
    let same = place(change(&dir, "a,1\nb,1\na,1\n").unwrap_err());
    assert!(matches!(same, (3, Some(1), IngestProblem::SameKey { other: 1 })));
    assert!(matches!(change(&dir, "key 1,v1\n"), Err(DbError::NoChanges { .. })), "the value it has");
    assert_eq!((names(dir.path()), stored(&dir, "key 1").as_deref()), (before, Some("v1")));
}

/// Rows get their name before the image does, and the rows of the epoch before are removed last.
#[test]
fn a_killed_update_leaves_an_epoch_and_its_rows() {
    let (_temp, dir) = table(50, 0);
    let (first, second) = (dir.rows_path(Epoch(1)), dir.rows_path(Epoch(2)));
    fs::copy(&first, &second).unwrap();
    fs::write(dir.path().join(".encoding-x.rows"), "half").unwrap();
    let old = fs::read(&first).unwrap();
    assert_eq!(change(&dir, "key 1,new\n").unwrap().epoch, Epoch(2));
    assert!(!names(dir.path()).iter().any(|name| name.starts_with(".encoding")));
    // Killed after the image of epoch 2 was named: its rows exist, and those of epoch 1 still do.
    fs::write(&first, old).unwrap();
    assert_eq!(change(&dir, "key 2,new\n").unwrap().epoch, Epoch(3));
    assert!(!first.exists() && !second.exists());
    assert_eq!(
        (stored(&dir, "key 1").as_deref(), stored(&dir, "key 2").as_deref()),
        (Some("new"), Some("new"))
    );
}

#[test]
fn rows_that_are_damaged_or_another_epochs_are_refused() {
    let (_temp, dir) = table(50, 0);
    let path = dir.rows_path(Epoch(1));
    let good = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match change(&dir, "key 1,new\n").unwrap_err() {
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
    assert_eq!(change(&dir, "key 1,new\n").unwrap().epoch, Epoch(2));
    fs::remove_file(dir.rows_path(Epoch(2))).unwrap();
    assert!(
        matches!(change(&dir, "key 1,newer\n"), Err(DbError::Rows { why, .. }) if why.contains("missing"))
    );
    assert_eq!(stored(&dir, "key 1").as_deref(), Some("new"));
}

fn band(bands: BandPolicy, lookups_per_client: u64) -> KeywordOptions {
    KeywordOptions {
        values: ValueOptions { width: Some(6), ..Default::default() },
        headroom: 100,
        bands,
        costing: costing(Goal::TotalBytes, lookups_per_client),
        ..KeywordOptions::new(KeyForm::Text, PublicSeed([3; 32]))
    }
}

/// All rows, which are the records.
fn records(dir: &TableDir) -> Vec<Vec<u8>> {
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

fn summed(dir: &TableDir, key: &str) -> Option<String> {
    let (image, rows) = (dir.open_latest().unwrap(), records(dir));
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
    let (_temp, dir) = folder();
    let ingested = csv(&lines(3000), band(BandPolicy::Always, 1)).unwrap();
    // Verified rows cannot be added up.
    assert!(matches!(encode(&dir, &simplepir::ENTRY, &ingested, RowProofs::Yes), Err(DbError::Scheme(_))));
    let done = encode(&dir, &simplepir::ENTRY, &ingested, RowProofs::IfCheap).unwrap();
    assert_eq!(
        (done.path, done.records_per_row, done.rows, done.record_bytes),
        (None, 1, done.records, done.row_bytes)
    );
    let keyword = dir.open_latest().unwrap().catalog().keyword().unwrap().unwrap();
    assert_eq!(done.stored_rows_bytes, 80 + keyword.params().rows * keyword.params().row_bytes());
    for i in [0, 1, 1500, 2999] {
        assert_eq!(summed(&dir, &format!("key {i}")), Some(format!("v{i}")));
    }
    assert_eq!(summed(&dir, "key 3000"), None);
    let change = |text: &str, epoch: u64| {
        let done = update(&dir, &simplepir::ENTRY, "c.jsonl", text, ChangeFile::default()).unwrap();
        assert_eq!((done.epoch, done.rows_appended), (Epoch(epoch), 0));
        assert!(done.delta_bytes.is_some_and(|bytes| bytes < done.artifact_bytes));
        done.keys.unwrap()
    };
    let tally = change("{\"key\":\"key 7\",\"value\":\"other\"}\n{\"key\":\"new\",\"value\":\"n\"}\n", 2);
    assert_eq!(tally, ChangeCounts { set: 1, added: 1, ..ChangeCounts::default() });
    let tally = change("{\"key\":\"key 8\",\"value\":null}\n", 3);
    assert_eq!(tally, ChangeCounts { removed: 1, ..ChangeCounts::default() });
    for (key, value) in [("key 7", Some("other")), ("new", Some("n")), ("key 8", None), ("key 9", Some("v9"))]
    {
        assert_eq!(summed(&dir, key).as_deref(), value);
    }
    dir.open_latest().unwrap().verify(&silent).unwrap();
}

/// A row that is wider than a block is hashed part by part.
#[test]
fn parts_of_a_row_of_sums_are_parts_of_the_row() {
    let table = csv(&lines(3000), band(BandPolicy::Always, 1)).unwrap().table;
    assert!(table.made_of().is_some());
    let width = table.row_bytes();
    // A row at the edge may lie in no sum, and is zeros then.
    for row in [0, table.rows() / 2, table.rows() - 1] {
        let mut whole = vec![0; width];
        table.read(row, &mut whole).unwrap();
        for part in [0..width, 1..width, width / 3..width / 3 + 5] {
            let mut read = vec![0; part.len()];
            table.read_part(row, part.start as u64, &mut read).unwrap();
            assert!(read == whole[part.clone()], "{row}: {part:?}");
        }
        assert!(row != table.rows() / 2 || whole.iter().any(|byte| *byte != 0), "no part would differ");
        assert!(table.read_part(row, width as u64, &mut [0]).is_err(), "past the row's end");
    }
    assert!(table.read_part(table.rows(), 0, &mut [0]).is_err(), "past the last row");
}

/// Sums are used by schemes that add rows up, where they cost less; not where keys must be stored
/// in rows.
#[test]
fn sums_are_for_tables_that_are_cheaper_with_them() {
    let is_band = |options: KeywordOptions| {
        let read = csv(&lines(3000), options).unwrap();
        assert_eq!(read.table.made_of().is_some(), read.layers[0].params.get("band").is_some());
        read.table.made_of().is_some()
    };
    assert!(is_band(band(BandPolicy::Always, 1000)));
    assert!(is_band(band(BandPolicy::IfCheaper, 1)));
    assert!(!is_band(band(BandPolicy::Never, 1)));
    assert!(!is_band(KeywordOptions { probes: Some(2), ..band(BandPolicy::IfCheaper, 1) }));
    assert!(!is_band(KeywordOptions { slots: Some(20), ..band(BandPolicy::IfNoRowProofs, 1) }));
    let mut options = band(BandPolicy::IfCheaper, 1);
    options.costing.as_mut().unwrap().entry = &CLEAR;
    assert!(!is_band(options.clone()));
    options.bands = BandPolicy::Always;
    let error = complaint(csv(&lines(3000), options).map(drop).unwrap_err());
    assert!(matches!(error.problem, IngestProblem::Options(_)), "a scheme without sums");
}
