//! Symmetric tables, from their encoding to the row that one evaluation opens.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// Two schemes: one whose answers hold whole records, and one whose queries are encryptions of vectors.
const SCHEMES: [&str; 2] = ["simplepir", "bgvpir"];

/// Encodes `row 0`, `row 1`, ... as a symmetric table that is named after its scheme.
fn encode(folder: &Folder, scheme: &str, rows: usize) -> (String, Value) {
    let source = folder.write("w.csv", (0..rows).map(|row| format!("row {row}\n")).collect::<String>());
    let dir = folder.text(scheme);
    let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--scheme", scheme, "--out", &dir];
    let encoded = sotto(&[&args[..], &["--symmetric", "--json"]].concat()).json();
    (dir, encoded)
}

fn values(got: &Value) -> Vec<&str> {
    got["answers"].as_array().unwrap().iter().map(|answer| answer["value"].as_str().unwrap()).collect()
}

#[test]
fn rows_are_fetched_masked_and_opened_one_by_one() {
    let folder = Folder::new();
    let dirs = SCHEMES.map(|scheme| {
        let (dir, encoded) = encode(&folder, scheme, 300);
        assert_eq!(encoded["summary"]["row_bytes"], 12 + 24);
        dir
    });
    let mode = std::fs::metadata(folder.at("bgvpir/oprf.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = std::fs::read_to_string(folder.at("bgvpir/oprf.key")).unwrap();
    let secret = secret.lines().nth(1).unwrap().strip_prefix("sotto-oprf-sk:").unwrap();

    let server = Served::start(&dirs.each_ref().map(String::as_str));
    let cache = folder.text("cache");
    let get = |table: &str, rows: &str| {
        sotto(&["get", "--server", &server.url, "--table", table, "--cache", &cache, "--row", rows, "--json"])
            .json()
    };
    for (table, dir) in SCHEMES.iter().zip(&dirs) {
        let one = get(table, "7");
        assert_eq!(values(&one), ["row 7"], "{table}");
        // A head, an element; and back a head, an element, a proof. The same for every row.
        let taken =
            |got: &Value| ["count", "up_bytes", "down_bytes"].map(|name| got["evaluations"][name].as_u64());
        assert_eq!(taken(&one), [Some(1), Some(48 + 32), Some(48 + 32 + 64)]);
        assert_eq!(taken(&get(table, "299")), taken(&one));
        let some = get(table, "0,299,0");
        assert_eq!(values(&some), ["row 0", "row 299", "row 0"]);
        assert_eq!(some["evaluations"]["count"], 3);

        let changes = folder.write("c.csv", "7,once\n");
        sotto(&["update", dir, &changes, "--json"]).json();
        let changes = folder.write("c.csv", "7,twice\n");
        sotto(&["update", dir, &changes, "--json"]).json();
        server.reload();
        server.reload();
        let after = get(table, "6,7,8");
        assert_eq!(
            (after["epoch"].as_u64(), values(&after)),
            (Some(3), vec!["row 6", "twice", "row 8"]),
            "{table}"
        );
        for said in [sotto(&["inspect", dir]), sotto(&["inspect", &server.url, "--table", table])] {
            assert!(said.stdout.contains("masked, 36 bytes each"), "{}", said.stdout);
            assert!(said.stdout.contains("of 12 bytes") && !said.stdout.contains(secret), "{}", said.stdout);
        }
    }
    let said = sotto(&["get", "--server", &server.url, "--table", "simplepir", "--no-cache", "--row", "1"]);
    assert!(said.stdout.contains("1 evaluation: 80 B up, 144 B down"), "{}", said.stdout);
    for file in std::fs::read_dir(&dirs[1]).unwrap().map(|file| file.unwrap().path()) {
        if file.file_name().is_some_and(|name| name != "oprf.key") {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!text.contains(secret), "{}", file.display());
        }
    }
}

#[test]
fn clients_have_so_many_evaluations_in_an_hour() {
    let folder = Folder::new();
    let (dir, _) = encode(&folder, "simplepir", 40);
    let server = Served::start(&[&dir, "--evaluations-per-client", "3"]);
    let cache = folder.text("cache");
    let get = |rows: &str| {
        sotto(&["get", "--server", &server.url, "--table", "simplepir", "--cache", &cache, "--row", rows])
    };
    assert!(get("1,2").stdout.contains("row 2"));
    // Nothing of two is opened, where there is one left.
    get("3,4").fails(6, &["the hourly limit of evaluations for this address is reached"]);
    assert!(get("3").stdout.contains("row 3"));
    get("3").fails(6, &["hourly limit"]);
}

#[test]
fn nothing_is_served_changed_or_published_without_the_key() {
    let folder = Folder::new();
    let (dir, _) = encode(&folder, "simplepir", 40);
    let key = folder.at("simplepir/oprf.key");
    let kept = std::fs::read(&key).unwrap();
    let source = folder.text("w.csv");
    let changes = folder.write("c.csv", "7,once\n");
    let serve = || {
        let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log", "error"];
        let ended = sotto(&[&["serve", &dir][..], &ports].concat());
        (ended.code, ended.stderr.lines().last().unwrap_or_default().to_owned())
    };
    let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--out", &dir];
    let again = |more: &[&str]| sotto(&[&args[..], more].concat());
    again(&[]).fails(2, &["looked up by row number, symmetric", "--replace"]);

    std::fs::remove_file(&key).unwrap();
    let (code, said) = serve();
    assert_eq!(code, 7, "{said}");
    for words in ["symmetric", "oprf.key", "restore the file"] {
        assert!(said.contains(words), "no {words:?} in: {said}");
    }
    sotto(&["update", &dir, &changes]).fails(7, &["oprf.key", "restore the file"]);
    again(&["--symmetric"]).fails(7, &["oprf.key", "restore the file"]);

    let other = Folder::new();
    encode(&other, "simplepir", 40);
    std::fs::copy(other.at("simplepir/oprf.key"), &key).unwrap();
    assert!(serve().1.contains("of other masks"));
    sotto(&["update", &dir, &changes]).fails(3, &["of other masks"]);

    std::fs::write(&key, kept).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(serve().1.contains("can be read by other users"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    sotto(&["update", &dir, &changes, "--json"]).json();
    assert_eq!(again(&["--symmetric", "--json"]).json()["summary"]["epoch"], 3);
}

#[test]
fn what_cannot_be_masked_is_refused_before_anything_is_made() {
    let folder = Folder::new();
    let source = folder.write("w.csv", "a,1\nb,2\n");
    let dir = folder.text("t");
    let encode = |more: &[&str]| {
        sotto(&[&["encode", &source, "--value", "2", "--out", &dir, "--symmetric"], more].concat())
    };
    encode(&["--key", "1"]).fails(2, &["--symmetric", "omit --key"]);
    encode(&["--batch", "2"]).fails(2, &["--batch does not apply with --symmetric"]);
    assert!(!folder.at("t").exists());
}
