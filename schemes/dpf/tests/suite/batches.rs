//! Answers do not depend on how many queries share a pass, or on how many threads share a table.

use crate::setup::Table;
use sotto_core::{Client as _, RecordIndex, Server as _, TwoServers};
use sotto_dpf::message::{Answer, Query};
use sotto_testkit::rng::seeded;

fn answers(table: &Table, queries: &[Query], threads: usize) -> Vec<Answer> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let asks = queries.iter().map(|query| (&(), query.clone())).collect();
    pool.install(|| table.server.answer_many(asks)).into_iter().map(Result::unwrap).collect()
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
