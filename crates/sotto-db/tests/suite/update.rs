//! Updates: the image equals a re-encoded one, and the delta updates a client's hint.

use crate::common::{self, Memory, complaint, encode, folder, names, rows_of};
use sotto_catalog::{KeyKind, TableKind, ValueKind};
use sotto_core::{Artifact, Epoch, Image, Section};
use sotto_db::ingest::{IngestError, IngestProblem, RangeOptions, SourceLayout};
use sotto_db::progress::silent;
use sotto_db::table::BlockRule;
use sotto_db::update::ChangeFile;
use sotto_db::{DbError, EncodeOptions, ImageProblem, TableDir, UpdateSummary};
use sotto_testkit::{CLEAR, CLEAR_TWO};
use tempfile::TempDir;

const HINT: Section = Section::Public(Artifact::Hint);
const DELTA: Section = Section::Public(Artifact::HintDelta);

fn update(dir: &TableDir, name: &str, changes: &str) -> Result<UpdateSummary, DbError> {
    update_with(dir, name, changes, None)
}

fn update_with(
    dir: &TableDir,
    name: &str,
    changes: &str,
    columns: Option<&[&str]>,
) -> Result<UpdateSummary, DbError> {
    let columns = columns.map(|names| names.iter().map(|name| name.parse().unwrap()).collect());
    common::update(dir, &CLEAR, name, changes, ChangeFile { columns, ..ChangeFile::default() })
}

fn section(dir: &TableDir, epoch: u64, section: Section) -> Vec<u8> {
    dir.open_epoch(Epoch(epoch)).unwrap().section(section).unwrap_or_default().to_vec()
}

/// A table of 100 rows, its folder, and its bytes.
fn table(width: usize) -> (TempDir, TableDir, Memory) {
    let (temp, dir) = folder();
    let table = Memory::numbered(100, width);
    encode(&dir, &CLEAR, &table).unwrap();
    (temp, dir, table)
}

#[test]
fn an_update_is_what_encoding_afresh_would_be() {
    // Rows packed four to a record, one to a record, and split over three.
    for width in [8, 32, 2100] {
        let (_temp, dir, mut table) = table(width);
        let mut changes = String::new();
        for row in [0, 3, 4, 5, 50, 99] {
            let new: Vec<u8> = (0..width).map(|i| (row + i) as u8).collect();
            table.bytes[row * width..][..width].copy_from_slice(&new);
            changes += &common::change_line(row as u64, &new).to_uppercase();
        }
        let summary = update(&dir, "changes.csv", &changes).unwrap();
        assert_eq!((summary.epoch, summary.from_epoch, summary.rows_changed), (Epoch(2), Epoch(1), 6));
        let image = dir.open_latest().unwrap();
        image.verify(&silent).unwrap();
        assert_eq!(rows_of(&image, &CLEAR), table.bytes);
        assert_eq!(summary.image_bytes, image.header().file_bytes);

        encode(&dir, &CLEAR, &table).unwrap();
        for part in [Section::Resident, HINT, Section::Public(Artifact::Tree)] {
            assert_eq!(section(&dir, 2, part), section(&dir, 3, part), "width {width}");
        }
        assert_eq!(dir.open_latest().unwrap().catalog().rows_root, image.catalog().rows_root);
        assert!(section(&dir, 3, DELTA).is_empty(), "an encoded epoch starts afresh");
    }
}

#[test]
fn a_delta_brings_the_old_hint_along() {
    let (_temp, dir, _) = table(32);
    let summary = update(&dir, "changes.csv", "7,aabb\n8,cc\n").unwrap();
    let image = dir.open_latest().unwrap();
    let entry = image.catalog().artifacts.iter().find(|entry| entry.artifact == Artifact::HintDelta).unwrap();
    assert_eq!(entry.from_epoch, Some(Epoch(1)));
    assert_eq!(summary.delta_bytes, Some(entry.bytes));
    assert!(entry.bytes < summary.artifact_bytes);
    assert_eq!(summary.client_bytes, entry.bytes);
    assert!(summary.written_bytes < 200, "two records and their hints, not the table");

    let mut held = section(&dir, 1, HINT);
    let params = image.catalog().params.to_string();
    let patch = CLEAR.patch.unwrap();
    patch(params.as_bytes(), Artifact::Hint, &mut held, &section(&dir, 2, DELTA)).unwrap();
    assert_eq!(held, section(&dir, 2, HINT));
}

