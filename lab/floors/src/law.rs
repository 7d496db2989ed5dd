//! The table of floors, and every rule. A crate may be built only from crates of earlier lines: from
//! below, or from an earlier line of its own floor. Dev-dependencies are free, since tests ship nothing.

use crate::graph::{Crate, Graph, Source};
use std::fmt::Write;

/// A line of the table: floor, its purpose, and the crates on this line, which do not depend on
/// each other.
type LawLine = (&'static str, &'static str, &'static [&'static str]);

const TABLE: &[LawLine] = &[
    ("-", "vocabulary", &["sotto-core"]),
    ("0", "memory", &["sotto-pages"]),
    ("0", "folders", &["sotto-private-folder"]),
    ("0", "randomness", &["sotto-prg"]),
    ("0", "arithmetic", &["sotto-math"]),
    ("0", "cards", &["sotto-gpu"]),
    ("1", "encryption", &["sotto-lattice"]),
    ("1", "the hypercube", &["sotto-cube"]),
    ("1", "slots", &["sotto-bfv"]),
    ("1", "silent preprocessing", &["sotto-silent"]),
    ("1", "masks", &["sotto-oprf"]),
    ("1", "hints", &["sotto-hints"]),
    ("2", "schemes", &["schemes/*"]),
    ("3", "trees of hashes", &["sotto-tree"]),
    ("3", "which rows", &["sotto-layers"]),
    ("4", "the list", &["sotto-registry"]),
    ("4", "what a table is", &["sotto-catalog"]),
    ("4", "transparency logs", &["sotto-tlog"]),
    ("4", "the data", &["sotto-db"]),
    ("5", "bytes between machines", &["sotto-wire"]),
    ("5", "what it would cost", &["sotto-plan"]),
    ("6", "the ends", &["sotto-client", "sotto-server"]),
    ("7", "protocols of others", &["sotto-pass", "sotto-ohttp", "sotto-apple"]),
    ("7", "guests of the server", &["sotto-guest-server"]),
    ("7", "measurements", &["sotto-bench"]),
    ("7", "for other languages", &["sotto-binding"]),
    ("8", "programs", &["sotto-cli", "sotto-python", "sotto-web", "sotto-native"]),
];

/// Folders of crates that engine and product are not built from, and the programs that offer them.
const APART: &[&str] = &["guests", "lab"];
const PROGRAMS: &[&str] = &["sotto-cli", "sotto-python"];

/// Crates that may look at all floors, and that nothing on a floor may be built from.
const OFF_THE_FLOORS: &[&str] =
    &["sotto-testkit", "sotto-fuzz", "floors", "constant-time", "first-lookup", "vectors", "bindgen"];

/// Crates that may opt out of the ban on unsafe code, and the only module of theirs that may do so.
const UNSAFE: &[(&str, &str)] = &[
    ("sotto-math", "src/simd"),
    ("sotto-gpu", "src/cooperative.rs"),
    ("sotto-db", "src/image/map.rs"),
    ("sotto-native", "src/abi"),
];

/// The crate that lists every scheme. The conformance suite, the server, the command, benches and
/// fuzz targets read its list.
const REGISTRY: &str = "sotto-registry";

/// Packages that the client's half must never link: they would not run in a browser, or are the
/// other half.
const NOT_ON_THE_CLIENT: &[&str] = &["axum", "tokio", "rayon", "sotto-db", "sotto-server", "sotto-testkit"];

