//! Rows come back: all of them, in any order, to the end of the budget, and before earlier answers have come.

use super::setup::Table;
use crate::prf::VOID;
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
        (0..rows).for_each(|index| table.fetch(&mut client, index, rng).unwrap());
        table.check_parities(&client);
    }
}

/// Whatever is asked, and however often: hints are found and rows right until the budget ends.
#[test]
fn any_sequence_to_the_end_of_the_budget() {
    let table = Table::new(250, 5, u64::MAX);
    let (n, w) = (250, table.params.partition_rows() as u64);
    assert_eq!((table.params.partitions(), w, table.params.pairs()), (16, 16, 640));
    let sequences: [(&str, &dyn Fn(u64, u64) -> u64); 6] = [
        ("one row", &|_, _| 77),
        ("one partition", &|i, _| 3 * w + i % w),
        ("one offset of all partitions", &|i, _| i * w % n / w * w),
        ("one row after the other", &|i, _| i % n),
        ("two rows in turn", &|i, _| [0, n - 1][i as usize % 2]),
        ("any row", &|_, random| random % n),
    ];
    for (key, (name, sequence)) in (0..).zip(sequences) {
        let rng = &mut seeded(name);
        let mut client = table.client(key);
        for i in 0..640 {
            assert_eq!(client.budget(), Budget::Left(640 - i));
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
    let table = Table::new(60, 9, u64::MAX);
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = table.client(depth);
        let mut waiting = VecDeque::new();
        for i in 0..table.params.pairs() as u64 {
            let index = if i % 3 == 0 { 7 } else { rng.next_u64() % 60 };
            waiting.push_back((index, table.ask(&mut client, index, rng)));
            if waiting.len() as u64 == depth {
                table.check_parities(&client);
                let (index, (request, pending)) = waiting.pop_front().unwrap();
                let record = client.recover(pending, table.answer(&request)).unwrap();
                assert!(record.bytes() == table.row(index), "row {index}, query {i}");
            }
        }
    }
}

/// 2^-32 of ids have no cut; here some pairs lose theirs.
#[test]
fn void_pairs_are_passed_over() {
    let table = Table::new(60, 4, 100);
    let rng = &mut seeded("void pairs");
    let mut client = table.client(1);
    let pairs = table.params.hints()..table.params.ids();
    let void = [pairs.start, pairs.start + 1, pairs.start + 40, pairs.end - 1];
    void.iter().for_each(|id| client.hints.of[*id].cut = VOID);
    client.hints.left -= void.len() as u64;
    for left in (0..100 - void.len() as u64).rev() {
        table.fetch(&mut client, left % 60, rng).unwrap();
        assert_eq!(client.budget(), Budget::Left(left));
    }
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}
