//! The command's page of the ability ledger that needs it to run: the keys of what it prints with `--json`.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;
use sotto_testkit::ledger;
use std::collections::{BTreeMap, BTreeSet};

/// Keys by the verb that printed them.
#[derive(Default)]
struct Keys(BTreeMap<String, BTreeSet<String>>);

fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

impl Keys {
    /// Runs a command that may fail, and takes down what it prints; gives the last line.
    fn run(&mut self, title: &str, args: &[&str]) -> Value {
        let outcome = sotto(&[args, &["--json"]].concat());
        let printed = if outcome.stdout.is_empty() { &outcome.stderr } else { &outcome.stdout };
        let lines: Vec<Value> = printed
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{title}: {error}: {printed}"))
            })
            .collect();
        let found = self.0.entry(title.to_owned()).or_default();
        lines.iter().for_each(|line| walk(line, "", found));
        lines.last().cloned().unwrap_or_else(|| panic!("{title} prints nothing"))
    }
}

/// Without `doctor`, which prints what it finds, and `bench` and `demo`, which measure.
#[test]
fn ledger_of_json_keys() {
    let (folder, mut keys) = (Folder::new(), Keys::default());
    let at = |name: &str| folder.text(name);
    let lines: String = (0..300).map(|row| format!("word {row},{row:05}\n")).collect();
    let source = folder.write("words.csv", lines);
    let (words, keyed, many, log) = (at("words"), at("keyed"), at("many"), at("log"));
    let (key, of_witness) = (at("publisher.key"), at("witness.key"));

    keys.run("an error", &["inspect", "/no/such/place"]);
    keys.run("schemes", &["schemes"]);
    keys.run("schemes NAME", &["schemes", "spiral"]);
    keys.run("plan", &["plan", "--rows", "2^12", "--row-bytes", "32", "--scheme", "simplepir"]);
    let witness = keys.run("log key", &["log", "key", "--key", &of_witness, "--name", "witness.example/w1"]);
    let by_row = ["--value", "2", "--row-bytes", "5", "--signing-key", &key];
    let logged =
        [&["encode", &source, "--out", &words, "--catalog-log", &log, "--expires", "30d"], &by_row[..]]
            .concat();
    let encoded = keys.run("encode", &logged);
    let publisher = encoded["public_key"].as_str().unwrap();
    let by_key = ["--key", "1", "--value", "2"];
    keys.run("encode --key", &[&["encode", &source, "--out", &keyed], &by_key[..]].concat());
    keys.run(
        "encode --batch",
        &[&["encode", &source, "--out", &many, "--batch", "4"], &by_row[..4]].concat(),
    );
    let apple = at("apple");
    keys.run("encode --apple", &[&["encode", &source, "--out", &apple, "--apple"], &by_key[..]].concat());

    let watched = ["--publisher", publisher, "--state", &at("seen")];
    let note = at("note");
    keys.run("log show", &["log", "show", &log]);
    let cosign = ["log", "cosign", &log, "--key", &of_witness, "--out", &note];
    keys.run("log cosign", &[&cosign[..], &watched[..]].concat());
    let attach = ["log", "attach", &log, &note, "--witness", witness["witness"].as_str().unwrap()];
    keys.run("log attach", &attach);
    let watched = ["--publisher", publisher, "--state", &at("watcher")];
    keys.run("log watch", &[&["log", "watch", &log, "--once"], &watched[..]].concat());

    keys.run("inspect TABLE", &["inspect", &words]);
    keys.run("inspect KEYED", &["inspect", &keyed]);
    keys.run("inspect STACK", &["inspect", &many]);
    keys.run("inspect APPLE", &["inspect", &apple]);
    keys.run("leakage", &["leakage", &words]);

    let served = Served::start(&[&words, &keyed, &many]);
    let hello = &served.tables;
    walk(hello, "tables", keys.0.entry("serve".to_owned()).or_default());
    let cache = at("cache");
    let asked =
        |table: &'static str| vec!["get", "--server", &served.url, "--cache", &cache, "--table", table];
    keys.run("get --row", &[&asked("words")[..], &["--row", "7"]].concat());
    keys.run("get --key", &[&asked("keyed")[..], &["--key", "word 7", "--key", "none"]].concat());
    keys.run("get BATCH", &[&asked("many")[..], &["--row", "7,200"]].concat());
    keys.run("get --bit", &[&asked("words")[..], &["--bit", "9"]].concat());
    keys.run("inspect URL", &["inspect", &served.url]);
    keys.run("inspect URL --table", &["inspect", &served.url, "--table", "words"]);
    keys.run("audit rows", &["audit", "rows", &served.url, "--table", "words"]);

    let changes = folder.write("changes.csv", "7,99999\n");
    keys.run("update --dry-run", &["update", &words, &changes, "--dry-run", "--signing-key", &key]);
    keys.run("update", &["update", &words, &changes, "--signing-key", &key, "--catalog-log", &log]);
    keys.run("rotate-key", &["rotate-key", &keyed]);
    let copy = at("copy");
    keys.run("backup", &["backup", &copy, &keyed]);
    keys.run("restore", &["restore", &copy, "--tables", &at("back")]);
    keys.run("forget", &["forget", "--server", &served.url, "--cache", &cache, "--table", "words"]);

    let (tree, public, proofs) = (at("tree"), at("tree.pub"), at("proofs"));
    keys.run("merkle generate", &["merkle", "generate", &tree, "--entries", "300"]);
    keys.run("merkle plan", &["merkle", "plan", "--leaves", "1000", "--scheme", "simplepir"]);
    keys.run(
        "merkle build",
        &["merkle", "build", &tree, "--log-key", &public, "--out", &proofs, "--scheme", "simplepir"],
    );

    let mut text = String::new();
    for (title, keys) in &keys.0 {
        keys.iter().for_each(|key| text.push_str(&format!("{title}: {key}\n")));
    }
    ledger::check("json.txt", &text);
}
