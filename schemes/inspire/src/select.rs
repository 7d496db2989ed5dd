//! Choosing columns and places for a table: many places cost packing, few places cost query bytes.

use crate::bound;
use crate::literal::{MASK_BITS, MAX_COLUMNS, MAX_RECORD_BYTES, PLACES, ParamsLiteral, SELECTOR_BITS};
use crate::numbers::GROUP_BYTES;
use sotto_core::{ParamsError, Result, TableShape};
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_silent::limits::{KEY_BITS, QUERY_BITS};
use sotto_silent::matrix_shape::{MatrixShape, cuts, price};
use std::ops::RangeInclusive;

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
    let cuts = cuts(shape, GROUP_BYTES, MAX_RECORD_BYTES);
    let cuts = cuts.flat_map(|cut| PLACES.map(|places| (cut, places)));
    let fitting = cuts.filter(|(cut, places)| cut.records <= MAX_COLUMNS * places);
    let priced = fitting.filter_map(|(cut, places)| {
        let literal = word_sizes(&cut, places, cut.required_failure_log2(shape))?;
        let sent = [literal.query_bytes(), literal.answer_bytes()];
        let price = price(shape.goal, literal.server_ops(), sent, cut.record_bytes);
        Some((price * cut.lookups as f64, literal))
    });
    let cheapest = priced.min_by(|(x, _), (y, _)| x.total_cmp(y));
    let none =
        || no_fit("it needs more than 2^23 records of at most 2^20 bytes, or their noise leaves no margin");
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(none)?)
}

/// Word sizes with few bytes in query and answer together, which trade noise against each other.
/// The search starts with the widest, and removes the bit that saves the most bytes for the noise
/// that it adds, as long as one can be removed.
fn word_sizes(cut: &MatrixShape, places: u64, required: f64) -> Option<ParamsLiteral> {
    let ranges: [RangeInclusive<u8>; 6] =
        [QUERY_BITS, KEY_BITS, SELECTOR_BITS, SELECTOR_BITS, MASK_BITS, MASK_BITS];
    let literal = |[query_bits, key_bits, masks, bodies, mask, body]: [u8; 6]| ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records,
        places,
        query_bits,
        key_bits,
        selector_bits: [masks, bodies],
        answer_bits: [mask, body],
        seed: PUBLIC_SEED,
    };
    let bytes = |literal: &ParamsLiteral| literal.query_bytes() + literal.answer_bytes();
    let mut bits = ranges.clone().map(|range| *range.end());
    let mut best = Some(literal(bits)).filter(|literal| literal.failure_log2() <= required)?;
    loop {
        let fewer = ranges.iter().enumerate().filter_map(|(i, range)| {
            let mut fewer = bits;
            let word = fewer.get_mut(i).filter(|bits| **bits > *range.start())?;
            *word -= 1;
            let next = literal(fewer);
            let [mask, body] = next.answer_bits;
            let saved = bytes(&best).saturating_sub(bytes(&next)) as f64;
            let noise = deviations(&next) - deviations(&best);
            (body <= mask && next.failure_log2() <= required).then(|| (saved / noise.max(1e-9), fewer, next))
        });
        let Some((_, fewer, next)) = fewer.max_by(|(x, ..), (y, ..)| x.total_cmp(y)) else {
            return Some(best);
        };
        (bits, best) = (fewer, next);
    }
}

/// The share of the margin of one deviation of errors and one of roundings.
fn deviations(literal: &ParamsLiteral) -> f64 {
    let selector = literal.selector_bits.map(u32::from);
    let (variances, margin) =
        bound::variances_and_margin(literal.columns(), literal.places, literal.bits(), selector);
    variances.map(f64::sqrt).iter().sum::<f64>() / margin
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
        // The paper's table: 1 GiB as 32,768 x 32 KiB, 229 KB up and 98 down as published.
        assert!(time.query_bytes() < 180_000 && time.answer_bytes() < 102_000, "{time:?}");
        assert!(total.query_bytes() + total.answer_bytes() < 226_000, "{total:?}");
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
