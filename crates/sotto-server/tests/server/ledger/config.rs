//! Every key of the configuration, with its default.

use sotto_server::ServerConfig;
use sotto_testkit::ledger;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A key that no table has.
const NONE: &str = "none_such";

/// The keys of a table, as the parser itself lists them; `None` if it is no table.
fn keys(table: &str) -> Option<Vec<String>> {
    let heads = match table {
        "" => vec![String::new()],
        table => vec![format!("[{table}]"), format!("[[{table}]]")],
    };
    heads.iter().find_map(|head| {
        let error = ServerConfig::parse(&format!("{head}\n{NONE} = 0\n")).unwrap_err();
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
    collect("", &mut found);
    let defaults = fields(&format!("{:#?}", ServerConfig::default()));
    let mut text = String::new();
    for key in found.keys() {
        match defaults.get(key) {
            Some(value) => writeln!(text, "{key} = {value}").unwrap(),
            None => writeln!(text, "{key}").unwrap(),
        }
    }
    ledger::check("config.txt", &text);
}
