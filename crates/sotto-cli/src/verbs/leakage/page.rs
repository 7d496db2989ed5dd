//! The leakage report as a page in Markdown.

use super::measure::LeakageReport;
use super::recording::Transcript;
use super::statements::{DescribedTable, Observer};
use super::target::LeakageTarget;
use crate::screen::units;
use sotto_catalog::Catalog;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole page.
pub(super) fn page(
    target: &LeakageTarget,
    measured: &LeakageReport,
    table: &DescribedTable<'_>,
    parts: &[Observer],
) -> String {
    let catalog = table.catalog;
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "# What {} reveals, and to whom\n", target.name);
    let what = match measured.catalogs.len() {
        1 => format!("Table {}", catalog.table),
        n => format!("A stack of {n} tables, the first of which is {}", catalog.table),
    };
    let _ = writeln!(
        out,
        "{what}, epoch {}: {} rows of {} bytes, {} ({}).\n",
        catalog.epoch,
        units::count(catalog.rows),
        units::count(catalog.row_bytes),
        catalog.scheme,
        table.scheme.title
    );
    for Observer { who, sentences } in parts {
        let _ = writeln!(out, "## {who}\n");
        for sentence in sentences {
            let _ = writeln!(out, "- {sentence}");
        }
        let _ = writeln!(out);
    }
    out.push_str(&measurement(measured));
    out
}

fn measurement(measured: &LeakageReport) -> String {
    let mut out = String::from("## What was measured\n\n");
    let _ = writeln!(out, "{} clients made all of these lookups, each in another order:\n", measured.clients);
    let _ = writeln!(out, "| lookup | result |\n|---|---|");
    for tried in &measured.tried {
        let _ = writeln!(out, "| {} | {} |", cell(&tried.what), tried.outcome);
    }
    let found = measured.tried.iter().filter(|tried| tried.outcome == "found").count();
    if found == 0 {
        let _ = writeln!(
            out,
            "\nNone of these was found, so present keys were not compared with missing ones: give a key with --key."
        );
    }
    let verdict = match measured.apart.is_empty() {
        true => {
            "\nRequests, their order, their sizes, and the sizes of answers were the same for all lookups."
        }
        false => "\n**Lookups are distinguishable.**",
    };
    let _ = writeln!(out, "{verdict}");
    for apart in &measured.apart {
        let _ = writeln!(out, "\n{} and {}:\n", cell(&apart.one), cell(&apart.other));
        let both = [(apart.one.as_str(), &apart.one_seen), (apart.other.as_str(), &apart.other_seen)];
        out.push_str(&exchanges(&both, &measured.catalogs));
    }
    let _ = writeln!(out, "\nWhat is visible of a client, request by request:\n");
    let mut all = vec![("first visit", &measured.opening), ("a lookup", &measured.lookup)];
    all.extend(measured.two.as_ref().map(|two| ("two lookups", two)));
    out.push_str(&exchanges(&all, &measured.catalogs));
    let _ = writeln!(
        out,
        "\nTimes were not compared. Headers were not compared either, since all clients send the same."
    );
    out
}

/// A line for each kind of request: requests that differ in a range, an epoch or a digest alone are
/// of one kind.
fn exchanges(all: &[(&str, &Transcript)], catalogs: &[Catalog]) -> String {
    let mut out = String::from("| when | where | requests | up | down |\n|---|---|---:|---:|---:|\n");
    for (when, seen) in all {
        let mut kinds: BTreeMap<(&str, &str), (u64, u64, u64)> = BTreeMap::new();
        for (line, exchanges) in *seen {
            let server = line.split(' ').take(2).map(str::len).sum::<usize>() + 1;
            for exchange in exchanges {
                let path = exchange.request.split(" bytes ").next().unwrap_or_default();
                let kind = (line.get(..server).unwrap_or(line), path.split('?').next().unwrap_or_default());
                let sums = kinds.entry(kind).or_default();
                *sums = (sums.0 + 1, sums.1 + exchange.up_bytes, sums.2 + exchange.down_bytes);
            }
        }
        for ((server, path), (count, up, down)) in kinds {
            let (up, down) = (units::bytes(up), units::bytes(down));
            let _ = writeln!(
                out,
                "| {} | {server}: {} | {count} | {up} | {down} |",
                cell(when),
                resource(path, catalogs)
            );
        }
    }
    out
}

/// The name of a request; for a static file its kind, and not the digest that names it.
fn resource(request: &str, catalogs: &[Catalog]) -> String {
    let digest = request.rsplit('/').next().unwrap_or_default();
    let mut files = catalogs.iter().flat_map(|catalog| &catalog.artifacts);
    let named = files.find(|file| file.digest.to_string() == digest);
    named.map_or_else(
        || format!("`{}`", cell(request)),
        |file| format!("the static file `{}`", file.artifact.name()),
    )
}

/// Text that cannot end a cell of a table.
fn cell(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace('|', "\\|")
}
