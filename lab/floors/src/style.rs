//! Checks of the text of files: line width, words, and decoding of untrusted bytes.

use crate::graph::{Crate, Graph, Source};

/// Columns of a line of code. Rows of tables are as wide as they are, and so is a word that cannot be cut.
const WIDTH: usize = 130;
const LONG_WORD: usize = 100;

/// The line of a file that decodes bytes of a peer or a file.
const NO_INDEXING: &str = "#![deny(clippy::indexing_slicing)]";

/// The line of a crate that decodes such bytes everywhere.
const NO_INDEXING_IN_CRATE: &str = "#![cfg_attr(not(test), deny(clippy::indexing_slicing))]";

/// Files that parse such bytes without `impl Wire`.
const DECODERS: &[(&str, &[&str])] = &[
    ("sotto-math", &["src/bits.rs"]),
    ("sotto-lattice", &["src/bgv/wire.rs"]),
    ("sotto-layers", &["src/keyword/params.rs", "src/batch_code/code.rs"]),
    (
        "sotto-tlog",
        &["src/checkpoint.rs", "src/entries.rs", "src/key.rs", "src/note.rs", "src/proof.rs", "src/read.rs"],
    ),
];

/// Crates that mostly decode untrusted bytes, in which the rule holds everywhere.
const DECODING_CRATES: &[&str] = &[
    "sotto-bench",
    "sotto-catalog",
    "sotto-client",
    "sotto-core",
    "sotto-cube",
    "sotto-db",
    "sotto-ohttp",
    "sotto-oprf",
    "sotto-pages",
    "sotto-server",
    "sotto-silent",
    "sotto-wire",
];

/// The test kit, whose schemes in the clear decode for tests alone, which may panic.
const TESTKIT: &str = "sotto-testkit";

/// Every violated rule, in words. `knows_layers` tells which crates know layers.
pub(crate) fn violations(graph: &Graph, knows_layers: impl Fn(&Crate) -> bool) -> Vec<String> {
    let mut violations: Vec<String> = graph.files.iter().flat_map(too_wide).collect();
    for krate in &graph.crates {
        if !knows_layers(krate) {
            violations.extend(krate.sources.iter().filter(|source| says_shard(source)).map(|source| {
                let (name, path) = (&krate.name, &source.path);
                format!(
                    "{name}: {path} says shard, which is a table under a layer: nothing here knows of layers"
                )
            }));
        }
        if krate.name != TESTKIT && krate.name != "floors" {
            violations.extend(indexing(krate));
        }
    }
    violations
}

fn too_wide(file: &Source) -> Vec<String> {
    if !file.path.ends_with(".rs") && !file.path.ends_with("Cargo.toml") {
        return Vec::new();
    }
    let too_wide = |line: &str| {
        let table = ["//! |", "/// |"].iter().any(|row| line.trim_start().starts_with(row));
        let long_word = line.split_whitespace().any(|word| word.chars().count() >= LONG_WORD);
        line.chars().count() > WIDTH && !table && !long_word
    };
    let lines = file.text.lines().enumerate().filter(|(_, line)| too_wide(line));
    lines.map(|(at, _)| format!("{}:{}: wider than {WIDTH} columns", file.path, at + 1)).collect()
}

fn says_shard(source: &Source) -> bool {
    source.text.to_lowercase().contains("shard")
}

fn indexing(krate: &Crate) -> Vec<String> {
    let everywhere =
        krate.roots.iter().any(|root| root.text.lines().any(|line| line == NO_INDEXING_IN_CRATE));
    if everywhere {
        return Vec::new();
    }
    if DECODING_CRATES.contains(&krate.name.as_str()) {
        return vec![format!("{}: src/lib.rs lacks {NO_INDEXING_IN_CRATE}", krate.name)];
    }
    let listed = DECODERS.iter().find(|(name, _)| *name == krate.name).map_or(&[][..], |(_, files)| files);
    let mut violations: Vec<String> = listed
        .iter()
        .filter(|listed| !krate.sources.iter().any(|source| source.path == **listed))
        .map(|missing| {
            format!("{}: {missing} is not there: take it out of lab/floors/src/style.rs", krate.name)
        })
        .collect();
    let decoders = krate.sources.iter().filter(|source| {
        let decodes = source.text.contains("Wire<") && source.text.contains("fn take(");
        listed.contains(&source.path.as_str()) || (source.path.starts_with("src/") && decodes)
    });
    let without = decoders.filter(|source| !source.text.lines().any(|line| line == NO_INDEXING));
    violations.extend(without.map(|source| {
        format!("{}: {} parses bytes of others and lacks {NO_INDEXING}", krate.name, source.path)
    }));
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    fn with_file(path: &str, text: &str) -> Vec<String> {
        violations(&Graph { files: vec![file(path, text)], ..Graph::default() }, |_| true)
    }

    fn with_source(name: &str, path: &str, text: &str) -> Vec<String> {
        let sources = vec![file(path, text)];
        let krate = Crate { name: name.into(), folder: "crates".into(), sources, ..Crate::default() };
        violations(&Graph { crates: vec![krate], ..Graph::default() }, |krate| krate.name == "high")
    }

    #[test]
    fn lines_of_code_have_a_width() {
        let too_wide = "// ".to_owned() + &"word ".repeat(26);
        assert_eq!(with_file("a.rs", &format!("\n{too_wide}")), ["a.rs:2: wider than 130 columns"]);
        assert!(with_file("a.rs", &too_wide[..130]).is_empty());
        assert!(with_file("a.rs", &"ä ".repeat(65)).is_empty(), "columns are not bytes");
        assert!(with_file("a.md", &too_wide).is_empty(), "prose");
        assert!(with_file("a.rs", &too_wide.replacen("//", "//! |", 1)).is_empty(), "a row of a table");
        assert!(
            with_file("a.rs", &format!("let key = {};", "x".repeat(140))).is_empty(),
            "a word that is a key"
        );
    }

    #[test]
    fn only_what_knows_layers_has_shards() {
        assert!(with_source("high", "src/a.rs", "let shards = 1;").is_empty());
        assert_eq!(with_source("low", "src/a.rs", "let shards = 1;").len(), 1);
        assert!(with_source("low", "src/a.rs", "let partitions = 1;").is_empty());
    }

    #[test]
    fn decoders_do_not_index() {
        let wire = "impl Wire<P> for Query {\n    fn take(params: &P, bytes: &[u8]) {}\n}\n";
        let broken_rules = with_source("a", "src/message.rs", wire);
        assert_eq!(
            broken_rules,
            [format!("a: src/message.rs parses bytes of others and lacks {NO_INDEXING}")]
        );
        assert!(with_source("a", "src/message.rs", &format!("{NO_INDEXING}\n{wire}")).is_empty());
        assert!(with_source("a", "tests/message.rs", wire).is_empty());
        assert_eq!(with_source("sotto-math", "src/bits.rs", "").len(), 1, "a listed file says it");
        assert!(
            with_source("sotto-math", "src/words.rs", "")[0].contains("is not there"),
            "a listed file is there"
        );
        assert!(
            with_source("sotto-wire", "src/lib.rs", "")[0].contains("src/lib.rs lacks"),
            "a listed crate says it"
        );
    }
}
