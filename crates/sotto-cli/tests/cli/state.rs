//! Durable state of clients: the budget from call to call, and copies that are detected.

use crate::harness::{Folder, Served, sotto};
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// A table of `rows` rows, whose clients have durable state.
fn served(folder: &Folder, rows: u32) -> Served {
    let rows: Vec<u8> = (0..rows).flat_map(|row| row.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let (source, dir) = (folder.write("rows.bin", &rows), folder.text("table"));
    let encoded = sotto(&["encode", &source, "--row-bytes", "4", "--scheme", "s3pir", "--out", &dir]);
    assert_eq!(encoded.code, 0, "{}", encoded.stderr);
    Served::start(&[&dir])
}

#[test]
fn hints_last_from_call_to_call_and_a_copy_of_them_is_not_used() {
    let folder = Folder::new();
    let server = served(&folder, 2000);
    let (cache, anchors) = (folder.text("cache"), folder.text("anchors"));
    let get = |state: &str, row: &str| {
        let table = ["get", "--server", &server.url, "--table", "table", "--row", row, "--cache", &cache];
        sotto(&[&table[..], &["--state", state, "--rollback-dir", &anchors, "--json"]].concat())
    };

    let state = folder.text("state");
    let first = get(&state, "17").json();
    let row = |got: &serde_json::Value| got["answers"][0]["hex"].as_str().unwrap().to_owned();
    let right =
        |row: u32| row.wrapping_mul(2_654_435_761).to_le_bytes().map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(row(&first), right(17));
    assert!(first["once"]["artifact_bytes"].as_u64().unwrap() >= 8000, "{first}");
    let second = get(&state, "1999").json();
    assert_eq!(row(&second), right(1999));
    assert_eq!(second["once"]["artifact_bytes"], 0, "{second}");
    assert_eq!(second["budget"].as_u64().unwrap() + 1, first["budget"].as_u64().unwrap());
    assert!(second["events"].as_array().unwrap().is_empty(), "{second}");

    let shown = sotto(&["inspect", "--state", &state, "--json"]).json();
    let shown = &shown["states"][0];
    assert_eq!(shown["budget"], second["budget"]);
    assert_eq!((shown["table"].as_str(), shown["scheme"].as_str()), (Some("table"), Some("s3pir/1")));
    assert_eq!((shown["epoch"].as_u64(), shown["unsettled"].as_u64()), (Some(1), Some(0)));

    let cloned = folder.text("cloned");
    copy(&folder.at("state"), &folder.at("cloned"));
    let third = get(&cloned, "5").json();
    assert_eq!(row(&third), right(5));
    assert_eq!(third["budget"], first["budget"], "its hints are new: {third}");
    let said = third["events"][0].as_str().unwrap();
    assert!(said.contains("was discarded") && said.contains("cloned"), "{said}");
    let fourth = get(&state, "6").json();
    assert_eq!(fourth["budget"].as_u64().unwrap() + 1, second["budget"].as_u64().unwrap(), "{fourth}");
}

#[test]
fn a_scheme_that_needs_a_state_says_so() {
    let folder = Folder::new();
    let server = served(&folder, 1000);
    let table = ["get", "--server", &server.url, "--table", "table", "--row", "1", "--no-cache"];
    sotto(&table).fails(2, &["state", "--state DIR"]);
    let state = folder.text("state");
    sotto(&[&table[..], &["--state", &state]].concat()).fails(2, &["--rollback-dir DIR"]);
}

#[test]
fn hints_are_made_before_they_are_needed() {
    let folder = Folder::new();
    let server = served(&folder, 400);
    let (state, anchors) = (folder.text("state"), folder.text("anchors"));
    let call = |verb: &str, more: &[&str]| {
        let table = [verb, "--server", &server.url, "--table", "table", "--no-cache"];
        sotto(&[&table[..], &["--state", &state, "--rollback-dir", &anchors, "--json"], more].concat())
    };
    let first = call("prepare", &[]).json();
    let whole = first["budget"].as_u64().unwrap();
    assert!(first["artifact_bytes"].as_u64().unwrap() >= 1600, "{first}");
    let again = call("prepare", &[]).json();
    assert_eq!((again["artifact_bytes"].as_u64(), again["budget"].as_u64()), (Some(0), Some(whole)));
    let now = call("prepare", &["--force", "--preparation-rate", "100000000"]).json();
    assert!(now["artifact_bytes"].as_u64().unwrap() >= 1600, "{now}");
    assert!(now["events"][0].as_str().unwrap().contains("renewed"), "{now}");

    // Until fewer are left than a quarter: from there on each call makes a part of the next ones, and none waits for it.
    let (mut left, mut most) = (whole, whole);
    let many: Vec<&str> = (0..50).flat_map(|_| ["--row", "7"]).collect();
    while left >= whole / 4 && left > 50 {
        left = call("get", &many).json()["budget"].as_u64().unwrap();
    }
    for _ in 0..100 {
        let got = call("get", &["--row", "399"]).json();
        assert_eq!(got["answers"][0]["hex"].as_str().unwrap(), "dfaa7698", "{got}");
        most = got["budget"].as_u64().unwrap();
        if most > whole / 2 {
            break;
        }
    }
    assert!(most > whole / 2, "{most} of {whole} are left: the next ones never came");
}

#[test]
fn what_is_not_used_up_is_not_prepared() {
    let folder = Folder::new();
    let server = Served::start(&[&folder.words(10)]);
    let table = ["prepare", "--server", &server.url, "--table", "words", "--no-cache"];
    sotto(&table).fails(2, &["unlimited queries"]);
}
