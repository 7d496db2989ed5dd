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
        let table = Table::new(rows, [1, 2, 8, 16, 32, 33, 64][rows as usize % 7], 100);
        let mut client = table.client(rows);
        assert_eq!(table.check_parities(&client), table.params.hints());
        (0..rows).for_each(|index| table.fetch(&mut client, index, rng).unwrap());
        assert_eq!(table.check_parities(&client), table.params.hints());
    }
}

#[test]
fn trees_of_several_levels() {
    let rng = &mut seeded("levels");
    for (rows, partitions, beside) in [((1 << 11) - 5, 64, 1), ((1 << 14) - 300, 128, 3), (1 << 15, 256, 4)] {
        let table = Table::new(rows, [4, 32][usize::from(rows > 9999)], 100);
        assert_eq!(
            (table.params.partitions(), crate::tree::Trees::new(&table.params).beside()),
            (partitions, beside)
        );
        let mut client = table.client(1);
        for index in (0..rows).step_by(rows as usize / 90) {
            table.fetch(&mut client, index, rng).unwrap();
        }
        assert_eq!(table.check_parities(&client), table.params.hints());
    }
}

/// Whatever is asked, and however often: hints are found and rows right until the budget ends.
#[test]
fn any_sequence_to_the_end_of_the_budget() {
    let (n, queries) = (250, 900);
    let table = Table::new(n, 5, queries);
    let sequences: [(&str, &dyn Fn(u64, u64) -> u64); 4] = [
        ("one row", &|_, _| 77),
        ("one row after the other", &|i, _| i % n),
        ("two rows in turn", &|i, _| [0, n - 1][i as usize % 2]),
        ("any row", &|_, random| random % n),
    ];
    for (key, (name, sequence)) in (0..).zip(sequences) {
        let rng = &mut seeded(name);
        let mut client = table.client(key);
        for i in 0..queries {
            assert_eq!(client.budget(), Budget::Left(queries - i));
            let index = sequence(i, rng.next_u64());
            let (requests, pending) = table.ask(&mut client, index, rng);
            let record = client.recover(pending, table.answer(&requests)).unwrap();
            assert!(record.bytes() == table.row(index), "{name}, query {i}");
        }
        assert_eq!(table.check_parities(&client), table.params.hints());
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
    }
}

/// Queries are made while the hints they spend still wait for their parities.
#[test]
fn queries_before_answers() {
    let table = Table::new(60, 9, 600);
    let mut waited = 0;
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = table.client(depth);
        let mut waiting = VecDeque::new();
        for i in 0..600 {
            let index = if i % 3 == 0 { 7 } else { rng.next_u64() % 60 };
            waiting.push_back((index, table.ask(&mut client, index, rng)));
            let last = &client.asked[client.asked.len() - 1];
            waited += u32::from(last.spent.standing == crate::client::AWAITED);
            if waiting.len() as u64 == depth {
                table.check_parities(&client);
                let (index, (requests, pending)) = waiting.pop_front().unwrap();
                let record = client.recover(pending, table.answer(&requests)).unwrap();
                assert!(record.bytes() == table.row(index), "row {index}, query {i}");
            }
        }
    }
    assert!(waited > 20, "{waited} queries spent a hint that waited");
}

#[test]
fn orders_come_block_by_block_and_are_the_same_until_they_are_met() {
    use crate::TreePir;
    use sotto_core::Upkeep;
    let table = Table::new(3, 60_000, 1000);
    assert!(table.params.blocks() > 2 && !table.params.hints().is_multiple_of(table.params.block_hints()));
    let mut client = table.unstocked(1);
    for block in 0..table.params.blocks() {
        assert_eq!(client.budget(), Budget::Left(0));
        assert!(matches!(client.query(RecordIndex(0), &mut seeded("none")), Err(Error::Exhausted(_))));
        let order = TreePir::order(&mut client).unwrap().unwrap();
        assert_eq!(TreePir::order(&mut client).unwrap().unwrap(), order);
        assert_eq!(order.block, block);
        TreePir::stock(&mut client, table.supply(&order)).unwrap();
        // A supply names no block, so the same one would be taken for that of the next.
        let again = TreePir::stock(&mut client, table.supply(&order));
        assert!(matches!(again, Err(Error::Misuse(_))), "a supply is taken once");
        assert!(table.check_parities(&client) >= table.params.block_hints().min(table.params.hints()));
    }
    assert_eq!(client.budget(), Budget::Left(1000));
    assert!(TreePir::order(&mut client).unwrap().is_none());
    let spare = table.supply(&crate::message::Order { key: client.key.clone(), block: 0 });
    assert!(matches!(TreePir::stock(&mut client, spare), Err(Error::Misuse(_))));
    table.fetch(&mut client, 2, &mut seeded("stocked")).unwrap();
}
