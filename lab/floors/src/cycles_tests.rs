//! Cycles of modules, in crates made up for it.

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

const ROOT: &str = "mod a;\npub(crate) mod b;\nmod c;\npub use b::{B, deep::Deep as Low};\npub use c::*;\n";

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
