//! Guarantees of parameters, damaged literals, and named parameter sets.

use super::subject::{Case, Fill, MIDDLE, NARROW, Subject, Table, WIDE};
use crate::rng::seeded;
use serde_json::{Map, Value, json};
use sotto_catalog::Packing;
use sotto_core::params::{REQUIRED_FAILURE_LOG2, REQUIRED_SECURITY_BITS};
use sotto_core::{Error, ParamsDigest, ParamsError, ParamsReport, RecordIndex, TableShape};

/// Security and failure bounds hold for tables of all sizes; rows fit; digests are of the literal.
pub fn promises(subject: &Subject) {
    let mut shapes = [(1 << 16, 4), (1 << 20, 32), (1 << 24, 2), (1 << 20, 1024)].to_vec();
    shapes.extend([NARROW, MIDDLE, WIDE].map(|case| (case.rows, case.row_bytes)));
    for (rows, row_bytes) in shapes {
        for lookups_per_client in [1, 1_000_000] {
            let shape = TableShape::new(rows, row_bytes, lookups_per_client);
            let params = (subject.entry.select)(&shape).expect("a table of middling size fits");
            let report = (subject.entry.report)(&params).expect("selected parameters are good ones");
            check_promise(&report);
            Packing::new(rows, row_bytes, report.records, report.record_bytes).expect("rows fit");
            assert_eq!(
                report.digest,
                ParamsDigest::of(subject.entry.id, &params),
                "the literal is canonical"
            );
        }
    }
}

/// Requests of several lookups get parameters by which all of them together satisfy the bound.
pub fn together(subject: &Subject) {
    for (rows, row_bytes) in [(MIDDLE.rows, MIDDLE.row_bytes), (1 << 20, 32), (1 << 12, 8192)] {
        for together in [1, 2, 24, 1000] {
            let shape =
                TableShape { lookups_per_request: together, ..TableShape::new(rows, row_bytes, 1000) };
            let params = (subject.entry.select)(&shape).expect("a table of middling size fits");
            let report = (subject.entry.report)(&params).expect("selected parameters are good ones");
            let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes);
            let log2 = packing.expect("rows fit").failure_log2(report.failure_log2);
            assert!(log2 <= shape.required_failure_log2(), "2^{log2} for each of {together}");
        }
    }
}

/// Tables no machine can hold.
pub fn absurd_tables(subject: &Subject) {
    for (rows, row_bytes) in [(u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX), (1 << 40, 1 << 40)] {
        match (subject.entry.select)(&TableShape::new(rows, row_bytes, u64::MAX)) {
            Err(Error::Params(_)) => {}
            other => panic!("{rows} rows of {row_bytes} bytes gave {:?}", other.map(|_| "parameters")),
        }
    }
}

/// Literals cut at each byte, followed by other bytes, and not JSON at all.
pub fn cut_short(subject: &Subject) {
    let params = subject.table(NARROW).params.clone();
    for len in 0..params.len() {
        refused(subject, &params[..len]);
    }
    for more in ["}", "{}", "x", "\0"] {
        refused(subject, &[&params, more.as_bytes()].concat());
    }
    for other in ["null", "[]", "0", "\"\"", "{}", "\u{FEFF}{}"] {
        refused(subject, other.as_bytes());
    }
    refused(subject, &[0xFF; 64]);
    // Deep nesting must not overflow the stack.
    refused(subject, &[b'['; 100_000]);
}

/// Each field removed, and one added.
pub fn fields(subject: &Subject) {
    let literal = literal(subject);
    assert!(!literal.is_empty(), "a literal has fields");
    for name in literal.keys() {
        let mut lacking = literal.clone();
        lacking.remove(name);
        refused_value(subject, lacking);
    }
    let mut extended = literal;
    extended.insert("unheard_of".into(), json!(1));
    refused_value(subject, extended);
}

/// Each field set to an impossible or extreme value: refused, or the guarantees still hold.
pub fn extremes(subject: &Subject) {
    let literal = literal(subject);
    for (name, value) in &literal {
        let mut extremes = vec![json!(null), json!(true), json!([]), json!({}), json!(1.5), json!(-1)];
        extremes.extend([json!(1e300), json!(i64::MIN), json!("x".repeat(10_000)), json!("")]);
        let near = value.as_u64().unwrap_or(0);
        let numbers = [0, 1, near.wrapping_sub(1), near.wrapping_add(1), near.wrapping_mul(2)];
        let powers = [31, 32, 33, 53, 63].map(|bits| 1u64 << bits);
        extremes.extend(numbers.iter().chain(&powers).map(|number| json!(number)));
        extremes.extend([json!(u64::MAX), json!(u32::MAX)]);
        for extreme in extremes {
            let mut changed = literal.clone();
            changed.insert(name.clone(), extreme);
            let bytes = serde_json::to_vec(&changed).unwrap();
            match (subject.entry.report)(&bytes) {
                Ok(report) => check_promise(&report),
                Err(_) => refused(subject, &bytes),
            }
        }
    }
}

