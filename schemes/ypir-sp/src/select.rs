//! Choosing a matrix for a table: tall records cost packing and bytes down, many records bytes up.

use crate::params::{MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral, server_ops};
use sotto_core::{Goal, ParamsError, Result, Shape, work};
use sotto_silent::lattice::{GROUP_BYTES, PUBLIC_SEED, SET};
use sotto_silent::vector::{KEY_BITS, MASK_BITS, QUERY_BITS};

/// The cheapest literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &Shape) -> Result<ParamsLiteral> {
    let no_fit =
        |why: &str| ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    if shape.rows == 0 || shape.row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    let cuts = heights(shape.row_bytes).filter_map(|height| cut(shape, height));
    let priced = cuts.filter_map(|(record_bytes, records, lookups)| {
        let required = shape.required_failure_log2() - f64::from(lookups.next_power_of_two().ilog2());
        let literal = word_sizes(record_bytes, records, required)?;
        Some((price(shape.goal, &literal) * lookups as f64, literal))
    });
    let cheapest = priced.min_by(|(x, _), (y, _)| x.total_cmp(y));
    let none =
        || no_fit("it needs more than 2^20 records of at most 2^20 bytes, or their noise leaves no margin");
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(none)?)
}

/// Nanoseconds of the server and of a link.
fn price(goal: Goal, literal: &ParamsLiteral) -> f64 {
    let sent = |bytes: u64| (bytes * work::SENT_BYTE_NANOSECONDS) as f64;
    let (up, down) = (sent(literal.query_bytes()), sent(literal.answer_bytes()));
    let time = server_ops(literal) as f64 / work::OPS_PER_NANOSECOND as f64;
    match goal {
        Goal::ServerTime => time + (up + down) / 4.0,
        Goal::QueryBytes => up + (time + down) / 1024.0,
        Goal::TotalBytes => up + down + time / 1024.0,
        Goal::Rate => down / literal.record_bytes as f64 + (time + up) / 1e12,
    }
}

/// How a table is cut into records of about this height: bytes in a record, how many there are, and how many hold one row.
fn cut(shape: &Shape, height: u64) -> Option<(u64, u64, u64)> {
    let (record_bytes, records, lookups) = if shape.row_bytes <= height {
        let rows = (height / shape.row_bytes).min(shape.rows);
        (rows * shape.row_bytes, shape.rows.div_ceil(rows), 1)
    } else {
        let lookups = shape.row_bytes.div_ceil(height);
        // Evened out, so that the last record of a row is not mostly padding.
        (shape.row_bytes.div_ceil(lookups), shape.rows.checked_mul(lookups)?, lookups)
    };
    (records <= MAX_RECORDS).then_some((record_bytes, records, lookups))
}

/// Heights worth trying: whole packed ciphertexts, 2^i and 3 * 2^i of them, and the width of a row.
fn heights(row_bytes: u64) -> impl Iterator<Item = u64> {
    let steps = (0..).map(|i| (GROUP_BYTES as u64) << i).take_while(|height| *height <= MAX_RECORD_BYTES);
    steps.flat_map(|height| [height, height / 2 * 3]).chain([row_bytes]).filter(|l| *l <= MAX_RECORD_BYTES)
}

/// The word sizes with the fewest bytes in query and answer together: they trade noise against each other.
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
        // The narrowest mask for each body: of the two a body bit costs as much.
        let mask_for = move |body| {
            let mut masks = (body..=*MASK_BITS.end()).map(|mask| literal(query, key, [mask, body]));
            masks.find(reliable)
        };
        // Nothing is tried further where not even the widest would do.
        let widest = literal(query, key, [*MASK_BITS.end(); 2]);
        bodies().filter(move |_| reliable(&widest)).filter_map(mask_for)
    });
    fitting.min_by_key(|literal| (literal.query_bytes() + literal.answer_bytes(), literal.query_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::Params as _;

    #[test]
    fn limits_are_refused_not_wrapped() {
        for (rows, row_bytes) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            assert!(select(&Shape::new(rows, row_bytes, u64::MAX)).is_err(), "{rows} {row_bytes}");
        }
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of = |goal| select(&Shape { goal, ..Shape::new(1 << 15, 32768, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        assert!(total.query_bytes() + total.answer_bytes() <= time.query_bytes() + time.answer_bytes());
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The table: 1 GiB as 32,768 x 32 KiB.
        assert!(time.query_bytes() + time.answer_bytes() < 523_000, "{time:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(24))]
        #[test]
        fn what_is_selected_passes_the_check(rows in 1u64..1 << 30, row_bytes in 1u64..1 << 22) {
            if let Ok(literal) = select(&Shape::new(rows, row_bytes, 1)) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= -40.0);
            }
        }
    }
}
