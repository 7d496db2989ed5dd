//! Every verb that takes the folder of a table takes that of a stack and of a table of Apple's lookups, or says what it is.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;

/// Folders of every kind, by their names.
const KINDS: [&str; 6] = ["index", "range", "symmetric", "parts", "stack", "apple"];

fn encoded(folder: &Folder) -> String {
    let root = folder.text("t");
    let lines: String = (0..40).map(|i| format!("+1555{i:07},value {i}\n")).collect();
    let lines = folder.write("lines.csv", lines);
    let ranges = folder.write("ranges.csv", "1.0.0.0,1.0.255.255,AU\n1.1.0.0,1.1.255.255,CN\n");
    let rows = folder.write("rows.bin", vec![b'a'; 4096 * 64]);
    let by_row = ["--value", "2", "--row-bytes", "12"];
    let by_key = ["--key", "1", "--value", "2"];
    let encode = |name: &str, source: &str, more: &[&str], how: &[&str]| {
        let out = format!("{root}/{name}");
        assert_eq!(sotto(&[&["encode", source, "--out", &out], more, how].concat()).code, 0, "{name}");
    };
    encode("index", &lines, &by_row, &["--scheme", "simplepir"]);
    let range = ["--key-type", "ipv4", "--start", "1", "--end", "2", "--value", "3", "--block", "65536"];
    encode("range", &ranges, &range, &["--scheme", "simplepir"]);
    encode("symmetric", &lines, &by_row, &["--scheme", "simplepir", "--symmetric"]);
    encode("parts", &rows, &["--row-bytes", "64"], &["--scheme", "simplepir", "--parts", "2"]);
    encode("stack", &lines, &by_row, &["--batch", "3"]);
    encode("apple", &lines, &by_key, &["--apple"]);
    root
}

#[test]
fn every_verb_knows_every_kind_of_folder() {
    let folder = Folder::new();
    let root = encoded(&folder);
    let dir = |name: &str| format!("{root}/{name}");
    for name in KINDS {
        let (dir, is_apple) = (dir(name), name == "apple");
        sotto(&["inspect", &dir, "--verify"]).says("");
        let doctor = sotto(&["doctor", &dir, "--verify", "--json"]);
        let report: Value = serde_json::from_str(doctor.stdout.lines().last().unwrap()).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let bad: Vec<_> = findings.filter(|finding| finding["level"] == "mend").collect();
        assert!(
            bad.iter().all(|finding| finding["found"].as_str().unwrap().contains("mode")),
            "{name}: {bad:?}"
        );
        assert!(is_apple || doctor.stdout.contains("signs as"), "{name}: {}", doctor.stdout);

        let audit = sotto(&["audit", "rows", &dir]);
        let log = sotto(&["log", "add", &dir, "--catalog-log", &folder.text(&format!("log-{name}"))]);
        match is_apple {
            true => {
                audit.fails(2, &["Apple's lookups are not signed", "sotto inspect --verify"]);
                log.fails(2, &["Apple's lookups are not signed"]);
            }
            false => {
                audit.says("match the signed root");
                log.says("added");
            }
        }
        let other =
            sotto(&["encode", &folder.text("lines.csv"), "--value", "2", "--batch", "4", "--out", &dir]);
        if name != "stack" {
            other.fails(2, &["not a stack"]);
        }
        let rotate = sotto(&["rotate-key", &dir]);
        match name {
            "apple" => rotate.fails(2, &["are not signed", "certificate"]),
            _ => rotate.says("new key"),
        }
    }
    let stack = dir("stack");
    for args in [&["encode", "--value", "2"][..], &["encode", "--key", "1", "--value", "2", "--apple"]] {
        let lines = folder.text("lines.csv");
        sotto(&[args, &[&lines, "--out", &stack]].concat()).fails(2, &["holds a stack"]);
    }
    let lines = folder.text("lines.csv");
    sotto(&["encode", &lines, "--value", "2", "--out", &dir("apple")]).fails(2, &["Apple's lookups"]);
    // A table of a stack has its stack's key, which named the next one for it.
    let tables = std::fs::read_dir(format!("{stack}/tables")).unwrap();
    let table = tables.map(|entry| entry.unwrap().path().display().to_string()).next().unwrap();
    assert!(std::path::Path::new(&table).join("succession.json").exists());
    sotto(&["rotate-key", &table]).fails(2, &["signed with the stack's key"]);
    sotto(&["leakage", &dir("apple")]).fails(2, &["a table of Apple's protocol", "inspect"]);
}

/// All of them are named alike in a configuration, are served, and are in a backup with their keys.
#[test]
fn a_configuration_names_every_kind_of_folder_alike() {
    let folder = Folder::new();
    encoded(&folder);
    let tables: Vec<String> = KINDS.iter().map(|name| format!("{{ dir = \"t/{name}\" }}")).collect();
    let config = folder.write("sotto.toml", format!("tables = [{}]\n", tables.join(", ")));
    let served = Served::start(&["--config", &config]);
    let names: Vec<&str> =
        served.tables.as_array().unwrap().iter().filter_map(|table| table["table"].as_str()).collect();
    assert_eq!(names, ["index", "range", "symmetric", "parts"]);
    sotto(&["inspect", &served.url]).says("stack");
    let get = |more: &[&str]| sotto(&[&["get", "--server", &served.url, "--no-cache"], more].concat());
    get(&["--table", "stack", "--row", "1,2"]).says("value 2");

    let backup = folder.text("backup");
    let made = sotto(&["backup", &backup, "--config", &config, "--json"]).json();
    let files = made["manifest"]["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    for name in KINDS {
        let has = |file: &str| paths.contains(&format!("tables/{name}/{file}").as_str());
        assert!(has("source.json") && has("signing.key") != (name == "apple"), "{name}: {paths:?}");
    }
    assert!(paths.contains(&"tables/stack/stack.json") && paths.contains(&"tables/symmetric/oprf.key"));
    assert!(!paths.iter().any(|path| path.ends_with(".sotto")));
    sotto(&["restore", &backup, "--tables", &folder.text("back")]).says("restored");
    let same = |path: &str| {
        std::fs::read(folder.at("t").join(path)).unwrap()
            == std::fs::read(folder.at("back").join(path)).unwrap()
    };
    assert!(same("stack/stack.json") && same("stack/signing.key") && same("symmetric/oprf.key"));

    // With images a backup of a stack is complete: the restored stack can be served.
    let whole = folder.text("whole");
    sotto(&["backup", &whole, &folder.text("t/stack"), "--images"]).says("");
    sotto(&["restore", &whole, "--tables", &folder.text("again")]).says("restored");
    sotto(&["audit", "rows", &folder.text("again/stack")]).says("match the signed root");
    let part = std::fs::read_dir(folder.at("t/stack/tables")).unwrap().next().unwrap().unwrap().path();
    let part = part.display().to_string();
    sotto(&["backup", &folder.text("part"), &part]).fails(2, &["a table of the stack", "give the stack"]);
    sotto(&["backup", &folder.text("none"), &folder.text("nothing")]).fails(7, &["nothing"]);
}
