//! The laboratory's verbs: `bench`, `demo`, `leakage` and `self-test`.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn exit_codes_are_listed() {
    let codes = sotto(&["help", "exit-codes"]);
    assert!(codes.stdout.contains("5  peer") && codes.code == 0, "{}", codes.stdout);
    assert!(sotto(&["exit-codes"]).stdout.contains("8  storage"));
}

#[test]
fn a_demo_of_what_is_no_address_does_no_work() {
    let outcome = sotto(&["demo", "--ip", "8.8.8.8,1.2.3"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("1.2.3") && outcome.stderr.contains("--ip"), "{}", outcome.stderr);
    let folder = Folder::new();
    sotto(&["demo", "--data", &folder.text("none.csv.gz")]).fails(7, &["none.csv.gz"]);
}

#[test]
fn the_demo_gives_right_answers() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ip-country/asn-country-ipv4-num.csv.gz");
    let more = ["--ip", "9.9.9.9", "--domain", "SweMaps.com", "--clients", "2", "--json"];
    let demo = sotto(&[["demo", "--data", data].as_slice(), &more].concat()).json();
    for scheme in ["hinted", "keyed"] {
        let lookups = demo[scheme]["lookups"].as_array().unwrap();
        assert_eq!(lookups.len(), 7, "five well-known ones, ours, and the first one again");
        assert!(lookups.iter().all(|lookup| lookup["right"] == true), "{demo}");
        assert_eq!(lookups[0]["answer"], "US");
        assert_eq!(lookups[4]["answer"], "", "an address reserved for documentation is nobody's");
        let (first, again) = (&lookups[0], &lookups[6]);
        assert_eq!(first["address"], again["address"]);
        assert_ne!(first["query_prefix"], again["query_prefix"], "the same question never looks the same");
        assert_eq!(first["up_bytes"], again["up_bytes"]);
    }
    let once = |scheme: &str, what: &str| demo[scheme]["once"][what].as_u64().unwrap();
    assert!(once("hinted", "artifact_bytes") > 0 && once("hinted", "keys_bytes") == 0, "{demo}");
    // Nothing but the tree that its rows are verified by.
    assert!(once("keyed", "artifact_bytes") <= 32 << 10 && once("keyed", "keys_bytes") > 0, "{demo}");
    assert_ne!(demo["hinted"]["public_key"], demo["keyed"]["public_key"]);
    assert!(demo["crowd"]["lookups_per_second"].as_f64() > Some(0.0));
    assert_eq!(demo["download"]["down_bytes"], 2 << 24);
    the_log_was_asked(&demo["log"]);
}

fn the_log_was_asked(log: &serde_json::Value) {
    assert_eq!((&log["entries"], log["root"].as_str().unwrap().len()), (&1024.into(), 64));
    let lookups = log["lookups"].as_array().unwrap();
    assert!(lookups.iter().all(|lookup| lookup["right"] == true), "{log}");
    let [there, not_there, ours] = lookups.as_slice() else { panic!("{log}") };
    assert!(there["entry"].is_u64() && not_there["entry"].is_null(), "{log}");
    assert_eq!((&not_there["name"], &ours["name"]), (&"example.com".into(), &"SweMaps.com".into()));
    assert!(ours["entry"].is_u64(), "names are spelt in one way: {log}");
    for direction in ["up_bytes", "down_bytes"] {
        assert_eq!(there[direction], not_there[direction], "a name that is not there looks like any other");
    }
    assert_ne!(there["query_prefix"], not_there["query_prefix"]);
    let proof = &log["proof"];
    assert_eq!((&proof["entry"], &proof["lookups"]), (&there["entry"], &10.into()));
    let text = proof["text"].as_str().unwrap();
    assert!(
        text.starts_with("c2sp.org/tlog-proof@v1\n") && text.contains("demo.example/navigli2025h2\n1024\n"),
        "{text}"
    );
}

#[test]
fn a_demo_of_a_log_that_is_not_there_or_not_whole_says_so() {
    let folder = Folder::new();
    let range = folder.write("range.csv.gz", {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, b"0,255,AA\n").unwrap();
        gz.finish().unwrap()
    });
    sotto(&["demo", "--data", &range, "--log", &folder.text("none")]).fails(7, &["none"]);
    let log = folder.text("log");
    std::fs::create_dir_all(format!("{log}/tile/0")).unwrap();
    std::fs::write(format!("{log}/root"), "00").unwrap();
    sotto(&["demo", "--data", &range, "--log", &log]).fails(3, &["root", "hexadecimal"]);
}

#[test]
fn bench_lists_what_it_has_and_knows_what_it_has_not() {
    let list = sotto(&["bench", "--list", "--json"]).json();
    assert!(list["definitions"].as_array().unwrap().iter().any(|definition| definition["name"] == "quick"));
    sotto(&["bench", "nosuch"]).fails(7, &["nosuch", "quick"]);
    let folder = Folder::new();
    let wrong = folder.write("wrong.toml", "name = \"x\"\nabout = \"y\"\nlookup = 3\n");
    sotto(&["bench", "quick", &wrong]).fails(3, &["wrong.toml", "lookup"]);
}

