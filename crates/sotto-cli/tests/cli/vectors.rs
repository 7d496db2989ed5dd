//! Recorded lookups, replayed by the command.

use crate::harness::sotto;
use std::path::{Path, PathBuf};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}

#[test]
fn this_build_says_what_was_recorded() {
    let files = ["dpf-1", "simplepir-1", "s3pir-1"].map(|name| vectors().join(format!("{name}.json")));
    let mut args = vec![PathBuf::from("self-test")];
    args.extend(files);
    sotto(&args).says("simplepir/1, 3 requests, as recorded");
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
    run(&text).says("as recorded");
    run("{}").fails(3, &["not a vector", "spec/vectors"]);
    run(&text.replace("\"scheme\": \"dpf/1\"", "\"scheme\": \"dpf/9\"")).fails(4, &["dpf/9"]);
    let seed = text.split("\"seed\": \"").nth(1).unwrap().split('"').next().unwrap();
    let other = seed.chars().rev().collect::<String>();
    run(&text.replace(seed, &other)).fails(1, &["another body", "make no lookups with this build"]);
    sotto(&["self-test", "none.json"]).fails(7, &["none.json"]);
}
