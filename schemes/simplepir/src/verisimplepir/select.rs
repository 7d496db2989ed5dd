//! Choosing a matrix for a table whose answers are verified.
//!
//! All of the table is streamed for any shape, so only the costs of a lookup decide: a query word
//! for every column, an answer word for every row, and a reading of 4 KiB of the client's own hint
//! for every row.

use super::literal::ParamsLiteral;
use crate::literal::{SET, matrix_bytes};
use crate::select::{SCANNED_PER_SENT, cheapest};
use sotto_core::{Goal, Result, TableShape};
use sotto_silent::lwe::bound;
use sotto_silent::lwe::ring::{N, PUBLIC_SEED};
use sotto_silent::matrix_shape::MatrixShape;

/// Selects the literal for a table that is best for the shape's goal.
///
/// # Errors
/// Those of [`crate::select::select`].
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    // Prices of a word of a query and of an answer. The server reads the same matrix for any shape.
    let (up, down) = match shape.goal {
        Goal::ServerTime | Goal::TotalBytes => (4.0, 4.0),
        Goal::QueryBytes => (4.0, 0.0),
        Goal::Rate => (0.0, 4.0),
    };
    cheapest(shape, |cut| {
        let MatrixShape { record_bytes, records, lookups } = cut;
        if bound::exact_failure_log2(record_bytes, records) > cut.required_failure_log2(shape) {
            return None;
        }
        let table = matrix_bytes(record_bytes, records) as f64;
        let (l, m) = (record_bytes as f64, records as f64);
        let read = (table + l * N as f64 * 4.0) / SCANNED_PER_SENT;
        let per_row = lookups as f64 * (m * up + l * down + read);
        let literal = ParamsLiteral { set: SET.into(), record_bytes, records, seed: PUBLIC_SEED };
        Some((table + shape.lookups_per_client as f64 * per_row, literal))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verisimplepir::params::Params;
    use sotto_core::Params as _;

    #[test]
    fn goals_are_kept() {
        let of = |goal| select(&TableShape { goal, ..TableShape::new(1 << 20, 256, 1000) }).unwrap();
        let [time, query, total, rate] = Goal::ALL.map(of);
        assert_eq!(time, total);
        assert!(query.records < total.records && rate.record_bytes < total.record_bytes);
        assert!(time.record_bytes.max(time.records) < 2 * time.record_bytes.min(time.records), "{time:?}");
    }

    proptest::proptest! {
        #[test]
        fn what_is_selected_passes_the_check(
            rows in 1u64..1 << 40, row_bytes in 1u64..1 << 24, lookups: u64, lookups_per_request in 1u64..1000, goal in 0usize..4,
        ) {
            let shape = TableShape { goal: Goal::ALL[goal], lookups_per_request, ..TableShape::new(rows, row_bytes, lookups) };
            if let Ok(literal) = select(&shape) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= shape.required_failure_log2());
            }
        }
    }
}
