//! Statements about what a table reveals, which follow from its scheme and its catalog. The page
//! shows measurements next to them.

use super::measure::LeakageReport;
use super::target::LeakageTarget;
use crate::screen::units;
use serde::Serialize;
use sotto_catalog::Catalog;
use sotto_core::{Artifact, SchemeEntry};
use sotto_db::inspect::SchemeInfo;

/// An observer, and what it learns.
#[derive(Debug, Serialize)]
pub(super) struct Observer {
    pub(super) who: &'static str,
    pub(super) sentences: Vec<String>,
}

/// A table to describe: its catalog, the scheme, and the scheme's report.
pub(super) struct DescribedTable<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) scheme: &'a SchemeInfo,
    pub(super) entry: &'a SchemeEntry,
}

/// All statements about a table.
pub(super) fn parts(
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
    let mut out = vec![
        "That a client makes lookups in this table, when, how often, and from which address.".into(),
        "Which epoch of the table the client uses.".into(),
    ];
    out.push(match measured.hides_count {
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
    out.push(
        "A server that answers wrongly learns whether the client noticed only from the client's user: \
         clients send nothing that depends on what they decrypt."
            .into(),
    );
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
        1 => "Over plain http: everything that the server sees, as listed above; an observer can also change answers."
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
    } else if scheme.artifact_bytes > 0 {
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
