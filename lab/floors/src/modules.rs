//! The modules of one crate and what they import from each other, read from the text of its files.
//!
//! No type is inferred: an edge is a path that begins with `crate`, `self` or `super`, in a `use` or in code.
//! What is re-exported further up is followed down to the module that has it, and code for tests is left out.

use crate::graph::Source;
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// Segments of a path from the root of the crate on.
type Path = Vec<String>;

/// The modules of a crate, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: BTreeMap<Path, Module>,
    /// The folder of the root file.
    folder: String,
}

#[derive(Debug, Default)]
struct Module {
    children: BTreeSet<String>,
    /// Names that a `use` brings in, and where they come from.
    imported: BTreeMap<String, Vec<Path>>,
    /// Modules of which a `use` brings in every name.
    globs: Vec<Path>,
    /// Names that items of this module declare.
    declared: BTreeSet<String>,
    /// Every path that is written in this module and leads into this crate.
    paths: BTreeSet<Path>,
}

/// The imports between modules, each with the imported names.
pub(crate) type Edges = BTreeMap<(String, String), BTreeSet<String>>;

impl Modules {
    /// Reads the modules that a root file declares, and those which they declare.
    pub(crate) fn read(root: &Source, sources: &[Source]) -> Self {
        let mut modules = Self { folder: folder_of(&root.path).to_owned(), ..Self::default() };
        modules.read_file(Vec::new(), root, sources);
        modules
    }

