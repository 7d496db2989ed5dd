//! Paths of source files that documents name: each leads to a file.

use crate::graph::Graph;

/// Every path in backticks that contains a slash, ends with `.rs` and is the end of no file's path.
/// Alternatives in braces are paths of their own. The changelog names files of its day.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    let documents =
        graph.files.iter().filter(|file| file.path.ends_with(".md") && file.path != "CHANGELOG.md");
    documents
        .flat_map(|file| {
            let quoted = file.text.split('`').skip(1).step_by(2);
            let paths =
                quoted.filter(|text| text.ends_with(".rs") && text.contains('/') && !text.contains(' '));
            paths.flat_map(expand).map(move |path| (&file.path, path))
        })
        .filter(|(_, path)| !graph.files.iter().any(|file| is_end(&file.path, path)))
        .map(|(document, path)| format!("{document} names {path}, and there is no such file"))
        .collect()
}

/// The paths of a path with alternatives in braces.
fn expand(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (alternatives, tail))) = parts else { return vec![path.to_owned()] };
    alternatives.split(',').flat_map(|alternative| expand(&format!("{head}{alternative}{tail}"))).collect()
}

fn is_end(file: &str, path: &str) -> bool {
    file.strip_suffix(path.trim_start_matches("../"))
        .is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Source;

    #[test]
    fn paths_that_lead_nowhere_are_named() {
        let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let text = "`crates/a/src/{b,c/d,c/e}.rs`, `../a/src/b.rs`, `src/b.rs`, `rc/b.rs`, `b.rs`, `cargo run x/y.rs`";
        let names = ["crates/a/src/b.rs", "crates/a/src/c/d.rs"].map(|path| file(path, ""));
        let files = names.into_iter().chain([file("spec/a.md", text)]).collect();
        let graph = Graph { files, ..Graph::default() };
        let expected = ["crates/a/src/c/e.rs", "rc/b.rs"];
        assert_eq!(
            violations(&graph),
            expected.map(|path| format!("spec/a.md names {path}, and there is no such file"))
        );
    }
}
