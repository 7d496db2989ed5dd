//! Choosing a matrix for a table: tall records cost diagonals and ciphertexts of answers, many
//! records cost words of queries.

use crate::bound;
use crate::linpir::{BLOCK_ROWS, rings};
use crate::literal::{MAX_RECORD_BYTES, MAX_RECORDS, PUBLIC_SEED, ParamsLiteral};
use sotto_core::{ParamsError, Result, TableShape};
use sotto_silent::lwe::dense::HINTLESS;
use sotto_silent::matrix_shape::{MatrixShape, cuts, price};

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
    let rings = rings()?;
    let cuts = cuts(shape, *BLOCK_ROWS.start(), MAX_RECORD_BYTES).filter(|cut| cut.records <= MAX_RECORDS);
    let blocks = || (0..).map(|i| BLOCK_ROWS.start() << i).take_while(|rows| BLOCK_ROWS.contains(rows));
    let tried = cuts.flat_map(|cut| blocks().map(move |block_rows| (cut, block_rows)));
    let priced = tried.filter_map(|(cut, block_rows)| {
        let MatrixShape { record_bytes, records, lookups } = cut;
        let failure = bound::record_failure_log2(&rings, record_bytes, records, block_rows);
        let set = HINTLESS.name.into();
        let literal = ParamsLiteral { set, record_bytes, records, block_rows, seed: PUBLIC_SEED };
        let sent = [literal.query_bytes(), literal.answer_bytes()];
        let price = price(shape.goal, literal.server_ops(), sent, record_bytes) * lookups as f64;
        (failure <= cut.required_failure_log2(shape)).then_some((price, literal))
    });
    let cheapest = priced.min_by(|(x, _), (y, _)| x.total_cmp(y));
    let none =
        || no_fit("it needs more than 2^20 records of at most 2^20 bytes, or their noise leaves no margin");
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(none)?)
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
    fn the_papers_tables() {
        // 2^20 x 256 B, 2^30 x 1 B, 2^18 x 32 KiB; the paper's bytes up and down, in thousands.
        for (rows, row_bytes, paper) in
            [(1 << 20, 256, 388 + 1540), (1 << 30, 1, 453 + 3080), (1 << 18, 1 << 15, 1502 + 3080)]
        {
            for goal in [Goal::ServerTime, Goal::TotalBytes] {
                let literal = select(&TableShape { goal, ..TableShape::new(rows, row_bytes, 1) }).unwrap();
                let (up, down) = (literal.query_bytes(), literal.answer_bytes());
                println!(
                    "{literal:?}: {up} + {down}, image {} MB",
                    (literal.matrix_bytes() + literal.linpir_bytes()) >> 20
                );
                assert!(up + down <= paper * 1000, "{literal:?}");
            }
        }
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
