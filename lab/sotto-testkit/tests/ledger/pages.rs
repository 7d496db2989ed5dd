//! Tables of the documentation and of the browser's package that repeat what the code declares.

use serde_json::Value;
use sotto_core::{ErrorKind, Exit, Fault, Hiding, SchemeEntry};
use sotto_registry::SCHEMES;
use sotto_testkit::ledger;
use std::fmt::Write;

fn read(path: &str) -> String {
    std::fs::read_to_string(ledger::root().join(path)).unwrap()
}

/// All schemes, by what hides the row.
fn schemes() -> Vec<&'static SchemeEntry> {
    let mut schemes = SCHEMES.to_vec();
    schemes.sort_by_key(|entry| entry.metadata.hiding);
    schemes
}

/// The name of a scheme, with its version unless the name alone means it.
fn name(entry: &SchemeEntry) -> &'static str {
    let name = |entry: &SchemeEntry| entry.id.0.split_once('/').unwrap().0;
    let newest = SCHEMES.iter().rfind(|other| name(other) == name(entry)).unwrap();
    if newest.id == entry.id { name(entry) } else { entry.id.0 }
}

/// The folder of a scheme's crate, which is also its feature in the registry.
fn folder(entry: &SchemeEntry) -> &'static str {
    entry.metadata.package.strip_prefix("sotto-").unwrap()
}

fn link(entry: &SchemeEntry) -> String {
    let group = if entry.metadata.is_baseline { "schemes/baselines" } else { "schemes" };
    format!("[`{}`](../{group}/{}/README.md)", name(entry), folder(entry))
}

