//! Width, words and decoders, in files made up for them.

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
    let wide = "// ".to_owned() + &"word ".repeat(26);
    assert_eq!(with_file("a.rs", &format!("\n{wide}")), ["a.rs:2: wider than 130 columns"]);
    assert!(with_file("a.rs", &wide[..130]).is_empty());
    assert!(with_file("a.rs", &"ä ".repeat(65)).is_empty(), "columns are not bytes");
    assert!(with_file("a.md", &wide).is_empty(), "prose");
    assert!(with_file("a.rs", &wide.replacen("//", "//! |", 1)).is_empty(), "a row of a table");
    assert!(with_file("a.rs", &format!("let key = {};", "x".repeat(140))).is_empty(), "a word that is a key");
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
    assert_eq!(broken_rules, [format!("a: src/message.rs parses bytes of others and lacks {NO_INDEXING}")]);
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
