//! Choosing the number of rows of a record.
//!
//! An answer has the size of a record, so wide records cost bytes; but the server grows a bit for
//! every record from the key, and records are padded to 8 bytes, so narrow ones cost time.
//! [`TableShape::goal`] decides which weighs more.

use crate::literal::{MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral};
use sotto_core::{Goal, ParamsError, Result, TableShape};

/// Table bytes that a server scans at the price of one byte on the wire, as in other schemes: it
/// breaks ties.
const SCANNED_PER_SENT: f64 = 2000.0;

/// Table bytes that can be scanned, for one query of a full batch, in the time of growing a leaf.
const SCANNED_PER_LEAF: f64 = 2500.0;

/// Rows are not packed into records wider than this: an answer then has the size of a key.
const PACKED_BYTES: u64 = 256;

/// The best literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one with more records than there may be.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let (rows, row_bytes) = (shape.rows, shape.row_bytes);
    let no_fit = |why: &str| ParamsError::NoFit { rows, row_bytes, why: why.into() }.into();
    if rows == 0 || row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte"));
    }
    if row_bytes > MAX_RECORD_BYTES {
        // Heights are evened out, so that the last record of a row is not mostly padding.
        let pieces = row_bytes.div_ceil(MAX_RECORD_BYTES);
        let record_bytes = row_bytes.div_ceil(pieces).next_multiple_of(8);
        let literal = rows.checked_mul(pieces).filter(|_| shape.proof_nodes == 0);
        let literal = literal.map(|records| ParamsLiteral { records, record_bytes, path: 0 });
        return literal.filter(fits).ok_or_else(|| no_fit("it has more than 2^40 pieces of 1 MiB"));
    }
    let most = (PACKED_BYTES / row_bytes).clamp(1, rows);
    (1..=most)
        .map(|k| ParamsLiteral {
            records: rows.div_ceil(k),
            record_bytes: (k * row_bytes).next_multiple_of(8),
            path: shape.proof_nodes,
        })
        .filter(fits)
        .map(|literal| (price(&literal, shape.goal), literal))
        .min_by(|(x, _), (y, _)| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)))
        .map(|(_, literal)| literal)
        .ok_or_else(|| no_fit("it has more than 2^40 records"))
}

fn fits(literal: &ParamsLiteral) -> bool {
    literal.records <= MAX_RECORDS && literal.holds_path()
}

/// The quantity that the goal minimizes, and the one that breaks ties.
fn price(literal: &ParamsLiteral, goal: Goal) -> (f64, f64) {
    let costs = literal.costs();
    let leaves = literal.leaves() as f64;
    let work = costs.resident_bytes as f64 + leaves * SCANNED_PER_LEAF;
    let (query, answer) = (costs.query_bytes as f64, costs.answer_bytes as f64);
    let all = work / SCANNED_PER_SENT + 2.0 * (query + answer);
    match goal {
        Goal::ServerTime => (all, work),
        Goal::QueryBytes => (query, all),
        Goal::TotalBytes => (query + answer, work),
        Goal::Rate => (answer, work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::Params as _;

    fn chosen(rows: u64, row_bytes: u64, goal: Goal) -> ParamsLiteral {
        select(&TableShape { goal, ..TableShape::new(rows, row_bytes, 1) }).unwrap()
    }

    #[test]
    fn narrow_rows_share_a_record_and_wide_ones_have_their_own() {
        assert!(chosen(1 << 24, 4, Goal::ServerTime).record_bytes >= 32);
        assert_eq!(
            chosen(1 << 24, 3, Goal::Rate),
            ParamsLiteral { records: 1 << 23, record_bytes: 8, path: 0 }
        );
        assert_eq!(
            chosen(1000, 257, Goal::ServerTime),
            ParamsLiteral { records: 1000, record_bytes: 264, path: 0 }
        );
        // Where padding would be a fifth of the table, rows are packed to avoid it.
        let odd = chosen(1 << 24, 33, Goal::ServerTime);
        assert!(odd.records * odd.record_bytes < (1 << 24) * 34, "{odd:?}");
    }

    #[test]
    fn a_row_wider_than_a_record_is_cut_evenly() {
        let literal = chosen(10, MAX_RECORD_BYTES + 1, Goal::ServerTime);
        assert_eq!(literal, ParamsLiteral { records: 20, record_bytes: MAX_RECORD_BYTES / 2 + 8, path: 0 });
    }

    #[test]
    fn each_goal_has_what_it_asks_for() {
        let costs = |goal| Params::check(chosen(1 << 22, 8, goal)).unwrap().report().costs;
        let all = Goal::ALL.map(costs);
        assert!(all.iter().all(|c| c.query_bytes >= costs(Goal::QueryBytes).query_bytes));
        assert!(all.iter().all(|c| c.answer_bytes >= costs(Goal::Rate).answer_bytes));
        let total = costs(Goal::TotalBytes);
        assert!(all.iter().all(|c| c.query_bytes + c.answer_bytes >= total.query_bytes + total.answer_bytes));
    }

    #[test]
    fn the_costs_of_the_largest_table_are_within_64_bits() {
        let literal = chosen(MAX_RECORDS, MAX_RECORD_BYTES, Goal::ServerTime);
        assert_eq!(Params::check(literal).unwrap().report().costs.server_ops, u64::MAX);
    }

    proptest::proptest! {
        #[test]
        fn what_is_selected_passes_the_check_and_holds_the_rows(
            rows in 1u64..,
            row_bytes in 1u64..,
            shift in 0u32..64,
            narrow in 0u32..64,
        ) {
            let (rows, row_bytes) = ((rows >> shift).max(1), (row_bytes >> narrow).max(1));
            for goal in Goal::ALL {
                let Ok(literal) = select(&TableShape { goal, ..TableShape::new(rows, row_bytes, 1) }) else { continue };
                proptest::prop_assert!(Params::check(literal.clone()).is_ok());
                let held = if literal.record_bytes >= row_bytes {
                    u128::from(literal.record_bytes / row_bytes) * u128::from(literal.records)
                } else {
                    u128::from(literal.records / row_bytes.div_ceil(literal.record_bytes))
                };
                proptest::prop_assert!(held >= u128::from(rows), "{:?}", literal);
            }
        }
    }
}
