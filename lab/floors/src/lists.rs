//! The places that name schemes outside their folders: a scheme is its folder and the lines that
//! are required here.

use crate::graph::Graph;

const WORKSPACE: &str = "Cargo.toml";
const REGISTRY: &str = "crates/sotto-registry/Cargo.toml";
const LIST: &str = "crates/sotto-registry/src/schemes.rs";

/// Every missing line where schemes are named, and every line that names one where none should be.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    let schemes = graph.crates.iter().filter(|krate| krate.folder == "schemes");
    let schemes: Vec<&str> = schemes.map(|krate| krate.name.as_str()).collect();
    let mut violations: Vec<String> = schemes.iter().flat_map(|scheme| missing(graph, scheme)).collect();
    for file in &graph.files {
        let names = |line: &str| schemes.iter().any(|scheme| lists(line, scheme));
        let is_build_file = file.path.ends_with("Cargo.toml") || file.path.ends_with("Makefile");
        if is_build_file && !file.path.starts_with("schemes/") && file.text.lines().any(names) {
            violations.push(format!("{} lists schemes: ask for the registry's feature `default`", file.path));
        }
    }
    violations
}

/// The lines that a scheme needs, each in its file.
fn missing(graph: &Graph, scheme: &str) -> Vec<String> {
    let path = scheme.replace('-', "_");
    let baseline =
        graph.files.iter().any(|file| file.path == format!("schemes/baselines/{scheme}/Cargo.toml"));
    let (home, feature) = if baseline {
        ("schemes/baselines", "the feature `baselines`")
    } else {
        ("schemes", "the feature `schemes`")
    };
    let lines = [
        (
            WORKSPACE,
            format!(
                "{scheme} = {{ package = \"sotto-{scheme}\", version = \"0.1.0\", path = \"{home}/{scheme}\" }}"
            ),
            "[workspace.dependencies]",
        ),
        (REGISTRY, format!("\"{scheme}\","), feature),
        (REGISTRY, format!("\"{scheme}?/server\","), "the feature `server`"),
        (REGISTRY, format!("{scheme} = {{ workspace = true, optional = true }}"), "[dependencies]"),
        (LIST, format!("&{path}::ENTRY,"), "SCHEMES"),
    ];
    let missing = lines.into_iter().filter(|(file, line, _)| !has(graph, file, |text| text.trim() == line));
    let mut violations: Vec<String> = missing
        .map(|(file, line, place)| format!("{scheme}: add the line `{line}` to {place} in {file}"))
        .collect();
    for (file, words) in [
        ("docs/schemes.md", format!("(../{home}/{scheme}/README.md)")),
        ("crates/README.md", format!("`{scheme}`")),
    ] {
        if !has(graph, file, |line| line.contains(&words)) {
            violations.push(format!("{scheme}: {file} lists the schemes, and does not say {words}"));
        }
    }
    violations
}

fn has(graph: &Graph, path: &str, holds: impl Fn(&str) -> bool) -> bool {
    graph.files.iter().any(|file| file.path == path && file.text.lines().any(&holds))
}

/// Whether a line enables features, including one that is a scheme.
fn lists(line: &str, scheme: &str) -> bool {
    let features = match (line.strip_prefix("sotto-registry = "), line.split_once("--features ")) {
        (Some(manifest), _) => manifest,
        (None, Some((_, command))) => command,
        (None, None) => return false,
    };
    features.split([',', ' ', '"', '[', ']']).any(|feature| feature == scheme)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::graph::{Crate, Source};

    /// The files that name schemes, with all the lines these need.
    pub(crate) fn files(schemes: &[&str]) -> Vec<Source> {
        let all =
            |line: &dyn Fn(&str) -> String| schemes.iter().map(|scheme| line(scheme)).collect::<String>();
        let workspace = all(&|s| {
            format!("{s} = {{ package = \"sotto-{s}\", version = \"0.1.0\", path = \"schemes/{s}\" }}\n")
        });
        let registry = all(&|s| {
            format!("    \"{s}\",\n    \"{s}?/server\",\n{s} = {{ workspace = true, optional = true }}\n")
        });
        let list = all(&|s| format!("    &{}::ENTRY,\n", s.replace('-', "_")));
        let schemes_page = all(&|s| format!("| [`{s}`](../schemes/{s}/README.md) |\n"));
        let crates = all(&|s| format!("`{s}`"));
        let texts = [
            (WORKSPACE, workspace),
            (REGISTRY, registry),
            (LIST, list),
            ("docs/schemes.md", schemes_page),
            ("crates/README.md", crates),
        ];
        texts.map(|(path, text)| Source { path: path.into(), text }).into()
    }

    fn graph(schemes: &[&str], listed: &[&str]) -> Graph {
        let scheme =
            |name: &&str| Crate { name: name.to_string(), folder: "schemes".into(), ..Crate::default() };
        Graph { crates: schemes.iter().map(scheme).collect(), files: files(listed), ..Graph::default() }
    }

    #[test]
    fn schemes_that_are_listed_everywhere_break_nothing() {
        assert_eq!(violations(&graph(&["dpf", "lp-treepir"], &["dpf", "lp-treepir"])), Vec::<String>::new());
    }

    #[test]
    fn a_new_scheme_is_told_each_line_it_needs() {
        let broken_rules = violations(&graph(&["dpf", "new-pir"], &["dpf"]));
        let lines = [
            "add the line `new-pir = { package = \"sotto-new-pir\", version = \"0.1.0\", path = \"schemes/new-pir\" }` to \
             [workspace.dependencies] in Cargo.toml",
            "add the line `\"new-pir\",` to the feature `schemes` in crates/sotto-registry/Cargo.toml",
            "add the line `\"new-pir?/server\",` to the feature `server` in crates/sotto-registry/Cargo.toml",
            "add the line `new-pir = { workspace = true, optional = true }` to [dependencies]",
            "add the line `&new_pir::ENTRY,` to SCHEMES in crates/sotto-registry/src/schemes.rs",
            "docs/schemes.md lists the schemes",
            "crates/README.md lists the schemes",
        ];
        assert_eq!(broken_rules.len(), lines.len(), "{broken_rules:?}");
        for (broken_rules, line) in broken_rules.iter().zip(lines) {
            assert!(broken_rules.starts_with("new-pir: ") && broken_rules.contains(line), "{broken_rules}");
        }
    }

    #[test]
    fn no_other_file_lists_schemes() {
        for (line, refused) in [
            ("sotto-registry = { workspace = true, features = [\"server\", \"dpf\"] }", true),
            ("sotto-registry = { workspace = true, features = [\"default\", \"server\"] }", false),
            ("\tcargo clippy -p sotto-registry --features dpf,server", true),
            ("dpf = { workspace = true }", false),
        ] {
            let mut graph = graph(&["dpf"], &["dpf"]);
            graph.files.push(Source { path: "crates/x/Cargo.toml".into(), text: line.into() });
            let broken_rules = violations(&graph);
            assert_eq!(broken_rules.len(), usize::from(refused), "{line}: {broken_rules:?}");
            assert!(
                broken_rules
                    .iter()
                    .all(|broken_rules| broken_rules.contains("crates/x/Cargo.toml lists schemes")),
                "{broken_rules:?}"
            );
        }
    }
}
