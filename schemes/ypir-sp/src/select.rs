//! Choosing a matrix for a table: tall records cost packing and answer bytes, many records cost
//! query bytes.

use crate::literal::{MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral};
use sotto_core::{ParamsError, Result, TableShape};
use sotto_silent::lattice::{GROUP_BYTES, PUBLIC_SEED, SET};
use sotto_silent::limits::{KEY_BITS, MASK_BITS, QUERY_BITS};
use sotto_silent::matrix_shape::{cuts, price};

/// The cheapest literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let no_fit =
        |why: &str| ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    if shape.rows == 0 || shape.row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    let cuts = cuts(shape, GROUP_BYTES as u64, MAX_RECORD_BYTES).filter(|cut| cut.records <= MAX_RECORDS);
    let priced = cuts.filter_map(|cut| {
        let literal = word_sizes(cut.record_bytes, cut.records, cut.required_failure_log2(shape))?;
        let sent = [literal.query_bytes(), literal.answer_bytes()];
        let price = price(shape.goal, literal.server_ops(), sent, cut.record_bytes);
        Some((price * cut.lookups as f64, literal))
    });
    let cheapest = priced.min_by(|(x, _), (y, _)| x.total_cmp(y));
    let none =
        || no_fit("it needs more than 2^20 records of at most 2^20 bytes, or their noise leaves no margin");
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(none)?)
}

/// The word sizes with the fewest bytes in query and answer together, which trade noise against
/// each other.
fn word_sizes(record_bytes: u64, records: u64, required: f64) -> Option<ParamsLiteral> {
    let literal = |query_bits, key_bits, answer_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        query_bits,
        key_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    };
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let bodies = || MASK_BITS.take(8);
    let tried = QUERY_BITS.flat_map(|query| KEY_BITS.map(move |key| (query, key)));
    let fitting = tried.flat_map(|(query, key)| {
        // The narrowest mask for each body: a bit of either costs the same.
        let mask_for = move |body| {
            let mut masks = (body..=*MASK_BITS.end()).map(|mask| literal(query, key, [mask, body]));
            masks.find(reliable)
        };
        // Nothing more is tried if not even the widest suffices.
        let widest = literal(query, key, [*MASK_BITS.end(); 2]);
        bodies().filter(move |_| reliable(&widest)).filter_map(mask_for)
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
    fn goals_are_worth_asking_for() {
        let of = |goal| select(&TableShape { goal, ..TableShape::new(1 << 15, 32768, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        assert!(total.query_bytes() + total.answer_bytes() <= time.query_bytes() + time.answer_bytes());
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The reference table: 1 GiB as 32,768 x 32 KiB.
        assert!(time.query_bytes() + time.answer_bytes() < 523_000, "{time:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(24))]
        #[test]
        fn what_is_selected_passes_the_check(rows in 1u64..1 << 30, row_bytes in 1u64..1 << 22) {
            if let Ok(literal) = select(&TableShape::new(rows, row_bytes, 1)) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= -40.0);
            }
        }
    }
}