/// Every rule that is broken, in words.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    let mut violations = Vec::new();
    for krate in &graph.crates {
        violations.extend(edges(graph, krate));
        violations.extend(unsafety(krate));
        let registered = |other: &Crate| other.name == REGISTRY && other.needs.contains(&krate.name);
        if krate.folder == "schemes" && !graph.crates.iter().any(registered) {
            violations.push(format!(
                "{}: {REGISTRY} does not list it, so that nothing tests or serves it",
                krate.name
            ));
        }
    }
    violations.extend(client_half(graph));
    let schemes = graph.crates.iter().filter(|krate| krate.folder == "schemes");
    let linked = |krate: &&Crate| graph.first_lookup.iter().any(|package| package.name == krate.name);
    violations.extend(schemes.filter(|krate| !linked(krate)).map(|krate| {
        format!(
            "whoever depends on sotto-client alone lacks {}: see the registry's default features",
            krate.name
        )
    }));
    violations
}

/// Whether a crate is above the schemes, or is the vocabulary of all.
pub(crate) fn knows_layers(krate: &Crate) -> bool {
    let schemes = TABLE.iter().position(|(_, _, names)| names.contains(&"schemes/*"));
    krate.name == "sotto-core" || is_off(&krate.name) || line_of(krate) > schemes
}

/// The line of a crate; `None` off the floors, or if it is not placed yet.
fn line_of(krate: &Crate) -> Option<usize> {
    TABLE.iter().position(|(_, _, names)| {
        names.contains(&krate.name.as_str()) || (krate.folder == "schemes" && names.contains(&"schemes/*"))
    })
}

fn is_off(name: &str) -> bool {
    OFF_THE_FLOORS.contains(&name)
}

fn edges(graph: &Graph, krate: &Crate) -> Vec<String> {
    if is_off(&krate.name) {
        return Vec::new();
    }
    let name = &krate.name;
    let Some(line) = line_of(krate) else {
        return vec![format!("{name} has no floor: give it a line in lab/floors/src/law.rs")];
    };
    let mut violations = Vec::new();
    for need in &krate.needs {
        if is_off(need) {
            violations.push(format!("{name} is built from {need}, which only tests may use"));
            continue;
        }
        let Some(other) = graph.crates.iter().find(|other| &other.name == need) else { continue };
        let is_apart = |krate: &Crate| APART.contains(&krate.folder.as_str());
        if is_apart(other) && !is_apart(krate) && !PROGRAMS.contains(&name.as_str()) {
            violations.push(format!(
                "{name} is built from {need}: only programs know the crates of {}",
                other.folder
            ));
            continue;
        }
        let Some(below) = line_of(other) else { continue };
        if below == line && krate.folder == "schemes" {
            violations.push(format!("{name} -> {need}: schemes do not know each other; share on floor 1"));
        } else if below >= line {
            violations.push(format!("{name} -> {need} points upward or sideways"));
        }
    }
    violations
}

fn unsafety(krate: &Crate) -> Vec<String> {
    let name = &krate.name;
    let opt_out = UNSAFE.iter().find(|(exempt, _)| exempt == name);
    let level = if opt_out.is_some() { "deny" } else { "forbid" };
    let attribute = format!("#![{level}(unsafe_code)]");
    let missing = krate.roots.iter().filter(|root| !has_line(root, &attribute));
    let mut violations: Vec<String> =
        missing.map(|root| format!("{name}: {} lacks {attribute}", root.path)).collect();
    if let Some((_, path)) = opt_out {
        let strays = krate.sources.iter().filter(|source| opts_out_outside(source, path));
        violations.extend(strays.map(|source| {
            format!("{name}: {} allows unsafe code, which may live only in {path}", source.path)
        }));
    }
    violations
}

/// Whether a file outside the module opts out for anything but the module itself.
fn opts_out_outside(source: &Source, path: &str) -> bool {
    let declaration = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    let declaration = format!("mod {declaration};");
    let mut lines = source.text.lines();
    let mut opens_elsewhere = false;
    while let Some(line) = lines.next() {
        if line.contains("allow(unsafe_code") {
            opens_elsewhere |= !lines.next().is_some_and(|next| next.ends_with(&declaration));
        }
    }
    opens_elsewhere && !source.path.starts_with(path)
}