#[test]
fn bench_machine_is_json_too() {
    let probe = sotto(&["bench", "machine", "--quick", "--json"]);
    assert_eq!(probe.code, 0, "{}", probe.stderr);
    let probe: serde_json::Value = serde_json::from_str(&probe.stdout).unwrap();
    assert_eq!(probe["format"], "sotto-machine/1");
}

#[test]
fn bench_regression_shows_its_ratios_and_draws_none() {
    let report = sotto(&["bench", "regression", "--quick", "--json"]).json();
    assert_eq!(report["format"], "sotto-guard/1");
    let ratios = report["ratios"].as_array().unwrap();
    assert!(ratios.len() >= 20 && ratios.iter().all(|ratio| ratio["verdict"] == "not-judged"), "{report}");
    sotto(&["bench", "regression", "--svg", "x.svg"]).fails(2, &["regression", "--svg"]);
}

/// The two servers that are compared each have the clients' keys.
#[test]
fn bench_server_registers_keys_with_each_server() {
    let folder = Folder::new();
    let source = folder.write("rows.bin", vec![7; 512 * 32]);
    let table = folder.encode("rows", &source, "--row-bytes 32 --scheme fspiral");
    let report = sotto(&["bench", "server", &table, "--clients", "2", "--quick", "--json"]).json();
    let figures = report["figures"].as_array().unwrap();
    let is_answered = |figure: &Value| figure["lookups_per_second"].as_f64() > Some(0.0);
    assert!(figures.len() == 3 && figures.iter().all(is_answered), "{report}");
}

#[test]
fn bench_server_checks_every_answer_and_names_a_table_that_is_missing() {
    let folder = Folder::new();
    let rows: String = (0..2000).map(|i| format!("{i}\n")).collect();
    let csv = folder.write("rows.csv", format!("value\n{rows}"));
    let table = folder.encode("rows", &csv, "--value value");
    let report = sotto(&["bench", "server", &table, "--clients", "3", "--quick", "--json"]).json();
    assert_eq!((&report["rows"], &report["table"]), (&2000.into(), &"rows".into()));
    let figures = report["figures"].as_array().unwrap();
    let clients: Vec<_> = figures.iter().map(|figure| figure["clients"].as_u64().unwrap()).collect();
    assert_eq!(clients, [1, 3, 3], "one alone, all without shared passes, all with");
    assert!(figures.iter().all(|figure| figure["lookups_per_second"].as_f64() > Some(0.0)), "{report}");
    assert_eq!(figures[1]["queries_per_pass"], 1.0, "a server told to share nothing shares nothing");
    assert!(report["answers_checked"].as_u64() > Some(15));
    sotto(&["bench", "server", &folder.text("none")]).fails(7, &["none"]);

    let report =
        sotto(&["bench", "overload", &table, "--load-factor", "20", "--seconds", "1", "--quick", "--json"])
            .json();
    let number = |name: &str| report[name].as_f64().unwrap();
    assert!(number("admitted_per_second") > 0.0 && number("refused") > 0.0, "{report}");
    sotto(&["bench", "overload", &table, "--load-factor", "0"]).fails(2, &["from 0.01 to 100"]);
}

#[test]
fn a_server_that_is_soaked_gives_right_answers_and_loses_no_descriptor() {
    let folder = Folder::new();
    let source = folder.write("rows.bin", vec![7; 2048 * 32]);
    let table = folder.encode("rows", &source, "--row-bytes 32 --scheme fspiral");
    // What memory does in a few seconds says nothing.
    let soak = ["bench", "soak", &table, "--seconds", "3", "--quick", "--max-growth", "1000", "--json"];
    let report = sotto(&soak).json();
    let number = |name: &str| report[name].as_u64().unwrap();
    assert_eq!((number("wrong"), &report["rows"]), (0, &2048.into()), "{report}");
    assert!(number("lookups") > 0 && number("epochs") > 0 && number("moved") > 0, "{report}");
    assert!(report["warm_after_seconds"].as_f64() >= Some(0.5), "{report}");
    let aborted = report["aborted"].as_object().unwrap();
    assert!(aborted.len() >= 4 && aborted.contains_key("in a query request"), "{report}");
    sotto(&["bench", "soak", &folder.text("none")]).fails(7, &["none"]);
    sotto(&["bench", "soak", &table, "--max-growth", "5000"]).fails(2, &["from 0 to 1000"]);
}

fn encode_words(folder: &Folder, out: &str, more: &str) -> String {
    let words: String = (0..60).map(|i| format!("word {i},meaning {i}\n")).collect();
    folder.encode(out, &folder.write("words.csv", words), &format!("--value 2 {more}"))
}

