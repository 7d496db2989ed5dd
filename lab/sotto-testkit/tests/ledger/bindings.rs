//! The interfaces for other languages: the C header, the stubs and modules of Python, the
//! declarations for JavaScript. Comments are left out, so changes of words do not show here.

use sotto_testkit::ledger;
use std::path::PathBuf;

/// A text with its runs of spaces and lines as one space each.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of C or JavaScript without comments.
fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["/*", "//"].iter().filter_map(|mark| rest.find(mark)).min() {
        out.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("/*") { "*/" } else { "\n" };
        let length = rest[at..].find(end).map_or(rest.len() - at, |length| length + end.len());
        out.push('\n');
        rest = &rest[at + length..];
    }
    out + rest
}

/// Each declaration in one line. Those within `namespace`, which open a brace, are named with it.
fn declarations(text: &str, opens: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let (mut within, mut open, mut depth) = (Vec::new(), String::new(), 0_i32);
    for c in text.chars() {
        match c {
            '{' if depth == 0 && opens(&flat(&open)) => {
                within.push(flat(&open));
                open.clear();
            }
            '}' if depth == 0 => {
                within.pop();
                open.clear();
            }
            ';' if depth == 0 => {
                let name = within.iter().map(|name| format!("{name} / ")).collect::<String>();
                let line = flat(&open);
                found.extend((!line.is_empty()).then(|| name + &line));
                open.clear();
            }
            c => {
                depth += i32::from("{([".contains(c)) - i32::from("})]".contains(c));
                open.push(c);
            }
        }
    }
    found
}

/// The header's macros and declarations.
fn header() -> Vec<String> {
    let text =
        bare(&std::fs::read_to_string(ledger::root().join("bindings/native/include/sotto.h")).unwrap());
    let (macros, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let mut found = declarations(&rest.join("\n"), |open| open.starts_with("extern"));
    found.extend(macros.iter().filter(|line| line.starts_with("#define")).map(|line| flat(line)));
    found
}

fn declared_for_javascript() -> Vec<String> {
    let text = bare(&std::fs::read_to_string(ledger::root().join("bindings/web/js/index.d.ts")).unwrap());
    let names =
        ["export interface", "export class", "export declare class", "declare module", "export namespace"];
    declarations(&text, |open| names.iter().any(|name| open.starts_with(name)))
}

/// Whether a name of Python is public.
fn is_public(statement: &str) -> bool {
    let name = statement.trim_start_matches("async ").trim_start_matches("def ").trim_start_matches("class ");
    !name.starts_with('_') || name.starts_with("__")
}

/// Classes, functions and typed names, without the bodies of functions.
fn of_python(text: &str) -> Vec<String> {
    let (mut found, mut class, mut marks) = (Vec::new(), String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let first = line.trim_start();
        let is_deeper = indent > 4 || (indent == 4 && class.is_empty());
        if first.is_empty() || is_deeper {
            continue;
        }
        if first.starts_with('@') {
            marks.push_str(&format!("{} ", first.trim_end()));
            continue;
        }
        if ["def ", "async def ", "class "].iter().all(|word| !first.starts_with(word)) {
            let is_typed = first
                .split_once(": ")
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
            if is_typed && is_public(first) {
                found.push(format!("{class}{}", flat(first)));
            }
            continue;
        }
        let mut statement = first.to_owned();
        while statement.matches('(').count() > statement.matches(')').count() {
            let Some(more) = lines.next() else { break };
            statement = format!("{statement} {}", more.trim());
        }
        let statement = flat(&statement).replace("( ", "(").replace(", )", ")");
        let statement = statement.trim_end_matches("...").trim_end().trim_end_matches(':').to_owned();
        if indent == 0 {
            class = match statement.strip_prefix("class ") {
                Some(name) => format!("{} / ", name.split('(').next().unwrap_or(name)),
                None => String::new(),
            };
        }
        let name = if indent == 0 { "" } else { class.as_str() };
        if is_public(&statement) && !name.starts_with('_') {
            found.push(format!("{name}{marks}{statement}"));
        }
        marks.clear();
    }
    found
}

/// The package's own names, and what each module of it declares.
fn python() -> Vec<String> {
    let folder = ledger::root().join("bindings/python/python/sotto");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "py" || end == "pyi"));
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match name.as_str() {
            "__init__.py" => {
                let (_, all) = text.split_once("__all__ = [").unwrap();
                let names = all.split(']').next().unwrap_or_default().split('"').skip(1).step_by(2);
                found.extend(names.map(|public| format!("sotto.{public}")));
            }
            _ => found.extend(of_python(&text).into_iter().map(|line| format!("{name}: {line}"))),
        }
    }
    found
}

#[test]
fn ledger_of_bindings() {
    let mut text = String::new();
    let kinds = [("sotto.h", header()), ("index.d.ts", declared_for_javascript()), ("Python", python())];
    for (name, mut lines) in kinds {
        assert!(lines.len() > 20, "{name}: {lines:?}");
        lines.sort();
        text.push_str(&format!("==== {name}\n{}\n", lines.join("\n")));
    }
    ledger::check("bindings.txt", &text);
}
