//! Rows come back: all of them, in any order, to the end of the budget, and before earlier answers have come.

use super::setup::Table;
use rand_core::Rng;
use sotto_core::{Budget, Client as _, Error, RecordIndex};
use sotto_testkit::rng::seeded;
use std::collections::VecDeque;

#[test]
fn every_row_of_every_small_table() {
    for rows in 1..=70 {
        let rng = &mut seeded("every row");
        let table = Table::new(rows, [1, 2, 3, 7, 8, 33][rows as usize % 6], 100);
        let mut client = table.client(rows);
        table.check_parities(&client);
        let lookups = rows.min(table.params.queries() as u64);
        (0..lookups).for_each(|index| table.fetch(&mut client, index, rng).unwrap());
        table.check_parities(&client);
    }
}

/// Sequences that the bound covers, on a table of which a partition has more rows than backups.
#[test]
fn covered_sequences_to_the_end_of_the_budget() {
    let table = Table::new(5000, 5, u64::MAX);
    let (n, queries) = (5000, table.params.queries() as u64);
    assert_eq!((table.params.partitions(), table.params.partition_rows()), (40, 128));
    assert!(table.params.backups() < 100 && queries > 300, "{:?}", table.params);
    let sequences: [(&str, &dyn Fn(u64, u64) -> u64); 6] = [
        ("one row", &|_, _| 77),
        ("one run of rows", &|i, _| 3 * 128 + i % 128),
        ("every 128th row", &|i, _| (i * 128 + i / 40) % n),
        ("one row after the other", &|i, _| i % n),
        ("two rows in turn", &|i, _| [0, n - 1][i as usize % 2]),
        ("any row", &|_, random| random % n),
    ];
    for (key, (name, sequence)) in (0..).zip(sequences) {
        let rng = &mut seeded(name);
        let mut client = table.client(key);
        for i in 0..queries {
            assert_eq!(client.budget(), Budget::Left(queries - i));
            let random = rng.next_u64();
            assert!(table.fetch(&mut client, sequence(i, random), rng).is_ok(), "{name}, query {i}");
        }
        table.check_parities(&client);
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
    }
}

/// Queries are made while the hints they need still wait for rows.
#[test]
fn queries_before_answers() {
    let table = Table::new(3000, 9, u64::MAX);
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = table.client(depth);
        let mut waiting = VecDeque::new();
        for i in 0..table.params.queries() as u64 {
            // Row 7 is asked for again before it was read, which takes a few backups.
            let index = if i < 3 * depth && i % 3 == 0 { 7 } else { rng.next_u64() % 3000 };
            waiting.push_back((index, table.ask(&mut client, index, rng)));
            if waiting.len() as u64 == depth {
                if i % 16 == 0 {
                    table.check_parities(&client);
                }
                let (index, (request, pending)) = waiting.pop_front().unwrap();
                let record = client.recover(pending, table.answer(&request)).unwrap();
                assert!(record.bytes() == table.row(index), "row {index}, query {i}");
            }
        }
    }
}

/// A row that was read is not asked for again: no backup is used, and the row is the one that was read.
#[test]
fn rows_are_asked_for_once() {
    let table = Table::new(500, 4, u64::MAX);
    let rng = &mut seeded("once");
    let mut client = table.client(3);
    let used =
        |client: &crate::client::Client| client.hints.used.iter().map(|used| u64::from(*used)).sum::<u64>();
    for i in 0..60 {
        let (request, pending) = table.ask(&mut client, i % 6, rng);
        let mut answer = table.answer(&request);
        if i >= 6 {
            // The answer to a repeated query plays no part.
            answer.0.0.fill(0x5A);
        }
        let record = client.recover(pending, answer).unwrap();
        assert!(record.bytes() == table.row(i % 6));
        assert_eq!(used(&client), (i + 1).min(6));
    }
    table.check_parities(&client);
}