    /// The paths of modules that have others below them.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &[String]> {
        self.modules.iter().filter(|(_, module)| !module.children.is_empty()).map(|(path, _)| path.as_slice())
    }

    /// The imports between the modules directly below `parent`.
    pub(crate) fn edges(&self, parent: &[String]) -> Edges {
        let mut edges = Edges::new();
        for (from, module) in &self.modules {
            let Some(child) = from.strip_prefix(parent).and_then(<[String]>::first) else { continue };
            for path in &module.paths {
                let mut targets = BTreeSet::new();
                self.follow(parent, path, &mut BTreeSet::new(), &mut targets);
                for target in targets.into_iter().filter(|target| target != child) {
                    let name = path.last().cloned().unwrap_or_default();
                    edges.entry((child.clone(), target)).or_default().insert(name);
                }
            }
        }
        edges
    }

    /// Collects the modules directly below `parent` that a path leads into.
    fn follow(&self, parent: &[String], path: &Path, seen: &mut BTreeSet<Path>, into: &mut BTreeSet<String>) {
        if !seen.insert(path.clone()) {
            return;
        }
        for (at, name) in path.iter().enumerate() {
            let (above, below) = path.split_at(at);
            let Some(module) = self.modules.get(above) else { return };
            if module.children.contains(name) {
                if above == parent {
                    into.insert(name.clone());
                    return;
                }
                if parent.get(at) != Some(name) {
                    return;
                }
                continue;
            }
            let rest = below.get(1..).unwrap_or_default();
            if let Some(origins) = module.imported.get(name) {
                for origin in origins {
                    self.follow(parent, &[origin, rest].concat(), seen, into);
                }
            } else if !module.declared.contains(name) {
                for glob in module.globs.iter().filter(|glob| self.exports(glob, name, &mut BTreeSet::new()))
                {
                    self.follow(parent, &[glob, below].concat(), seen, into);
                }
            }
            return;
        }
    }

    /// Whether a module has a name: its own, an imported one, or one of a module whose every name it imports.
    fn exports(&self, path: &Path, name: &str, seen: &mut BTreeSet<Path>) -> bool {
        let Some(module) = self.modules.get(path).filter(|_| seen.insert(path.clone())) else { return false };
        module.declared.contains(name)
            || module.children.contains(name)
            || module.imported.contains_key(name)
            || module.globs.iter().any(|glob| self.exports(glob, name, seen))
    }

    fn read_file(&mut self, path: Path, file: &Source, sources: &[Source]) {
        let tokens = tokens(&file.text);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        if !is_for_tests(tokens.strip_prefix(&["#", "!"]).unwrap_or_default()) {
            self.read_items(path, &tokens, &file.path, sources);
        }
    }

    /// Reads the tokens of a module, which is a file or stands in one.
    fn read_items(&mut self, path: Path, tokens: &[&str], file: &str, sources: &[Source]) {
        let mut rest = tokens;
        let mut named_file = None;
        // A module may be declared twice, for different targets.
        self.modules.entry(path.clone()).or_default();
        while let Some((&token, after)) = rest.split_first() {
            rest = match (token, after) {
                ("#", ["[", ..]) if is_for_tests(after) => skip_item(after),
                ("#", ["[", "path", "=", name, ..]) => {
                    named_file = Some(name.trim_matches('"'));
                    skip_group(after)
                }
                ("#", ["[", ..]) => skip_group(after),
                ("mod", [name, ";", rest @ ..]) => {
                    let child = self.declare(&path, name);
                    if let Some(source) = self.find_file(file, &child, named_file.take(), sources) {
                        self.read_file(child, source, sources);
                    }
                    rest
                }
                ("mod", [name, body @ ..]) if body.first() == Some(&"{") => {
                    let after = skip_group(body);
                    let body = body.get(1..body.len() - after.len()).unwrap_or_default();
                    let child = self.declare(&path, name);
                    self.read_items(child, body, file, sources);
                    after
                }
                ("use", _) => {
                    let end = after.iter().position(|token| *token == ";").unwrap_or(after.len());
                    let (tree, rest) = after.split_at(end);
                    self.read_use(&path, &mut Vec::new(), tree);
                    rest
                }
                ("struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static", [name, ..]) => {
                    self.modules.entry(path.clone()).or_default().declared.insert((*name).to_owned());
                    after
                }
                ("macro_rules", ["!", name, ..]) => {
                    self.modules.entry(path.clone()).or_default().declared.insert((*name).to_owned());
                    after
                }
                ("crate" | "self" | "super", ["::", ..]) => {
                    let end = path_length(rest);
                    let (written, rest) = rest.split_at(end);
                    let segments = written.iter().filter(|token| **token != "::").copied();
                    self.refer(&path, &segments.collect::<Vec<_>>());
                    rest
                }
                _ => after,
            };
        }
    }

    fn declare(&mut self, path: &Path, name: &str) -> Path {
        self.modules.entry(path.clone()).or_default().children.insert(name.to_owned());
        [path.as_slice(), &[name.to_owned()]].concat()
    }

    /// Reads a tree of imports: `a::{b, c as d, e::*}`.
    fn read_use<'a>(&mut self, path: &Path, prefix: &mut Vec<&'a str>, tree: &[&'a str]) {
        let length = prefix.len();
        let mut rest = tree;
        while let Some((&token, after)) = rest.split_first() {
            rest = match token {
                "::" => after,
                "{" => {
                    let end = skip_group(rest);
                    let mut body = rest.get(1..rest.len() - end.len()).unwrap_or_default();
                    body = body.strip_suffix(&["}"]).unwrap_or(body);
                    for branch in branches(body) {
                        self.read_use(path, prefix, branch);
                    }
                    prefix.truncate(length);
                    return;
                }
                "*" => {
                    if let Some(absolute) = self.refer(path, prefix) {
                        self.modules.entry(path.clone()).or_default().globs.push(absolute);
                    }
                    prefix.truncate(length);
                    return;
                }
                "as" => break,
                name => {
                    // `a::{self}` imports `a`; a leading `self` is the module itself.
                    if name != "self" || prefix.is_empty() {
                        prefix.push(name);
                    }
                    after
                }
            };
        }
        let name = match rest {
            ["as", name, ..] => Some(*name),
            _ => prefix.last().copied(),
        };
        if let (Some(absolute), Some(name)) = (self.refer(path, prefix), name) {
            let imported = &mut self.modules.entry(path.clone()).or_default().imported;
            imported.entry(name.to_owned()).or_default().push(absolute);
        }
        prefix.truncate(length);
    }

    /// Records a path that is written in a module, and returns it from the root on; `None` if it
    /// leads out of the crate.
    fn refer(&mut self, module: &Path, written: &[&str]) -> Option<Path> {
        let (first, rest) = written.split_first()?;
        let mut absolute = match *first {
            "crate" => Path::new(),
            "self" => module.clone(),
            "super" => module.get(..module.len().checked_sub(1)?)?.to_vec(),
            // A module below this one, declared before or after, or another crate.
            name => [module.as_slice(), &[name.to_owned()]].concat(),
        };
        for name in rest {
            if *name == "super" {
                absolute.pop();
            } else {
                absolute.push((*name).to_owned());
            }
        }
        self.modules.entry(module.clone()).or_default().paths.insert(absolute.clone());
        Some(absolute)
    }

    /// The file of a module that another file declares.
    fn find_file<'a>(
        &self,
        declared_in: &str,
        module: &[String],
        named: Option<&str>,
        sources: &'a [Source],
    ) -> Option<&'a Source> {
        let find = |path: String| sources.iter().find(|source| source.path == path);
        if let Some(named) = named {
            return find(format!("{}/{named}", folder_of(declared_in)));
        }
        let path = format!("{}/{}", self.folder, module.join("/"));
        find(format!("{path}.rs")).or_else(|| find(format!("{path}/mod.rs")))
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The branches between the commas of a group.
fn branches<'a, 'b>(body: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut depth = 0_usize;
    let split = |token: &&str| {
        match *token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == ","
    };
    body.split(split).filter(|branch| !branch.is_empty()).collect()
}

