//! Hints from the streamed table, of both schemes that have such: parities are sums of the rows that their hints contain, through
//! queries, epochs and whole budgets.

use piano::Whole;
use rand_core::Rng;
use s3pir::Halves;
use sotto_core::{Budget, Client as _, Error, Params as _, RecordIndex, Shape, Stateful};
use sotto_hints::stream::{Client, Family, LIVE, OWED, Order, Params, Place, Prf, Stock, Streamed};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::Served;
use std::collections::{BTreeSet, VecDeque};

type Table<F> = Served<Streamed<F>>;

fn params<F: Family>(rows: u64, row_bytes: u64, lookups: u64) -> Params<F> {
    Params::check(Params::<F>::select(&Shape::new(rows, row_bytes, lookups)).unwrap()).unwrap()
}

/// Where each row lies.
fn places<F: Family>(params: &Params<F>) -> Vec<Place> {
    let mut places = vec![Place::default(); params.rows() as usize];
    F::Order::new(params.partitions(), params.partition_rows()).run(0, &mut places);
    places
}

/// Every parity that is known, against the rows of its set; what was spent has none.
fn check_parities<F: Family>(table: &Table<F>, client: &Client<F>) {
    let places = places(&table.params);
    for id in 0..client.hints.none() {
        let hint = client.hints.hint(id);
        let mut sum = vec![0; table.params.row_bytes()];
        if hint.mark & (LIVE | OWED) != 0 && hint.mark & F::KNOWN != 0 {
            for (row, place) in (0..).zip(&places) {
                if F::contains(&client.prf, id, &hint, *place) {
                    sum.iter_mut().zip(table.row(row)).for_each(|(sum, byte)| *sum ^= byte);
                }
            }
        } else if client.hints.stock.has(&table.params, id as usize, &hint)[0] {
            // A backup, or a hint that waits for its row.
            continue;
        }
        assert!(client.hints.parity(id) == sum, "{id} of {}: {hint:?}", F::ID);
    }
}

fn every_small_table<F: Family>() {
    for rows in 1..=70 {
        let rng = &mut seeded("every row");
        let table = Table::<F>::new(params(rows, [1, 2, 3, 7, 8, 33][rows as usize % 6], 100));
        let mut client = table.client(&format!("{rows} rows"));
        check_parities(&table, &client);
        (0..rows).for_each(|index| table.fetch(&mut client, index, rng).unwrap());
        check_parities(&table, &client);
    }
}

#[test]
fn every_row_of_every_small_table() {
    every_small_table::<Halves>();
    every_small_table::<Whole>();
}

/// Sequences that both schemes' bounds cover.
fn sequences<F: Family>(rows: u64, row_bytes: u64) {
    let table = Table::<F>::new(params(rows, row_bytes, u64::MAX));
    let (queries, w) = (table.params.queries() as u64, table.params.partition_rows() as u64);
    assert!(queries > 300, "{:?}", table.params);
    let sequences: [(&str, &dyn Fn(u64, u64) -> u64); 6] = [
        ("one row", &|_, _| 77),
        ("one run of rows", &|i, _| 3 * w + i % w),
        ("one row of each run", &|i, _| (i * w + i / (rows / w)) % rows),
        ("one row after the other", &|i, _| i % rows),
        ("two rows in turn", &|i, _| [0, rows - 1][i as usize % 2]),
        ("any row", &|_, random| random % rows),
    ];
    for (name, sequence) in sequences {
        let rng = &mut seeded(name);
        let mut client = table.client(name);
        for i in 0..queries {
            assert_eq!(client.budget(), Budget::Left(queries - i));
            let random = rng.next_u64();
            assert!(table.fetch(&mut client, sequence(i, random), rng).is_ok(), "{name}, query {i}");
        }
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
        if rows < 1000 {
            check_parities(&table, &client);
        }
    }
}

#[test]
fn sequences_to_the_end_of_the_budget() {
    sequences::<Halves>(250, 5);
    // Of a partition there are more rows than backups.
    sequences::<Whole>(5000, 5);
}

/// Queries are made while the hints they need still wait for rows.
fn before_answers<F: Family>(rows: u64) {
    let table = Table::<F>::new(params(rows, 9, u64::MAX));
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = table.client("before answers");
        let mut waiting = VecDeque::new();
        for i in 0..table.params.queries() as u64 {
            // Row 7 is asked for again before it was read.
            let index = if i < 3 * depth && i % 3 == 0 { 7 } else { rng.next_u64() % rows };
            waiting.push_back((index, table.ask(&mut client, index, rng)));
            if waiting.len() as u64 == depth {
                if i % 64 == 0 {
                    check_parities(&table, &client);
                }
                let (index, asked) = waiting.pop_front().unwrap();
                table.read(&mut client, index, asked).unwrap();
            }
        }
    }
}

#[test]
fn queries_before_answers() {
    before_answers::<Halves>(60);
    before_answers::<Whole>(1000);
}

fn follows<F: Family>() {
    for rows in [1, 2, 9, 50, 100] {
        let rng = &mut seeded("follow");
        let mut table = Table::<F>::new(params(rows, 6, 200));
        let mut client = table.client("follow");
        let changed: [Vec<u64>; 4] =
            [vec![], vec![rows - 1], (0..rows).step_by(3).collect(), (0..rows).collect()];
        for changed in changed {
            for i in 0..5 {
                table.fetch(&mut client, i % rows, rng).unwrap();
            }
            // These wait while the table changes; two of them need the same row.
            let waiting = [0, 0, rows - 1, rows / 2].map(|row| (row, table.ask(&mut client, row, rng)));
            let (next, delta) = table.revise(&changed, rng);
            table = next;
            Streamed::<F>::follow(&mut client, &delta).unwrap();
            check_parities(&table, &client);
            waiting.into_iter().for_each(|(row, asked)| table.read(&mut client, row, asked).unwrap());
            check_parities(&table, &client);
        }
        // Backups followed too: each becomes a hint, whose parity is then looked at.
        while client.budget() != Budget::Left(0) {
            let random = rng.next_u64() % rows;
            table.fetch(&mut client, random, rng).unwrap();
        }
        check_parities(&table, &client);
    }
}

#[test]
fn every_parity_follows() {
    follows::<Halves>();
    follows::<Whole>();
}

fn tags<F: Family>() {
    let prf = Prf::<F>::new(&params(1 << 16, 1, 1000), &[1; 16]);
    let tags: Vec<u16> = (0..4096).map(|i| prf.tag(Place { partition: i / 256, offset: i % 256 })).collect();
    assert!(!tags.contains(&0));
    let distinct = tags.iter().collect::<BTreeSet<_>>().len();
    // 4096^2 / 2 / 65535 = 128 pairs are expected to meet.
    assert!((3900..4096).contains(&distinct), "{distinct} of 4096");
}

#[test]
fn tags_of_one_key_seldom_meet() {
    tags::<Halves>();
    tags::<Whole>();
}
