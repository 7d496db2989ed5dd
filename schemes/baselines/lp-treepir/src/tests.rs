//! The view of either server: every query is uniform, whatever is requested and whatever was
//! requested before.
//!
//! A table of eight rows has four partitions of two rows, and a query is a salt and four bits; one
//! of sixteen rows has four of four, and a query has eight more bits: few enough to count them. A
//! sum of squares over a few hundred cells and 16,000 clients moves by more than four of its
//! deviations if the cells' probabilities differ from uniform ones by some percent.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

use crate::message::Query;
use crate::partition_offset::{PartitionOffset, has};
use crate::{Params, TreePir};
use sotto_core::{Client as _, HintScheme, Params as _, Prepare as _, RecordIndex, TwoServers, Wire};
use sotto_hints::two_server::params::{ParamsLiteral, min_hints};
use sotto_hints::two_server::{Client, HintResponse, Prepare};
use sotto_testkit::rng::seeded;
use sotto_testkit::uniform::off;

const CLIENTS: u64 = 16_000;

/// A client of a table of zeros, since its queries do not depend on rows.
fn client(params: &Params, rng: &mut dyn sotto_core::CryptoRng) -> Client<crate::PrivatelyPuncturedSets> {
    let mut client = Prepare::begin(params, rng).unwrap().finish().unwrap();
    while TreePir::next_hint_request(&mut client).unwrap().is_some() {
        let zeros = vec![0; <HintResponse as Wire<Params>>::size(params)];
        TreePir::apply_hint_response(&mut client, HintResponse::take(params, &zeros).unwrap()).unwrap();
    }
    client
}

/// The shift and the numbers of a query, as one number.
fn cell(params: &Params, query: &Query) -> usize {
    assert!(query.beside.is_empty() && query.others.len() == 3);
    let numbers = query.others.iter().chain([&query.shift]);
    numbers.fold(0, |cell, number| cell << params.ratio_bits() | usize::from(*number))
}

/// The queries to one server: each alone, next to the one before, and next to two before.
struct ObservedQuery {
    cells: usize,
    counts: [Vec<u32>; 3],
}

impl ObservedQuery {
    fn new(cells: usize, before: usize) -> Self {
        let together =
            [0, 1, 2].map(|i| if i <= before && cells.pow(i as u32 + 1) <= 4096 { i as u32 + 1 } else { 0 });
        ObservedQuery {
            cells,
            counts: together.map(|i| if i > 0 { vec![0; cells.pow(i)] } else { Vec::new() }),
        }
    }

    /// Takes the requests up to now.
    fn count(&mut self, requests: &[usize]) {
        let mut at = 0;
        for (counts, (i, cell)) in self.counts.iter_mut().zip(requests.iter().rev().enumerate()) {
            at += cell * self.cells.pow(i as u32);
            counts.get_mut(at).into_iter().for_each(|count| *count += 1);
        }
    }

    fn worst(&self) -> f64 {
        self.counts
            .iter()
            .filter(|counts| !counts.is_empty())
            .map(|counts| off(counts, counts.len()))
            .fold(0.0, f64::max)
    }
}

fn params(rows: u64) -> Params {
    let hints = min_hints(16, -40.0, rows / 4);
    let params = Params::check(ParamsLiteral { rows, row_bytes: 1, hints, queries: 16 }).unwrap();
    assert_eq!((params.numbers(), u64::from(params.trees().mask())), (4, rows / 4 - 1));
    params
}

fn check(rows: u64, indices: &[u64]) {
    let params = params(rows);
    let cells = 1 << (4 * params.ratio_bits());
    let rng = &mut seeded("views");
    let mut seen: Vec<_> =
        (0..indices.len()).map(|i| [ObservedQuery::new(cells, i), ObservedQuery::new(cells, i)]).collect();
    for _ in 0..CLIENTS {
        let mut client = client(&params, rng);
        let mut sent = [Vec::new(), Vec::new()];
        for (index, seen) in indices.iter().zip(&mut seen) {
            let (TwoServers(first, second), _) = client.query(RecordIndex(*index), rng).unwrap();
            for ((query, seen), sent) in [first, second].iter().zip(seen).zip(&mut sent) {
                sent.push(cell(&params, query));
                seen.count(sent);
            }
        }
    }
    for (i, [first, second]) in seen.iter().enumerate() {
        let worst = [first.worst(), second.worst()];
        assert!(worst.iter().all(|worst| *worst < 4.0), "{indices:?}, query {i}: {worst:?} deviations");
    }
}

#[test]
fn requests_for_one_row_again_and_again_are_uniform() {
    check(8, &[6, 6, 6]);
    check(16, &[6, 6, 6]);
}

#[test]
fn requests_for_several_rows_are_uniform() {
    check(8, &[3, 0, 3, 7]);
    check(16, &[15, 0, 15, 14]);
}

/// The statistic detects a client that leaves the row in the set, and one that spends a hint twice.
#[test]
fn the_statistic_sees_leaks() {
    let params = params(8);
    let rng = &mut seeded("leaks");
    let (mut within, mut twice) = (ObservedQuery::new(16, 0), ObservedQuery::new(16, 1));
    let place = PartitionOffset::of(&params, 6);
    for _ in 0..CLIENTS {
        let mut client = client(&params, rng);
        let (TwoServers(first, second), _) = client.query(RecordIndex(6), rng).unwrap();
        twice.count(&[cell(&params, &first), cell(&params, &first)]);
        assert_ne!(first.salt, second.salt);
        let slot = client.plans().next().unwrap().slot as usize;
        let fresh = &client.hints()[slot].set;
        within.count(&[cell(&params, &Query::new(&params.trees(), fresh, place.partition ^ 1))]);
    }
    assert!(within.worst() > 20.0 && twice.worst() > 20.0, "{} {}", within.worst(), twice.worst());
}

/// The hints of a client are as random after queries as before: it finds a row in as many.
#[test]
fn hints_contain_rows_as_often_after_queries_as_before() {
    let params = params(8);
    let rng = &mut seeded("hints");
    let (mut before, mut after) = ([0u32; 8], [0u32; 8]);
    let count = |client: &Client<_>, counts: &mut [u32; 8]| {
        for hint in client.hints() {
            for (row, count) in (0..).zip(counts.iter_mut()) {
                *count += has(&hint.set, PartitionOffset::of(&params, row), &params.trees());
            }
        }
    };
    for _ in 0..2000 {
        let mut client = client(&params, rng);
        count(&client, &mut before);
        for index in [5, 5, 5, 5, 2, 2, 2, 2] {
            drop(client.query(RecordIndex(index), rng).unwrap());
        }
        count(&client, &mut after);
    }
    // Each row is in half of the hints.
    let expected = 2000.0 * params.hints() as f64 / 2.0;
    for count in before.iter().chain(&after) {
        let off = (f64::from(*count) - expected) / (expected / 2.0).sqrt();
        assert!(off.abs() < 4.5, "{off:.1} deviations");
    }
}