/// Number of tokens of the path that these begin with.
fn path_length(tokens: &[&str]) -> usize {
    let mut length = 1;
    while let Some(["::", name, ..]) = tokens.get(length..) {
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        length += 2;
    }
    length
}

/// Whether an attribute, from its bracket on, keeps its item for tests.
fn is_for_tests(attribute: &[&str]) -> bool {
    matches!(attribute, ["[", "cfg", "(", "test", ..] | ["[", "cfg", "(", "all", "(", "test", ..])
}

/// The tokens after a group in brackets, which the first token opens.
fn skip_group<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return tokens.get(at + 1..).unwrap_or_default();
        }
    }
    &[]
}

/// The tokens after an item, a field or a statement, from the bracket of its first attribute on.
fn skip_item<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut rest = skip_group(tokens);
    while let ["#", attribute @ ..] = rest {
        rest = skip_group(attribute);
    }
    if let ["pub", after @ ..] = rest {
        rest = if after.first() == Some(&"(") { skip_group(after) } else { after };
    }
    let ends_with_semicolon = match rest {
        ["const", next, ..] => !["fn", "unsafe"].contains(next),
        [first, ..] => ["use", "static", "type", "let"].contains(first),
        [] => return rest,
    };
    let keywords = ["fn", "mod", "struct", "enum", "union", "impl", "trait", "const", "unsafe", "async"];
    let is_item =
        ends_with_semicolon || keywords.contains(&rest[0]) || ["extern", "macro_rules"].contains(&rest[0]);
    while let Some((&token, after)) = rest.split_first() {
        rest = match token {
            ";" => return after,
            "," if !is_item => return after,
            // The end of what the field stands in.
            ")" | "]" | "}" => return rest,
            "{" if !ends_with_semicolon => return skip_group(rest),
            "(" | "[" | "{" => skip_group(rest),
            _ => after,
        };
    }
    rest
}

/// Words, `::`, literals and single other characters of a text, without comments. The compiler says
/// what is wrong with a text that has no tokens.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    flatten(text.parse().unwrap_or_default(), &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut stream = stream.into_iter().peekable();
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    while let Some(token) = stream.next() {
        match &token {
            // A comment of documentation is an attribute.
            TokenTree::Group(group) if is_documentation(group) => {
                while tokens.pop_if(|token| *token == "#" || *token == "!").is_some() {}
            }
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    _ => ["{", "}"],
                };
                tokens.push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Punct(punct) if is_colon(&token) && punct.spacing() == Spacing::Joint => {
                let second = stream.next_if(is_colon);
                tokens.push(if second.is_some() { "::" } else { ":" }.to_owned());
            }
            _ => tokens.push(token.to_string()),
        }
    }
}

fn is_documentation(attribute: &Group) -> bool {
    attribute.stream().into_iter().next().is_some_and(|first| first.to_string() == "doc")
}
