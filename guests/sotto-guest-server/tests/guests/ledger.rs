//! The server's pages of the ability ledger: keys of the configuration, metrics, routes and
//! refusals, those of the guests included.

use sotto_guest_server::GuestConfig;
use sotto_server::ServerConfig;
use sotto_testkit::ledger;
use sotto_wire::ProblemCode;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A key that no table has.
const NONE: &str = "none_such";

/// The keys of a table, as the parser itself lists them; `None` if it is no table.
fn keys(table: &str) -> Option<Vec<String>> {
    let heads = match table {
        "" => vec![String::new()],
        table => vec![format!("[{table}]"), format!("[[{table}]]")],
    };
    heads.iter().find_map(|head| {
        let error = GuestConfig::parse(&format!("{head}\n{NONE} = 0\n")).unwrap_err();
        let (_, listed) = error.split_once(&format!("unknown field `{NONE}`, expected"))?;
        Some(listed.split('`').skip(1).step_by(2).map(str::to_owned).collect())
    })
}

fn collect(table: &str, found: &mut BTreeMap<String, String>) {
    for key in keys(table).unwrap() {
        let path = if table.is_empty() { key } else { format!("{table}.{key}") };
        // A table is listed by its keys, and not by a line of its own.
        match keys(&path) {
            Some(_) => collect(&path, found),
            None => drop(found.insert(path, String::new())),
        }
    }
}

/// The fields of a `Debug` text by their path, each with its value.
fn fields(debug: &str) -> BTreeMap<String, String> {
    let (mut path, mut found) = (Vec::new(), BTreeMap::new());
    for line in debug.lines().skip(1) {
        let line = line.trim();
        match line.split_once(": ") {
            Some((name, value)) if value.ends_with('{') => path.push(name),
            Some((name, value)) => {
                path.push(name);
                found.insert(path.join("."), value.trim_end_matches(',').to_owned());
                path.pop();
            }
            None => drop(path.pop()),
        }
    }
    found
}

#[test]
fn ledger_of_the_configuration() {
    let mut found = BTreeMap::new();
    for section in ["", "apple", "ohttp"] {
        collect(section, &mut found);
    }
    let mut defaults = fields(&format!("{:#?}", ServerConfig::default()));
    defaults.extend(fields(&format!("{:#?}", GuestConfig::default())));
    let mut text = String::new();
    for key in found.keys() {
        match defaults.get(key) {
            Some(value) => writeln!(text, "{key} = {value}").unwrap(),
            None => writeln!(text, "{key}").unwrap(),
        }
    }
    ledger::check("config.txt", &text);
}

/// A metric's kind, help, and labels with their values.
#[derive(Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeMap<String, BTreeSet<String>>,
    has_series: bool,
}

#[test]
fn ledger_of_metrics() {
    let sample = sotto_guest_server::metrics_sample();
    let mut metrics: Vec<(String, Metric)> = Vec::new();
    for line in sample.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let metric = Metric { help: help.to_owned(), ..Metric::default() };
            metrics.push((name.to_owned(), metric));
            continue;
        }
        let Some((_, metric)) = metrics.last_mut() else { continue };
        if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            kind.clone_into(&mut metric.kind);
        } else if !line.starts_with('#') {
            metric.has_series = true;
            let labels = line.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
            for label in labels.iter().flat_map(|(labels, _)| labels.split(',')) {
                let (name, value) = label.split_once('=').unwrap();
                if name != "le" {
                    metric
                        .labels
                        .entry(name.to_owned())
                        .or_default()
                        .insert(value.trim_matches('"').to_owned());
                }
            }
        }
    }
    let mut lines: Vec<String> = metrics
        .iter()
        .map(|(name, metric)| {
            assert!(metric.has_series, "the sample has nothing of {name}: see `metrics_sample`");
            let labels = metric.labels.iter().map(|(name, values)| {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                format!("{name}={}", values.join("|"))
            });
            let labels: Vec<String> = labels.collect();
            format!("{name} {} {{{}}} {}\n", metric.kind, labels.join(", "), metric.help)
        })
        .collect();
    lines.sort();
    assert!(lines.len() > 30, "{sample}");
    ledger::check("metrics.txt", &lines.concat());
    metrics.sort_by(|(one, _), (other, _)| one.cmp(other));
    let rows = metrics.iter().map(|(name, metric)| {
        // As it is scraped.
        let total = if metric.kind == "counter" { "_total" } else { "" };
        let labels = metric.labels.iter().map(|(name, values)| {
            let values: Vec<_> = values.iter().filter(|value| value.replace(' ', "_") != *name).collect();
            let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
            if values.is_empty() { format!("`{name}`") } else { format!("`{name}`: {}", values.join(", ")) }
        });
        let labels: Vec<String> = labels.collect();
        format!("| `{name}{total}` | {} | {} | {} |\n", metric.kind, labels.join("; "), metric.help)
    });
    let heading = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
    ledger::check_block(
        "docs/reference/metrics.md",
        "metrics",
        &format!("{heading}{}", rows.collect::<String>()),
    );
}

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
    for krate in ["crates/sotto-server", "guests/sotto-guest-server"] {
        sources(&ledger::root().join(krate).join("src"), &mut files);
    }
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
    let lines = ProblemCode::ALL.iter().map(|code| {
        let retry = if code.is_retryable() { " (retry)" } else { "" };
        format!("{} {}{retry}: {}\n", code.status(), code.text(), code.fix())
    });
    ledger::check("refusals.txt", &lines.collect::<String>());
    let rows = ProblemCode::ALL.iter().map(|code| {
        let again = if code.is_retryable() { "yes" } else { "" };
        format!("| {} | `{}` | {again} | {} |\n", code.status(), code.text(), code.fix())
    });
    let heading = "| status | code | retry | what a client does |\n|---|---|---|---|\n";
    ledger::check_block(
        "docs/reference/refusals.md",
        "refusals",
        &format!("{heading}{}", rows.collect::<String>()),
    );
}
