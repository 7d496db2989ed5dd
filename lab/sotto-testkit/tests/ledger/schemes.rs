//! The abilities of each registered scheme, its parameter sets, its guarantees and costs at a dozen
//! shapes, and its conformance trials.

use rayon::prelude::*;
use sotto_core::{Goal, SchemeEntry, TableShape};
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::{Subject, trials};
use sotto_testkit::ledger;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows and bytes of a row: from one row to a gigabyte.
const SIZES: [(u64, u64); 8] = [
    (1, 1),
    (1000, 32),
    (1 << 16, 4),
    (1 << 16, 256),
    (1 << 20, 32),
    (1 << 20, 1024),
    (1 << 24, 8),
    (1 << 12, 1 << 16),
];

/// The shape at which the details of a report are shown too, and for each named set.
const DETAILED: &str = "1048576x32";

/// The shapes, each with a name.
fn shapes() -> Vec<(String, TableShape)> {
    let sizes =
        SIZES.iter().map(|&(rows, bytes)| (format!("{rows}x{bytes}"), TableShape::new(rows, bytes, 100)));
    let usual = || TableShape::new(1 << 20, 256, 100);
    let goals = Goal::ALL[1..].iter();
    let goals =
        goals.map(|&goal| (format!("1048576x256 goal={}", goal.name()), TableShape { goal, ..usual() }));
    let together =
        ("1048576x256 together=1000".to_owned(), TableShape { lookups_per_request: 1000, ..usual() });
    let buckets = ("1048576x256 buckets=64".to_owned(), TableShape { buckets: 64, ..usual() });
    let path = (
        "1048576x672 path=20".to_owned(),
        TableShape { proof_nodes: 20, ..TableShape::new(1 << 20, 672, 100) },
    );
    sizes.chain(goals).chain([together, buckets, path]).collect()
}

fn abilities(entry: &SchemeEntry) -> String {
    let server = &entry.server;
    let all = [
        ("batch", entry.batch.is_some()),
        ("whitening", server.whitening.is_some()),
        ("parts", server.parts.is_some()),
        ("patch", entry.patch.is_some()),
        ("proven", entry.proven),
        ("update", server.update_image.is_some()),
        ("state", entry.state.is_some()),
        ("sum", entry.sum.is_some()),
        ("units", entry.units.is_some()),
        ("hint-server", entry.hint_server.is_some()),
    ];
    let all: Vec<&str> = all.iter().filter_map(|(name, has)| has.then_some(*name)).collect();
    all.join(" ")
}

fn report(entry: &SchemeEntry, shape: &TableShape, is_detailed: bool) -> String {
    let selected = (entry.select)(shape).and_then(|params| Ok(((entry.report)(&params)?, params)));
    let (report, params) = match selected {
        Ok(found) => found,
        Err(error) => return format!("refused: {error}\n"),
    };
    let (costs, security) = (report.costs, report.security);
    let mut text = format!(
        "{}\n    records={} record_bytes={} artifacts={} keys={} query={} answer={} \
         server_ops={} client_ops={} resident={} client={} budget={}\n",
        String::from_utf8_lossy(&params),
        report.records,
        report.record_bytes,
        costs.artifact_bytes,
        costs.keys_bytes,
        costs.query_bytes,
        costs.answer_bytes,
        costs.server_ops,
        costs.client_ops,
        costs.resident_bytes,
        costs.client_bytes,
        costs.budget,
    );
    writeln!(
        text,
        "    security={:.1} core_svp={:.1?} failure=2^{:.1} by {}",
        security.bits, security.core_svp, report.failure_log2, security.model
    )
    .unwrap();
    for (name, value) in report.details.iter().filter(|_| is_detailed) {
        writeln!(text, "    {name}: {value}").unwrap();
    }
    text
}

fn scheme(entry: &SchemeEntry) -> String {
    let mut text = format!(
        "{}\n  title: {}\n  servers: {}, queried: {}\n  abilities: {}\n",
        entry.id,
        entry.metadata.title,
        entry.servers,
        entry.query_servers,
        abilities(entry)
    );
    let mut shapes = shapes();
    for set in (entry.sets)() {
        writeln!(text, "  set {}: {}", set.name, set.about).unwrap();
        let shape = TableShape { set: Some(set.name.to_owned()), ..TableShape::new(1 << 16, 32, 100) };
        shapes.push((format!("65536x32 set={}", set.name), shape));
    }
    for (name, shape) in shapes {
        let is_detailed = name == DETAILED || shape.set.is_some();
        write!(text, "  {name} {}", report(entry, &shape, is_detailed)).unwrap();
    }
    text
}

#[test]
fn ledger_of_schemes() {
    let mut all: Vec<String> = SCHEMES.par_iter().map(|entry| scheme(entry)).collect();
    all.sort();
    ledger::check("schemes.txt", &all.join("\n"));
}

/// Which schemes go through each conformance trial.
#[test]
fn ledger_of_trials() {
    let mut schemes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in SCHEMES {
        for trial in trials(Box::leak(Box::new(Subject::private(entry)))) {
            let (scheme, name) = trial.name().split_once("::").unwrap();
            assert_eq!(scheme, entry.id.0);
            schemes.entry(name.to_owned()).or_default().push(entry.id.0);
        }
    }
    let lines = schemes.into_iter().map(|(trial, mut of)| {
        of.sort_unstable();
        let all = of.len() == SCHEMES.len();
        format!("{trial}: {}\n", if all { "every scheme".to_owned() } else { of.join(" ") })
    });
    ledger::check("trials.txt", &lines.collect::<String>());
}
