//! Every text of several words in what ships: errors, logs, help, findings. One list to read, and
//! to see changes. And digests of every vector file and of every file that tests compare with.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use sha2::{Digest, Sha256};
use sotto_testkit::ledger;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Folders of crates, and crates that do not ship.
const FOLDERS: [&str; 6] = ["bindings", "crates", "guests", "lab", "schemes", "schemes/baselines"];
const NOT_SHIPPED: [&str; 6] = ["bindgen", "constant-time", "floors", "fuzz", "sotto-testkit", "vectors"];
/// Attributes whose texts are shown to users. The documentation of an argument is in `help.txt`.
const SHOWN: [&str; 4] = ["arg", "command", "error", "value"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match path.is_dir() {
            _ if stem == "tests" || stem.ends_with("_tests") => {}
            true => sources(&path, found),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The text between the quotes, with continued lines joined.
fn said(literal: &str) -> Option<String> {
    let inner = literal.strip_prefix('r').map(|raw| raw.trim_matches('#')).unwrap_or(literal);
    let inner = inner.strip_prefix('"')?.strip_suffix('"')?;
    let mut parts = inner.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.trim_start()).replace('\n', "\\n");
    let words = text.split(' ').filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
    (words.count() > 1).then_some(text)
}

/// Collects the texts of a stream, without those of tests and of documentation.
fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Literal(literal) => found.extend(said(&literal.to_string())),
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                tokens.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let is_brackets = |next: &TokenTree| matches!(next, TokenTree::Group(_));
                let Some(TokenTree::Group(attribute)) = tokens.next_if(is_brackets) else { continue };
                let text = attribute.stream().to_string();
                if SHOWN.iter().any(|name| text.starts_with(name)) {
                    collect(attribute.stream(), found);
                } else if text.replace(' ', "").starts_with("cfg(test)") {
                    // The item that is for tests: to its braces, or to its end.
                    let ends = |token: &TokenTree| match token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(punct) => punct.as_char() == ';',
                        _ => false,
                    };
                    tokens.by_ref().find(ends);
                }
            }
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
    }
}

#[test]
fn ledger_of_texts() {
    let mut lines = Vec::new();
    for folder in FOLDERS {
        for krate in std::fs::read_dir(ledger::root().join(folder)).unwrap() {
            let (mut files, mut texts) = (Vec::new(), BTreeSet::new());
            let krate = krate.unwrap();
            let name = krate.file_name().to_string_lossy().into_owned();
            if NOT_SHIPPED.contains(&name.as_str()) {
                continue;
            }
            sources(&krate.path().join("src"), &mut files);
            for file in files {
                let text = std::fs::read_to_string(&file).unwrap();
                collect(text.parse().unwrap(), &mut texts);
            }
            lines.extend(texts.iter().map(|text| format!("{folder}/{name}: {text}\n")));
        }
    }
    lines.sort();
    assert!(lines.len() > 1000, "{}", lines.len());
    ledger::check("texts.txt", &lines.concat());
}

/// Folders of vectors and of files that tests compare with, and the folders of crates with some of their own.
const DATA: &[&str] = &["data", "spec/vectors"];
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

/// SHA-256 of every such file.
#[test]
fn ledger_of_digests() {
    let root = ledger::root();
    let mut found = Vec::new();
    DATA.iter().for_each(|folder| files(&root.join(folder), &mut found));
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
