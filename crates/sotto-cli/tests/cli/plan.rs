//! A plan, and the table that is encoded from it: both have the same bytes; and files that are no plan.

use crate::harness::{Folder, sotto};
use serde_json::Value;

fn csv(folder: &Folder) -> String {
    let lines: String = (0..500).map(|i| format!("key{i},value {}\n", i % 10)).collect();
    folder.write("people.csv", format!("phone,name\n{lines}"))
}

/// Plans for a file with one scheme; gives the plan's file and the best offer.
fn plan(folder: &Folder, args: &[&str]) -> (String, Value) {
    let file = folder.text("plan.json");
    let mut all = vec!["plan"];
    all.extend(args);
    all.extend(["--out", &file, "--json"]);
    let plan = sotto(&all).json();
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&kept["chosen"], &kept["offers"]), (&plan["chosen"], &plan["offers"]));
    assert_eq!(plan["chosen"], plan["offers"][0]["choice"]);
    (file, plan["offers"][0].clone())
}

#[test]
fn what_a_plan_chose_is_what_is_encoded() {
    let folder = Folder::new();
    let source = csv(&folder);
    for (name, more) in [
        ("rows", &["--value", "name", "--scheme", "simplepir"][..]),
        ("keys", &["--key", "phone", "--value", "name", "--scheme", "simplepir"]),
        ("bytes", &["--value", "name", "--scheme", "fspiral", "--rank-by", "bytes"]),
        ("proofs", &["--value", "name", "--scheme", "simplepir", "--row-proofs"]),
        ("masked", &["--value", "name", "--scheme", "fspiral", "--symmetric"]),
    ] {
        let (file, offer) = plan(&folder, &[&[source.as_str()], more].concat());
        let columns = more.iter().take_while(|word| **word != "--scheme").copied();
        let dir = folder.text(name);
        let mut encode = vec!["encode", &source, "--out", &dir, "--plan", &file, "--json"];
        encode.extend(columns);
        let table = sotto(&encode).json();
        let scheme = &table["scheme"];
        let each = |field: &str| scheme[field].as_u64().unwrap();
        let probes = offer["choice"]["keys"]["rows"]["probes"].as_u64().unwrap_or(1);
        // A masked row comes with an evaluation.
        let opened = if name == "masked" { [32, 96] } else { [0, 0] };
        assert_eq!(offer["up_bytes"], each("query_bytes") * probes + opened[0], "{name}");
        assert_eq!(offer["down_bytes"], each("answer_bytes") * probes + opened[1], "{name}");
        assert_eq!(offer["keys_bytes"], each("keys_bytes"), "{name}");
        assert_eq!(offer["choice"]["verified"], !table["summary"]["path"].is_null(), "{name}");
    }
}

#[test]
fn a_round_is_what_was_planned() {
    let folder = Folder::new();
    let source = csv(&folder);
    let (file, offer) =
        plan(&folder, &[&source, "--value", "name", "--batch", "12", "--scheme", "simplepir"]);
    let dir = folder.text("stack");
    let stack =
        sotto(&["encode", &source, "--value", "name", "--out", &dir, "--plan", &file, "--json"]).json();
    for field in ["up_bytes", "down_bytes", "tables"] {
        assert_eq!(offer[field], stack[field], "{field}");
    }
    assert_eq!(stack["batch"], 12);
}

#[test]
fn a_plan_is_for_people_too() {
    let planned = sotto(&["plan", "--rows", "2^12", "--row-bytes", "32", "--trust", "two-servers"]);
    for words in [
        "simplepir/1",
        "dpf/1",
        "download everything",
        "what servers learn",
        "collude",
        "times",
        "by dollars",
    ] {
        planned.says(words);
    }
    let widest = planned.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?}: {}", planned.stdout);
    let keyed = sotto(&["plan", "--rows", "3e3", "--row-bytes", "8", "--keyed", "--scheme", "simplepir"]);
    keyed.says("k-anonymity");
    keyed.says("3 000 keys");
    let cut =
        sotto(&["plan", "--rows", "2^18", "--row-bytes", "64", "--machines", "4", "--scheme", "simplepir"]);
    cut.says("modeled, not measured");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let folder = Folder::new();
    let source = csv(&folder);
    sotto(&["plan"]).fails(2, &["--rows"]);
    sotto(&["plan", "--rows", "0", "--row-bytes", "8"]).fails(2, &["number of rows"]);
    sotto(&["plan", "--rows", "2^50", "--row-bytes", "8"]).fails(2, &["number of rows"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--changed-share", "7"]).fails(2, &["share"]);
    sotto(&["plan", "--rows", "many", "--row-bytes", "8"]).fails(2, &["not a count"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--rank-by", "luck"]).fails(2, &["dollars"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--scheme", "none"]).fails(2, &["simplepir"]);
    sotto(&["plan", &folder.text("none.csv"), "--value", "1"]).fails(7, &["none.csv"]);
    let encode = |file: &str, more: &[&str]| {
        let out = folder.text("refused");
        sotto(&[&["encode", &source, "--value", "name", "--out", &out, "--plan", file], more].concat())
    };
    encode(&folder.text("none.json"), &[]).fails(7, &["none.json"]);
    for text in ["", "{}", "[1]", "{\"format\":\"sotto-plan/1\",\"chosen\":{}}"] {
        encode(&folder.write("bad.json", text), &[]).fails(3, &["bad.json", "sotto plan"]);
    }
    let (file, _) = plan(&folder, &[&source, "--value", "name", "--scheme", "simplepir"]);
    encode(&file, &["--scheme", "dpf"]).fails(2, &["--scheme", "--plan"]);
    encode(&file, &["--key", "phone"]).fails(2, &["lookups by"]);
    let text = std::fs::read_to_string(&file).unwrap().replace("\"simplepir/1\"", "\"simplepir/9\"");
    encode(&folder.write("other.json", text), &[]).fails(4, &["simplepir/9", "make the plan again"]);
    assert!(!folder.at("refused").exists());
}
