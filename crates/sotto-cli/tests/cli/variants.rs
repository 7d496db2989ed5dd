//! Every variant of the schemes that have variants, encoded, served and queried over HTTP; and large rows, streamed.

use crate::faults::proxy;
use crate::harness::{Folder, Served, program, sotto, wait};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Scheme and set: each ring, upload and form there is, and each scheme.
const VARIANTS: [(&str, &str); 16] = [
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
    ("onionpir", "default"),
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

/// Interrupted, it takes its part along; killed, it leaves that to the next one.
#[test]
fn a_stream_that_is_cut_short_leaves_nothing_behind() {
    let folder = Folder::new();
    let dir = encode(&folder, ("fspiral", "default"), 2, 100_001);
    let server = Served::start(&[&dir]);
    std::fs::create_dir(folder.at("out")).unwrap();
    let file = folder.text("out/row");
    let left = || std::fs::read_dir(folder.at("out")).unwrap().count();
    let args = |url: &str| {
        let args = [
            "get",
            "--stream",
            "--server",
            url,
            "--table",
            "fspiral-default",
            "--no-cache",
            "--row",
            "1",
            "-o",
        ];
        [args.map(str::to_owned).to_vec(), vec![file.clone()]].concat()
    };
    for (signal, leaves) in [("-INT", 0), ("-TERM", 0), ("-KILL", 1)] {
        let (url, asked) = proxy(server.url.strip_prefix("http://").unwrap().to_owned());
        let mut client = Command::new(program()).args(args(&url)).stderr(Stdio::null()).spawn().unwrap();
        // Keys are being sent, and part of them has arrived.
        let go_on = asked.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(left(), 1);
        assert!(Command::new("kill").args([signal, &client.id().to_string()]).status().unwrap().success());
        assert!(!wait(&mut client).success());
        drop(go_on);
        assert_eq!(left(), leaves, "{signal}");
    }
    assert_eq!(sotto(&args(&server.url)).code, 0);
    assert!(left() == 1 && folder.at("out/row").exists());
}

/// Calls within an hour share their keys, except with `--fresh-keys`.
#[test]
fn keys_are_uploaded_by_the_first_call_alone() {
    let folder = Folder::new();
    let dir = encode(&folder, ("fspiral", "default"), 20, 30);
    let server = Served::start(&[&dir]);
    let (cache, key) = (folder.text("cache"), folder.text("safe/key"));
    let get = |more: &[&str]| {
        let args = ["get", "--server", &server.url, "--table", "fspiral-default", "--row", "7"];
        sotto(&[&args, more].concat())
    };
    let cached = |more: &[&str]| {
        let got = get(&[&["--cache", &cache, "--key-file", &key, "--json"], more].concat()).json();
        let wanted: String = (7 * 30..8 * 30).map(|i| format!("{:02x}", byte(i))).collect();
        assert_eq!(got["answers"][0]["hex"], wanted.as_str());
        got["once"]["keys_bytes"].as_u64().unwrap()
    };
    let whole = cached(&[]);
    assert!(whole > 0);
    assert_eq!(cached(&[]), 0);
    assert_eq!(cached(&["--fresh-keys"]), whole);
    assert_eq!(cached(&[]), 0);
    assert!(folder.at("safe/key").exists());
    let said = get(&["--cache", &cache, "--key-file", &key]).stdout;
    assert!(said.contains("keys of an earlier call"), "{said}");
}
