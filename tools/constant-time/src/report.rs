//! What memcheck says: its XML, of which a report is a kind and a stack.

/// Where a report is from: the innermost function that is neither the standard library's nor the C library's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// What depends on a secret there.
    pub(crate) kind: Kind,
    /// A file of the workspace, or of a crate that is built into it: without the crate's version, as that changes nothing.
    pub(crate) file: String,
    /// The function's own name.
    pub(crate) function: String,
}

/// What depends on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A branch, or a conditional move that memcheck takes for one.
    Branch,
    /// An address.
    Index,
    /// What no secret should come near: a system call's argument, or memory that is not there.
    Other,
}

impl Kind {
    const NAMES: [(Kind, &str); 3] =
        [(Kind::Branch, "branch"), (Kind::Index, "index"), (Kind::Other, "other")];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Kind::NAMES.into_iter().find(|(_, known)| *known == name).map(|(kind, _)| kind)
    }

    pub(crate) fn name(self) -> &'static str {
        Kind::NAMES.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// By memcheck's name for it.
    fn of(name: &str) -> Self {
        match name {
            "UninitCondition" => Kind::Branch,
            "UninitValue" => Kind::Index,
            _ => Kind::Other,
        }
    }
}

/// A function on the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: String,
    /// Empty if it is not known, or nobody's who is built into the workspace.
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kind: Kind,
    /// The innermost first.
    pub(crate) stack: Vec<Frame>,
}

impl Report {
    /// Where it is from, and in which line.
    pub(crate) fn place(&self) -> (Place, u32) {
        let mut ours = self.stack.iter().skip_while(|frame| frame.file.is_empty());
        let Frame { function, file, line } = ours.next().cloned().unwrap_or_default();
        // A closure that was inlined has no name of its own, but that of the function that it is in.
        let around = ours.take_while(|frame| frame.file == file).map(|frame| name_of(&frame.function));
        let function = [name_of(&function)].into_iter().chain(around).flatten().next().unwrap_or_default();
        (Place { kind: self.kind, file, function }, line)
    }
}

/// A function's own name, without its path, types and closures; `None` if nothing is left.
fn name_of(function: &str) -> Option<String> {
    let mut depth = 0u32;
    let mut outside = |char: &char| {
        depth += u32::from(*char == '<');
        let keep = depth == 0;
        depth = depth.saturating_sub(u32::from(*char == '>'));
        keep
    };
    let path: String = function.chars().filter(|char| outside(char)).collect();
    path.rsplit("::").find(|part| !part.is_empty() && !part.starts_with('{')).map(str::to_owned)
}

/// Reads what memcheck wrote, in which each tag has a line of its own. `root` is the workspace's folder.
pub(crate) fn read(xml: &str, root: &str) -> Vec<Report> {
    let (mut reports, mut report, mut frame) = (Vec::new(), None, None);
    let (mut folder, mut is_leak) = (String::new(), false);
    for line in xml.lines().map(str::trim) {
        match line {
            "<error>" => report = Some(Report { kind: Kind::Other, stack: Vec::new() }),
            "</error>" => reports.extend(report.take().filter(|_| !is_leak)),
            "<frame>" => (frame, folder) = (Some(Frame::default()), String::new()),
            "</frame>" => {
                if let (Some(report), Some(mut frame)) = (&mut report, frame.take()) {
                    frame.file = file(root, &folder, &frame.file);
                    report.stack.push(frame);
                }
            }
            _ => {}
        }
        if let (Some(report), Some(kind)) = (&mut report, tag(line, "kind")) {
            // What was not freed at the end, which says nothing of secrets, and which XML has whether it is wanted or not.
            is_leak = kind.starts_with("Leak_");
            report.kind = Kind::of(&kind);
        }
        let Some(frame) = &mut frame else { continue };
        if let Some(function) = tag(line, "fn") {
            frame.function = function;
        } else if let Some(path) = tag(line, "dir") {
            folder = path;
        } else if let Some(name) = tag(line, "file") {
            frame.file = name;
        } else if let Some(line) = tag(line, "line").and_then(|line| line.parse().ok()) {
            frame.line = line;
        }
    }
    reports
}

/// What is in a tag that stands alone in its line.
fn tag(line: &str, name: &str) -> Option<String> {
    let inner = line.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    let inner = inner.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
    Some(inner.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// The name by which a file is listed; empty for the standard library's and the C library's.
fn file(root: &str, folder: &str, name: &str) -> String {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    if let Some(own) = path.strip_prefix(root) {
        return own.trim_start_matches('/').to_owned();
    }
    // registry/src/HOST/NAME-VERSION/FILE
    let Some((_, of_crate)) = path.split_once("/registry/src/") else { return String::new() };
    let Some((krate, file)) = of_crate.split_once('/').and_then(|(_, rest)| rest.split_once('/')) else {
        return String::new();
    };
    let name = krate.rsplit_once('-').map_or(krate, |(name, _)| name);
    format!("{name}/{file}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "
<valgrindoutput>
<error>
  <unique>0x1</unique>
  <kind>UninitCondition</kind>
  <what>Conditional jump or move depends on uninitialised value(s)</what>
  <stack>
    <frame>
      <ip>0x1</ip>
      <fn>partial_cmp&lt;u64&gt;</fn>
      <dir>/rustc/abc/library/core/src</dir>
      <file>cmp.rs</file>
      <line>7</line>
    </frame>
    <frame>
      <fn>query</fn>
      <dir>/home/x/sotto/schemes/foo/src</dir>
      <file>client.rs</file>
      <line>12</line>
    </frame>
  </stack>
</error>
<error>
  <kind>UninitValue</kind>
  <stack>
    <frame>
      <fn>gather</fn>
      <dir>/root/.cargo/registry/src/index.crates.io-1/some-crate-0.9.1/src</dir>
      <file>lib.rs</file>
      <line>3</line>
    </frame>
  </stack>
</error>
</valgrindoutput>";

    #[test]
    fn reports_are_of_the_innermost_function_that_is_ours_or_of_a_crate() {
        let reports = read(XML, "/home/x/sotto");
        let places: Vec<_> = reports.iter().map(Report::place).collect();
        let place =
            |kind, file: &str, function: &str| Place { kind, file: file.into(), function: function.into() };
        assert_eq!(
            places,
            [
                (place(Kind::Branch, "schemes/foo/src/client.rs", "query"), 12),
                (place(Kind::Index, "some-crate/src/lib.rs", "gather"), 3)
            ]
        );
        assert_eq!(reports[0].stack[0].function, "partial_cmp<u64>");
    }

    #[test]
    fn functions_have_short_names() {
        for (function, name) in [
            ("query", Some("query")),
            ("foo::client::query::{{closure}}", Some("query")),
            ("<foo::Client as sotto_core::Client>::query", Some("query")),
            ("chosen<u64, alloc::vec::Vec<u8>>", Some("chosen")),
            ("{closure#0}", None),
        ] {
            assert_eq!(name_of(function).as_deref(), name, "{function}");
        }
    }
}
