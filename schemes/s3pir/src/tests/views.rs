//! The view of the server: every query is uniform, whatever is requested and whatever was requested
//! before.
//!
//! Four partitions of four rows have 6 * 16 queries, few enough to count them. A sum of squares
//! over a few hundred cells and 30,000 clients moves by more than four of its deviations if the
//! cells' probabilities differ from uniform ones by 7 % (root mean square). Keys and coins are
//! fixed, so a test passes always or never.

use super::table;
use crate::hints::{BackupPairs, main, pair};
use crate::offline::halves::{cuts, extras};
use crate::query::Query;
use crate::{Client, Params};
use sotto_core::{Client as _, OneServer, RecordIndex};
use sotto_hints::one_server::{Hint, Hints, PartitionPlace, Prf};
use sotto_testkit::rng::seeded;
use sotto_testkit::uniform;
use zeroize::Zeroizing;

const CLIENTS: u64 = 30_000;

/// A client of a table of zeros, since its queries do not depend on rows; its hints are made fast.
fn client(params: &Params, key: u64) -> Client {
    let key = Zeroizing::new((u128::from(key) << 64 | 5).to_le_bytes());
    let prf = Prf::new(params, &key);
    let mut all = vec![0; params.ids()];
    cuts(&prf, 0, &mut all);
    let (mains, pairs) = all.split_at(params.hints());
    let mut places = vec![PartitionPlace::default(); mains.len()];
    extras(&prf, 0, mains, &mut places);
    let mains = mains.iter().zip(&places).map(|(cut, extra)| main(*cut, *extra));
    let of = mains.chain(pairs.iter().map(|cut| pair(*cut))).chain([Hint::default()]).collect();
    let rows = [params.ids(), params.backups()].map(|rows| Zeroizing::new(vec![0; rows + 1]));
    let mut backup_stock = BackupPairs::of(params, 0);
    backup_stock.left = pairs.len() as u64;
    let hints = Hints::new(params, &prf, Zeroizing::new(of), rows, backup_stock);
    Client::new(params.clone(), key, hints, ())
}

/// The number of a query among the 96 possible ones.
fn number_of(query: &Query) -> usize {
    let halves = [0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100];
    let half = halves.iter().position(|half| *half == query.ones[0]).unwrap();
    half * 16 + usize::from(query.offsets[0]) * 4 + usize::from(query.offsets[1])
}

fn off(seen: &[u32]) -> f64 {
    uniform::off(seen, seen.len())
}

/// Queries for each sequence of indices, observed alone and next to the one before.
fn check(indices: &[u64]) {
    let params = table(16, 1, 64).params;
    assert_eq!((params.partitions(), params.partition_rows()), (4, 4));
    let rng = &mut seeded("views");
    let mut alone = vec![vec![0; 96]; indices.len()];
    let mut pairs = vec![vec![0; 24 * 24]; indices.len() - 1];
    for key in 0..CLIENTS {
        let mut client = client(&params, key);
        let requests = indices.iter().map(|index| {
            let (OneServer(query), _) = client.query(RecordIndex(*index), rng).unwrap();
            number_of(&query)
        });
        let requests: Vec<usize> = requests.collect();
        alone.iter_mut().zip(&requests).for_each(|(seen, request)| seen[*request] += 1);
        // For each of two queries, the half and one of the offsets: first with first, and second
        // with first.
        for (seen, two) in pairs.iter_mut().zip(requests.windows(2)) {
            seen[two[0] / 4 * 24 + two[1] / 16 * 4 + two[1] % 4] += 1;
        }
    }
    for (what, seen) in
        alone.iter().map(|seen| ("alone", seen)).chain(pairs.iter().map(|seen| ("after", seen)))
    {
        assert!(off(seen) < 4.0, "{indices:?}, {what}: {:.1} deviations from uniform", off(seen));
    }
}

#[test]
fn requests_for_one_row_again_and_again_are_uniform() {
    check(&[6, 6, 6]);
}

#[test]
fn requests_for_rows_of_one_partition_are_uniform() {
    check(&[4, 5, 4]);
}

#[test]
fn requests_for_several_rows_are_uniform() {
    check(&[15, 0, 10]);
}

/// The statistic detects a client that always puts the real set first, or reuses a hint.
#[test]
fn the_statistic_sees_leaks() {
    let params = table(16, 1, 64).params;
    let rng = &mut seeded("leaks");
    let (mut no_coin, mut reused) = (vec![0; 96], vec![0; 24 * 24]);
    for key in 0..CLIENTS / 5 {
        let mut client = client(&params, key);
        let (OneServer(mut query), _) = client.query(RecordIndex(6), rng).unwrap();
        let first = number_of(&query);
        reused[first / 4 * 24 + (5 - first / 16) * 4 + first % 4] += 1;
        // Row 6 is in partition 1, which is never in the real set.
        if query.ones[0] & 2 != 0 {
            query.ones[0] ^= 0b1111;
        }
        no_coin[number_of(&query)] += 1;
    }
    assert!(off(&no_coin) > 20.0 && off(&reused) > 20.0, "{} {}", off(&no_coin), off(&reused));
}
