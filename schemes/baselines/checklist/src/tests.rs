//! The view of either server: every query is uniform, whatever is requested and whatever was
//! requested before.
//!
//! Among eight places there are 56 sets of three, each with five places outside: few enough to
//! count them. A sum of squares over a few hundred cells and 12,000 clients moves by more than four
//! of its deviations if the cells' probabilities differ from uniform ones by some percent.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

use crate::query::{Query, SPEND};
use crate::{Checklist, Params};
use sotto_core::{Client as _, HintScheme, Params as _, Prepare as _, RecordIndex, TwoServers, Wire};
use sotto_hints::two_server::params::{ParamsLiteral, min_hints};
use sotto_hints::two_server::{Client, HintResponse, Prepare, TreeScratch};
use sotto_testkit::rng::seeded;
use sotto_testkit::uniform::off;

const CLIENTS: u64 = 12_000;

/// A client of a table of zeros, since its queries do not depend on rows.
fn client(params: &Params, rng: &mut dyn sotto_core::CryptoRng) -> Client<crate::PuncturedSets> {
    let mut client = Prepare::begin(params, rng).unwrap().finish().unwrap();
    while Checklist::next_hint_request(&mut client).unwrap().is_some() {
        let zeros = vec![0; <HintResponse as Wire<Params>>::size(params)];
        Checklist::apply_hint_response(&mut client, HintResponse::take(params, &zeros).unwrap()).unwrap();
    }
    client
}

/// The set of a request as bits.
fn members(params: &Params, query: &Query) -> usize {
    let (mut members, mut count) = (0, 0);
    query.members(&params.trees(), |places| {
        places.for_each(|place| (members, count) = (members | 1usize << place, count + 1))
    });
    assert_eq!((members.count_ones(), count), (3, 3), "repetitions");
    assert_eq!(members >> query.extra & 1, 0, "the extra place is a member");
    members
}

/// The queries to one server for a sequence of indices: each alone, and next to the one before.
struct ObservedQuery {
    /// Members and extra place: 56 * 5 of 256 * 8.
    sets: Vec<u32>,
    /// Shift, position and extra place: 8 * 4 * 8.
    trees: Vec<u32>,
    /// Members, and those of the request before: 56 * 56 of 256 * 256.
    pairs: Vec<u32>,
}

impl ObservedQuery {
    fn new() -> Self {
        ObservedQuery { sets: vec![0; 256 * 8], trees: vec![0; 256], pairs: vec![0; 256 * 256] }
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
    let hints = min_hints(16, -40.0, 2);
    let params = Params::check(ParamsLiteral { rows: 8, row_bytes: 1, hints, queries: 16 }).unwrap();
    assert_eq!((params.numbers(), params.trees().mask()), (4, 7));
    params
}

fn check(indices: &[u64]) {
    let (params, rng) = (params(), &mut seeded("views"));
    let mut seen: Vec<[ObservedQuery; 2]> =
        indices.iter().map(|_| [ObservedQuery::new(), ObservedQuery::new()]).collect();
    for _ in 0..CLIENTS {
        let mut client = client(&params, rng);
        let mut before = [None, None];
        for (index, seen) in indices.iter().zip(&mut seen) {
            let (TwoServers(first, second), _) = client.query(RecordIndex(*index), rng).unwrap();
            for ((query, seen), before) in [first, second].iter().zip(seen).zip(&mut before) {
                let members = members(&params, query);
                seen.count(query, members, *before);
                *before = Some(members);
            }
        }
    }
    for (i, [first, second]) in seen.iter().enumerate() {
        let worst = [first.worst(), second.worst()];
        assert!(worst.iter().all(|worst| *worst < 4.0), "{indices:?}, query {i}: {worst:?} deviations");
    }
}

#[test]
fn requests_for_one_row_are_uniform() {
    check(&[6, 6, 6]);
}

#[test]
fn requests_for_several_rows_are_uniform() {
    check(&[3, 0, 3, 7]);
}

/// The statistic detects a client that never sends a set with the row, and one that spends a hint
/// twice.
#[test]
fn the_statistic_sees_leaks() {
    let (params, rng) = (params(), &mut seeded("leaks"));
    let (mut without, mut twice) = (ObservedQuery::new(), ObservedQuery::new());
    for _ in 0..CLIENTS {
        let mut client = client(&params, rng);
        let (TwoServers(first, _), _) = client.query(RecordIndex(6), rng).unwrap();
        let members = members(&params, &first);
        twice.count(&first, members, Some(members));
        if client.plans().next().unwrap().form == SPEND {
            without.count(&first, members, None);
        }
    }
    // A set that never has the row is one of 35; then 35 * 5 cells are seen, of 280.
    assert!(off(&without.sets, 280) > 20.0, "{}", off(&without.sets, 280));
    assert!(off(&twice.pairs, 56 * 56) > 20.0);
}

/// The hints of a client are as random after queries as before: it finds a row in as many.
#[test]
fn hints_contain_rows_as_often_after_queries_as_before() {
    let (params, rng) = (params(), &mut seeded("hints"));
    let (mut before, mut after) = ([0u32; 8], [0u32; 8]);
    let count = |client: &Client<_>, counts: &mut [u32; 8]| {
        for hint in client.hints() {
            let (trees, mut scratch) = (params.trees(), TreeScratch::default());
            let numbers = trees.grow([hint.set.root].into_iter(), &mut scratch);
            numbers.iter().for_each(|number| counts[(number ^ hint.set.shift) as usize] += 1);
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
    // Each place is in half of the hints.
    let expected = 2000.0 * params.hints() as f64 / 2.0;
    for count in before.iter().chain(&after) {
        let off = (f64::from(*count) - expected) / (expected / 2.0).sqrt();
        assert!(off.abs() < 4.5, "{off:.1} deviations");
    }
}

/// The rare forms are as frequent as they must be.
#[test]
fn all_three_forms_are_sent() {
    let hints = min_hints(900, -40.0, 16);
    let params = Params::check(ParamsLiteral { rows: 250, row_bytes: 5, hints, queries: 900 }).unwrap();
    let rng = &mut seeded("forms");
    let mut client = client(&params, rng);
    (0..900).for_each(|i| drop(client.query(RecordIndex(i % 250), rng).unwrap()));
    let mut forms = [0; 3];
    client.plans().for_each(|plan| forms[usize::from(plan.form)] += 1);
    // 15 of 256 each are 53 of 900.
    assert!(forms[1..].iter().all(|count| (20..95).contains(count)), "{forms:?}");
}
