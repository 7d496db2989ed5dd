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
    place: &LeakageTarget,
    measured: &LeakageReport,
    table: &DescribedTable<'_>,
) -> Vec<Observer> {
    vec![
        Observer { who: "What the server learns", sentences: server(measured, table) },
        Observer { who: "What the server does not learn, and why", sentences: hidden(table) },
        Observer { who: "What somebody on the way learns", sentences: listener(place, table) },
        Observer { who: "What clients learn of other rows", sentences: clients(table) },
        Observer {
            who: "What is left of rows that were deleted or changed",
            sentences: deleted(place, table),
        },
    ]
}

fn server(measured: &LeakageReport, table: &DescribedTable<'_>) -> Vec<String> {
    let DescribedTable { catalog, scheme, entry } = table;
    let mut out = vec![
        "That a client asked, when, how often, and from which address; and that it wants something of this table.".into(),
        "Which epoch of the table the client has.".into(),
    ];
    out.push(match measured.hides_count {
        true => {
            "Not how many rows or keys one request is for: every request asks all tables of the stack.".into()
        }
        false => "How many rows or keys one request is for: each adds as many bytes.".into(),
    });
    if scheme.keys_bytes > 0 {
        out.push(format!(
            "Which lookups are one client's, for as long as it uses the keys that it registered ({}): an hour or 256 queries, \
             unless it asks with fresh keys.",
            units::bytes(scheme.keys_bytes)
        ));
    }
    if let Some(upkeep) = &entry.upkeep {
        out.push(format!(
            "Server {}, which makes the hints: when clients need some, and how many. It sees none of their lookups.",
            upkeep.helper
        ));
    } else if entry.state.is_some() {
        out.push(
            "When a client makes its hints: it streams the whole table, at first and after so many lookups."
                .into(),
        );
    } else if scheme.artifact_bytes > 0 {
        out.push(
            "Whether a client comes for the first time in an epoch: it fetches the hint then, and keeps it."
                .into(),
        );
    }
    if catalog.symmetric_layer().ok().flatten().is_some() {
        out.push("How many rows a client opened, each by an evaluation; not which.".into());
    }
    out
}

fn hidden(table: &DescribedTable<'_>) -> Vec<String> {
    let DescribedTable { catalog, scheme, entry } = table;
    let what = if catalog.keyword().ok().flatten().is_some() {
        "Which key was wanted, and whether the table has it."
    } else {
        "Which row was wanted, and whether there is such a row."
    };
    let mut out = vec![what.to_owned()];
    out.push(match entry.query_servers {
        1 => "One server answers, and it may keep all that it ever sees.".into(),
        n => format!("{n} servers are asked, and this holds against each of them alone: together they see what was wanted."),
    });
    out.push(match scheme.security_bits.is_finite() {
        true => format!(
            "A server that wants to know all the same has to solve a problem that is estimated at 2^{:.1} steps ({}).",
            scheme.security_bits, scheme.security_model
        ),
        false => "No computing power helps: what a server sees is the same for everything that can be wanted.".into(),
    });
    out.push(
        "A server that answers wrongly learns whether the client noticed only if the client's owner lets it show: clients send \
         nothing that depends on what was decrypted."
            .into(),
    );
    out
}

fn listener(place: &LeakageTarget, table: &DescribedTable<'_>) -> Vec<String> {
    let mut out = vec![
        "Over https: which server, when, and how many bytes went each way. They are the same whatever was wanted (see what was \
         measured), and differ from table to table, so whoever knows the tables can tell which one was asked."
            .into(),
    ];
    out.push(match table.entry.query_servers {
        1 => "Over plain http: all that the server sees, and that is no more than stands above; and it can change \
        answers.".into(),
        _ => "Over plain http: the queries to all servers, and with them what was wanted. Clients refuse that beyond their own \
              machine, unless they are told --insecure-plaintext."
            .into(),
    });
    if place.urls.iter().any(|url| url.starts_with("http://")) && !place.urls.iter().all(|url| is_local(url))
    {
        out.push("The server that was measured speaks plain http.".into());
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
        out.push("Rows are masked: a client reads those that it opened with an evaluation, and of all others nothing.".into());
    } else {
        out.push(match each {
            0 | 1 => "An answer holds what was asked for, and no other row.".into(),
            n => format!("An answer holds a record of {n} rows; programs show one of them, and a curious client reads all."),
        });
        out.push(
            "Anybody who may ask can ask for every row, one after the other: the table is not kept from its clients. \
             `sotto encode --symmetric` makes one that is."
                .into(),
        );
    }
    let streams =
        catalog.artifacts.iter().any(|file| file.artifact == Artifact::Rows) && entry.state.is_some();
    if streams {
        out.push(
            "Clients stream all rows to make their hints, so each client has seen the whole table.".into(),
        );
    } else if scheme.artifact_bytes > 0 {
        out.push(format!(
            "The hint ({}) is made of all rows. It is public to whoever may ask, and no secret of theirs.",
            units::bytes(scheme.artifact_bytes)
        ));
    }
    if let Ok(Some(keyword)) = catalog.keyword() {
        out.push(format!(
            "Keys: {}whoever can guess a key can ask for it. A key that is not there is found with probability {}.",
            match keyword.params().slots {
                0 | 1 => String::new(),
                slots => format!("a row holds up to {slots} of them, and an answer whole rows; "),
            },
            units::at_most(keyword.params().false_positive_log2())
        ));
    }
    if catalog.rows_root.path.is_some_and(|path| path > 0) {
        out.push(
            "A row's proof holds digests of other rows. They say nothing of a row that cannot be guessed; of one that \
            can be, they \
             say whether a guess is right."
                .into(),
        );
    }
    out
}

fn deleted(place: &LeakageTarget, table: &DescribedTable<'_>) -> Vec<String> {
    let catalog = table.catalog;
    let mut out = vec![
        "What a client once read it may keep, and so may whoever recorded answers for it.".to_owned(),
        "The server answers about earlier epochs for a while, so a client that has not moved on reads old rows.".into(),
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
            "This epoch publishes what changed since the last one ({files}): everybody can see how much, \
        and where."
        ));
    }
    match place.epochs.as_slice() {
        [] => {}
        [only] => out.push(format!("The folder holds epoch {only} alone.")),
        [all @ .., newest] => {
            let list: Vec<String> = all.iter().map(u64::to_string).collect();
            out.push(format!(
                "The folder holds files of epochs {} beside epoch {newest}: rows that are gone may still lie there. Delete what \
                 must not be kept.",
                list.join(", ")
            ));
        }
    }
    out.push(
        "The catalog's digest of the rows lets whoever has an old copy prove that the publisher signed it."
            .into(),
    );
    out
}
