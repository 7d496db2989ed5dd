//! Names that may not come back: `names.txt` lists words that say nothing as the name of a type or a module.

use crate::graph::{Graph, Source};
use std::collections::BTreeMap;

/// A line for each word, with how many types and modules still have it; of constants the start of a name.
const WORDS: &str = include_str!("../names.txt");

/// Names of registers and their lanes, which never leave a file.
const EXEMPT: &str = "crates/sotto-math/src/simd/";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Type,
    Module,
    Constant,
}

/// Every forbidden name that is declared more often than `names.txt` says is left of it.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    excess(WORDS, &graph.files)
}

fn excess(words: &str, files: &[Source]) -> Vec<String> {
    let left = parse(words);
    let mut declared: BTreeMap<(Kind, &str), Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with(EXEMPT)) {
        for (at, line) in file.text.lines().enumerate() {
            let Some((kind, name)) = declaration(line) else { continue };
            let is_forbidden = |word: &str| match kind {
                Kind::Constant => name.starts_with(word),
                Kind::Type | Kind::Module => name == word,
            };
            let word = left.keys().find(|(of, word)| *of == kind && is_forbidden(word));
            if let Some((_, word)) = word {
                declared.entry((kind, word)).or_default().push(format!("{}:{}", file.path, at + 1));
            }
        }
    }
    let too_many =
        declared.into_iter().filter(|(key, places)| places.len() > left.get(key).map_or(0, |left| *left));
    too_many
        .map(|((kind, word), places)| {
            format!(
                "`{word}` is no name for a {kind:?}, see docs/vocabulary.md; names.txt allows fewer than {}",
                places.join(", ")
            )
        })
        .collect()
}

/// The words, and how many declarations are left of each: `Word 2 1` for two types and a module, `WORD_ 3` for constants.
fn parse(words: &str) -> BTreeMap<(Kind, &str), usize> {
    let mut left = BTreeMap::new();
    for line in words.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split_whitespace();
        let Some(word) = fields.next() else { continue };
        let mut count = || fields.next().and_then(|count| count.parse().ok()).unwrap_or(0);
        if word.ends_with('_') {
            left.insert((Kind::Constant, word), count());
        } else if word.starts_with(char::is_lowercase) {
            left.insert((Kind::Module, word), count());
        } else {
            left.insert((Kind::Type, word), count());
        }
    }
    left
}

/// The kind and the name of a line's declaration.
fn declaration(line: &str) -> Option<(Kind, &str)> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(restricted) => restricted.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let (keyword, rest) = line.split_once(' ')?;
    let kind = match keyword {
        "struct" | "enum" | "trait" | "type" | "union" => Kind::Type,
        "mod" => Kind::Module,
        "const" | "static" => Kind::Constant,
        _ => return None,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).map(|name| (kind, name))
}

#[cfg(test)]
mod tests {
    use super::{Source, excess};

    const LIST: &str = "# words\nWish 1\nwish\nMOST_ 1\n";

    fn refused(text: &str) -> usize {
        excess(LIST, &[Source { path: "crates/a/src/lib.rs".into(), text: text.into() }]).len()
    }

    #[test]
    fn forbidden_names_are_refused_beyond_what_is_left_of_them() {
        assert_eq!(refused("struct Wish;"), 0);
        assert_eq!(refused("struct Wish;\n    pub(crate) enum Wish<T> {"), 1);
        assert_eq!(refused("pub mod wish;"), 1);
        assert_eq!(refused("const MOST_ROWS: u8 = 1;\nstatic MOST_BYTES: u8 = 2;"), 1);
        assert_eq!(refused("struct Wishes;\nmod wishes;\nfn wish() {}\n// struct Wish; struct Wish;"), 0);
    }

    #[test]
    fn names_inside_kernels_are_free() {
        let file = Source { path: "crates/sotto-math/src/simd/a.rs".into(), text: "mod wish;".into() };
        assert!(excess(LIST, &[file]).is_empty());
    }
}
