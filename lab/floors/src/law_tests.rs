//! The law, on graphs made up for it.

use super::*;
use crate::graph::LinkedPackage;

fn krate(name: &str, folder: &str, needs: &[&str]) -> Crate {
    let level = if UNSAFE.iter().any(|(exempt, _)| *exempt == name) { "deny" } else { "forbid" };
    let root = Source { path: "src/lib.rs".into(), text: format!("//! Words.\n#![{level}(unsafe_code)]\n") };
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
    broken(&graph)
}

#[track_caller]
fn one(broken: &[String], words: &str) {
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(broken[0].contains(words), "{broken:?}");
}

#[test]
fn a_house_in_order_breaks_nothing() {
    assert_eq!(broken(&house()), Vec::<String>::new());
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
    one(&broken(&graph), "sotto-attic has no floor");
}

#[test]
fn the_ban_on_unsafe_code_is_at_every_root() {
    let mut graph = house();
    graph.crates[0].roots[0].text = "//! It quotes #![forbid(unsafe_code)] only.\n".into();
    one(&broken(&graph), "sotto-core: src/lib.rs lacks #![forbid(unsafe_code)]");

    let mut graph = house();
    graph.crates[2].roots[0].text.clear();
    one(&broken(&graph), "sotto-math: src/lib.rs lacks #![deny(unsafe_code)]");
}

#[test]
fn unsafe_code_stays_in_its_room() {
    let opted_out = |path: &str, next: &str| {
        let mut graph = house();
        let text = format!("#[allow(unsafe_code, reason = \"intrinsics\")]\n{next}\n");
        graph.crates[2].sources.push(Source { path: path.into(), text });
        broken(&graph)
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
    one(&broken(&graph), "attic: sotto-registry does not list it");
}

#[test]
fn the_clients_half_carries_no_server() {
    let mut graph = house();
    graph.client_half.push(linked("tokio", &[]));
    one(&broken(&graph), "links tokio");

    let mut graph = house();
    graph.client_half.push(linked("sotto-registry", &["server"]));
    one(&broken(&graph), "sotto-registry with feature server");
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
    one(&broken(&graph), "lacks spiral");
}
