//! Named parameter sets.

use super::subject::{Case, Fill, Subject, Table};
use crate::rng::seeded;
use sotto_core::{Error, ParamsError, RecordIndex, TableShape};

/// Records in a table: enough for several rows and columns in any arrangement of a scheme.
const RECORDS: u64 = 21;

/// Maximum bytes of a table of a set with very large records.
const MAX_BYTES: u64 = 6 << 20;

/// Every named set recovers the right rows: of a table of many records of narrow rows, and of one
/// whose rows are wider than the set takes at once.
pub fn come_back(subject: &Subject) {
    for set in (subject.entry.sets)() {
        let natural = natural_record(subject, set.name);
        let records = RECORDS.min(MAX_BYTES / natural).max(2);
        let narrow = (natural / 5).max(1);
        check(subject, set.name, records * (natural / narrow) - 1, narrow);
        check(subject, set.name, 3, natural + 100);
    }
}

/// The record size of a set in a large table of narrow rows.
fn natural_record(subject: &Subject, set: &str) -> u64 {
    let shape = TableShape { set: Some(set.to_owned()), ..TableShape::new(1 << 20, 1, 100) };
    let params = (subject.entry.select)(&shape).expect("a set takes a table of a megabyte");
    (subject.entry.report)(&params).expect("selected parameters are good ones").record_bytes
}

fn check(subject: &Subject, set: &str, rows: u64, row_bytes: u64) {
    let case = Case { rows, row_bytes, fill: Fill::Random };
    let table = Table::encode_set(subject.entry, case, Some(set));
    let rng = &mut seeded(&format!("{set} {case:?}"));
    let mut client = table.client(rng);
    let keys = client.keys();
    assert_eq!(keys.len() as u64, table.report.costs.keys_bytes, "{set}");
    let session = table.server.admit(&keys).expect("a client's own keys are admitted");
    let wanted = [0, table.report.records * 2 / 3, table.report.records - 1];
    let (queries, tickets): (Vec<_>, Vec<_>) = wanted
        .map(|record| client.query(RecordIndex(record), rng).expect("a query within bounds"))
        .into_iter()
        .unzip();
    let asks: Vec<_> = queries.iter().map(|query| (&session, query[0].as_slice())).collect();
    let answers = table.server.answer_many(&asks);
    for ((record, ticket), answer) in wanted.into_iter().zip(tickets).zip(answers) {
        let answer = answer.expect("a client's own query is answered");
        assert_eq!(answer.len() as u64, table.report.costs.answer_bytes, "{set}");
        let got = client.recover(ticket, &[answer]).expect("an honest answer is read");
        assert!(
            got.bytes() == table.record(record),
            "set {set}: record {record} of {case:?} came back changed"
        );
    }
}

/// A name that no scheme gives to a set.
pub fn unknown(subject: &Subject) {
    let shape = TableShape { set: Some("no set has this name".to_owned()), ..TableShape::new(100, 32, 100) };
    match (subject.entry.select)(&shape) {
        Err(Error::Params(ParamsError::Field { field: "set", .. })) => {}
        other => panic!("a set that does not exist gave {other:?}"),
    }
}