fn literal(subject: &Subject) -> Map<String, Value> {
    serde_json::from_slice(&subject.table(NARROW).params).expect("a literal is a JSON object")
}

fn check_promise(report: &ParamsReport) {
    assert!(report.security.bits >= f64::from(REQUIRED_SECURITY_BITS), "{:?}", report.security);
    assert!(!report.security.model.is_empty(), "an estimate has a name");
    assert!(report.failure_log2 <= f64::from(REQUIRED_FAILURE_LOG2), "2^{}", report.failure_log2);
    assert!(report.records >= 1 && report.record_bytes >= 1);
}

#[track_caller]
fn refused_value(subject: &Subject, literal: Map<String, Value>) {
    refused(subject, &serde_json::to_vec(&literal).unwrap());
}

/// Every entry point refuses a bad literal in the same way.
#[track_caller]
fn refused(subject: &Subject, params: &[u8]) {
    let image = std::sync::Arc::new(crate::memory::MemoryImage::default());
    let report = (subject.entry.report)(params).map(|_| ());
    let prepare = (subject.entry.prepare)(params, &mut seeded("refused")).map(|_| ());
    let open = (subject.entry.server.open)(params, image).map(|_| ());
    for result in [report, prepare, open] {
        let text = String::from_utf8_lossy(&params[..params.len().min(200)]);
        assert!(matches!(result, Err(Error::Params(_))), "{text} gave {result:?}");
    }
}

/// Records in a table: enough for several rows and columns in any arrangement of a scheme.
const RECORDS: u64 = 21;

/// Maximum bytes of a table of a set with very large records.
const MAX_BYTES: u64 = 6 << 20;

/// Number of named sets up to which all have a table of wide rows.
const MAX_SETS: usize = 10;

/// Every named set recovers the right rows: of a table of many records of narrow rows, and of one
/// whose rows are wider than the set takes at once.
pub fn sets_come_back(subject: &Subject) {
    let sets = (subject.entry.sets)();
    for (i, set) in sets.iter().enumerate() {
        let natural = natural_record(subject, set.name);
        let records = RECORDS.min(MAX_BYTES / natural).max(2);
        let narrow = (natural / 5).max(1);
        check_set(subject, set.name, records * (natural / narrow) - 1, narrow);
        // Wide rows are split alike in all sets of a form: of dozens, every third one has them, and so
        // does each form of table.
        if sets.len() <= MAX_SETS || i.is_multiple_of(3) {
            check_set(subject, set.name, 3, natural + 100);
        }
    }
}

/// The record size of a set in a large table of narrow rows.
fn natural_record(subject: &Subject, set: &str) -> u64 {
    let shape = TableShape { set: Some(set.to_owned()), ..TableShape::new(1 << 20, 1, 100) };
    let params = (subject.entry.select)(&shape).expect("a set takes a table of a megabyte");
    (subject.entry.report)(&params).expect("selected parameters are good ones").record_bytes
}

fn check_set(subject: &Subject, set: &str, rows: u64, row_bytes: u64) {
    let case = Case { rows, row_bytes, fill: Fill::Random };
    let table = Table::encode_set(subject.entry, case, Some(set));
    let rng = &mut seeded(&format!("{set} {case:?}"));
    let mut client = table.client(rng);
    let keys = client.keys();
    assert_eq!(keys.len() as u64, table.report.costs.keys_bytes, "{set}");
    let session = table.server.admit(&keys).expect("a client's own keys are admitted");
    let requested = [0, table.report.records * 2 / 3, table.report.records - 1];
    let (queries, pendings): (Vec<_>, Vec<_>) = requested
        .map(|record| client.query(RecordIndex(record), rng).expect("a query within bounds"))
        .into_iter()
        .unzip();
    let pairs: Vec<_> = queries.iter().map(|query| (&session, query[0].as_slice())).collect();
    let answers = table.server.answer_many(&pairs);
    for ((record, pending), answer) in requested.into_iter().zip(pendings).zip(answers) {
        let answer = answer.expect("a client's own query is answered");
        assert_eq!(answer.len() as u64, table.report.costs.answer_bytes, "{set}");
        let got = client.recover(pending, &[answer]).expect("an honest answer is read");
        assert!(
            got.bytes() == table.record(record),
            "set {set}: record {record} of {case:?} came back changed"
        );
    }
}

/// A name that no scheme gives to a set.
pub fn unknown_set(subject: &Subject) {
    let shape = TableShape { set: Some("no set has this name".to_owned()), ..TableShape::new(100, 32, 100) };
    match (subject.entry.select)(&shape) {
        Err(Error::Params(ParamsError::Field { field: "set", .. })) => {}
        other => panic!("a set that does not exist gave {other:?}"),
    }
}