fn outcomes(report: &Value) -> Vec<&str> {
    let tried = report["measured"]["tried"].as_array().unwrap();
    tried.iter().map(|tried| tried["outcome"].as_str().unwrap()).collect()
}

#[test]
fn rows_of_each_kind_of_scheme_are_looked_up_and_compared() {
    let folder = Folder::new();
    for (scheme, word) in [
        ("simplepir", "The hint ("),
        ("fspiral", "uses the same registered keys"),
        ("s3pir", "streams the complete table"),
        ("dpf", "2 servers are queried, and this holds against each of them alone"),
    ] {
        let table = encode_words(&folder, scheme, &format!("--row-bytes 16 --scheme {scheme}"));
        let page = sotto(&["leakage", &table]);
        page.prints(word);
        page.prints("the same for all lookups");
        assert!(
            page.stdout.contains("two lookups") && !page.stdout.contains("distinguishable"),
            "{}",
            page.stdout
        );
        let report = sotto(&["leakage", &table, "--json"]).json();
        let refused = "refused by the client, after its request";
        assert_eq!(outcomes(&report), ["found", "found", "found", refused, "found"], "{scheme}");
        assert_eq!(report["measured"]["apart"].as_array().unwrap().len(), 0);
        let lookup = report["measured"]["lookup"].as_object().unwrap();
        assert_eq!(lookup.len(), if scheme == "dpf" { 2 } else { 1 }, "{scheme}");
    }
}

#[test]
fn keys_that_are_there_and_keys_that_are_not_look_alike() {
    let folder = Folder::new();
    let table = encode_words(&folder, "keys", "--key 1");
    let alone = sotto(&["leakage", &table]);
    alone.prints("give a key with --key");
    let out = folder.text("page.md");
    let written = sotto(&["leakage", &table, "--key", "word 7", "--key", "word 9", "--out", &out]);
    written.prints("written: ");
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(
        page.contains("| the key word 7 | found |") && page.contains("| a random key | not in the table |")
    );
    assert!(page.contains("found with probability") && !page.contains("give a key with --key"), "{page}");
}

#[test]
fn a_stack_hides_how_many_are_wanted() {
    let folder = Folder::new();
    let stack = encode_words(&folder, "stack", "--row-bytes 16 --batch 4");
    let report = sotto(&["leakage", &stack, "--json"]).json();
    let measured = &report["measured"];
    assert_eq!(measured["lookup"], measured["two"], "one row and two look alike");
    sotto(&["leakage", &stack]).prints("Not how many rows or keys a request is for");
}

#[test]
fn a_server_is_asked_as_a_folder_is() {
    let folder = Folder::new();
    let table = encode_words(&folder, "rows", "--row-bytes 16");
    let server = Served::start(&[&table]);
    let there = sotto(&["leakage", &server.url, "--table", "rows", "--json"]).json();
    let here = sotto(&["leakage", &table, "--json"]).json();
    for seen in ["opening", "lookup", "two"] {
        assert_eq!(there["measured"][seen], here["measured"][seen], "{seen}");
    }
    assert_eq!(here["parts"][0], there["parts"][0]);
    sotto(&["leakage", &server.url]).fails(2, &["no table of the server"]);
    sotto(&["leakage", &server.url, "--table", "other"]).fails(7, &["no table of that name"]);
    sotto(&["leakage", &table, "--table", "rows"]).fails(2, &["apply to the address of a server only"]);
    sotto(&["leakage", &folder.text("nothing")]).fails(7, &["no such file"]);
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}

#[test]
fn this_build_says_what_was_recorded() {
    let files = ["dpf-1", "simplepir-1", "s3pir-1"].map(|name| vectors().join(format!("{name}.json")));
    let mut args = vec![PathBuf::from("self-test")];
    args.extend(files);
    sotto(&args).prints("simplepir/1, 3 requests, as recorded");
    args.insert(0, "--json".into());
    assert_eq!(sotto(&args).json()["scheme"], "s3pir/1");
}

#[test]
fn what_is_wrong_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let run = |text: &str| {
        let file = dir.path().join("v.json");
        std::fs::write(&file, text).unwrap();
        std::fs::copy(vectors().join("dpf-1.bin"), dir.path().join("v.bin")).unwrap();
        sotto(&[Path::new("self-test"), &file])
    };
    let text = std::fs::read_to_string(vectors().join("dpf-1.json")).unwrap();
    run(&text).prints("as recorded");
    run("{}").fails(3, &["not a vector", "spec/vectors"]);
    run(&text.replace("\"scheme\": \"dpf/1\"", "\"scheme\": \"dpf/9\"")).fails(4, &["dpf/9"]);
    let seed = text.split("\"seed\": \"").nth(1).unwrap().split('"').next().unwrap();
    let other = seed.chars().rev().collect::<String>();
    run(&text.replace(seed, &other)).fails(1, &["another body", "make no lookups with this build"]);
    sotto(&["self-test", "none.json"]).fails(7, &["none.json"]);
}
