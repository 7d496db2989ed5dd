//! What either server sees: every request is uniform, whatever is asked and whatever was asked before.
//!
//! Among eight places there are 56 sets of three, each with five places outside: few enough to count them. A sum of squares
//! over a few hundred cells and 12,000 clients moves by more than four of its deviations if the cells' probabilities differ
//! from uniform ones by some percent. Keys and coins are fixed, so a test passes always or never.

use super::setup::literal;
use crate::client::Client;
use crate::message::Query;
use crate::params::Params;
use crate::prepare::Prepare;
use crate::request::SPEND;
use crate::tree::Room;
use sotto_core::{Client as _, Params as _, Prepare as _, RecordIndex, Two};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

const CLIENTS: u64 = 12_000;

/// A client of a table of zeros: what it sends does not depend on rows.
fn client(params: &Params, key: u64) -> Client {
    let key = Zeroizing::new((u128::from(key) << 64 | 5).to_le_bytes());
    let mut client = Prepare::with_key(params, key).finish().unwrap();
    (0..params.blocks()).for_each(|_| client.take_block(&[]));
    client
}

/// The set of a request as bits.
fn members(client: &Client, query: &Query) -> usize {
    let room = &mut Room::default();
    let numbers = client.trees.regrow(&query.salt, query.position.into(), &query.beside, &query.others, room);
    let members = numbers.fold(0, |bits, number| bits | 1usize << (number ^ query.shift));
    assert_eq!(members.count_ones(), 3, "repetitions");
    assert_eq!(members >> query.extra & 1, 0, "the extra place is a member");
    members
}

/// The sum of squares less its mean, in its deviations, over the cells that can be.
fn off(seen: &[u32], cells: usize) -> f64 {
    let expected = f64::from(seen.iter().sum::<u32>()) / cells as f64;
    assert!(expected > 3.0 && seen.iter().filter(|count| **count > 0).count() <= cells);
    let sum: f64 = seen.iter().map(|count| f64::from(*count).powi(2) / expected).sum();
    let sum = sum - cells as f64 * expected;
    let freedom = (cells - 1) as f64;
    (sum - freedom) / (2.0 * freedom).sqrt()
}

/// What one server is sent for a sequence of indices: each request alone, and next to the one before.
struct Seen {
    /// Members and extra place: 56 * 5 of 256 * 8.
    sets: Vec<u32>,
    /// Shift, position and extra place: 8 * 4 * 8.
    trees: Vec<u32>,
    /// Members, and those of the request before: 56 * 56 of 256 * 256.
    pairs: Vec<u32>,
}

impl Seen {
    fn new() -> Self {
        Seen { sets: vec![0; 256 * 8], trees: vec![0; 256], pairs: vec![0; 256 * 256] }
    }

    fn count(&mut self, query: &Query, members: usize, before: Option<usize>) {
        self.sets[members * 8 + query.extra as usize] += 1;
        self.trees[query.shift as usize * 32 + usize::from(query.position) * 8 + query.extra as usize] += 1;
        if let Some(before) = before {
            self.pairs[before * 256 + members] += 1;
        }
    }

    fn worst(&self) -> f64 {
        let pairs = if self.pairs.iter().sum::<u32>() > 0 { off(&self.pairs, 56 * 56) } else { 0.0 };
        off(&self.sets, 280).max(off(&self.trees, 256)).max(pairs)
    }
}

fn params() -> Params {
    let params = Params::check(literal(8, 1, 16)).unwrap();
    assert_eq!((params.set_rows(), params.mask()), (4, 7));
    params
}

fn check(indices: &[u64]) {
    let params = params();
    let rng = &mut seeded("views");
    let mut seen: Vec<[Seen; 2]> = indices.iter().map(|_| [Seen::new(), Seen::new()]).collect();
    for key in 0..CLIENTS {
        let mut client = client(&params, key);
        let mut before = [None, None];
        for (index, seen) in indices.iter().zip(&mut seen) {
            let (Two(first, second), _) = client.query(RecordIndex(*index), rng).unwrap();
            for ((query, seen), before) in [first, second].iter().zip(seen).zip(&mut before) {
                let members = members(&client, query);
                seen.count(query, members, *before);
                *before = Some(members);
            }
        }
    }
    for (i, seen) in seen.iter().enumerate() {
        for (server, seen) in seen.iter().enumerate() {
            let worst = seen.worst();
            assert!(
                worst < 4.0,
                "{indices:?}, query {i}, server {server}: {worst:.1} deviations from uniform"
            );
        }
    }
}

#[test]
fn requests_for_one_row_again_and_again_are_uniform() {
    check(&[6, 6, 6]);
}

#[test]
fn requests_for_several_rows_are_uniform() {
    check(&[3, 0, 3, 7]);
}

/// The statistic would see a client that never sends a set with the row, and one that spends a hint twice.
#[test]
fn the_statistic_sees_leaks() {
    let params = params();
    let rng = &mut seeded("leaks");
    let (mut without, mut twice) = (Seen::new(), Seen::new());
    for key in 0..CLIENTS {
        let mut client = client(&params, key);
        let (Two(first, _), _) = client.query(RecordIndex(6), rng).unwrap();
        let members = members(&client, &first);
        twice.count(&first, members, Some(members));
        if client.asked[0].form == SPEND {
            without.count(&first, members, None);
        }
    }
    // A set that never has the row is one of 35; then 35 * 5 cells are seen, of 280.
    assert!(off(&without.sets, 280) > 20.0, "{}", off(&without.sets, 280));
    assert!(off(&twice.pairs, 56 * 56) > 20.0);
}

/// The hints a client has after queries are as random as before them: it finds a row in as many.
#[test]
fn hints_contain_rows_as_often_after_queries_as_before() {
    let params = params();
    let rng = &mut seeded("hints");
    let (mut before, mut after) = ([0u32; 8], [0u32; 8]);
    let count = |client: &Client, counts: &mut [u32; 8]| {
        let room = &mut Room::default();
        for hint in client.hints.iter().take(params.hints()) {
            let numbers = client.trees.grow([hint.set.root].into_iter(), room);
            numbers.iter().for_each(|number| counts[(number ^ hint.set.shift) as usize] += 1);
        }
    };
    for key in 0..2000 {
        let mut client = client(&params, key);
        count(&client, &mut before);
        for index in [5, 5, 5, 5, 2, 2, 2, 2] {
            drop(client.query(RecordIndex(index), rng).unwrap());
        }
        count(&client, &mut after);
    }
    // Each place is in half of the hints.
    let expected = 2000.0 * params.hints() as f64 / 2.0;
    for count in before.iter().chain(&after) {
        let off = (f64::from(*count) - expected) / (expected / 2.0).sqrt();
        assert!(off.abs() < 4.5, "{off:.1} deviations");
    }
}