fn names(of: &[impl ToString]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn table(headings: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rules = "---|".repeat(headings.matches(" | ").count() + 1);
    let rows: String = rows.into_iter().map(|row| format!("| {row} |\n")).collect();
    format!("| {headings} |\n|{rules}\n{rows}")
}

fn check_facts() {
    let row = |entry: &&SchemeEntry| {
        let metadata = &entry.metadata;
        let baseline = if metadata.is_baseline { "; a baseline" } else { "" };
        let (assumptions, trust) = (names(metadata.assumptions), entry.trust());
        format!(
            "{} | [{}]({}){baseline} | {trust} | {assumptions} | {} | {} | {}",
            link(entry),
            metadata.title,
            metadata.paper,
            metadata.client_keeps,
            metadata.server_keeps,
            metadata.abort_leakage.statement()
        )
    };
    let headings = "scheme | paper | who must be trusted | assumption | a client keeps | a server keeps for each client | \
                    a refused answer tells";
    ledger::check_block("docs/schemes.md", "facts", &table(headings, schemes().iter().map(row)));
}

/// Both are in one document, which is written one block at a time.
#[test]
fn ledger_of_the_page_of_schemes() {
    check_facts();
    check_sizes();
}

#[test]
fn ledger_of_protection() {
    let mut groups: Vec<(&SchemeEntry, String)> = Vec::new();
    for entry in schemes() {
        let metadata = &entry.metadata;
        let alike = |(other, _): &&mut (&SchemeEntry, String)| {
            (other.metadata.hiding, other.metadata.assumptions) == (metadata.hiding, metadata.assumptions)
        };
        match groups.iter_mut().find(alike) {
            Some((_, names)) => write!(names, " `{}`", name(entry)).unwrap(),
            None => groups.push((entry, format!("`{}`", name(entry)))),
        }
    }
    let row = |(entry, schemes): (&SchemeEntry, String)| {
        let how = match entry.metadata.hiding {
            [Hiding::Encryption] => {
                "the query is encrypted, and the server computes the answer without the key"
            }
            [Hiding::Preparation] => {
                "the client has hints that the server never sees, and a query names rows that look chosen at random"
            }
            [Hiding::Preparation, Hiding::Splitting] => "one server makes the hints, and another answers",
            [Hiding::Download] => "the client downloads the whole table, and a lookup sends nothing",
            [Hiding::Splitting] => "each of two servers gets a part of the query that looks random",
            other => panic!("no sentence for {other:?}"),
        };
        format!("{schemes} | {how} | {} | {}", names(entry.metadata.assumptions), entry.servers)
    };
    let headings = "schemes | what hides the row | assumption | servers";
    ledger::check_block("SECURITY.md", "protection", &table(headings, groups.into_iter().map(row)));
    let security = read("SECURITY.md");
    let spoiled = security.lines().find(|line| line.contains("make rows that break lookups")).unwrap();
    for entry in schemes() {
        let is_listed = spoiled.contains(&format!("`{}`", name(entry)));
        assert_eq!(is_listed, entry.server.whitening.is_some(), "{} in SECURITY.md", entry.id);
    }
}

/// Bytes with three digits, such as `48.0 MiB`.
fn bytes(n: &Value) -> String {
    let (mut value, mut unit) = (n.as_f64().unwrap(), "B");
    for larger in ["KiB", "MiB", "GiB"] {
        if value >= 999.5 {
            (value, unit) = (value / 1024.0, larger);
        }
    }
    let decimals = if unit == "B" || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

fn check_sizes() {
    let results: Value = serde_json::from_str(&read("lab/sotto-bench/results/all-schemes.json")).unwrap();
    let readme = read("README.md");
    let row = |entry: &&SchemeEntry| {
        let lookup = results["lookups"].as_array().unwrap().iter().find(|of| of["scheme"] == name(entry))?;
        let [once_bytes, keys_bytes] =
            ["once_bytes", "keys_bytes"].map(|field| lookup[field].as_u64().unwrap());
        let once = match (once_bytes, keys_bytes) {
            (0, 0) if entry.state.is_some() => "hints from one server".to_owned(),
            (0, 0) => "nothing".to_owned(),
            (0, _) => format!("{} up", bytes(&lookup["keys_bytes"])),
            (1..0x1000_0000, _) => format!("{} down", bytes(&lookup["once_bytes"])),
            _ => format!("{} down, streamed", bytes(&lookup["once_bytes"])),
        };
        let narrow = if lookup["shape"] == "2^20 x 256 B" { "" } else { " *" };
        let (up, down) = (bytes(&lookup["up_bytes"]), bytes(&lookup["down_bytes"]));
        let ms = lookup["server_ms"].as_f64().unwrap();
        let server = if ms < 1.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") };
        // The README has some of the schemes, and the unit of a pair once.
        if let Some(line) = readme.lines().find(|line| line.starts_with(&format!("| [`{}`]", name(entry)))) {
            let pair = match (up.split_once(' ').unwrap(), down.split_once(' ').unwrap()) {
                ((up, unit), (_, other)) if unit == other => format!("| {up}, {down} |"),
                _ => format!("| {up}, {down} |"),
            };
            for cell in [pair, format!("| {once}"), format!("| {server} |")] {
                assert!(line.contains(&cell), "README.md lacks {cell:?} in {line:?}");
            }
        }
        let hiding = names(entry.metadata.hiding);
        Some(format!("{} | {hiding} | {up}{narrow} | {down} | {once} | {server}", link(entry)))
    };
    let headings = "scheme | hidden by | query | answer | once per client | server";
    ledger::check_block("docs/schemes.md", "sizes", &table(headings, schemes().iter().filter_map(row)));
}

#[test]
fn ledger_of_the_page_of_errors() {
    let code = |exit: Exit| format!("{} `{}`", exit as u8, format!("{exit:?}").to_lowercase());
    let done = "0 `done` | The command did what it was asked.".to_owned();
    let exits = Exit::ALL.iter().map(|(exit, meaning)| format!("{} | {meaning}", code(*exit)));
    let exits = table("exit code | meaning", std::iter::once(done).chain(exits));
    ledger::check_block("docs/reference/errors.md", "exit-codes", &exits);
    let row = |(kind, meaning): &(ErrorKind, &str)| {
        let name = serde_json::to_value(kind).unwrap();
        let whose = match Fault::from(*kind) {
            Fault::Caller => "the caller",
            Fault::Server => "the server, its operator or the publisher",
            Fault::Network => "the network, or nobody",
            Fault::Machine => "the client's machine",
        };
        format!("`{}` | {meaning} | {whose} | {}", name.as_str().unwrap(), code((*kind).into()))
    };
    let kinds =
        table("kind | meaning | who can resolve it | exit code of most", ErrorKind::ALL.iter().map(row));
    ledger::check_block("docs/reference/errors.md", "error-kinds", &kinds);
}

#[test]
fn ledger_of_families() {
    let manifest = read("bindings/web/Cargo.toml");
    let (_, features) = manifest.split_once("[features]").unwrap();
    let families: Vec<(&str, &str)> = features
        .split_inclusive("]\n")
        .filter_map(|feature| feature.split_once(" = ["))
        .map(|(name, of)| (name.lines().last().unwrap(), of))
        .collect();
    let mut text = String::new();
    for entry in SCHEMES {
        let feature = format!("\"sotto-registry?/{}\"", folder(entry));
        let family = families.iter().find(|(_, of)| of.contains(&feature));
        let (family, _) = family.unwrap_or_else(|| panic!("{} is in no family of bindings/web", entry.id));
        writeln!(text, "  \"{}\": \"{family}\",", entry.id).unwrap();
    }
    ledger::check_block("bindings/web/js/families.js", "families", &text);
}
