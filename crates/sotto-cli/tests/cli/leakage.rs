//! `sotto leakage`: its statements follow from the served table, and its measurements are compared.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;

fn encode(folder: &Folder, out: &str, more: &[&str]) -> String {
    let words: String = (0..60).map(|i| format!("word {i},meaning {i}\n")).collect();
    let (source, out) = (folder.write("words.csv", words), folder.text(out));
    let encoded = sotto(&[&["encode", &source, "--value", "2", "--out", &out][..], more].concat());
    assert_eq!(encoded.code, 0, "{}", encoded.stderr);
    out
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
        let table = encode(&folder, scheme, &["--row-bytes", "16", "--scheme", scheme]);
        let page = sotto(&["leakage", &table]);
        page.says(word);
        page.says("the same for all lookups");
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
    let table = encode(&folder, "keys", &["--key", "1"]);
    let alone = sotto(&["leakage", &table]);
    alone.says("give a key with --key");
    let out = folder.text("page.md");
    let written = sotto(&["leakage", &table, "--key", "word 7", "--key", "word 9", "--out", &out]);
    written.says("written: ");
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(
        page.contains("| the key word 7 | found |") && page.contains("| a random key | not in the table |")
    );
    assert!(page.contains("found with probability") && !page.contains("give a key with --key"), "{page}");
}

#[test]
fn a_stack_hides_how_many_are_wanted() {
    let folder = Folder::new();
    let stack = encode(&folder, "stack", &["--row-bytes", "16", "--batch", "4"]);
    let report = sotto(&["leakage", &stack, "--json"]).json();
    let measured = &report["measured"];
    assert_eq!(measured["lookup"], measured["two"], "one row and two look alike");
    sotto(&["leakage", &stack]).says("Not how many rows or keys a request is for");
}

#[test]
fn a_server_is_asked_as_a_folder_is() {
    let folder = Folder::new();
    let table = encode(&folder, "rows", &["--row-bytes", "16"]);
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
