//! Known answers: the bytes in the `vectors` folders of schemes are the format, and may never change
//! under a scheme's id. Vectors without parameters are compared by a test beside their scheme.
#![allow(clippy::unwrap_used, reason = "a failed check fails its test")]

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use sotto_testkit::vectors::{known_answers, known_hints};
use std::fs;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folders = ["schemes", "schemes/baselines"].into_iter().flat_map(|group| {
        let group = format!("{}/../../{group}", env!("CARGO_MANIFEST_DIR"));
        fs::read_dir(group).unwrap().map(|scheme| scheme.unwrap().path().join("vectors"))
    });
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let trials: Vec<Trial> =
        files.filter_map(|file| trial(fs::read_to_string(file.unwrap().path()).unwrap())).collect();
    assert!(trials.len() > 20, "{} files of vectors", trials.len());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The comparison of one file, unless its vectors have a form of their own.
fn trial(text: String) -> Option<Trial> {
    let file: Value = serde_json::from_str(&text).unwrap();
    let (id, first) = (file["scheme"].as_str().unwrap(), &file["vectors"][0]);
    first.get("params")?;
    let entry = sotto_registry::find(id).unwrap();
    let compare = if first.get("indices").is_some() { known_hints } else { known_answers };
    Some(Trial::test(id, move || {
        compare(entry, &text);
        Ok(())
    }))
}
