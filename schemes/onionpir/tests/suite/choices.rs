//! Parameters that are selected for a table: sizes and goals.

use sotto_core::{Error, Goal, Params as _, ParamsError, ParamsReport, TableShape};
use sotto_cube::{Literal, Params, TableForm, Upload, rings};
use sotto_lattice::security::{SecretDistribution, gate};
use sotto_onionpir::{ENTRY, OnionPir};

fn chosen(shape: &TableShape) -> (Literal, ParamsReport) {
    let params = Params::<OnionPir>::check(Params::<OnionPir>::select(shape).unwrap()).unwrap();
    (params.literal().clone(), params.report())
}

/// 2^20 rows of 256 bytes: the table papers compare on.
fn usual(goal: Goal) -> (Literal, ParamsReport) {
    chosen(&TableShape { goal, ..TableShape::new(1 << 20, 256, 1000) })
}

/// A set by its name, for so many rows of 256 bytes.
fn named(set: &str, rows: u64) -> (Literal, ParamsReport) {
    chosen(&TableShape { set: Some(set.to_owned()), ..TableShape::new(rows, 256, 1000) })
}

#[test]
fn the_default_keeps_its_sizes() {
    for rows in [1u64 << 16, 1 << 20, 1 << 22, 1 << 24] {
        let (literal, report) = named("default", rows);
        assert_eq!((literal.p_log2, report.record_bytes), (11, 2816), "{rows}");
        assert!(report.costs.query_bytes <= 10_600, "{:?}", report.costs);
        assert!(report.costs.answer_bytes <= 9300, "{:?}", report.costs);
        assert!(report.costs.keys_bytes <= 1_900_000, "{:?}", report.costs);
    }
}

#[test]
fn few_keys_are_under_half_of_the_others() {
    let [(_, default), (literal, few)] = ["default", "few-keys"].map(|name| named(name, 1 << 20));
    assert_eq!((literal.p_log2, literal.rows, literal.nu2), (9, 456, 8));
    assert!(few.costs.keys_bytes * 2 < default.costs.keys_bytes, "{:?}", few.costs);
    assert!(few.costs.answer_bytes <= 7800, "{:?}", few.costs);
}

#[test]
fn rows_wider_than_a_polynomial_take_whole_ones() {
    let (literal, report) = chosen(&TableShape::new(1 << 15, 8192, 1000));
    assert_eq!((literal.p_log2, literal.record_bytes), (11, 3 * 2816));
    assert_eq!(report.costs.query_bytes, usual(Goal::ServerTime).1.costs.query_bytes);
}

#[test]
fn every_goal_gives_what_it_asks_for() {
    let cost = |goal| usual(goal).1.costs;
    let total = |costs: sotto_core::Costs| costs.query_bytes + costs.answer_bytes;
    for goal in Goal::ALL {
        assert!(cost(Goal::QueryBytes).query_bytes <= cost(goal).query_bytes, "{goal:?}");
        assert!(total(cost(Goal::TotalBytes)) <= total(cost(goal)), "{goal:?}");
        assert!(cost(Goal::ServerTime).server_ops <= cost(goal).server_ops, "{goal:?}");
    }
}

#[test]
fn unreliable_literals_are_refused() {
    let (literal, _) = named("default", 1 << 20);
    for literal in [
        Literal { p_log2: 12, answer_bits: [24, 15], ..literal.clone() },
        Literal { answer_bits: [18, 13], ..literal.clone() },
        Literal { expand: [10, 5, 0], ..literal.clone() },
        Literal { fold: [2, 11, 28], ..literal.clone() },
        Literal { key_bits: 44, ..literal.clone() },
        Literal { query_bits: 37, ..literal.clone() },
    ] {
        let text = serde_json::to_vec(&literal).unwrap();
        let error = (ENTRY.report)(&text).map(|report| report.failure_log2).unwrap_err().to_string();
        assert!(error.contains("fails with probability"), "{error}: {literal:?}");
    }
}

/// N, log2 of a modulus that version 2's program encrypts under, and the bits that the gate finds at ternary secrets and sigma
/// 3.2: the moduli of queries, as published, and then those of the keys of expansion, which have one prime of 60 bits more.
const PUBLISHED: [(usize, f64, f64); 4] =
    [(2048, 60.0, 111.8), (4096, 120.0, 111.5), (2048, 120.0, 56.0), (4096, 180.0, 73.7)];

#[test]
fn the_published_sets_have_too_few_bits() {
    let found = PUBLISHED.map(|(n, log2_q, _)| match gate(n, log2_q, &SecretDistribution::Ternary, 3.2) {
        Err(ParamsError::Insecure { bits, .. }) => (n, log2_q, (bits * 10.0).round() / 10.0),
        other => panic!("{n}, 2^{log2_q}: {other:?}"),
    });
    assert_eq!(found, PUBLISHED);
}

#[test]
fn what_is_not_onionpirs_is_refused() {
    let shape = TableShape::new(1 << 16, 256, 1000);
    let ours = Params::<OnionPir>::select(&shape).unwrap();
    for literal in [
        Literal { ring: rings::LARGE.to_owned(), ..ours.clone() },
        Literal { upload: Upload::Direct, ..ours.clone() },
        Literal { form: TableForm::Packed, n: 2, ..ours.clone() },
    ] {
        let error = Params::<OnionPir>::check(literal).map(|params| params.report()).unwrap_err();
        let field = matches!(error, Error::Params(ParamsError::Field { field: "ring, upload, form", .. }));
        assert!(field, "{error}");
    }
    assert!(Params::<OnionPir>::check(ours).is_ok());
}
