//! Choosing a grid for a table: many columns cost query bytes, many blocks cost weights to read.

use crate::literal::{KEY_BITS, MAX_BLOCKS, MAX_COLUMNS, MAX_RECORD_BYTES, ParamsLiteral};
use sotto_core::{ParamsError, Result, TableShape};
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_silent::limits::{MASK_BITS, QUERY_BITS};
use sotto_silent::matrix_shape::{MatrixShape, price};
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
    let priced = cuts(shape).flat_map(|cut| grids(cut).map(move |blocks| (cut, blocks)));
    let priced = priced.filter_map(|(cut, blocks)| {
        let lookups = cut.lookups as f64;
        let literal = word_sizes(cut, blocks, shape.required_failure_log2() - lookups.log2())?;
        // Where rows are short, bytes are the reason to choose this scheme: they weigh twice.
        let sent = [literal.query_bytes(), literal.answer_bytes()].map(|bytes| 2 * bytes);
        let price = price(shape.goal, literal.server_ops(), sent, literal.record_bytes);
        Some((price * lookups, literal))
    });
    let cheapest = priced.min_by(|(x, _), (y, _)| x.total_cmp(y));
    let none =
        || no_fit("it needs more than 2^36 records of at most 2048 bytes, or their noise leaves no margin");
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(none)?)
}

/// Divisions of rows into records.
fn cuts(shape: &TableShape) -> impl Iterator<Item = MatrixShape> {
    let (rows, row_bytes) = (shape.rows, shape.row_bytes);
    let together = (0..).map(|i| 1u64 << i).take_while(move |together| {
        row_bytes.checked_mul(*together).is_some_and(|bytes| bytes <= MAX_RECORD_BYTES)
    });
    let whole = together.map(move |together| {
        let together = together.min(rows);
        MatrixShape { record_bytes: together * row_bytes, records: rows.div_ceil(together), lookups: 1 }
    });
    // Widths are evened out, so that the last record of a row is not mostly padding.
    let lookups = row_bytes.div_ceil(MAX_RECORD_BYTES);
    let pieces = rows.checked_mul(lookups).filter(|_| lookups > 1);
    let record_bytes = row_bytes.div_ceil(lookups);
    whole.chain(pieces.map(move |records| MatrixShape { record_bytes, records, lookups }))
}

/// Minimum number of columns with more than one block: weights then take at most twice the bytes of
/// the records.
const MIN_COLUMNS: u64 = 3072;

/// Numbers of blocks worth trying.
fn grids(MatrixShape { records, .. }: MatrixShape) -> impl Iterator<Item = u64> {
    let blocks = (0..=MAX_BLOCKS.ilog2()).map(|log2| 1u64 << log2);
    blocks.filter(move |blocks| {
        let columns = records.div_ceil(*blocks);
        columns <= MAX_COLUMNS && (*blocks == 1 || columns >= MIN_COLUMNS)
    })
}

/// The word sizes with the fewest bytes in query and answer together, which trade noise against
/// each other. Each layer gets half of the failure probability.
fn word_sizes(cut: MatrixShape, blocks: u64, required: f64) -> Option<ParamsLiteral> {
    let MatrixShape { record_bytes, records, .. } = cut;
    let widest = [*MASK_BITS.end(); 2];
    let literal = |key_bits, inner_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        blocks,
        query_bits: [*QUERY_BITS.end(); 2],
        key_bits,
        inner_bits,
        answer_bits: widest,
        seed: PUBLIC_SEED,
    };
    let inner = (24..=27).flat_map(|mask| [18, 19, 20, 22].map(move |body| [mask, body]));
    let keys = KEY_BITS.rev().step_by(2).take(3);
    let first = keys.flat_map(|key| inner.clone().map(move |inner| literal(key, inner)));
    let first = first.filter_map(|literal| {
        narrowest(
            QUERY_BITS,
            |bits| ParamsLiteral { query_bits: [bits, 50], ..literal.clone() },
            |literal| literal.failures_log2()[0] <= required - 1.0,
        )
    });
    // With one block there is no second layer, and its bits are those of the first.
    let alone = |literal: ParamsLiteral| {
        let [bits, _] = literal.query_bits;
        ParamsLiteral { query_bits: [bits; 2], answer_bits: literal.inner_bits, ..literal }
    };
    let answers = (22..=30).flat_map(|mask| [18, 19, 20].map(move |body| [mask, body]));
    let both = first.flat_map(|literal| -> Vec<ParamsLiteral> {
        if literal.picks() == 0 {
            return vec![alone(literal)];
        }
        let answers = answers.clone().filter_map(|answer_bits| {
            let with = |bits| {
                let [first, _] = literal.query_bits;
                ParamsLiteral { query_bits: [first, bits], answer_bits, ..literal.clone() }
            };
            narrowest(QUERY_BITS, with, |literal| literal.failures_log2()[1] <= required - 1.0)
        });
        answers.collect()
    });
    both.min_by_key(|literal| (literal.query_bytes() + literal.answer_bytes(), literal.query_bits))
}

/// The first literal that is reliable; those after it with more bits are too.
fn narrowest(
    bits: RangeInclusive<u8>,
    with: impl Fn(u8) -> ParamsLiteral,
    reliable: impl Fn(&ParamsLiteral) -> bool,
) -> Option<ParamsLiteral> {
    let (mut low, mut high) = (*bits.start(), *bits.end());
    if !reliable(&with(high)) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if reliable(&with(middle)) { high = middle } else { low = middle + 1 }
    }
    Some(with(high))
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
        let of = |goal| select(&TableShape { goal, ..TableShape::new(1 << 24, 64, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        let bytes = |literal: &ParamsLiteral| literal.query_bytes() + literal.answer_bytes();
        assert!(bytes(&total) <= bytes(&time) && time.server_ops() <= total.server_ops());
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The reference table: 1 GiB as 2^24 x 64 B.
        for l in [&time, &total] {
            println!(
                "{l:?} up {} down {} {:?} {:?} ops {}",
                l.query_bytes(),
                l.answer_bytes(),
                l.starts(),
                l.failures_log2(),
                l.server_ops() / 350000
            );
        }
        assert!(bytes(&total) <= 172_000, "{total:?}");
        assert!(bytes(&time) <= 347_000, "{time:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(12))]
        #[test]
        fn what_is_selected_passes_the_check(rows in 1u64..1 << 30, row_bytes in 1u64..1 << 14) {
            if let Ok(literal) = select(&TableShape::new(rows, row_bytes, 1)) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= -40.0);
            }
        }
    }
}
