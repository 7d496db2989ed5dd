//! Tests of both schemes with hints from a second server.

use super::parities::Hinted;
use ::checklist::PuncturedSets;
use ::lp_treepir::PrivatelyPuncturedSets;
use rand_core::Rng;
use sotto_core::{
    Budget, Client as _, Error, HintScheme, HintServer, Params as _, RecordIndex, Stateful, TableShape,
};
use sotto_hints::two_server::params::{ParamsLiteral, min_hints};
use sotto_hints::two_server::{
    Client, Family, HintRequest, HintResponse, Params, Plan, TreeScratch, TwoServerScheme,
};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;
use std::collections::VecDeque;

type Table<F> = InProcessServer<TwoServerScheme<F>>;

/// Parameters for few queries, so that a test can make them all.
fn literal(rows: u64, row_bytes: u64, queries: u64) -> ParamsLiteral {
    let bits = rows.next_power_of_two().ilog2().max(2);
    ParamsLiteral { rows, row_bytes, hints: min_hints(queries, -40.0, 1 << (bits / 2)), queries }
}

fn response<F: Family>(table: &Table<F>, request: &HintRequest) -> HintResponse {
    TwoServerScheme::<F>::answer_hint_request(&table.server, request.clone()).unwrap()
}

impl<F: Family> Hinted for TwoServerScheme<F> {
    fn table(rows: u64, row_bytes: u64, queries: u64) -> Table<F> {
        InProcessServer::new(Params::check(literal(rows, row_bytes, queries)).unwrap())
    }

    fn client(table: &Table<F>, label: &str) -> Client<F> {
        let mut client = table.client(label);
        while let Some(request) = TwoServerScheme::<F>::next_hint_request(&mut client).unwrap() {
            TwoServerScheme::<F>::apply_hint_response(&mut client, response(table, &request)).unwrap();
        }
        client
    }

    fn check_parities(table: &Table<F>, client: &Client<F>, waits: bool) {
        let (known, all) = (known(table, client), table.params.hints());
        assert!(if waits { known > 0 } else { known == all }, "{known} of {all}");
    }
}

