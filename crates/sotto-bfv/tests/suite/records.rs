//! How often bytes of an image are read to get records out of it: a plaintext has parts of many
//! records, and is decoded once for all that are requested together.
//!
//! Batch queries for a record of each of few and of many buckets, whatever the records hold and
//! whichever are requested.

use crate::SCHEMES;
use sotto_core::{Image, SchemeEntry, Section};
use sotto_testkit::conformance::subject::{Case, Fill, Table};
use sotto_testkit::memory::MemoryImage;
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An image that counts its reads.
struct Counted(MemoryImage, AtomicUsize);

impl Image for Counted {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.section(section)
    }
}

#[test]
fn parts_of_all_records_cost_no_more_than_the_records_and_those_of_few_columns_less() {
    for entry in SCHEMES {
        // Records of several plaintexts, and many in the same.
        let table = Table::encode_buckets(entry, Case { rows: 200, row_bytes: 600, fill: Fill::Random }, 1);
        let image = Arc::new(Counted(table.image.clone(), AtomicUsize::new(0)));
        let records = (entry.server.records)(&table.params, image.clone()).unwrap();
        let (count, width) = (records.records(), records.record_bytes());
        let looks = |read: &dyn Fn()| {
            let before = image.1.load(Ordering::Relaxed);
            read();
            image.1.load(Ordering::Relaxed) - before
        };
        let whole = looks(&|| records.read(0, &mut vec![0; count as usize * width]).unwrap());
        let parts: Vec<(u64, u64)> = (0..count).map(|record| (record, width as u64 - 8)).collect();
        let of_all = looks(&|| records.read_parts(&parts, &mut vec![0; parts.len() * 8]).unwrap());
        let one = looks(&|| records.read_part(0, width as u64 - 8, &mut [0; 8]).unwrap());
        assert!(one > 0 && one <= of_all && of_all <= whole, "{}: {one}, {of_all}, {whole}", entry.id);
        let groups = whole / looks(&|| records.read(0, &mut vec![0; width]).unwrap());
        assert!(of_all <= one * groups, "{}: {one} for one, {of_all} for all in {groups}", entry.id);
    }
}

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
            let (queries, pending) = batch.query_buckets(places, rng).unwrap();
            let answers = table.answer(&session, &queries).unwrap();
            let records = batch.recover_buckets(pending, &answers).unwrap();
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
