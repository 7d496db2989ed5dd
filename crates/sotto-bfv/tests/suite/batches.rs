//! Batch queries for a record of each of few and of many buckets, whatever the records hold and
//! whichever are requested.

use crate::SCHEMES;
use sotto_core::SchemeEntry;
use sotto_testkit::conformance::subject::{Case, Fill, Table};
use sotto_testkit::rng::seeded;

/// Tests `buckets` buckets of a few rows, with equal and with different records, and with equal and
/// with different places.
fn batches(entry: &'static SchemeEntry, buckets: u64) {
    for fill in [Fill::Byte(0xa5), Fill::Random] {
        let table = Table::encode_buckets(entry, Case { rows: 7, row_bytes: 8, fill }, buckets);
        let each = table.report.records / buckets;
        let rng = &mut seeded("batches");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let wants = |step: u64| (0..buckets).map(|bucket| (each - 1 + step * bucket) % each).collect();
        let all: [Vec<u64>; 2] = [wants(0), wants(1)];
        for places in &all[..if each > 1 { 2 } else { 1 }] {
            let batch = client.batch().unwrap();
            let (queries, ticket) = batch.query_buckets(places, rng).unwrap();
            let answers = table.answer(&session, &queries).unwrap();
            let records = batch.recover_buckets(ticket, &answers).unwrap();
            assert_eq!(records.len() as u64, buckets);
            for (bucket, (record, place)) in (0..).zip(records.iter().zip(places)) {
                let right = table.record(bucket * each + place);
                assert!(record.bytes() == right, "{}: bucket {bucket} of {buckets}", entry.id);
            }
        }
    }
}

fn each_scheme(buckets: u64) {
    SCHEMES.iter().for_each(|entry| batches(entry, buckets));
}

#[test]
fn of_one_bucket() {
    each_scheme(1);
}

#[test]
fn of_two_and_three() {
    each_scheme(2);
    each_scheme(3);
}

#[test]
fn of_twenty() {
    each_scheme(20);
}

#[test]
fn of_a_hundred() {
    each_scheme(100);
}