/// Compares every known parity of a client with the sum of the rows of its set, and returns how
/// many are known.
fn known<F: Family>(table: &Table<F>, client: &Client<F>) -> usize {
    let (trees, mut scratch) = (table.params.trees(), TreeScratch::default());
    let known = client.known().inspect(|(set, parity)| {
        let mut sum = vec![0; table.params.row_bytes()];
        for (position, number) in (0..).zip(trees.grow([set.root].into_iter(), &mut scratch)) {
            let row = F::row(&table.params, position, *number ^ set.shift);
            if row < table.params.rows() {
                sum.iter_mut().zip(table.row(row)).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
        assert!(sum == **parity);
    });
    known.count()
}

/// Runs a check on both schemes with hints from a second server.
macro_rules! both {
    ($($check:ident;)*) => {
        mod checklist {
            $(#[test] fn $check() { super::$check::<super::PuncturedSets>(); })*
        }
        mod lp_treepir {
            $(#[test] fn $check() { super::$check::<super::PrivatelyPuncturedSets>(); })*
        }
    };
}

both! {
    trees_of_several_levels;
    queries_before_answers;
    orders_come_block_by_block_and_are_the_same_until_they_are_met;
    a_rejected_row_is_nowhere;
    a_row_in_no_hint_is_not_found_and_spends_none;
    every_table_fits_with_as_few_hints_as_the_bound_allows;
    limits_are_refused_not_wrapped;
}

fn trees_of_several_levels<F: Family>() {
    for (rows, numbers) in [((1 << 11) - 5, 64), ((1 << 14) - 300, 128), (1 << 15, 256)] {
        let table = TwoServerScheme::<F>::table(rows, [4, 32][usize::from(rows > 9999)], 100);
        assert!(table.params.numbers() == numbers && table.params.trees().depth() > 0);
        let (mut client, rng) = (TwoServerScheme::<F>::client(&table, "levels"), &mut seeded("levels"));
        for index in (0..rows).step_by(rows as usize / 90) {
            table.fetch(&mut client, index, rng).unwrap();
        }
        assert_eq!(known(&table, &client), table.params.hints());
    }
}

/// Queries are made while the hints they spend still wait for their parities.
fn queries_before_answers<F: Family>() {
    let table = TwoServerScheme::<F>::table(60, 9, 600);
    let mut waited = 0;
    for depth in [2, 5, 17] {
        let rng = &mut seeded("before answers");
        let mut client = TwoServerScheme::<F>::client(&table, "before answers");
        let mut waiting = VecDeque::new();
        for i in 0..600 {
            let index = if i % 3 == 0 { 7 } else { rng.next_u64() % 60 };
            let known = client.known().count();
            waiting.push_back((index, table.query(&mut client, index, rng)));
            // A parity that was known is still known, in the query that spent it. With one fewer, a
            // parity is awaited.
            let spends = client.plans().last().unwrap().spends();
            waited += usize::from(spends && client.known().count() == known && waiting.len() > 1);
            if waiting.len() == depth {
                TwoServerScheme::<F>::check_parities(&table, &client, true);
                let (index, sent) = waiting.pop_front().unwrap();
                table.read(&mut client, index, sent).unwrap();
            }
        }
    }
    assert!(waited > 20, "{waited} queries");
}

fn orders_come_block_by_block_and_are_the_same_until_they_are_met<F: Family>() {
    let table = TwoServerScheme::<F>::table(3, 60_000, 1000);
    let params = &table.params;
    assert!(params.blocks() > 2 && !params.hints().is_multiple_of(params.block_hints()));
    let mut client = table.client("orders");
    let mut first = None;
    for block in 0..params.blocks() {
        assert_eq!(client.budget(), Budget::Left(0));
        assert!(matches!(client.query(RecordIndex(0), &mut seeded("none")), Err(Error::Exhausted(_))));
        let request = TwoServerScheme::<F>::next_hint_request(&mut client).unwrap().unwrap();
        assert_eq!(TwoServerScheme::<F>::next_hint_request(&mut client).unwrap().unwrap(), request);
        assert_eq!(request.block, block);
        TwoServerScheme::<F>::apply_hint_response(&mut client, response(&table, &request)).unwrap();
        // A hint response names no block, so a repeated one would be taken for that of the next.
        let again = TwoServerScheme::<F>::apply_hint_response(&mut client, response(&table, &request));
        assert!(matches!(again, Err(Error::Misuse(_))), "a supply is taken once");
        let there = params.block_hints() * (block as usize + 1);
        assert_eq!(known(&table, &client), there.min(params.hints()));
        first.get_or_insert(request);
    }
    assert_eq!(client.budget(), Budget::Left(1000));
    assert!(TwoServerScheme::<F>::next_hint_request(&mut client).unwrap().is_none());
    let spare = TwoServerScheme::<F>::apply_hint_response(&mut client, response(&table, &first.unwrap()));
    assert!(matches!(spare, Err(Error::Misuse(_))));
    table.fetch(&mut client, 2, &mut seeded("stocked")).unwrap();
}

/// A rejected row is forgotten, and nothing else is.
fn a_rejected_row_is_nowhere<F: Family>() {
    let table = TwoServerScheme::<F>::table(30, 4, 1000);
    let (mut client, rng) = (TwoServerScheme::<F>::client(&table, "rejected"), &mut seeded("rejected"));
    let all = table.params.hints();
    // Numbers of queries begin at 1; the last of these queries has spent a hint.
    let mut number = 0;
    loop {
        let sent = table.query(&mut client, 3, rng);
        let slot = client.plans().next().unwrap().slot();
        number = number.max(TwoServerScheme::<F>::query_number(&sent.1));
        table.read(&mut client, 3, sent).unwrap();
        if (slot as usize) < all {
            break;
        }
    }
    TwoServerScheme::<F>::reject(&mut client, number + 1);
    assert_eq!(known(&table, &client), all);
    TwoServerScheme::<F>::reject(&mut client, number);
    assert_eq!(known(&table, &client), all - 1);
    let unreadable = (0..300).filter(|_| table.fetch(&mut client, 3, rng).is_err()).count();
    assert!(unreadable >= 1, "one of a few hints with the row was chosen in 300 queries");
}

/// All hints are the same, and they change only when spent: a request for a row that none contains
/// has the form of any other.
fn a_row_in_no_hint_is_not_found_and_spends_none<F: Family>() {
    let table = TwoServerScheme::<F>::table(64, 3, 1000);
    let (params, rng) = (&table.params, &mut seeded("no hint"));
    let mut state = Vec::new();
    TwoServerScheme::<F>::save(params, &TwoServerScheme::<F>::client(&table, "no hint"), &mut state).unwrap();
    // A state begins with 44 bytes and the hints.
    let hint = (params.report().costs.client_bytes as usize - 44) / params.hints() - params.row_bytes();
    let (hints, parities) = state[44..].split_at_mut(hint * params.hints());
    for (list, width) in [(hints, hint), (parities, params.row_bytes())] {
        let same = list[..width].to_vec();
        list.chunks_exact_mut(width).for_each(|bytes| bytes.copy_from_slice(&same));
    }
    let mut client = TwoServerScheme::<F>::load(params, &mut state.as_slice()).unwrap();
    assert_eq!(known(&table, &client), params.hints());
    let set = client.hints()[0].set;
    let (trees, mut scratch) = (params.trees(), TreeScratch::default());
    let numbers = trees.grow([set.root].into_iter(), &mut scratch);
    let rows: Vec<u64> =
        (0..).zip(numbers).map(|(at, number)| F::row(params, at, *number ^ set.shift)).collect();
    let absent = (0..64).find(|row| !rows.contains(row)).unwrap();
    let mut found = 0;
    for i in 0..1000 {
        let sent = table.query(&mut client, absent, rng);
        let spends = client.plans().next().unwrap().spends();
        match table.read(&mut client, absent, sent) {
            Ok(()) => {
                assert!(!spends, "query {i}");
                found += 1;
            }
            Err(error) => assert!(spends && matches!(error, Error::Unreadable), "query {i}: {error:?}"),
        }
    }
    // Checklist's rare forms need no hint: 14 of 64.
    assert!(found == 0 || (160..280).contains(&found), "{found}");
    assert!(client.hints().iter().all(|hint| hint.set == set), "no hint was spent");
}

fn every_table_fits_with_as_few_hints_as_the_bound_allows<F: Family>() {
    for (log2_rows, side) in [(20, 1 << 10), (24, 1 << 12), (28, 1 << 14)] {
        let params =
            Params::<F>::check(Params::<F>::select(&TableShape::new(1 << log2_rows, 32, 1)).unwrap())
                .unwrap();
        assert_eq!((params.numbers(), 1 << params.ratio_bits()), (side, side));
        // (40 + 16) ln 2 hints for each of w.
        let hints = params.hints() as f64 / side as f64;
        assert!((38.7..38.9).contains(&hints), "{hints}");
    }
    for rows in (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, u64::from(u32::MAX), 1 << 32]) {
        let mut literal = Params::<F>::select(&TableShape::new(rows, 3, 1 << 20)).unwrap();
        let params = Params::<F>::check(literal.clone()).unwrap();
        assert!((params.numbers() as u64) << params.ratio_bits() >= rows, "{rows}");
        // Checklist's two rare forms together have 2 (s - 1) of n chances.
        assert!(2 * (params.numbers() as u64 - 1) < 1 << params.bits(), "{rows}");
        assert!(params.block_hints() * params.blocks() as usize >= params.hints());
        literal.hints -= 1;
        assert!(Params::<F>::check(literal).is_err(), "{rows} rows can do with fewer hints");
    }
}

fn limits_are_refused_not_wrapped<F: Family>() {
    let huge = [(0, 1), (1, 0), ((1 << 32) + 1, 1), (1, (1 << 20) + 1), (u64::MAX, u64::MAX)];
    for (rows, row_bytes) in huge {
        assert!(
            Params::<F>::select(&TableShape::new(rows, row_bytes, u64::MAX)).is_err(),
            "{rows} {row_bytes}"
        );
    }
    let good = Params::<F>::select(&TableShape::new(100, 1, 1)).unwrap();
    for hints in [2 * good.hints + 65, u64::MAX] {
        assert!(Params::<F>::check(ParamsLiteral { hints, ..good.clone() }).is_err(), "{hints}");
    }
    // An answer of TreePIR has a row of each partition.
    let wide = ParamsLiteral { rows: 1 << 13, row_bytes: 1 << 20, ..literal(1 << 13, 1, 1 << 16) };
    let fits = F::answer_rows(128) * wide.row_bytes <= 1 << 26;
    assert_eq!(Params::<F>::check(wide.clone()).is_ok(), fits);
    assert_eq!(Params::<F>::select(&TableShape::new(wide.rows, wide.row_bytes, 1)).is_ok(), fits);
}
