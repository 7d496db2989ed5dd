//! The ability ledger: the project's abilities, as committed text files that tests compare with the
//! build. `ledger/README.md` explains the files, and `make ledger` writes them again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Maximum number of lines of a difference that are shown.
const SHOWN: usize = 20;

/// The root folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file of the ledger with the expected text, or writes it if `SOTTO_LEDGER=write`.
///
/// # Panics
/// If they differ, with the lines in which they do.
#[track_caller]
pub fn check(file: &str, text: &str) {
    let path = root().join("ledger").join(file);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == text {
        return;
    }
    if std::env::var("SOTTO_LEDGER").as_deref() == Ok("write") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let (old, new): (HashSet<&str>, HashSet<&str>) = (committed.lines().collect(), text.lines().collect());
    let gone = committed.lines().filter(|line| !new.contains(line)).map(|line| format!("-{line}"));
    let come = text.lines().filter(|line| !old.contains(line)).map(|line| format!("+{line}"));
    let differences: Vec<String> = gone.chain(come).collect();
    let shown = differences.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    panic!(
        "ledger/{file} is out of date in {} lines: run `make ledger` and say why in the commit\n{shown}",
        differences.len()
    );
}
