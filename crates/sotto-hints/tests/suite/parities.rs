//! Parities are sums of the rows of their sets: through queries, epochs and whole budgets, of every kind of hints.

use ::checklist::PuncturedSets;
use ::lp_treepir::PrivatelyPuncturedSets;
use ::piano::FullSets;
use ::s3pir::HalfSets;
use rand_core::Rng;
use sotto_core::{Budget, Client as _, Error, RecordIndex, Stateful, UpdateImage};
use sotto_hints::one_server::OneServerScheme;
use sotto_hints::two_server::TwoServerScheme;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;
use std::collections::VecDeque;

/// A scheme with hints that a test can inspect.
pub(crate) trait Hinted: Stateful + UpdateImage {
    /// A table whose clients can make at least `queries` queries.
    fn table(rows: u64, row_bytes: u64, queries: u64) -> InProcessServer<Self>;
    /// A client with all its hints.
    fn client(table: &InProcessServer<Self>, label: &str) -> Self::Client;
    /// Checks every parity that is known; if no query waits, all are.
    fn check_parities(table: &InProcessServer<Self>, client: &Self::Client, waits: bool);
}

/// Runs a check on all schemes with hints.
macro_rules! all {
    ($($check:ident;)*) => {
        all! { checklist TwoServerScheme<PuncturedSets>; $($check;)* }
        all! { lp_treepir TwoServerScheme<PrivatelyPuncturedSets>; $($check;)* }
        all! { s3pir OneServerScheme<HalfSets>; $($check;)* }
        all! { piano OneServerScheme<FullSets>; $($check;)* }
    };
    ($name:ident $scheme:ty; $($check:ident;)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $check() { super::$check::<$scheme>(); })*
        }
    };
}

all! {
    every_row_of_every_small_table;
    any_sequence_to_the_end_of_the_budget;
    queries_before_answers;
    every_parity_follows;
}

fn every_row_of_every_small_table<S: Hinted>() {
    for rows in 1..=70 {
        let rng = &mut seeded("every row");
        let table = S::table(rows, [1, 2, 3, 8, 16, 32, 33, 64][rows as usize % 8], 100);
        let mut client = S::client(&table, "every row");
        S::check_parities(&table, &client, false);
        (0..rows).for_each(|index| table.fetch(&mut client, index, rng).unwrap());
        S::check_parities(&table, &client, false);
    }
}

/// Any sequence of queries that the bounds cover finds hints and right rows until the budget ends.
fn any_sequence_to_the_end_of_the_budget<S: Hinted>() {
    let (n, w) = (250, 16);
    let table = S::table(n, 5, 900);
    let sequences: [(&str, &dyn Fn(u64, u64) -> u64); 6] = [
        ("one row", &|_, _| 77),
        ("one run of rows", &|i, _| 3 * w + i % w),
        ("one row of each run", &|i, _| i * w % n / w * w),
        ("one row after the other", &|i, _| i % n),
        ("two rows in turn", &|i, _| [0, n - 1][i as usize % 2]),
        ("any row", &|_, random| random % n),
    ];
    for (name, sequence) in sequences {
        let (mut client, rng) = (S::client(&table, name), &mut seeded(name));
        let Budget::Left(queries) = client.budget() else { panic!("hints are used up") };
        for i in 0..queries {
            assert_eq!(client.budget(), Budget::Left(queries - i));
            let index = sequence(i, rng.next_u64());
            assert!(table.fetch(&mut client, index, rng).is_ok(), "{name}, query {i}");
        }
        S::check_parities(&table, &client, false);
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
    }
}

/// Queries are made while the hints that they need still wait for rows or parities.
fn queries_before_answers<S: Hinted>() {
    let table = S::table(200, 9, 600);
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = S::client(&table, "before answers");
        let Budget::Left(queries) = client.budget() else { panic!("hints are used up") };
        let mut waiting = VecDeque::new();
        for i in 0..queries {
            // Row 7 is requested again before it was recovered.
            let index = if i < 3 * depth && i % 3 == 0 { 7 } else { rng.next_u64() % 200 };
            waiting.push_back((index, table.query(&mut client, index, rng)));
            if waiting.len() as u64 == depth {
                if i % 8 == 0 {
                    S::check_parities(&table, &client, true);
                }
                let (index, asked) = waiting.pop_front().unwrap();
                table.read(&mut client, index, asked).unwrap();
            }
        }
    }
}

fn every_parity_follows<S: Hinted>() {
    for rows in [1, 2, 9, 50, 100] {
        let rng = &mut seeded("follow");
        let mut table = S::table(rows, 6, 200);
        let mut client = S::client(&table, "follow");
        let changed: [Vec<u64>; 4] =
            [vec![], vec![rows - 1], (0..rows).step_by(3).collect(), (0..rows).collect()];
        for changed in changed {
            (0..5).for_each(|i| table.fetch(&mut client, i % rows, rng).unwrap());
            // These wait while the table changes; two of them need the same row.
            let waiting = [0, 0, rows - 1, rows / 2].map(|row| (row, table.query(&mut client, row, rng)));
            let (next, delta) = table.update_image(&changed, rng);
            table = next;
            S::apply_delta(&mut client, &delta).unwrap();
            S::check_parities(&table, &client, true);
            waiting.into_iter().for_each(|(row, asked)| table.read(&mut client, row, asked).unwrap());
            S::check_parities(&table, &client, false);
        }
        // Backups were updated too: each becomes a hint, whose parity is then checked.
        for _ in 0..150 {
            if client.budget() == Budget::Left(0) {
                break;
            }
            let random = rng.next_u64() % rows;
            table.fetch(&mut client, random, rng).unwrap();
        }
        S::check_parities(&table, &client, false);
    }
}
