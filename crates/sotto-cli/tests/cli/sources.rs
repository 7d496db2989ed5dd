//! Bad source files: whose fault, which line, which column.

use crate::harness::{Folder, Outcome, Served, images, sotto};

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
    encode(b"0,a\n1\n2,c\n", INDEX).fails(3, &["bad.csv", "line 2", "expected 2 columns", "got 1"]);
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

/// An address is a key with dots or as a number, in options, files of changes and lookups, and never the number of a row.
#[test]
fn addresses_are_keys_in_either_form() {
    let folder = Folder::new();
    let source = folder.write("r.csv", "1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.1.255,CN\n");
    let dir = folder.text("ip");
    let encode = |first: &str, last: &str| {
        let columns =
            ["--start", "1", "--end", "2", "--value", "3", "--block", "256", "--block-value", "most"];
        let keys = ["--key-type", "ipv4", "--first", first, "--last", last];
        sotto(&[&["encode", &source, "--out", &dir], &columns[..], &keys].concat())
    };
    for (first, last) in [("16777216", "16777727"), ("1.0.0.0", "1.0.1.255")] {
        encode(first, last).says("2 of 2 bytes (4 B)");
    }
    encode("1.0.0", "1.0.1.255").fails(2, &["an IPv4 address, dotted or as a number", "--key-type"]);

    // Most keys of a block decide, in an update as in an encoding.
    let part = folder.write("part.csv", "1.0.0.0,1.0.0.10,DE\n");
    sotto(&["update", &dir, &part, "--no-header"]).fails(3, &["1 blocks in part", "--block-value most"]);
    let changes = folder.write("c.csv", "1.0.1.0/25,SG\n1.0.1.128/31,SG\n");
    let update = sotto(&["update", &dir, &changes, "--start", "1", "--value", "2"]);
    update.says("note: 1 blocks are covered in part");

    let server = Served::start(&[&dir]);
    let get =
        |key: &str| sotto(&["get", "--server", &server.url, "--no-cache", "--table", "ip", "--key", key]);
    for (key, value) in [("1.0.0.200", "AU"), ("16777416", "AU"), ("1.0.1.7", "SG"), ("16777479", "SG")] {
        get(key).says(&format!("{key}  {value}"));
    }
    assert_ne!(get("1").code, 0, "row 1 is at 1.0.1.0, and 0.0.0.1 is not in the table");
}

#[test]
fn what_is_odd_about_a_file_is_noted() {
    let folder = Folder::new();
    let source = folder.write("set.csv", "# numbers\n+1 555 000 0007\n*.example.com\n*.example.com\n");
    let encoded = sotto(&["encode", &source, "--key", "1", "--out", &folder.text("set")]);
    for words in
        ["note: 1 lines begin with #", "note: 1 keys were", "note: 2 keys begin", "note: 1 keys are tele"]
    {
        encoded.says(words);
    }
}
