//! Every registered scheme, as its clients use it: all their random values are secret, and so is
//! the requested record.

use super::Case;
use crate::secret::{SecretRng, bytes_of, hidden, pick, sent, show, shown, source, timed};
use sotto_core::{AnyClient, AnySession, Budget, RecordIndex, SchemeEntry};
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::subject::{self, Fill, Subject, Table, single};
use sotto_testkit::rng::seeded;

/// A small table, of which all schemes make several records.
const TABLE: subject::Case = subject::Case { rows: 1000, row_bytes: 40, fill: Fill::Random };

/// Number of a table's buckets, and their content: in some schemes several blocks.
const BUCKETS: (u64, subject::Case) = (3, subject::Case { rows: 1600, row_bytes: 40, fill: Fill::Random });

/// Tables that run code which a scheme's other tables do not, by a named set or by a field that their
/// parameters have: one of which SealPIR has several blocks, and answers that hold a ciphertext as digits;
/// FrodoPIR's dense matrix; and YPIR+SP's short blocks and several records in a column.
const SPECIAL: [(&str, &str, Option<&str>, subject::Case); 4] = [
    ("sealpir/1", "seal", Some("seal"), subject::Case { rows: 16_000, row_bytes: 40, fill: Fill::Random }),
    ("simplepir/1", "frodo", Some("frodo"), TABLE),
    ("ypir-sp/2", "block", None, subject::Case { rows: 64, row_bytes: 2048, fill: Fill::Random }),
    ("ypir-sp/2", "scales", None, subject::Case { rows: 1 << 15, row_bytes: 32, fill: Fill::Random }),
];

pub(super) fn cases() -> Vec<Case> {
    let small = |entry| lookup(Subject::private(entry).fresh_table(TABLE));
    let lookups =
        SCHEMES.iter().map(move |entry| Case::new(format!("scheme/{}", entry.id), 2, move || small(entry)));
    let batched = SCHEMES.iter().filter(|entry| entry.batch.is_some());
    let batches = batched.map(|entry| Case::new(format!("scheme/{}/batch", entry.id), 2, || batch(entry)));
    let special = SPECIAL.into_iter().flat_map(|(scheme, name, set, case)| {
        SCHEMES.iter().filter(move |entry| entry.id.0 == scheme).map(move |entry| {
            let table = move || {
                let table = Table::encode_set(entry, case, set);
                let has_field = String::from_utf8_lossy(&table.params).contains(name);
                assert!(set.is_some() || has_field, "{scheme}: parameters without {name}");
                table
            };
            Case::new(format!("scheme/{scheme}/{name}"), 2, move || lookup(table()))
        })
    });
    let added = SCHEMES.iter().filter(|entry| entry.sum.is_some());
    let sums = added.map(|entry| Case::new(format!("scheme/{}/sum", entry.id), 2, || sum(entry)));
    lookups.chain(batches).chain(sums).chain(special).collect()
}

fn lookup(table: Table) -> impl FnMut(usize) {
    let entry = table.entry;
    let records = table.report.records;
    assert!(records > 1, "{}: there is nothing to hide", entry.id);
    let (mut client, mut session) = prepared(&table);
    move |round| {
        // The number of lookups is not secret.
        if shown(client.budget()) == Budget::Left(0) {
            (client, session) = prepared(&table);
        }
        let record = pick([records / 3, records - 1][round], records);
        let index = RecordIndex(hidden(record));
        let rng = &mut SecretRng(source(&format!("{} {round}", entry.id)));
        let (queries, pending) = timed(|| client.query(index, rng)).expect("a query within bounds");
        stock(client.as_mut(), &table);
        let answer = |query: &Vec<u8>| single(table.server.as_ref(), &session, query);
        let answers: Result<Vec<_>, _> = sent(queries).iter().map(answer).collect();
        let answers = answers.expect("a client's own query is answered");
        let mut read = timed(|| client.recover(pending, &answers));
        // The reader learns whether the answer was readable.
        show(&mut read);
        let read = read.expect("an honest answer is read");
        assert!(bytes_of(&read) == table.record(record), "{}: another record", entry.id);
    }
}

