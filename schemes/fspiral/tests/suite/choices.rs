//! Parameters that are selected for a table: sizes and goals.

use sotto_core::{
    Error, Goal, Params as _, ParamsReport, PeerMisbehaved, RecordIndex, TableShape, Wire as _,
};
use sotto_cube::{Keys, Params, Query, TableForm};
use sotto_fspiral::{ENTRY, FSpiral};
use sotto_testkit::rng::seeded;

fn chosen(shape: &TableShape) -> (Params<FSpiral>, ParamsReport) {
    let params = Params::<FSpiral>::check(Params::<FSpiral>::select(shape).unwrap()).unwrap();
    let report = params.report();
    (params, report)
}

/// 2^20 rows of 256 bytes: the table papers compare on.
fn usual(goal: Goal) -> (Params<FSpiral>, ParamsReport) {
    chosen(&TableShape { goal, ..TableShape::new(1 << 20, 256, 1000) })
}

#[test]
fn the_default_profile_keeps_its_sizes() {
    for rows in [1u64 << 16, 1 << 20, 1 << 22, 1 << 24] {
        let (params, report) = chosen(&TableShape::new(rows, 256, 1000));
        assert_eq!((params.literal.form, params.literal.p_log2), (TableForm::Plain, 16), "{rows}");
        assert!(
            report.costs.query_bytes <= 36_000 && report.costs.answer_bytes <= 22_500,
            "{:?}",
            report.costs
        );
        assert!(report.costs.keys_bytes <= 2_000_000, "{:?}", report.costs);
        assert_eq!(report.record_bytes, 8192);
    }
}

#[test]
fn the_small_profile_keeps_its_sizes() {
    let (_, report) = usual(Goal::QueryBytes);
    assert!(report.costs.query_bytes <= 14_000 && report.costs.answer_bytes <= 20_500, "{:?}", report.costs);
    let (_, report) = usual(Goal::TotalBytes);
    assert!(report.costs.query_bytes + report.costs.answer_bytes <= 21_000, "{:?}", report.costs);
}

#[test]
fn the_rate_goal_packs() {
    let (params, report) = chosen(&TableShape { goal: Goal::Rate, ..TableShape::new(64, 16 << 20, 1) });
    assert_eq!(params.literal.form, TableForm::Packed);
    assert!((16 << 20) as f64 / report.costs.answer_bytes as f64 > 0.81, "{:?}", report.costs);
}

#[test]
fn every_goal_gives_what_it_asks_for() {
    let cost = |goal| usual(goal).1.costs;
    for goal in Goal::ALL {
        let (this, query, total) = (cost(goal), cost(Goal::QueryBytes), cost(Goal::TotalBytes));
        assert!(query.query_bytes <= this.query_bytes, "{goal:?}");
        let sum = |costs: sotto_core::Costs| costs.query_bytes + costs.answer_bytes;
        assert!(sum(total) <= sum(this), "{goal:?}");
    }
}

#[test]
fn unreliable_literals_are_refused() {
    let (params, _) = usual(Goal::ServerTime);
    for literal in [
        sotto_cube::Literal { p_log2: 18, answer_bits: [30, 20], ..params.literal.clone() },
        sotto_cube::Literal { answer_bits: [20, 17], ..params.literal.clone() },
        sotto_cube::Literal { expand: [1, 50, 50], ..params.literal.clone() },
        sotto_cube::Literal { key_bits: 40, ..params.literal.clone() },
        sotto_cube::Literal { query_bits: 20, ..params.literal.clone() },
    ] {
        let text = serde_json::to_vec(&literal).unwrap();
        let error = (ENTRY.report)(&text).map(|report| report.failure_log2).unwrap_err().to_string();
        assert!(error.contains("fails with probability"), "{error}: {literal:?}");
    }
}

fn params() -> Params<FSpiral> {
    Params::check(Params::<FSpiral>::select(&TableShape::new(1 << 16, 256, 1000)).unwrap()).unwrap()
}

/// Sets one word of a body, of `bits` bits, to all ones.
fn all_ones(bytes: &mut [u8], body: usize, body_bytes: usize, word: usize, bits: usize) {
    for bit in word * bits..(word + 1) * bits {
        bytes[32 + body * body_bytes + bit / 8] |= 1 << (bit % 8);
    }
}

#[test]
fn unreduced_coefficients_are_refused_wherever_they_are() {
    let params = params();
    let json = serde_json::to_vec(params.literal()).unwrap();
    let rng = &mut seeded("refusals");
    let mut client = (ENTRY.prepare)(&json, rng).unwrap().finish().unwrap();
    let (queries, _) = client.query(RecordIndex(5), rng).unwrap();
    let (query_bits, key_bits) =
        (usize::from(params.literal.query_bits), usize::from(params.literal.key_bits));
    let keys = client.keys();
    let bodies = (keys.len() - 32) / (4096 * key_bits / 8);
    for word in [0, 1, 2047, 4095] {
        let mut query = queries[0].clone();
        all_ones(&mut query, 0, 0, word, query_bits);
        let error = Query::take(&params, &query).map(drop).unwrap_err();
        assert!(matches!(error, Error::Peer(PeerMisbehaved::NotCanonical("query"))), "{error}");
        for body in [0, bodies / 2, bodies - 1] {
            let mut keys = keys.clone();
            all_ones(&mut keys, body, 4096 * key_bits / 8, word, key_bits);
            let error = Keys::take(&params, &keys).map(drop).unwrap_err();
            assert!(matches!(error, Error::Peer(PeerMisbehaved::NotCanonical("keys"))), "{error}");
        }
    }
    assert!(Query::take(&params, &queries[0]).is_ok() && Keys::take(&params, &keys).is_ok());
}

#[test]
fn messages_of_other_lengths_are_refused_before_they_are_read() {
    let params = params();
    for len in [0, 31, 32, 33, 1 << 20] {
        let bytes = vec![0; len];
        let errors = [Query::take(&params, &bytes).map(drop), Keys::take(&params, &bytes).map(drop)];
        for error in errors {
            assert!(matches!(error, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{error:?}");
        }
    }
}
