//! Choosing blocks of rows for a table: many make the second matrix large, few the first query.

use crate::literal::{MASK_BITS, ParamsLiteral};
use sotto_core::{Result, TableShape};
use sotto_silent::lwe::bound::{MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::ring::{PUBLIC_SEED, SET};
use sotto_silent::two_pass::bound::{WordNoise, failure_log2};
use sotto_silent::two_pass::select::{LayoutCandidate, cheapest};

/// The cheapest literal for a table.
///
/// # Errors
/// [`sotto_core::ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    cheapest(shape, |candidate| {
        let literal = word_sizes(&candidate).filter(|literal| candidate.affords(literal.hint_bytes()))?;
        Some((literal.costs(), literal))
    })
}

/// The word sizes with the fewest bytes in query and answer together. The first pass may use half
/// of the required failure probability, the rows of the second matrix a quarter, and the fresh ones
/// an eighth.
fn word_sizes(candidate: &LayoutCandidate) -> Option<ParamsLiteral> {
    let LayoutCandidate { cut, required, .. } = *candidate;
    let literal = |query_bits, answer_bits, mask_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records,
        blocks: cut.blocks,
        query_bits,
        answer_bits,
        mask_bits,
        seed: PUBLIC_SEED,
    };
    let widest = |first, second| literal([first, second], second, *MASK_BITS.end());
    let first = QUERY_BITS.into_iter().find(|first| {
        let [words, _] = widest(*first, *QUERY_BITS.end()).words();
        failure_log2(cut.record_bytes, &words) <= required - 1.0
    })?;
    let second = QUERY_BITS.filter_map(|second| {
        let fixed = |bits: &u8| {
            let [_, words] = literal([first, second], *bits, *MASK_BITS.end()).words();
            failure_log2(cut.second_rows(), &WordNoise { mask_bits: None, ..words }) <= required - 2.0
        };
        let answer = (MIN_ANSWER_BITS..=second).find(fixed)?;
        let fresh = |answer| {
            let mut masks = MASK_BITS.map(move |mask| literal([first, second], answer, mask));
            masks.find(|literal| {
                let [_, words] = literal.words();
                failure_log2(literal.fresh_rows(), &words) <= required - 3.0
            })
        };
        (answer..=second).find_map(fresh)
    });
    second.min_by_key(|literal| literal.query_bytes() + literal.answer_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::{Goal, Params as _};

    #[test]
    fn limits_are_refused_not_wrapped() {
        for (rows, row_bytes) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            assert!(select(&TableShape::new(rows, row_bytes, u64::MAX)).is_err(), "{rows} {row_bytes}");
        }
    }

    #[test]
    fn the_papers_table_takes_little_more_than_a_pass() {
        // 2^31 rows of a bit.
        let literal = select(&TableShape::new(1 << 28, 1, 100)).unwrap();
        assert_eq!(literal.hint_bytes(), 3 << 22);
        assert!(literal.query_bytes() < 250_000 && literal.answer_bytes() < 12_000, "{literal:?}");
        assert!(literal.cut().second_bytes() * 10 <= literal.cut().first_bytes(), "{literal:?}");
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of = |goal| select(&TableShape { goal, ..TableShape::new(1 << 26, 4, 100) }).unwrap();
        let [time, query, total, rate] = Goal::ALL.map(of);
        assert!(time.server_ops() <= total.server_ops());
        assert!(query.query_bytes() <= total.query_bytes());
        let all = |literal: &ParamsLiteral| {
            literal.query_bytes() + literal.answer_bytes() + literal.hint_bytes() / 100
        };
        let lookups = |literal: &ParamsLiteral| 4 / literal.record_bytes;
        assert!(all(&total) * lookups(&total) <= all(&time) * lookups(&time));
        assert!(rate.answer_bytes() * lookups(&rate) <= total.answer_bytes() * lookups(&total));
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(24))]
        #[test]
        fn what_is_selected_passes_the_check(
            rows in 1u64..1 << 32, row_bytes in 1u64..300, lookups_per_request in 1u64..1000, goal in 0usize..4,
        ) {
            let shape = TableShape { goal: Goal::ALL[goal], lookups_per_request, ..TableShape::new(rows, row_bytes, 100) };
            if let Ok(literal) = select(&shape) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= shape.required_failure_log2());
            }
        }
    }
}