#[test]
fn updates_of_updates_keep_no_old_delta() {
    let (_temp, dir, mut table) = table(32);
    for round in 0..5 {
        let row = 10 * round;
        update(&dir, "changes.csv", &format!("{row},ff\n")).unwrap();
        table.bytes[row * 32..][..32].fill(0);
        table.bytes[row * 32] = 0xff;
    }
    assert_eq!(dir.latest().unwrap(), Some(Epoch(6)));
    let (second, last) = (dir.open_epoch(Epoch(2)).unwrap(), dir.open_latest().unwrap());
    assert_eq!(rows_of(&last, &CLEAR), table.bytes);
    assert_eq!(last.catalog().artifacts.len(), 3, "a hint, what leads to it, a tree");
    assert!(last.header().file_bytes.abs_diff(second.header().file_bytes) < 64, "no room is lost");
}

#[test]
fn every_format_of_changes() {
    let (_temp, dir, _) = table(2);
    let row = |row: usize| rows_of(&dir.open_latest().unwrap(), &CLEAR)[2 * row..][..2].to_vec();
    update(&dir, "c.csv", "row,value\n5,0102\n").unwrap_err();
    update_with(&dir, "c.csv", "value,x,row\n0102,,5\n", Some(&["row", "value"])).unwrap();
    assert_eq!(row(5), [1, 2]);
    update(&dir, "c.jsonl", "{\"row\": 5, \"value\": \"03\"}\n").unwrap();
    assert_eq!(row(5), [3, 0]);
}

#[test]
fn rows_are_appended_as_long_as_there_is_room() {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(9, 8)).unwrap(); // in records of four
    let summary = update(&dir, "c.csv", "11,aa\n").unwrap();
    assert_eq!((summary.rows_appended, summary.rows_changed), (1, 1));
    let image = dir.open_latest().unwrap();
    assert_eq!(image.catalog().rows, 12);
    let rows = rows_of(&image, &CLEAR);
    assert_eq!(&rows[9 * 8..], [[0; 8], [0; 8], [0xaa, 0, 0, 0, 0, 0, 0, 0]].concat(), "the gap is zero");
    let error = update(&dir, "c.csv", "12,aa\n").unwrap_err();
    assert!(matches!(error, DbError::PastCapacity { row: 12, capacity: 12 }));
    assert!(error.to_string().contains("encoded afresh"));
}

#[test]
fn bad_changes_are_named_and_change_nothing() {
    let (_temp, dir, _) = table(2);
    let before = names(dir.path());
    let fault = |text: &str| {
        let error = complaint(update(&dir, "c.csv", text).unwrap_err());
        (error.line, error.column.and_then(|column| column.number), error.problem)
    };
    assert!(matches!(fault("1,aa\n1,bb\n"), (2, Some(1), IngestProblem::Duplicate { row: 1 })));
    assert!(matches!(fault("1,aabbcc\n"), (1, Some(2), IngestProblem::TooLong { bytes: 3, width: 2 })));
    assert!(matches!(fault("1,xx\n"), (1, Some(2), IngestProblem::Kind { .. })));
    assert!(matches!(fault("-1,aa\n"), (1, Some(1), IngestProblem::Kind { .. })));
    assert!(matches!(fault("1,aa\n2\n"), (2, None, IngestProblem::Columns { .. })));
    let error = update_with(&dir, "c.csv", "1,2,aa\n", Some(&["1", "2", "3"])).unwrap_err();
    assert!(matches!(complaint(error).problem, IngestProblem::Options(_)), "an index table has no ranges");
    assert!(matches!(update(&dir, "c.jsonl", "\n"), Err(DbError::NoChanges { .. })));
    assert_eq!(names(dir.path()), before);
}

#[test]
fn schemes_and_folders_that_cannot() {
    let (_temp, dir) = folder();
    assert!(matches!(update(&dir, "c.csv", "1,aa\n"), Err(DbError::Empty { .. })));
    encode(&dir, &CLEAR_TWO, &Memory::numbered(10, 4)).unwrap();
    assert!(matches!(update(&dir, "c.csv", "1,aa\n"), Err(DbError::Catalog(_))), "another scheme");
    let mut fixed = CLEAR_TWO;
    fixed.server.update_image = None;
    let error = common::update(&dir, &fixed, "c.csv", "1,aa\n", ChangeFile::default()).unwrap_err();
    assert!(matches!(error, DbError::CannotUpdate { .. }));
}

#[test]
fn damage_is_not_copied_into_the_next_epoch() {
    for part in ["resident", "hint"] {
        let (_temp, dir, _) = table(32);
        let image = dir.open_latest().unwrap();
        let sections = sotto_db::inspect(&image, Some(&CLEAR)).unwrap().sections;
        let at = sections.iter().find(|section| section.name == part).unwrap().offset as usize;
        let mut bytes = std::fs::read(image.path()).unwrap();
        bytes[at] ^= 1;
        std::fs::write(image.path(), bytes).unwrap();
        let before = names(dir.path());
        match update(&dir, "c.csv", "50,aa\n") {
            Err(DbError::Image { problem: ImageProblem::Digest(named), .. }) => {
                assert_eq!(named, part);
            }
            other => panic!("{part}: {other:?}"),
        }
        assert_eq!(names(dir.path()), before);
    }
}

