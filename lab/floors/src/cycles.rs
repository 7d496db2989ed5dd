//! Modules that import each other in a cycle: `cycles.txt` lists how many still do.

use crate::graph::{Crate, Graph};
use crate::modules::{Edges, Modules};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A line for each crate or module some of whose children import each other in cycles, and how many do.
const ALLOWED: &str = include_str!("../cycles.txt");

/// The root files of a crate.
const ROOTS: &[&str] = &["src/lib.rs", "src/main.rs"];

/// Every crate or module with more of its children in cycles than `cycles.txt` says, or with fewer.
pub(crate) fn broken(graph: &Graph) -> Vec<String> {
    excess(ALLOWED, &graph.crates)
}

fn excess(allowed: &str, crates: &[Crate]) -> Vec<String> {
    let mut allowed = parse(allowed);
    let mut broken = Vec::new();
    for krate in crates {
        let mut cycles: BTreeMap<String, Vec<Cycle>> = BTreeMap::new();
        for root in krate.sources.iter().filter(|source| ROOTS.contains(&source.path.as_str())) {
            let modules = Modules::read(root, &krate.sources);
            for parent in modules.parents() {
                let name = [std::slice::from_ref(&krate.name), parent].concat().join("::");
                cycles.entry(name).or_default().extend(find(&modules.edges(parent)));
            }
        }
        for (name, cycles) in cycles {
            let allowed = allowed.remove(name.as_str()).unwrap_or(0);
            let found: usize = cycles.iter().map(|cycle| cycle.modules.len()).sum();
            if found > allowed {
                broken.extend(cycles.iter().map(|cycle| {
                    let modules = cycle.modules.iter().cloned().collect::<Vec<_>>().join(", ");
                    format!(
                        "{name}: {modules} import each other, as in {}; cycles.txt allows {allowed} modules in cycles",
                        cycle.shortest
                    )
                }));
            } else if found < allowed {
                broken.push(format!(
                    "{name}: {found} modules are in cycles, lower the {allowed} in cycles.txt"
                ));
            }
        }
    }
    broken
        .extend(allowed.into_keys().map(|name| format!("{name} has no modules: take it out of cycles.txt")));
    broken
}

fn parse(allowed: &str) -> BTreeMap<&str, usize> {
    let lines = allowed.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .collect()
}

/// Modules that reach each other by imports.
#[derive(Debug)]
struct Cycle {
    modules: BTreeSet<String>,
    /// A shortest path from one of the modules back to it, with the imported names.
    shortest: String,
}

/// The strongly connected components of more than one module.
fn find(edges: &Edges) -> Vec<Cycle> {
    let nodes: BTreeSet<&str> = edges.keys().flat_map(|(from, to)| [from.as_str(), to]).collect();
    let reached: BTreeMap<&str, BTreeMap<&str, &str>> =
        nodes.iter().map(|node| (*node, reached(edges, node))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|reached| reached.contains_key(to));
    let mut done = BTreeSet::new();
    let mut cycles = Vec::new();
    for node in nodes.iter().filter(|node| reaches(node, node)) {
        if done.contains(node) {
            continue;
        }
        let modules: BTreeSet<&str> =
            nodes.iter().filter(|other| reaches(node, other) && reaches(other, node)).copied().collect();
        let loops = modules.iter().map(|module| shortest_loop(edges, &reached, module));
        let shortest = loops.min_by_key(|path| path.matches(" -> ").count()).unwrap_or_default();
        cycles.push(Cycle { modules: modules.iter().map(|module| (*module).to_owned()).collect(), shortest });
        done.extend(modules);
    }
    cycles
}

/// The modules that a module reaches by imports, nearest first, each with the module that it is
/// reached from.
fn reached<'a>(edges: &'a Edges, start: &'a str) -> BTreeMap<&'a str, &'a str> {
    let mut reached = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for (_, to) in edges.keys().filter(|(from, _)| from == node) {
            if !reached.contains_key(to.as_str()) {
                reached.insert(to.as_str(), node);
                queue.push_back(to);
            }
        }
    }
    reached
}

/// The path from a module of a cycle back to it: `a -> b (What) -> a (Other)`.
fn shortest_loop(edges: &Edges, reached: &BTreeMap<&str, BTreeMap<&str, &str>>, start: &str) -> String {
    let mut path = String::new();
    let mut to = start;
    while let Some(from) = reached.get(start).and_then(|reached| reached.get(to)) {
        let names = edges.get(&((*from).to_owned(), to.to_owned()));
        let name = names.and_then(|names| names.first()).map_or("", String::as_str);
        path = format!(" -> {to} ({name}){path}");
        to = from;
        if to == start {
            break;
        }
    }
    format!("{start}{path}")
}

#[cfg(test)]
#[path = "cycles_tests.rs"]
mod tests;
