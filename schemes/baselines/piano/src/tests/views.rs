//! The view of the server: every query is uniform, whatever is requested and whatever was requested
//! before; also where a row is requested again, and where its partition has no backup left.
//!
//! Four partitions of four rows have 4^4 queries, few enough to count them. A sum of squares over
//! 256 cells and 30,000 clients moves by more than four of its deviations if the cells'
//! probabilities differ from uniform ones by 6 % (root mean square). Keys and coins are fixed, so a
//! test passes always or never.

use super::{rows_of, table};
use crate::answered_rows::AnsweredRows;
use crate::hints::{BackupsUsed, fresh};
use crate::params::ParamsLiteral;
use crate::places::PartitionPermutation;
use crate::query::Query;
use crate::{Client, Params};
use sotto_core::{Client as _, OneServer, RecordIndex};
use sotto_hints::one_server::{Answer, FamilyState as _, Hints, Prf, RowOrder};
use sotto_testkit::rng::seeded;
use sotto_testkit::uniform;
use zeroize::Zeroizing;

const CLIENTS: u64 = 30_000;

fn params(backups: u64) -> Params {
    let literal = ParamsLiteral {
        rows: 16,
        row_bytes: 1,
        partitions: 4,
        partition_rows: 4,
        hints: 160,
        backups,
        queries: 64,
    };
    Params::of(literal).unwrap()
}

/// A client of a table of zeros, since its queries do not depend on rows; its hints are made fast.
fn client(params: &Params, key: u64) -> Client {
    let key = Zeroizing::new((u128::from(key) << 64 | 5).to_le_bytes());
    let (ids, entries) = (params.ids() + 1, params.partitions() * params.backups() + 1);
    let parts = [ids, entries].map(|len| Zeroizing::new(vec![0; len * params.row_bytes()]));
    let backup_stock =
        BackupsUsed { of: Zeroizing::new(vec![0; params.partitions()]), all: params.backups() as u16 };
    let hints = Hints::new(params, &Prf::new(params, &key), fresh(params).unwrap(), parts, backup_stock);
    Client::new(params.clone(), key, hints, AnsweredRows::new(params).unwrap())
}

/// The number of a query among the 256 possible ones.
fn number_of(query: &Query) -> usize {
    query.offsets.iter().fold(0, |number, offset| number * 4 + usize::from(*offset))
}

fn off(seen: &[u32]) -> f64 {
    uniform::off(seen, seen.len())
}

/// Queries for each sequence of indices, observed alone and next to the one before. Answers come at
/// once or never.
fn check(params: &Params, indices: &[u64], answered: bool) {
    let rng = &mut seeded("views");
    let mut alone = vec![vec![0; 256]; indices.len()];
    // Two partitions of each of two queries, in two combinations.
    let mut pairs = vec![vec![0; 256]; 2 * (indices.len() - 1)];
    for key in 0..CLIENTS {
        let mut client = client(params, key);
        let requests = indices.iter().map(|index| {
            let (OneServer(query), pending) = client.query(RecordIndex(*index), rng).unwrap();
            if answered {
                let _ = client.recover(pending, OneServer(Answer(Zeroizing::new(vec![0]))));
            }
            number_of(&query)
        });
        let requests: Vec<usize> = requests.collect();
        alone.iter_mut().zip(&requests).for_each(|(seen, request)| seen[*request] += 1);
        for (seen, two) in pairs.chunks_mut(2).zip(requests.windows(2)) {
            seen[0][two[0] / 16 * 16 + two[1] / 16] += 1;
            seen[1][two[0] % 16 * 16 + two[1] / 4 % 16] += 1;
        }
    }
    for (what, seen) in
        alone.iter().map(|seen| ("alone", seen)).chain(pairs.iter().map(|seen| ("after", seen)))
    {
        assert!(off(seen) < 4.0, "{indices:?}, {what}: {:.1} deviations from uniform", off(seen));
    }
}

/// Rows of the partition of row 6.
fn neighbors() -> Vec<u64> {
    let params = table(16, 1).params;
    assert_eq!((params.partitions(), params.partition_rows()), (4, 4));
    rows_of(&params, PartitionPermutation::new(4, 4).of(6).partition)
}

#[test]
fn requests_for_one_row_again_and_again_are_uniform() {
    check(&params(64), &[6, 6, 6], false);
    check(&params(64), &[6, 6, 6], true);
}

#[test]
fn requests_for_rows_of_one_partition_are_uniform() {
    let rows = neighbors();
    check(&params(64), &[rows[0], rows[1], rows[0]], false);
}

/// One backup: from the second query on there is none left.
#[test]
fn requests_of_a_starved_partition_are_uniform() {
    let rows = neighbors();
    check(&params(1), &[rows[0], rows[1], rows[2], rows[3]], true);
}

#[test]
fn requests_for_several_rows_are_uniform() {
    check(&params(64), &[15, 0, 10], true);
}

/// The statistic detects a client that leaves its row in the query, or reuses a hint.
#[test]
fn the_statistic_sees_leaks() {
    let params = params(64);
    let (rng, place) = (&mut seeded("leaks"), PartitionPermutation::new(4, 4).of(6));
    let (mut left_in, mut reused) = (vec![0; 256], vec![0; 256]);
    for key in 0..CLIENTS / 5 {
        let mut client = client(&params, key);
        let (OneServer(mut query), _) = client.query(RecordIndex(6), rng).unwrap();
        let first = number_of(&query);
        reused[first / 16 * 16 + first / 16] += 1;
        query.offsets[usize::from(place.partition)] = place.offset;
        left_in[number_of(&query)] += 1;
    }
    assert!(off(&left_in) > 20.0 && off(&reused) > 20.0, "{} {}", off(&left_in), off(&reused));
}