#[test]
fn numbers_are_written_as_numbers_whatever_the_width() {
    for width in [3, 16] {
        let (_temp, dir) = folder();
        let table = Memory::numbered(4, width);
        common::encode_with(&dir, &CLEAR, &table, |options| options.value = ValueKind::Unsigned).unwrap();
        update(&dir, "c.csv", "2,12\n").unwrap();
        let rows = rows_of(&dir.open_latest().unwrap(), &CLEAR);
        let mut expected = vec![0; width];
        expected[0] = 12;
        assert_eq!(rows[2 * width..][..width], expected, "twelve, and not 0x12");
    }
}

#[test]
fn ranges_change_the_blocks_whose_first_key_they_hold() {
    let (_temp, dir) = folder();
    let kind = TableKind::Range { key: KeyKind::U32, block: 10, first: 100, empty: Default::default() };
    let table = Memory { width: 1, bytes: b"abcd".to_vec() };
    let change = |options: &mut EncodeOptions<'_>| (options.kind, options.value) = (kind, ValueKind::Text);
    common::encode_with(&dir, &CLEAR, &table, change).unwrap();
    let rows = || String::from_utf8(rows_of(&dir.open_latest().unwrap(), &CLEAR)).unwrap();

    let summary = update(&dir, "c.csv", "110,129,X\n").unwrap();
    assert_eq!((rows(), summary.partial_blocks, summary.rows_changed), ("aXXd".into(), 0, 2));
    let summary = update(&dir, "c.csv", "101,110,Y\n112,119,Z\n139,139,W\n").unwrap();
    assert_eq!((rows(), summary.partial_blocks, summary.rows_changed), ("aYXd".into(), 3, 1));
    // A row may also be given by its number.
    update_with(&dir, "c.csv", "3,V\n", Some(&["1", "2"])).unwrap();
    assert_eq!(rows(), "aYXV");

    assert!(matches!(update(&dir, "c.csv", "101,102,Y\n"), Err(DbError::PartOfBlocks { blocks: 1, .. })));
    // Two values for one key are refused, even where neither would be the value of a row.
    let error = complaint(update(&dir, "c.csv", "101,105,Y\n120,129,Y\n103,104,Z\n").unwrap_err());
    assert!(matches!(error, IngestError { line: 3, problem: IngestProblem::Overlap { other: 1 }, .. }));
    for (text, column) in [("99,110,Y\n", 1), ("100,140,Y\n", 2), ("110,109,Y\n", 2), ("x,109,Y\n", 1)] {
        let error = complaint(update(&dir, "c.csv", text).unwrap_err());
        assert_eq!((error.line, error.column.unwrap().number), (1, Some(column)), "{text}");
    }
    let error = update_with(&dir, "c.csv", "4,V\n", Some(&["1", "2"])).unwrap_err();
    assert!(matches!(error, DbError::PastCapacity { row: 4, capacity: 4 }), "range tables do not grow");
}

/// The rule that a table was encoded with is stored with it, and updates follow it.
#[test]
fn a_part_of_a_block_changes_it_by_the_tables_rule() {
    let (_temp, dir) = folder();
    let lines = "100,109,AU\n110,119,CN\n120,129,AU\n130,139,CN\n";
    let ranges = RangeOptions { first: 100, rule: BlockRule::Most, ..RangeOptions::new(KeyKind::U32, 10) };
    let found = common::read("t.csv", lines, SourceLayout::Range(ranges)).unwrap();
    let (kind, value) = (found.kind, found.value);
    let change = |options: &mut EncodeOptions<'_>| (options.kind, options.value) = (kind, value);
    common::encode_with(&dir, &CLEAR, found.table.as_ref(), change).unwrap();
    dir.lock().unwrap().keep_origin(&found.origin).unwrap();
    let rows = || String::from_utf8(rows_of(&dir.open_latest().unwrap(), &CLEAR)).unwrap();

    // A change to few keys of a block, including the first, leaves the block as it is and is
    // reported.
    let error = update(&dir, "c.csv", "100,102,DE\n").unwrap_err();
    assert!(error.to_string().contains("--block-value most"), "{error}");
    // A change to most keys of a block changes it, even by two ranges of one value.
    let changes = "100,102,DE\n105,109,DE\n114,119,DE\n120,124,DE\n125,126,FR\n130,139,FR\n";
    let summary = update(&dir, "c.csv", changes).unwrap();
    assert_eq!((rows().as_str(), summary.partial_blocks), ("DEDEDEFR", 3));
    assert_eq!(summary.rule, BlockRule::Most);
    let summary = update(&dir, "c.csv", "100,103,IT\n104,107,ES\n110,119,IT\n").unwrap();
    assert_eq!((rows().as_str(), summary.partial_blocks), ("ITITDEFR", 1), "the first wins a tie");
}
