//! Every variant of the schemes that have variants, encoded, served and asked over HTTP; and large rows, streamed.

use crate::harness::{Folder, Served, sotto};

/// Scheme and set: each ring, upload and form there is.
const VARIANTS: [(&str, &str); 15] = [
    ("fspiral", "default"),
    ("fspiral", "pack-2"),
    ("fspiral", "small"),
    ("fspiral", "small-pack-2"),
    ("fspiral", "stream"),
    ("fspiral", "paper"),
    ("fspiral", "paper-pack"),
    ("fspiral", "paper-stream"),
    ("fspiral", "paper-stream-pack"),
    ("spiral", "plain"),
    ("spiral", "stream-pack-4"),
    ("spiral", "paper-1m-256"),
    ("spiral", "paper-1m-256-pack"),
    ("spiral", "paper-1m-256-stream"),
    ("spiral", "paper-1m-256-stream-pack"),
];

/// A byte of a table that repeats nowhere near.
fn byte(i: usize) -> u8 {
    ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// Encodes `rows` rows of `width` bytes with one set; gives the table's directory.
fn encode(folder: &Folder, (scheme, set): (&str, &str), rows: usize, width: usize) -> String {
    let source = folder.write("rows.bin", (0..rows * width).map(byte).collect::<Vec<u8>>());
    let (dir, width) = (folder.text(&format!("{scheme}-{set}")), width.to_string());
    let encoded = sotto(&[
        "encode",
        &source,
        "--row-bytes",
        &width,
        "--scheme",
        scheme,
        "--set",
        set,
        "--out",
        &dir,
        "--json",
    ])
    .json();
    assert!(encoded["scheme"]["security_bits"].as_f64().unwrap() >= 128.0, "{set}");
    assert!(encoded["scheme"]["failure_log2"].as_f64().unwrap() <= -40.0, "{set}");
    dir
}

#[test]
fn every_variant_gives_the_right_rows_over_http() {
    const ROWS: usize = 2000;
    const WIDTH: usize = 300;
    let folder = Folder::new();
    let dirs: Vec<String> = VARIANTS.iter().map(|variant| encode(&folder, *variant, ROWS, WIDTH)).collect();
    let server = Served::start(&dirs.iter().map(String::as_str).collect::<Vec<_>>());
    let cache = folder.text("cache");
    for (scheme, set) in VARIANTS {
        let table = format!("{scheme}-{set}");
        let mut args = vec!["get", "--server", &server.url, "--table", &table, "--cache", &cache, "--json"];
        args.extend(["--row", "0", "--row", "777", "--row", "1999"]);
        let answers = sotto(&args).json();
        for (i, row) in [0, 777, 1999].into_iter().enumerate() {
            let wanted: String =
                (row * WIDTH..(row + 1) * WIDTH).map(|i| format!("{:02x}", byte(i))).collect();
            assert_eq!(answers["answers"][i]["hex"], wanted.as_str(), "{table}: row {row}");
        }
    }
}

#[test]
fn large_rows_come_as_a_stream() {
    const ROWS: usize = 5;
    const WIDTH: usize = 700_001;
    let folder = Folder::new();
    let variants = [("fspiral", "default"), ("spiral", "stream-pack-4"), ("spiral", "paper-1m-256-stream")];
    let dirs = variants.map(|variant| encode(&folder, variant, ROWS, WIDTH));
    let server = Served::start(&dirs.each_ref().map(String::as_str));
    let (cache, file) = (folder.text("cache"), folder.text("row"));
    for (scheme, set) in variants {
        let table = format!("{scheme}-{set}");
        let mut args = vec!["get", "--stream", "--server", &server.url, "--table", &table, "--cache", &cache];
        args.extend(["--row", "3", "-o", &file, "--json"]);
        let streamed = sotto(&args).json();
        assert_eq!(streamed["row_bytes"], WIDTH, "{streamed}");
        assert!(
            streamed["bytes_per_second"].as_f64() > Some(0.0) && streamed["keys_bytes"].as_u64() > Some(0)
        );
        let wanted: Vec<u8> = (3 * WIDTH..4 * WIDTH).map(byte).collect();
        assert!(std::fs::read(&file).unwrap() == wanted, "{table}");
        std::fs::remove_file(&file).unwrap();
    }
}
