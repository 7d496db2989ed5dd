//! Every route with its method and its name in the metrics, and every refusal. A router does not
//! list its routes, so they are read from the source.

use sotto_testkit::ledger;
use sotto_wire::Code;
use std::path::{Path, PathBuf};

/// The value of a constant, looked for in these texts, the nearest first.
fn constant<'a>(name: &str, texts: &[&'a str]) -> Option<&'a str> {
    let name = name.rsplit("::").next().unwrap_or(name);
    let declared = format!("const {name}: &str = \"");
    texts.iter().find_map(|text| text.split_once(&declared)?.1.split('"').next())
}

/// The path of a route: of a constant, a literal, or the expression that makes it.
fn path(expression: &str, texts: &[&str]) -> String {
    match expression.strip_prefix('"') {
        Some(literal) => literal.trim_end_matches('"').to_owned(),
        None => constant(expression, texts).map_or_else(|| format!("<{expression}>"), str::to_owned),
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { sources(&path, found) } else { found.push(path) }
    }
}

#[test]
fn ledger_of_routes() {
    let shared = std::fs::read_to_string(ledger::root().join("crates/sotto-wire/src/routes.rs")).unwrap();
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut lines = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let side = if file.ends_with("admin.rs") { "admin" } else { "public" };
        let texts = [text.as_str(), shared.as_str()];
        for route in text.split(".route(").skip(1) {
            let Some((expression, method)) = route.split_once(',') else { continue };
            let method = method.trim_start().split(['(', ')']).next().unwrap_or_default().to_uppercase();
            lines.push(format!("{side} {method} {}\n", path(expression.trim(), &texts)));
        }
        // `Some(routes::QUERY) => "ask"` and `KEY => Some("apple-key")`.
        for line in text.lines().filter(|line| side == "public" && line.contains("=>")) {
            let Some((left, right)) = line.split_once("=>") else { continue };
            let name = left.trim().trim_start_matches("Some(").trim_end_matches(')');
            if let (Some(path), Some(label)) = (constant(name, &texts), right.split('"').nth(1)) {
                lines.push(format!("label {path} {label}\n"));
            }
        }
    }
    lines.sort();
    assert!(lines.len() > 30, "{lines:?}");
    ledger::check("routes.txt", &lines.concat());
}

#[test]
fn ledger_of_refusals() {
    let lines = Code::ALL.iter().map(|code| {
        let retry = if code.is_retryable() { " (retry)" } else { "" };
        format!("{} {}{retry}: {}\n", code.status(), code.text(), code.fix())
    });
    ledger::check("refusals.txt", &lines.collect::<String>());
}