/// A client with secret keys, and its session.
fn prepared(table: &Table) -> (Box<dyn AnyClient>, AnySession) {
    let rng = &mut SecretRng(seeded(table.entry.id.0));
    let mut client = table.unstocked(&table.image, rng).expect("a fresh image prepares a client");
    stock(client.as_mut(), table);
    let keys = sent(vec![client.keys()]).concat();
    (client, table.server.admit(&keys).expect("a client's own keys are admitted"))
}

/// A record of each bucket.
fn batch(entry: &'static SchemeEntry) -> impl FnMut(usize) {
    let (buckets, each) = BUCKETS;
    let table = Table::encode_buckets(entry, each, buckets);
    let records = table.report.records / buckets;
    assert!(records > 1, "{}: there is nothing to hide", entry.id);
    let (mut client, session) = prepared(&table);
    move |round| {
        let written = |bucket: u64| [bucket * (records - 1) / buckets, records - 1 - bucket][round];
        let places: Vec<u64> = (0..buckets).map(|bucket| pick(written(bucket), records)).collect();
        let secret: Vec<u64> = places.iter().copied().map(hidden).collect();
        let rng = &mut SecretRng(source(&format!("{} {round}", entry.id)));
        let batch = client.batch().expect("a client of a scheme with buckets");
        let (queries, pending) = timed(|| batch.query_buckets(&secret, rng)).expect("places within bounds");
        let answers = table.answer(&session, &sent(queries)).expect("a client's own query is answered");
        let mut read = timed(|| batch.recover_buckets(pending, &answers));
        show(&mut read);
        let read = read.expect("an honest answer is read");
        for (bucket, (record, place)) in (0..).zip(read.iter().zip(places)) {
            let right = table.record(bucket * records + place);
            assert!(bytes_of(record) == right, "{}: another record of bucket {bucket}", entry.id);
        }
    }
}

/// The sum of a few records.
fn sum(entry: &'static SchemeEntry) -> impl FnMut(usize) {
    let table = Subject::private(entry).fresh_table(TABLE);
    let (records, unit) = (table.report.records, entry.sum.expect("what is added up"));
    let (mut client, session) = prepared(&table);
    move |round| {
        let first = pick([0, records - 2][round], records - 1);
        let ones = u128::from(pick([3, 2][round], 4));
        let rng = &mut SecretRng(source(&format!("{} sum {round}", entry.id)));
        let (index, secret) = (RecordIndex(hidden(first)), hidden(ones));
        let sum = client.sum().expect("a client of a scheme with sums");
        let (queries, pending) = timed(|| sum.query_sum(index, secret, rng)).expect("a query within bounds");
        let answers = table.answer(&session, &sent(queries)).expect("a client's own query is answered");
        let mut read = timed(|| client.recover(pending, &answers));
        show(&mut read);
        let read = bytes_of(&read.expect("an honest answer is read"));
        let added = (0..2).filter(|i| ones >> i & 1 == 1).map(|i| unit.number(table.record(first + i)));
        let added = unit.bytes_of(added.fold(0, u16::wrapping_add));
        assert!(unit.bytes_of(unit.number(&read)) == added, "{}: another sum", entry.id);
    }
}

/// Has all hints made that a client can request.
fn stock(client: &mut dyn AnyClient, table: &Table) {
    let (Some(hint_client), Some(hint_server)) = (client.hint_client(), table.server.hint_server()) else {
        return;
    };
    while let Some(request) = hint_client.next_hint_request().expect("a client's own order") {
        let request = sent(vec![request]).concat();
        let response = hint_server.answer_hint_request(&request).expect("an honest order is supplied");
        hint_client.apply_hint_response(&response).expect("an honest supply is taken");
    }
}
