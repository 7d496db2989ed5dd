//! The reports of memcheck: its XML, of which a report is a kind and a stack.

use std::fs;

/// The place of a report: the innermost function that is neither the standard library's nor the C
/// library's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeakSite {
    /// The file of the workspace, or of a crate that is built into it, without the crate's version.
    pub(crate) file: String,
    /// Name of the function.
    pub(crate) function: String,
}

/// The kind of a dependence on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeakKind {
    /// A branch that depends on a secret.
    Branch,
    /// An address that depends on a secret.
    Index,
    /// A secret in a system call's argument, or in an invalid access.
    Other,
}

impl LeakKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            LeakKind::Branch => "branch",
            LeakKind::Index => "index",
            LeakKind::Other => "other",
        }
    }

    /// The kind with memcheck's name.
    fn of(name: &str) -> Self {
        match name {
            "UninitCondition" => LeakKind::Branch,
            "UninitValue" => LeakKind::Index,
            _ => LeakKind::Other,
        }
    }
}

/// A function on the stack that is built into the workspace, and not one of [`GLUE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) place: LeakSite,
    pub(crate) line: u32,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kind: LeakKind,
    /// The frames of the stack, the innermost first.
    pub(crate) stack: Vec<Frame>,
}

/// Crates whose functions are parts of those that call them, like the standard library's.
const GLUE: &[&str] = &["zeroize", "subtle"];

/// Reads what memcheck wrote, in which each tag has a line of its own. `root` is the workspace's folder.
pub(crate) fn read(xml: &str, root: &str) -> Vec<Report> {
    let (mut reports, mut report) = (Vec::new(), None);
    let [mut function, mut folder, mut name] = [const { String::new() }; 3];
    let (mut number, mut is_leak) = (0, false);
    for text in xml.lines().map(str::trim) {
        match text {
            "<error>" => report = Some(Report { kind: LeakKind::Other, stack: Vec::new() }),
            "</error>" => reports.extend(report.take().filter(|_| !is_leak)),
            "<frame>" => {
                [&mut function, &mut folder, &mut name].into_iter().for_each(String::clear);
                number = 0;
            }
            "</frame>" => {
                let path = format!("{folder}/{name}");
                if let (Some(report), Some(file)) = (&mut report, listed(root, &path)) {
                    let function = enclosing(&path, number).unwrap_or_else(|| own_name(&function));
                    report.stack.push(Frame { place: LeakSite { file, function }, line: number });
                }
            }
            _ => {}
        }
        if let (Some(report), Some(kind)) = (&mut report, tag(text, "kind")) {
            // Memory that was not freed at the end does not concern secrets; the XML always has it.
            is_leak = kind.starts_with("Leak_");
            report.kind = LeakKind::of(&kind);
        }
        for (tag, to) in [
            (tag(text, "fn"), &mut function),
            (tag(text, "dir"), &mut folder),
            (tag(text, "file"), &mut name),
        ] {
            if let Some(value) = tag {
                *to = value;
            }
        }
        if let Some(line) = tag(text, "line").and_then(|line| line.parse().ok()) {
            number = line;
        }
    }
    reports
}

/// The content of a tag that is alone in its line.
fn tag(text: &str, name: &str) -> Option<String> {
    let inner = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    let inner = inner.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
    Some(inner.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// The name by which a file is listed; `None` for the standard library's, the C library's and [`GLUE`]'s.
fn listed(root: &str, path: &str) -> Option<String> {
    if let Some(own) = path.strip_prefix(root) {
        return Some(own.trim_start_matches('/').to_owned());
    }
    // registry/src/HOST/NAME-VERSION/FILE
    let (_, of_host) = path.split_once("/registry/src/")?;
    let (krate, file) = of_host.split_once('/')?.1.split_once('/')?;
    // A version begins with a digit, and may have hyphens of its own.
    let version =
        krate.match_indices('-').find(|(at, _)| krate[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let name = version.map_or(krate, |(at, _)| &krate[..at]);
    (!GLUE.contains(&name)).then(|| format!("{name}/{file}"))
}

/// The function that contains a line of a file, by the file itself: debug information gives another
/// name, or none, where it was inlined.
fn enclosing(path: &str, line: u32) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let above: Vec<&str> = text.lines().take(line as usize).collect();
    above.into_iter().rev().find_map(declared)
}

/// The function that a line declares.
fn declared(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let is_modifier = |word: &str| {
        ["pub", "const", "unsafe", "async", "extern"].contains(&word)
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    let is_name = |char: char| char.is_alphanumeric() || char == '_';
    let name: String = after.chars().take_while(|char| is_name(*char)).collect();
    (before.split_whitespace().all(is_modifier) && !name.is_empty()).then_some(name)
}

/// A function's own name in debug information, without its path.
fn own_name(function: &str) -> String {
    function.rsplit("::").next().unwrap_or(function).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "
<valgrindoutput>
<error>
  <unique>0x1</unique>
  <kind>UninitCondition</kind>
  <what>Conditional jump or move depends on uninitialized value(s)</what>
  <stack>
    <frame>
      <ip>0x1</ip>
      <fn>partial_cmp&lt;u64&gt;</fn>
      <dir>/rustc/abc/library/core/src</dir>
      <file>cmp.rs</file>
      <line>7</line>
    </frame>
    <frame>
      <fn>foo::client::query</fn>
      <dir>/home/x/sotto/schemes/foo/src</dir>
      <file>client.rs</file>
      <line>12</line>
    </frame>
  </stack>
</error>
<error>
  <kind>Leak_PossiblyLost</kind>
  <stack>
  </stack>
</error>
<error>
  <kind>UninitValue</kind>
  <stack>
    <frame>
      <fn>deref</fn>
      <dir>/root/.cargo/registry/src/index.crates.io-1/zeroize-1.9.0/src</dir>
      <file>lib.rs</file>
      <line>3</line>
    </frame>
    <frame>
      <fn>gather&lt;u8&gt;</fn>
      <dir>/root/.cargo/registry/src/index.crates.io-1/some-crate-0.9.0-rc.1/src</dir>
      <file>lib.rs</file>
      <line>3</line>
    </frame>
  </stack>
</error>
</valgrindoutput>";

    #[test]
    fn reports_are_of_what_is_built_into_the_workspace() {
        let frame = |file: &str, function: &str, line| Frame {
            place: LeakSite { file: file.into(), function: function.into() },
            line,
        };
        assert_eq!(
            read(XML, "/home/x/sotto"),
            [
                Report {
                    kind: LeakKind::Branch,
                    stack: vec![frame("schemes/foo/src/client.rs", "query", 12)]
                },
                Report {
                    kind: LeakKind::Index,
                    stack: vec![frame("some-crate/src/lib.rs", "gather<u8>", 3)]
                },
            ]
        );
    }

    #[test]
    fn functions_are_found_by_their_files() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report.rs");
        let line = line!();
        assert_eq!(enclosing(here, line).as_deref(), Some("functions_are_found_by_their_files"));
        assert_eq!(enclosing(here, 1), None);
        for (line, name) in [
            ("    pub(in crate::simd) fn places(x: u8) {", Some("places")),
            ("const fn new<T>() -> T {", Some("new")),
            ("    pub async unsafe fn x(", Some("x")),
            ("// a fn of theirs", None),
            ("type Probe = fn () -> u8;", None),
        ] {
            assert_eq!(declared(line).as_deref(), name, "{line}");
        }
    }
}
