//! SHA-256 of every vector file and of every file that tests compare with.

use sha2::{Digest, Sha256};
use sotto_testkit::ledger;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Folders of such files, and the folders of crates with some of their own.
const FOLDERS: &[&str] = &["data", "spec/vectors"];
const OF_CRATES: &[(&str, &str)] = &[
    ("schemes", "vectors"),
    ("schemes/baselines", "vectors"),
    ("crates", "tests/data"),
    ("guests", "tests/data"),
];
/// A program that reads vectors.
const CLIENT: &str = "spec/vectors/client";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with(CLIENT) => {}
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn ledger_of_digests() {
    let root = ledger::root();
    let mut found = Vec::new();
    FOLDERS.iter().for_each(|folder| files(&root.join(folder), &mut found));
    for (crates, folder) in OF_CRATES {
        let folders = std::fs::read_dir(root.join(crates)).unwrap();
        folders.for_each(|krate| files(&krate.unwrap().path().join(folder), &mut found));
    }
    let mut text = String::new();
    let mut names: Vec<_> = found.iter().map(|path| (path.strip_prefix(&root).unwrap(), path)).collect();
    names.sort();
    for (name, path) in names {
        let digest = Sha256::digest(std::fs::read(path).unwrap());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{hex}  {}", name.display()).unwrap();
    }
    ledger::check("digests.txt", &text);
}