/// Whether a file has this line, and not just a comment that quotes it.
fn has_line(source: &Source, line: &str) -> bool {
    source.text.lines().any(|candidate| candidate.trim() == line)
}

fn client_half(graph: &Graph) -> Vec<String> {
    let mut violations = Vec::new();
    for package in &graph.client_half {
        let name = &package.name;
        if NOT_ON_THE_CLIENT.contains(&name.as_str()) {
            violations.push(format!("the client's half for wasm32 links {name}"));
        }
        let ours = graph.crates.iter().any(|krate| &krate.name == name);
        if ours && package.features.iter().any(|feature| feature == "server") {
            violations.push(format!("the client's half for wasm32 links {name} with feature server"));
        }
    }
    violations
}

/// The floors from the top down, with the crates that each crate is built from.
pub(crate) fn map(graph: &Graph) -> String {
    let mut map = String::new();
    for (index, (floor, what, _)) in TABLE.iter().enumerate().rev() {
        for krate in graph.crates.iter().filter(|krate| line_of(krate) == Some(index)) {
            let needs: Vec<&str> =
                krate.needs.iter().map(|need| need.strip_prefix("sotto-").unwrap_or(need)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(map, "{floor}  {what:22}  {:15} {}", krate.name, needs.join(" "));
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::LinkedPackage;

    fn krate(name: &str, folder: &str, needs: &[&str]) -> Crate {
        let level = if UNSAFE.iter().any(|(exempt, _)| *exempt == name) { "deny" } else { "forbid" };
        let root =
            Source { path: "src/lib.rs".into(), text: format!("//! Words.\n#![{level}(unsafe_code)]\n") };
        Crate {
            name: name.into(),
            folder: folder.into(),
            needs: needs.iter().map(|need| need.to_string()).collect(),
            roots: vec![root],
            sources: Vec::new(),
        }
    }

    fn house() -> Graph {
        let crates = vec![
            krate("sotto-core", "crates", &[]),
            krate("sotto-prg", "crates", &["sotto-core"]),
            krate("sotto-math", "crates", &["sotto-prg"]),
            krate("simplepir", "schemes", &["sotto-core", "sotto-math"]),
            krate("spiral", "schemes", &["sotto-core", "sotto-math"]),
            krate("sotto-registry", "crates", &["simplepir", "spiral"]),
            krate("sotto-catalog", "crates", &["sotto-core"]),
            krate("sotto-db", "crates", &["sotto-registry", "sotto-catalog"]),
            krate("sotto-client", "crates", &["sotto-registry"]),
            krate("sotto-server", "crates", &["sotto-db"]),
            krate("sotto-ohttp", "guests", &["sotto-server"]),
            krate("sotto-bench", "lab", &["sotto-db"]),
            krate("sotto-cli", "crates", &["sotto-server", "sotto-ohttp", "sotto-bench"]),
            krate("sotto-testkit", "lab", &["sotto-catalog"]),
            krate("floors", "lab", &[]),
        ];
        Graph {
            crates,
            client_half: vec![linked("sotto-core", &["std"]), linked("serde", &["server"])],
            files: Vec::new(),
            first_lookup: vec![linked("simplepir", &[]), linked("spiral", &[])],
        }
    }

    fn linked(name: &str, features: &[&str]) -> LinkedPackage {
        LinkedPackage {
            name: name.into(),
            features: features.iter().map(|feature| feature.to_string()).collect(),
        }
    }

    /// The house with one more edge.
    fn with_edge(from: &str, to: &str) -> Vec<String> {
        let mut graph = house();
        let from = graph.crates.iter_mut().find(|krate| krate.name == from).unwrap();
        from.needs.push(to.into());
        violations(&graph)
    }

    #[track_caller]
    fn one(violations: &[String], words: &str) {
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].contains(words), "{violations:?}");
    }

    #[test]
    fn a_house_in_order_breaks_nothing() {
        assert_eq!(violations(&house()), Vec::<String>::new());
    }

    #[test]
    fn upward_and_sideways_edges_are_refused() {
        one(&with_edge("sotto-core", "sotto-db"), "sotto-core -> sotto-db");
        one(&with_edge("sotto-prg", "sotto-math"), "upward");
        one(&with_edge("sotto-catalog", "sotto-db"), "upward");
        one(&with_edge("sotto-client", "sotto-server"), "sideways");
        one(&with_edge("sotto-math", "simplepir"), "upward");
    }

    #[test]
    fn only_programs_know_guests_and_the_laboratory() {
        one(&with_edge("sotto-server", "sotto-ohttp"), "only programs know the crates of guests");
        one(&with_edge("sotto-client", "sotto-bench"), "only programs know the crates of lab");
        assert_eq!(with_edge("sotto-bench", "sotto-ohttp"), Vec::<String>::new());
    }

    #[test]
    fn schemes_do_not_know_each_other() {
        one(&with_edge("simplepir", "spiral"), "schemes do not know each other");
    }

    #[test]
    fn nothing_that_ships_is_built_from_the_testkit() {
        one(&with_edge("sotto-server", "sotto-testkit"), "only tests may use");
        one(&with_edge("simplepir", "floors"), "only tests may use");
    }

    #[test]
    fn a_crate_without_a_floor_is_refused() {
        let mut graph = house();
        graph.crates.push(krate("sotto-attic", "crates", &[]));
        one(&violations(&graph), "sotto-attic has no floor");
    }

    #[test]
    fn the_ban_on_unsafe_code_is_at_every_root() {
        let mut graph = house();
        graph.crates[0].roots[0].text = "//! It quotes #![forbid(unsafe_code)] only.\n".into();
        one(&violations(&graph), "sotto-core: src/lib.rs lacks #![forbid(unsafe_code)]");

        let mut graph = house();
        graph.crates[2].roots[0].text.clear();
        one(&violations(&graph), "sotto-math: src/lib.rs lacks #![deny(unsafe_code)]");
    }

    #[test]
    fn unsafe_code_stays_in_its_room() {
        let opted_out = |path: &str, next: &str| {
            let mut graph = house();
            let text = format!("#[allow(unsafe_code, reason = \"intrinsics\")]\n{next}\n");
            graph.crates[2].sources.push(Source { path: path.into(), text });
            violations(&graph)
        };
        assert!(opted_out("src/simd/avx2.rs", "fn f() {}").is_empty());
        assert!(opted_out("src/lib.rs", "pub(crate) mod simd;").is_empty());
        one(&opted_out("src/lib.rs", "mod ntt;"), "src/lib.rs allows unsafe code");
        one(&opted_out("src/ntt.rs", "fn f() {}"), "src/ntt.rs allows unsafe code");
    }

    #[test]
    fn every_scheme_is_registered() {
        let mut graph = house();
        graph.crates.push(krate("attic", "schemes", &["sotto-core"]));
        graph.first_lookup.push(linked("attic", &[]));
        one(&violations(&graph), "attic: sotto-registry does not list it");
    }

    #[test]
    fn the_clients_half_carries_no_server() {
        let mut graph = house();
        graph.client_half.push(linked("tokio", &[]));
        one(&violations(&graph), "links tokio");

        let mut graph = house();
        graph.client_half.push(linked("sotto-registry", &["server"]));
        one(&violations(&graph), "sotto-registry with feature server");
    }

    #[test]
    fn the_map_has_the_top_floor_first() {
        let map = map(&house());
        let at = |name: &str| map.find(name).unwrap();
        assert!(at("sotto-server") < at("spiral"));
        assert!(at("spiral") < at("sotto-core "));
        assert!(!map.contains("testkit"));
    }

    #[test]
    fn whoever_depends_on_the_client_alone_has_every_scheme() {
        let mut graph = house();
        graph.first_lookup.pop();
        one(&violations(&graph), "lacks spiral");
    }
}
