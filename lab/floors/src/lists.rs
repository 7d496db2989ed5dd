//! The places that name schemes outside their folders: a scheme is its folder and the lines that
//! are required here.

use crate::graph::Graph;

const WORKSPACE: &str = "Cargo.toml";
const REGISTRY: &str = "crates/sotto-registry/Cargo.toml";
const LIST: &str = "crates/sotto-registry/src/schemes.rs";

/// Every missing line where schemes are named, and every line that names one where none should be.
pub(crate) fn broken(graph: &Graph) -> Vec<String> {
    let schemes = graph.crates.iter().filter(|krate| krate.folder == "schemes");
    let schemes: Vec<&str> = schemes.map(|krate| krate.name.as_str()).collect();
    let mut broken: Vec<String> = schemes.iter().flat_map(|scheme| missing(graph, scheme)).collect();
    for file in &graph.files {
        let names = |line: &str| schemes.iter().any(|scheme| lists(line, scheme));
        let asks = file.path.ends_with("Cargo.toml") || file.path.ends_with("Makefile");
        if asks && !file.path.starts_with("schemes/") && file.text.lines().any(names) {
            broken.push(format!("{} lists schemes: ask for the registry's feature `default`", file.path));
        }
    }
    broken
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
    let mut broken: Vec<String> = missing
        .map(|(file, line, place)| format!("{scheme}: add the line `{line}` to {place} in {file}"))
        .collect();
    for (file, words) in [
        ("docs/schemes.md", format!("(../{home}/{scheme}/README.md)")),
        ("crates/README.md", format!("`{scheme}`")),
    ] {
        if !has(graph, file, |line| line.contains(&words)) {
            broken.push(format!("{scheme}: {file} lists the schemes, and does not say {words}"));
        }
    }
    broken
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
#[path = "lists_tests.rs"]
pub(crate) mod tests;
