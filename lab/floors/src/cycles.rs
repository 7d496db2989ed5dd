//! Modules that import each other in a cycle: `cycles.txt` lists how many still do.

use crate::graph::{Crate, Graph};
use crate::modules::{Edges, Modules};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A line for each crate or module some of whose children import each other in cycles, and how many do.
const ALLOWED: &str = include_str!("../cycles.txt");

/// The root files of a crate.
const ROOTS: &[&str] = &["src/lib.rs", "src/main.rs"];

/// Every crate or module with more of its children in cycles than `cycles.txt` says, or with fewer.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    excess(ALLOWED, &graph.crates)
}

fn excess(allowed: &str, crates: &[Crate]) -> Vec<String> {
    let mut allowed = parse(allowed);
    let mut violations = Vec::new();
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
                violations.extend(cycles.iter().map(|cycle| {
                    let modules = cycle.modules.iter().cloned().collect::<Vec<_>>().join(", ");
                    format!(
                        "{name}: {modules} import each other, as in {}; cycles.txt allows {allowed} modules in cycles",
                        cycle.shortest
                    )
                }));
            } else if found < allowed {
                violations.push(format!(
                    "{name}: {found} modules are in cycles, lower the {allowed} in cycles.txt"
                ));
            }
        }
    }
    violations
        .extend(allowed.into_keys().map(|name| format!("{name} has no modules: take it out of cycles.txt")));
    violations
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
mod tests {
    use super::*;
    use crate::graph::Source;

    /// A crate of these files.
    fn krate(files: &[(&str, &str)]) -> Crate {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        Crate { name: "house".into(), sources: files.iter().map(source).collect(), ..Crate::default() }
    }

    /// Imports of modules directly below a module, as `from -> to name`.
    fn edges(files: &[(&str, &str)], parent: &[&str]) -> Vec<String> {
        let krate = krate(files);
        let modules = Modules::read(&krate.sources[0], &krate.sources);
        let parent: Vec<String> = parent.iter().map(|name| (*name).to_owned()).collect();
        let lines = modules.edges(&parent).into_iter().map(|((from, to), names)| {
            format!("{from} -> {to} {}", names.into_iter().collect::<Vec<_>>().join(" "))
        });
        lines.collect()
    }

    const ROOT: &str =
        "mod a;\npub(crate) mod b;\nmod c;\npub use b::{B, deep::Deep as Low};\npub use c::*;\n";

    /// Imports of file `a` with this text, where `b` and `c` import nothing.
    fn imports(text: &str) -> Vec<String> {
        let b = "pub struct B; pub mod deep;";
        let c = "pub enum C {}\npub use self::inner::I;\nmod inner { pub struct I; }";
        let deep = "pub struct Deep;";
        edges(
            &[
                ("src/lib.rs", ROOT),
                ("src/a.rs", text),
                ("src/b/mod.rs", b),
                ("src/b/deep.rs", deep),
                ("src/c.rs", c),
            ],
            &[],
        )
    }

    #[test]
    fn imports_are_followed_to_the_module_that_has_the_name() {
        assert_eq!(imports("use crate::b::B;"), ["a -> b B"]);
        assert_eq!(imports("use super::{b::deep::{self, Deep}, B};"), ["a -> b B Deep deep"]);
        assert_eq!(imports("use crate::{B, C, I};"), ["a -> b B", "a -> c C I"]);
        assert_eq!(imports("pub use crate::Low as Lowest;"), ["a -> b Low"]);
        assert_eq!(imports("use crate::Elsewhere; use std::b::B; use b::B;"), [""; 0]);
        assert_eq!(
            imports("fn f<'a>(c: char) { if c == '\\'' { crate::c::g::<crate::B>() } }"),
            ["a -> b B", "a -> c g"]
        );
        assert_eq!(imports("macro_rules! m { () => { $crate::b::B } }"), ["a -> b B"]);
        assert_eq!(imports("mod inside { use super::super::B; use super::own; }"), ["a -> b B"]);
    }

    #[test]
    fn comments_strings_and_tests_import_nothing() {
        let none = [
            "// use crate::B;\n/* /* */ use crate::B; */ //! [`crate::B`]",
            r##"const S: &str = "\" use crate::B;"; const R: &str = r#"" use crate::B;"#; const B: u8 = b'"';"##,
            "#[cfg(test)] use crate::{B, C};",
            "#[cfg(test)]\n#[path = \"c.rs\"]\nmod tests;",
            "#[cfg(all(test, unix))] mod tests { use crate::B; fn f() { { } } }",
            "#[cfg(test)] pub(crate) fn f<A, B>(x: [u8; 3]) -> crate::B { crate::C }",
            "#![cfg(test)]\nuse crate::B;",
        ];
        for text in none {
            assert_eq!(imports(text), [""; 0], "{text}");
        }
        assert_eq!(imports("struct S { #[cfg(test)] f: crate::C, g: crate::B }"), ["a -> b B"]);
        assert_eq!(imports("#[cfg(test)] const A: [u8; 1] = { [1] }; use crate::B;"), ["a -> b B"]);
        assert_eq!(imports("#[cfg(any(test, unix))] use crate::B;"), ["a -> b B"]);
        assert_eq!(imports("#[cfg(test)] mod tests {} use crate::B;"), ["a -> b B"]);
    }

    #[test]
    fn files_of_another_name_and_modules_in_a_folder_are_read() {
        let files = [
            ("src/lib.rs", "mod top; pub use top::One; mod other;"),
            (
                "src/top.rs",
                "pub use one::One; pub use crate::other::X;\nmod one;\n#[path = \"top/absent.rs\"] mod two;\nmod three;",
            ),
            ("src/top/one.rs", "use super::two::Two; use super::X; use crate::other::X as Y;"),
            ("src/top/absent.rs", "use crate::One;"),
            ("src/top/three.rs", "use super::One; use crate::top;"),
            ("src/other.rs", "pub struct X;"),
        ];
        assert_eq!(edges(&files, &["top"]), ["one -> two Two", "three -> one One", "two -> one One"]);
        assert_eq!(edges(&files, &[]), ["top -> other X"]);
    }

    #[test]
    fn cycles_are_refused_beyond_what_is_left_of_them() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use crate::c::C;"),
            ("src/c.rs", "use crate::a::A; use crate::d::D;"),
            ("src/d.rs", ""),
        ];
        let refused = |allowed| excess(allowed, &[krate(&files)]);
        assert_eq!(refused("# words\nhouse 3\n"), [""; 0]);
        assert_eq!(
            refused(""),
            [
                "house: a, b, c import each other, as in a -> b (B) -> c (C) -> a (A); cycles.txt allows 0 modules in cycles"
            ]
        );
        assert_eq!(refused("house 2").len(), 1);
        assert_eq!(refused("house 4"), ["house: 3 modules are in cycles, lower the 4 in cycles.txt"]);
        assert_eq!(refused("house 3\nshed 2"), ["shed has no modules: take it out of cycles.txt"]);
        assert_eq!(refused("house 3\nhouse::a 1").len(), 1);
    }
}
