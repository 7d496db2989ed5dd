//! Choosing blocks of rows for a table: many make the second matrix and its query large, few the
//! first query.

use crate::literal::{PUBLIC_SEEDS, ParamsLiteral, SETS};
use sotto_core::{Result, TableShape};
use sotto_silent::limits::{KEY_BITS, MASK_BITS, QUERY_BITS};
use sotto_silent::lwe;
use sotto_silent::two_pass::bound::failure_log2;
use sotto_silent::two_pass::select::{LayoutCandidate, cheapest};

/// The cheapest literal for a table.
///
/// # Errors
/// [`sotto_core::ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    cheapest(shape, |candidate| {
        let widest =
            literal(&candidate, [*lwe::bound::QUERY_BITS.end(), *QUERY_BITS.end()], *KEY_BITS.end(), WIDEST);
        if !candidate.affords(widest.weight_bytes()) {
            return None;
        }
        let literal = word_sizes(&candidate)?;
        Some((literal.costs(), literal))
    })
}

/// The maximum bits of answers' words.
const WIDEST: [u8; 2] = [*MASK_BITS.end(); 2];

/// Number of widths of bodies and keys that are tried: above these, a wider one saves nothing
/// elsewhere.
const BODIES: usize = 4;
const KEYS: u8 = 43;

fn literal(
    candidate: &LayoutCandidate,
    query_bits: [u8; 2],
    key_bits: u8,
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    let cut = candidate.cut;
    ParamsLiteral {
        sets: SETS.map(Into::into),
        record_bytes: cut.record_bytes,
        records: cut.records,
        blocks: cut.blocks,
        query_bits,
        key_bits,
        answer_bits,
        seeds: PUBLIC_SEEDS,
    }
}

/// The word sizes with the fewest bytes in query and answer together. The first pass may use half
/// of the required failure probability.
fn word_sizes(candidate: &LayoutCandidate) -> Option<ParamsLiteral> {
    let required = candidate.required;
    let first = lwe::bound::QUERY_BITS.into_iter().find(|first| {
        let words = literal(candidate, [*first, *QUERY_BITS.end()], *KEY_BITS.end(), WIDEST).words();
        failure_log2(candidate.cut.record_bytes, &words) <= required - 1.0
    })?;
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let keys = KEYS..=*KEY_BITS.end();
    let tried = keys.flat_map(|key| MASK_BITS.take(BODIES).map(move |body| (key, body)));
    let fitting = tried.flat_map(|(key, body)| {
        // The fewest bits of words that suffice with the widest masks, and two more; for each of
        // them the narrowest masks.
        let with = move |query, mask| literal(candidate, [first, query], key, [mask, body]);
        let widest = move |query: &u8| reliable(&with(*query, *MASK_BITS.end()));
        let least = QUERY_BITS.into_iter().find(widest);
        let queries = least.into_iter().flat_map(|least| least..=(least + 2).min(*QUERY_BITS.end()));
        queries
            .filter_map(move |query| (body..=*MASK_BITS.end()).map(|mask| with(query, mask)).find(reliable))
    });
    fitting.min_by_key(|literal| (literal.query_bytes() + literal.answer_bytes(), literal.query_bits))
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
    fn the_papers_tables_take_few_bytes() {
        // 2^31 and 2^33 rows of a bit.
        for (rows, up, down) in [(1u64 << 28, 230_000, 18_000), (1 << 30, 350_000, 18_000)] {
            let literal = select(&TableShape::new(rows, 1, 1)).unwrap();
            let (query, answer) = (literal.query_bytes(), literal.answer_bytes());
            assert!(query < up && answer < down, "{query} {answer} {literal:?}");
        }
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of = |goal| select(&TableShape { goal, ..TableShape::new(1 << 28, 4, 1) }).unwrap();
        let [time, query, total, rate] = Goal::ALL.map(of);
        let lookups = |literal: &ParamsLiteral| 4 / literal.record_bytes;
        let all =
            |literal: &ParamsLiteral| (literal.query_bytes() + literal.answer_bytes()) * lookups(literal);
        assert!(time.server_ops() * lookups(&time) <= total.server_ops() * lookups(&total));
        assert!(query.query_bytes() * lookups(&query) <= total.query_bytes() * lookups(&total));
        assert!(all(&total) <= all(&time));
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
