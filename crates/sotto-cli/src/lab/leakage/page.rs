//! The leakage report as a page in Markdown: statements that follow from a table's scheme and its
//! catalog, with measurements next to them.

use crate::lab::leakage::LeakageTarget;
use crate::lab::leakage::measure::{LeakageReport, Transcript};
use crate::screen::units;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::Catalog;
use sotto_core::{Artifact, SchemeEntry};
use sotto_db::inspect::SchemeInfo;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole page.
pub(crate) fn page(
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

/// An observer, and what it learns.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Observer {
    /// Who observes.
    pub(crate) who: &'static str,
    /// What it learns.
    pub(crate) sentences: Vec<String>,
}

/// A table to describe: its catalog, the scheme, and the scheme's report.
pub(crate) struct DescribedTable<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) scheme: &'a SchemeInfo,
    pub(crate) entry: &'a SchemeEntry,
}

/// All statements about a table.
pub(crate) fn parts(
    target: &LeakageTarget,
    measured: &LeakageReport,
    table: &DescribedTable<'_>,
) -> Vec<Observer> {
    vec![
        Observer { who: "What the server learns", sentences: server(measured, table) },
        Observer { who: "What the server does not learn, and why", sentences: hidden(table) },
        Observer { who: "What an observer of the network learns", sentences: listener(target, table) },
        Observer { who: "What clients learn about other rows", sentences: clients(table) },
        Observer { who: "What is left of deleted and changed rows", sentences: deleted(target, table) },
    ]
}

fn server(measured: &LeakageReport, table: &DescribedTable<'_>) -> Vec<String> {
    let DescribedTable { catalog, scheme, entry } = table;
    let seen = match entry.is_downloadable() {
        true => {
            "That a client opens this table, when, how often, and from which address. A lookup sends nothing."
        }
        false => "That a client makes lookups in this table, when, how often, and from which address.",
    };
    let mut out = vec![seen.into(), "Which epoch of the table the client uses.".into()];
    out.push(match measured.hides_count {
        _ if entry.is_downloadable() => "Not how many rows or keys are looked up.".into(),
        true => "Not how many rows or keys a request is for: every request queries all tables of the stack."
            .into(),
        false => "How many rows or keys a request is for: each adds the same number of bytes.".into(),
    });
    if scheme.keys_bytes > 0 {
        out.push(format!(
            "Which lookups belong to one client, as long as it uses the same registered keys ({}): for an \
             hour or 256 queries, unless it uses fresh keys.",
            units::bytes(scheme.keys_bytes)
        ));
    }
    if let Some(hint_server) = &entry.hint_server {
        out.push(format!(
            "Server {}, which makes hints: when clients request hints, and how many. It sees none of their lookups.",
            hint_server.role
        ));
    } else if entry.state.is_some() {
        out.push(
            "When a client prepares hints: it streams the complete table, at first and after a number of lookups."
                .into(),
        );
    } else if scheme.artifact_bytes > 0 {
        out.push("Whether a client is new in an epoch: it then fetches the hint, which it caches.".into());
    }
    if catalog.symmetric_layer().ok().flatten().is_some() {
        out.push("How many rows a client opens, each with an evaluation, but not which.".into());
    }
    out
}

fn hidden(table: &DescribedTable<'_>) -> Vec<String> {
    let DescribedTable { catalog, scheme, entry } = table;
    let what = if catalog.keyword().ok().flatten().is_some() {
        "Which key is looked up, and whether the table has it."
    } else {
        "Which row is looked up, and whether it exists."
    };
    let mut out = vec![what.to_owned()];
    out.push(match entry.query_servers {
        0 => "A server hands out the table, and is asked nothing.".into(),
        1 => "One server answers, and it may record everything that it sees.".into(),
        n => format!(
            "{n} servers are queried, and this holds against each of them alone: together they see what is looked up."
        ),
    });
    out.push(match scheme.security_bits.is_finite() {
        true => format!(
            "To learn it anyway, a server has to solve a problem whose cost is estimated at 2^{:.1} steps ({}).",
            scheme.security_bits, scheme.security_model
        ),
        false => "No computing power helps: what a server sees has the same distribution for all lookups."
            .into(),
    });
    out.push(format!(
        "A server that answers wrongly learns whether the client noticed only from the client's user: clients send \
         nothing that depends on what they decrypt. Where rows are verified, that tells it {}.",
        entry.metadata.abort_leakage.statement()
    ));
    out
}

