//! Tables of Apple's lookups: encoded from ordinary files, updated, and distinguished from other tables.

use crate::harness::{Folder, images, sotto};
use serde_json::json;

fn people(count: usize) -> String {
    let line = |i: usize| format!("+1555{i:07},person {i}\n");
    format!("phone,name\n{}", (0..count).map(line).collect::<String>())
}

#[test]
fn a_keyword_table_of_every_format_is_the_same_file() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(300));
    let lines: String =
        (0..300).rev().map(|i| format!("{{\"name\":\"person {i}\",\"phone\":\"+1555{i:07}\"}}\n")).collect();
    let jsonl = folder.write("people.jsonl", &lines);
    let usual = ["--key", "phone", "--value", "name", "--apple", "--use-case", "org.example.callers"];
    let mut files = Vec::new();
    for (i, source) in [&csv, &jsonl].into_iter().enumerate() {
        let out = folder.text(&format!("t{i}"));
        let done = sotto(&[&["encode", source, "--out", &out, "--json"], &usual[..]].concat()).json();
        assert_eq!((&done["summary"]["rows"], &done["notes"]["lines"]), (&json!(300), &json!(300)));
        assert_eq!(done["summary"]["description"]["name"], "org.example.callers");
        files.push(std::fs::read(done["summary"]["image"].as_str().unwrap()).unwrap());
    }
    assert!(files[0] == files[1]);
    let out = folder.text("t2");
    let said =
        sotto(&[&["encode", &csv, "--out", &out, "--shards", "2", "--headroom", "50"], &usual[..]].concat());
    said.says("2, each 2 tables of");
    said.says("167.9 bits of security");
    said.says("next: sotto serve --apple");
}

#[test]
fn what_encode_refuses() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", &(people(5) + "+15550000002,again\n"));
    let out = folder.text("t");
    let run = |file: &str, more: &[&str]| {
        sotto(
            &[&["encode", file, "--out", &out, "--apple", "--key", "phone", "--value", "name"], more]
                .concat(),
        )
    };
    run(&csv, &[]).fails(3, &["people.csv, line 7", "the same as that of line 4"]);
    assert!(!folder.at("t").exists(), "no trace is left");
    let csv = folder.write("people.csv", people(5));
    run(&csv, &["--bucket-bytes", "15"]).fails(3, &["people.csv, line", "--bucket-bytes"]);
    run(&csv, &["--set", "n_1"]).fails(4, &["n_4096_logq_27_28_28_logt_5"]);
    run(&csv, &["--set", "n_4096_logq_27_28_28_logt_17"]).fails(4, &["2^"]);
    run(&csv, &["--scheme", "ypir/1"]).fails(2, &["--apple"]);
    run(&csv, &["--buckets", "9", "--headroom", "5"]).fails(2, &["--headroom"]);
    assert_eq!(run(&csv, &[]).code, 0);
    run(&csv, &["--use-case", "another"]).fails(2, &["holds the use case \"t\"", "--replace"]);
    assert_eq!(run(&csv, &["--use-case", "another", "--replace"]).code, 0);
    assert_eq!(images(&folder.at("t")).len(), 2);
    // A table of ours, and one of theirs.
    let ours = folder.text("ours");
    let usual = ["--key", "phone", "--value", "name"];
    sotto(&[&["encode", &csv, "--out", &ours, "--json"], &usual[..]].concat()).json();
    sotto(&[&["encode", &csv, "--out", &ours, "--apple"], &usual[..]].concat()).fails(2, &["another kind"]);
    sotto(&["inspect", &out, "--verify"]).says("verified: every section matches its digest");
    let told = sotto(&["inspect", &out, "--epoch", "1", "--json"]).json();
    assert_eq!((&told["rows"], &told["description"]["name"]), (&json!(5), &json!("t")));
}

#[test]
fn keys_change_in_the_next_epoch() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(400));
    let out = folder.text("t");
    let usual = ["--key", "phone", "--value", "name", "--apple", "--headroom", "20"];
    let first = sotto(&[&["encode", &csv, "--out", &out, "--json"], &usual[..]].concat()).json();
    let update = |text: &str, more: &[&str]| {
        let changes = folder.write("changes.csv", text);
        sotto(&[&["update", &out, &changes], more].concat())
    };
    let text = "name,gone,phone\nsomebody,,+15550000003\n,yes,+15550000004\nnew,,+15559999999\n";
    let dry = update(text, &["--delete", "gone", "--dry-run", "--json"]).json();
    assert_eq!(dry["changes"], json!({"set": 1, "added": 1, "removed": 1, "absent": 0}));
    assert_eq!(images(&folder.at("t")).len(), 1);
    let done = update(text, &["--delete", "gone", "--json"]).json();
    let summary = &done["summary"];
    assert_eq!((&summary["epoch"], &summary["reencoded"]), (&json!(2), &json!(false)));
    assert_eq!(summary["description"]["shards"], first["summary"]["description"]["shards"]);
    // The same again is no change.
    update(text, &["--delete", "gone"]).fails(3, &["no changed rows"]);
    update("a,b\nc,d\n", &[]).fails(2, &["phone, name"]);
    // More than there is room for, and the epochs before are not wanted any more.
    let many = update(&people(2000), &["--keep-epochs", "1"]);
    many.says("the whole table is encoded again");
    assert_eq!(images(&folder.at("t")).len(), 1);
}

#[test]
fn rows_by_number() {
    let folder = Folder::new();
    let csv = folder.write("rows.csv", "url\none\ntwo\nthree\n");
    let out = folder.text("t");
    let done = sotto(&["encode", &csv, "--value", "url", "--apple", "--out", &out, "--json"]).json();
    let shard = &done["summary"]["description"]["shards"][0];
    assert_eq!((&shard["entries"], &shard["entry_bytes"]), (&json!(3), &json!(5)));
    let changes = folder.write("changes.csv", "row,url\n1,TWO\n");
    let done = sotto(&["update", &out, &changes, "--json"]).json();
    assert_eq!(done["summary"]["changes"]["set"], 1);
    let changes = folder.write("changes.csv", "row,url\n3,four\n");
    assert_eq!(sotto(&["update", &out, &changes]).code, 4);
    let hex = folder.write("hex.csv", "url\n00\n0011\n");
    let lengths =
        ["encode", &hex, "--value", "url", "--apple", "--encoding", "hex", "--out", &folder.text("u")];
    sotto(&lengths).fails(3, &["different lengths", "--lengths"]);
    // Each says its own.
    let out = folder.text("u");
    let done = sotto(&[&lengths[..], &["--lengths", "--json"]].concat()).json();
    let described = &done["summary"]["description"];
    assert_eq!(
        (&described["kind"], &described["shards"][0]["entry_bytes"]),
        (&json!("index-lengths"), &json!(3))
    );
    let update =
        |text: &str| sotto(&["update", &out, &folder.write("changes.csv", text), "--encoding", "hex"]);
    assert_eq!(update("row,url\n1,ff\n").code, 0);
    update("row,url\n1,ffffff\n").fails(3, &["3 bytes"]);
    sotto(&["inspect", &out]).says("rows of up to");
    sotto(&[
        "encode",
        &csv,
        "--value",
        "url",
        "--key",
        "url",
        "--apple",
        "--lengths",
        "--out",
        &folder.text("v"),
    ])
    .fails(2, &["--lengths"]);
}
