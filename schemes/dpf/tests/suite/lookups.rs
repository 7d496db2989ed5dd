//! Records come back: all of them from small tables, and some from tables at every edge of blocks, leaves and boughs.

use crate::setup::{Table, keys, params};
use sotto_core::{Client as _, RecordIndex, Server as _, TwoServers, Wire};
use sotto_dpf::message::{Answer, Query};
use sotto_testkit::rng::seeded;

#[test]
fn every_record_of_every_small_table() {
    for records in 1..=70 {
        for width in [8, 16, 24, 32, 40] {
            let table = Table::new(records, width);
            for index in 0..records {
                let got = table.lookup(index, &format!("{records} {width} {index}"));
                assert_eq!(got, table.record(index), "record {index} of {records} x {width}");
            }
        }
    }
}

#[test]
fn tables_around_the_sizes_of_blocks_leaves_and_boughs() {
    let sizes =
        [511, 512, 513, 519, 520, 1023, 1024, 1025, 1536, 1537, 4095, 4104, (1 << 19) - 1, (1 << 19) + 9];
    for records in sizes {
        let table = Table::new(records, 8);
        for index in [0, 1, 7, 8, 510, 511, 512, records / 2, records - 2, records - 1] {
            let index = index.min(records - 1);
            assert_eq!(table.lookup(index, "edge"), table.record(index), "record {index} of {records}");
        }
    }
}

/// Answers to both keys, put together from one server of each of two clients, are no record: nothing tells the client.
#[test]
fn shares_of_two_queries_do_not_add_up() {
    let table = Table::new(600, 32);
    let (mut client, rng) = (table.client(), &mut seeded("foreign"));
    let (TwoServers(a, _), pending) = client.query(RecordIndex(9), rng).unwrap();
    let (TwoServers(_, b), _) = client.query(RecordIndex(9), rng).unwrap();
    let answers =
        TwoServers(table.server.answer(&(), a.clone()).unwrap(), table.server.answer(&(), b).unwrap());
    assert_ne!(client.recover(pending, answers).unwrap().bytes(), table.record(9));

    // One key, answered twice, is the record of nobody: the answers are equal.
    let (_, pending) = client.query(RecordIndex(9), rng).unwrap();
    let twice =
        TwoServers(table.server.answer(&(), a.clone()).unwrap(), table.server.answer(&(), a).unwrap());
    assert_eq!(client.recover(pending, twice).unwrap().bytes(), [0; 32]);
}

/// A key is any bytes: what it selects is then some records, and never a fault.
#[test]
fn a_key_of_any_bytes_is_answered() {
    let table = Table::new(3000, 16);
    let [good, _] = keys(&table.params, 5, "any");
    for fill in [0x00, 0x55, 0xFF] {
        let mut bytes = vec![fill; good.len()];
        // The control bits are seven: one for the root and two for each of three levels.
        *bytes.last_mut().unwrap() &= 0x7F;
        let query = sotto_dpf::message::Query::take(&table.params, &bytes).unwrap();
        table.server.answer(&(), query).unwrap();
    }
    assert_eq!(params(3000, 16).depth(), 3);
}

fn answers(table: &Table, queries: &[Query], threads: usize) -> Vec<Answer> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pairs = queries.iter().map(|query| (&(), query.clone())).collect();
    pool.install(|| table.server.answer_many(pairs)).into_iter().map(Result::unwrap).collect()
}

#[test]
fn threads_and_batches_change_nothing() {
    // More leaves than a turn has, and a last turn, leaf and block that are not full.
    for (records, width) in [(300_005, 8), (40_003, 72), (700, 2056)] {
        let table = Table::new(records, width);
        let (mut client, rng) = (table.client(), &mut seeded("batches"));
        let indices: Vec<u64> = (0..100).map(|i| i * 7919 % records).collect();
        let (pairs, pendings): (Vec<_>, Vec<_>) =
            indices.iter().map(|index| client.query(RecordIndex(*index), rng).unwrap()).unzip();
        let (first, second): (Vec<Query>, Vec<Query>) =
            pairs.into_iter().map(|TwoServers(a, b)| (a, b)).unzip();
        let one_by_one: Vec<_> =
            first.iter().map(|query| table.server.answer(&(), query.clone()).unwrap()).collect();
        for (size, threads) in [(2, 1), (8, 2), (9, 3), (48, 1), (49, 7), (100, 16)] {
            assert!(
                answers(&table, &first[..size], threads) == one_by_one[..size],
                "{size} by {threads} threads"
            );
        }
        let others = answers(&table, &second, 2);
        for (((index, pending), a), b) in indices.iter().zip(pendings).zip(one_by_one).zip(others) {
            let record = client.recover(pending, TwoServers(a, b)).unwrap();
            assert_eq!(record.bytes(), table.record(*index), "record {index}");
        }
    }
}
