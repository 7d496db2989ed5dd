//! Bad source files: whose fault, which line, which column.

use crate::harness::{Folder, Outcome, images, sotto};

/// Encodes `bytes` as `bad.csv` and checks that no image came of it.
fn encode(bytes: &[u8], more: &[&str]) -> Outcome {
    let folder = Folder::new();
    let source = folder.write("bad.csv", bytes);
    let dir = folder.text("t");
    let mut args = vec!["encode", &source, "--out", &dir];
    args.extend(more);
    let outcome = sotto(&args);
    assert_eq!(images(dir.as_ref()), Vec::<String>::new());
    outcome
}

const INDEX: &[&str] = &["--value", "2"];
const RANGE: &[&str] = &["--start", "1", "--end", "2", "--value", "3", "--block", "16"];

#[test]
fn a_short_row() {
    encode(b"0,a\n1\n2,c\n", INDEX).fails(3, &["bad.csv", "line 2", "1 columns"]);
}

#[test]
fn a_value_longer_than_a_row() {
    let with_width = [INDEX, &["--row-bytes", "4"]].concat();
    encode(b"0,abcd\n1,abcde\n", &with_width).fails(3, &["line 2", "column 2", "5 bytes"]);
}

#[test]
fn ranges_that_overlap() {
    encode(b"0,15,a\n16,40,b\n32,47,c\n", RANGE).fails(3, &["line 3", "overlaps", "line 2"]);
}

#[test]
fn a_range_that_ends_before_it_starts() {
    encode(b"0,15,a\n31,16,b\n", RANGE).fails(3, &["line 2", "ends before it starts"]);
}

#[test]
fn text_that_is_not_utf8() {
    encode(b"0,a\n1,\xff\xfe\n", INDEX).fails(3, &["line 2", "column 2", "UTF-8"]);
}

#[test]
fn a_key_that_is_no_number() {
    encode(b"0,15,a\nx,31,b\n", RANGE).fails(3, &["line 2", "column 1"]);
}

#[test]
fn an_empty_file() {
    encode(b"", INDEX).fails(3, &["no rows"]);
}

#[test]
fn a_damaged_archive() {
    let folder = Folder::new();
    let source = folder.write("bad.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00nonsense");
    sotto(&["encode", &source, "--value", "1", "--out", &folder.text("t")]).fails(3, &["bad.csv.gz"]);
}

#[test]
fn a_raw_file_with_half_a_row() {
    let folder = Folder::new();
    let source = folder.write("rows.bin", [0; 33]);
    let dir = folder.text("t");
    sotto(&["encode", &source, "--row-bytes", "8", "--out", &dir]).fails(3, &["33 bytes", "8 bytes"]);
}

#[test]
fn a_column_that_is_not_there() {
    encode(b"a,b\n1,2\n", &["--value", "c"]).fails(2, &["no such column", "a", "b"]);
    encode(b"a,b\n1,2\n", &["--value", "b", "--no-header"]).fails(2, &["fix:", "by number"]);
}
