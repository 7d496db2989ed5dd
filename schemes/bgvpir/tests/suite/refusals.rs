//! Which parameters are refused, by what they say.

use sotto_bgvpir::literal::{NO_TABLES_MASK, ParamsLiteral, RowFormat};
use sotto_bgvpir::params::Params;
use sotto_core::{Error, Goal, Params as _, ParamsError, TableShape};

fn good() -> ParamsLiteral {
    ParamsLiteral {
        ring: "pow2".into(),
        primes: 2,
        scan_primes: 2,
        levels: 1,
        left: vec![16],
        right: vec![16],
        period: 32,
        layers: 1,
        records: 8192,
        answer_bits: [19, 26],
        stride: 1,
        form: RowFormat::Values,
        written: 2,
        mask: NO_TABLES_MASK,
    }
}

fn field(literal: ParamsLiteral) -> &'static str {
    match Params::check(literal) {
        Err(Error::Params(ParamsError::Field { field, .. })) => field,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn fields_out_of_range_are_named() {
    assert!(Params::check(good()).is_ok());
    assert_eq!(field(ParamsLiteral { ring: "m8192".into(), ..good() }), "ring");
    assert_eq!(field(ParamsLiteral { primes: 4, ..good() }), "primes");
    assert_eq!(field(ParamsLiteral { scan_primes: 3, ..good() }), "scan_primes");
    assert_eq!(field(ParamsLiteral { left: vec![], ..good() }), "left, right");
    assert_eq!(field(ParamsLiteral { left: vec![u32::MAX], ..good() }), "left, right");
    assert_eq!(field(ParamsLiteral { levels: 0, ..good() }), "levels");
    assert_eq!(field(ParamsLiteral { levels: 5, ..good() }), "levels");
    assert_eq!(field(ParamsLiteral { written: 257, ..good() }), "written");
    assert_eq!(field(ParamsLiteral { stride: 0, ..good() }), "stride");
    assert_eq!(field(ParamsLiteral { stride: 32, ..good() }), "stride");
    assert!(Params::check(ParamsLiteral { stride: 31, ..good() }).is_ok());
    assert_eq!(field(ParamsLiteral { period: 33, ..good() }), "period");
    assert_eq!(field(ParamsLiteral { period: 16, ..good() }), "period");
    assert_eq!(field(ParamsLiteral { layers: 0, ..good() }), "layers");
    assert_eq!(field(ParamsLiteral { records: 8193, ..good() }), "left, right");
    assert_eq!(field(ParamsLiteral { records: u64::MAX, ..good() }), "records");
    assert_eq!(field(ParamsLiteral { answer_bits: [0, 26], ..good() }), "answer_bits");
    assert_eq!(field(ParamsLiteral { answer_bits: [27, 26], ..good() }), "answer_bits");
}

#[test]
fn what_is_not_reliable_is_refused() {
    for literal in [
        // Too few bits of a mask, of a body, and too few primes for numbers modulo 65537.
        ParamsLiteral { answer_bits: [19, 24], ..good() },
        ParamsLiteral { answer_bits: [17, 26], ..good() },
        ParamsLiteral { primes: 1, scan_primes: 1, ..good() },
        ParamsLiteral { scan_primes: 1, ..good() },
    ] {
        let error = Params::check(literal.clone()).err();
        assert!(
            matches!(error, Some(Error::Params(ParamsError::Unreliable { .. }))),
            "{literal:?}: {error:?}"
        );
    }
}

#[test]
fn tables_of_the_paper_fit_both_rings() {
    for (ring, log2, seconds_of_query, answer, keys) in
        [("m8191", 30, 110_000, 30_000, 1_000_000), ("pow2", 25, 110_000, 55_000, 1_000_000)]
    {
        let shape = TableShape { set: Some(ring.into()), ..TableShape::new(1 << (log2 - 3), 1, 1000) };
        let report = Params::check(Params::select(&shape).unwrap()).unwrap().report();
        assert!(report.security.bits >= 128.0 && report.failure_log2 <= -40.0);
        let costs = report.costs;
        assert!(
            costs.query_bytes < seconds_of_query && costs.answer_bytes < answer && costs.keys_bytes < keys,
            "{costs:?}"
        );
    }
}

#[test]
fn every_goal_finds_parameters() {
    for goal in Goal::ALL {
        for (rows, row_bytes) in [(1, 1), (1, 100_000), (1000, 3), (1 << 20, 256)] {
            let shape = TableShape { goal, ..TableShape::new(rows, row_bytes, 10) };
            let params = Params::check(Params::select(&shape).unwrap()).unwrap();
            let report = params.report();
            assert!(report.record_bytes >= row_bytes.min(report.record_bytes), "{report:?}");
            assert!(report.records * (report.record_bytes / row_bytes) >= rows, "{report:?}");
        }
    }
    assert!(Params::select(&TableShape::new(1, 1 << 40, 1)).is_err());
}

/// The sets of the paper's trees, at its sizes: which leaves, and how many primes of 50 bits the gate leaves them.
#[test]
fn the_papers_trees_are_those_of_its_sets() {
    let two = |count: usize| vec![2u32; count];
    let guarded = |count: usize| [two(count), vec![1]].concat();
    for (set, log2, left, right, primes) in [
        ("m8191-paper", 25, vec![128], vec![64], 1),
        ("m8191-paper", 30, vec![32, 16], vec![32, 16], 2),
        ("m8191-paper", 35, vec![64, 64], vec![64, 32], 2),
        ("m8191-unpruned", 25, two(7), guarded(6), 3),
        ("m8191-unpruned", 30, two(9), guarded(9), 3),
        ("m8191-unpruned", 35, two(12), guarded(11), 3),
        ("pow2-paper", 25, vec![16], vec![16], 2),
        ("pow2-paper", 30, vec![128], vec![64], 2),
        ("pow2-paper", 35, vec![512], vec![512], 2),
    ] {
        let shape = TableShape { set: Some(set.into()), ..TableShape::new(1 << (log2 - 3), 1, 1000) };
        let literal = Params::select(&shape).unwrap();
        assert_eq!(
            (&literal.left, &literal.right, literal.primes),
            (&left, &right, primes),
            "{set}, 2^{log2}"
        );
        assert!(Params::check(literal).unwrap().report().security.bits >= 128.0);
    }
}

/// Why there is no `pow2-unpruned`: a level modulo 65537 takes a prime of 50 bits, and 2^25 bits have two besides the last.
#[test]
fn the_other_ring_has_no_room_for_unpruned_trees() {
    let sizes = [(vec![2; 4], false), (vec![2; 2], true)];
    for (leaves, fits) in sizes {
        let literal = |primes, scan_primes, levels| ParamsLiteral {
            primes,
            scan_primes,
            levels,
            left: leaves.clone(),
            right: leaves.clone(),
            records: 1,
            answer_bits: [20, 32],
            stride: 1,
            form: RowFormat::Values,
            written: 0,
            ..good()
        };
        let mut choices = (1..=3).flat_map(|primes| {
            (1..=primes).flat_map(move |scan| (1..=4).map(move |each| (primes, scan, each)))
        });
        let some = choices.any(|(primes, scan, each)| Params::check(literal(primes, scan, each)).is_ok());
        assert_eq!(some, fits, "{leaves:?}");
    }
}

#[test]
fn values_that_are_too_many_are_made_as_they_are_needed() {
    let form = |set: Option<&str>, goal, log2_bytes: u32| {
        let shape =
            TableShape { set: set.map(Into::into), goal, ..TableShape::new(1 << (log2_bytes - 6), 64, 10) };
        let params = Params::check(Params::select(&shape).unwrap()).unwrap();
        let costs = params.report().costs;
        (params.literal().form, costs.resident_bytes >> log2_bytes)
    };
    // 6.7 times 1 GiB is within the bound, 6.7 times 4 GiB is not; where time is not what matters, 6.7 times 128 MiB is the most.
    assert_eq!(form(Some("pow2"), Goal::ServerTime, 30), (RowFormat::Values, 6));
    assert_eq!(form(Some("pow2"), Goal::ServerTime, 32), (RowFormat::Coefficients, 1));
    assert_eq!(form(Some("pow2"), Goal::TotalBytes, 28), (RowFormat::Coefficients, 1));
    assert_eq!(form(Some("m8191"), Goal::ServerTime, 29).0, RowFormat::Coefficients);
    // By name, whatever the size.
    assert_eq!(form(Some("pow2-streamed"), Goal::ServerTime, 20).0, RowFormat::Coefficients);
    assert_eq!(form(Some("m8191-streamed"), Goal::ServerTime, 20).0, RowFormat::Coefficients);
}

/// Rows written by somebody who knows the mask are of the failure bound: as many as fit it are in the literal, and no more are
/// taken.
#[test]
fn rows_written_in_place_are_counted_in_the_bound() {
    for (rows_log2, row_bytes, all) in [(16, 64, true), (24, 64, false)] {
        let shape =
            TableShape { set: Some("pow2".into()), ..TableShape::new(1 << rows_log2, row_bytes, 1000) };
        let literal = Params::select(&shape).unwrap();
        let params = Params::check(literal.clone()).unwrap();
        let eighth = params.layout.rows(literal.records).div_ceil(8);
        assert!(literal.written > 0 && all == (u64::from(literal.written) == eighth), "{literal:?}");
        let more = ParamsLiteral { written: 2 * eighth as u32, ..literal };
        match Params::check(more) {
            Ok(more) => assert!(more.report().failure_log2 > params.report().failure_log2),
            Err(refused) => {
                assert!(matches!(refused, Error::Params(ParamsError::Unreliable { .. })), "{refused}")
            }
        }
    }
}
