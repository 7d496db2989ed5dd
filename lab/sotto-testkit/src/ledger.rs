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
    check_file(&format!("ledger/{file}"), text);
}

/// Compares a generated file of the project with the expected text, or writes it if
/// `SOTTO_LEDGER=write`.
///
/// # Panics
/// If they differ, with the lines in which they do.
#[track_caller]
pub fn check_file(file: &str, text: &str) {
    let committed = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    compare(file, &committed, text, || text.to_owned());
}

/// Compares a block of a document with the expected lines, or writes it if `SOTTO_LEDGER=write`. A
/// block is between the lines that contain `begin NAME:` and `end NAME`.
///
/// # Panics
/// If the document has no such block, or other lines in it.
#[track_caller]
pub fn check_block(file: &str, name: &str, text: &str) {
    let document = std::fs::read_to_string(root().join(file)).unwrap();
    let lines: Vec<&str> = document.split_inclusive('\n').collect();
    let at = |mark: String| lines.iter().position(|line| line.contains(&mark));
    let (Some(begin), Some(end)) = (at(format!("begin {name}:")), at(format!("end {name}"))) else {
        panic!("{file} has no lines with `begin {name}:` and `end {name}`");
    };
    let (head, block, tail) = (&lines[..=begin], &lines[begin + 1..end], &lines[end..]);
    compare(file, &block.concat(), text, || [&head.concat(), text, &tail.concat()].concat());
}

#[track_caller]
fn compare(file: &str, committed: &str, text: &str, whole: impl FnOnce() -> String) {
    if committed == text {
        return;
    }
    if std::env::var("SOTTO_LEDGER").as_deref() == Ok("write") {
        std::fs::write(root().join(file), whole()).unwrap();
        return;
    }
    let (old, new): (HashSet<&str>, HashSet<&str>) = (committed.lines().collect(), text.lines().collect());
    let gone = committed.lines().filter(|line| !new.contains(line)).map(|line| format!("-{line}"));
    let come = text.lines().filter(|line| !old.contains(line)).map(|line| format!("+{line}"));
    let differences: Vec<String> = gone.chain(come).collect();
    let shown = differences.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    panic!(
        "{file} is out of date in {} lines: run `make ledger` and say why in the commit\n{shown}",
        differences.len()
    );
}