fn listener(target: &LeakageTarget, table: &DescribedTable<'_>) -> Vec<String> {
    let mut out = vec![
        "Over https: which server, when, and how many bytes each way. These are the same for all lookups \
         in a table (see the measurements), but differ between tables, so an observer who knows the tables can \
         tell which one is used."
            .into(),
    ];
    out.push(match table.entry.query_servers {
        0 | 1 => "Over plain http: everything that the server sees, as listed above; an observer can also change answers."
            .into(),
        _ => "Over plain http: the queries to all servers, and with them what is looked up. Clients refuse \
              that for other machines, unless --insecure-plaintext is given."
            .into(),
    });
    if target.urls.iter().any(|url| url.starts_with("http://"))
        && !target.urls.iter().all(|url| is_local(url))
    {
        out.push("The measured server uses plain http.".into());
    }
    out
}

fn is_local(url: &str) -> bool {
    ["http://127.", "http://localhost", "http://[::1]"].iter().any(|start| url.starts_with(start))
}

fn clients(table: &DescribedTable<'_>) -> Vec<String> {
    let DescribedTable { catalog, scheme, entry } = table;
    let mut out = Vec::new();
    let opened = catalog.symmetric_layer().ok().flatten().is_some();
    let each = scheme.record_bytes.checked_div(catalog.row_bytes).unwrap_or(0);
    if opened {
        out.push(
            "Rows are masked: a client can read the rows that it opened with an evaluation, and nothing of others."
                .into(),
        );
    } else {
        out.push(match each {
            _ if entry.is_downloadable() => "Every client has the complete table.".into(),
            0 | 1 => "An answer holds the requested row, and no other row.".into(),
            n => format!(
                "An answer holds a record of {n} rows: programs show one of them, and a curious client can read all."
            ),
        });
        out.push(
            "A client can look up every row, one after the other: the table is not secret from its \
             clients. `sotto encode --symmetric` makes a table that is."
                .into(),
        );
    }
    let streams =
        catalog.artifacts.iter().any(|file| file.artifact == Artifact::Rows) && entry.state.is_some();
    if streams {
        out.push(
            "Clients stream all rows to prepare hints, so each client has seen the complete table.".into(),
        );
    } else if scheme.artifact_bytes > 0 && !entry.is_downloadable() {
        out.push(format!(
            "The hint ({}) is computed from all rows, and every client can fetch it.",
            units::bytes(scheme.artifact_bytes)
        ));
    }
    if let Ok(Some(keyword)) = catalog.keyword() {
        out.push(format!(
            "Keys: {}whoever can guess a key can look it up. A missing key is found with probability {}.",
            match keyword.params().slots {
                0 | 1 => String::new(),
                slots => format!("a row holds up to {slots} keys, and an answer complete rows; "),
            },
            units::at_most(keyword.params().false_positive_log2())
        ));
    }
    if catalog.rows_root.path.is_some_and(|path| path > 0) {
        out.push(
            "A row proof holds digests of other rows. They reveal nothing about a row that cannot be \
             guessed, and confirm the guess of one that can."
                .into(),
        );
    }
    out
}

fn deleted(target: &LeakageTarget, table: &DescribedTable<'_>) -> Vec<String> {
    let catalog = table.catalog;
    let mut out = vec![
        "A client, or whoever records answers for it, may keep what it once read.".to_owned(),
        "The server answers for earlier epochs for a while, so a client that has not updated yet reads old rows."
            .into(),
    ];
    let deltas: Vec<&str> = catalog
        .artifacts
        .iter()
        .filter(|file| file.artifact.is_delta())
        .map(|file| file.artifact.name())
        .collect();
    if !deltas.is_empty() {
        let files = deltas.join(", ");
        out.push(format!(
            "This epoch publishes what changed since the previous one ({files}): everybody can see how \
             much, and where."
        ));
    }
    match target.epochs.as_slice() {
        [] => {}
        [only] => out.push(format!("The folder holds epoch {only} only.")),
        [all @ .., newest] => {
            let list: Vec<String> = all.iter().map(u64::to_string).collect();
            out.push(format!(
                "The folder holds files of epochs {} besides epoch {newest}, which may have deleted rows. \
                 Delete what must not be kept.",
                list.join(", ")
            ));
        }
    }
    out.push(
        "With the catalog's digest of the rows, anyone who has an old copy can prove that the publisher signed it."
            .into(),
    );
    out
}
