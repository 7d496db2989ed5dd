//! Choosing the grid for a table: the paper's, and a smaller one for tables that would leave most
//! of it empty.

use crate::bound;
use crate::grid::{MAX_PAGES, PAGE_BYTES};
use crate::literal::{MASK_BITS, ParamsLiteral};
use crate::ring::{CYCLE, N, SET};
use sotto_core::{ParamsError, Result, TableShape};

/// Numbers of bits of an answer's body above those of a word that are tried.
const BODY_BITS: std::ops::RangeInclusive<u8> = 18..=21;

/// Selects the literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let why = "it is empty, has rows of more than 2^20 bytes or more than 2^23 records of 8 KiB, or its lookups fail too often";
    let no_fit = || ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    let literal = draft(shape).ok_or_else(no_fit)?;
    let grid = literal.grid().ok_or_else(no_fit)?;
    let bits = BODY_BITS
        .flat_map(|body| (body.max(*MASK_BITS.start())..=*MASK_BITS.end()).map(move |mask| [mask, body]));
    let reliable = bits
        .map(|answer_bits| ParamsLiteral { answer_bits, ..literal.clone() })
        .filter(|literal| bound::record_failure_log2(&grid, literal) <= shape.required_failure_log2());
    let fewest = reliable.min_by_key(|literal| literal.answer_bits.map(u32::from).iter().sum::<u32>());
    Ok(fewest.ok_or_else(no_fit)?)
}

/// The literal without the bits of an answer. With 2048 columns and 128 baby steps it is the
/// paper's.
fn draft(shape: &TableShape) -> Option<ParamsLiteral> {
    if shape.rows == 0 || shape.row_bytes == 0 {
        return None;
    }
    let pages =
        u32::try_from(shape.row_bytes.div_ceil(PAGE_BYTES as u64)).ok().filter(|x| *x <= MAX_PAGES)?;
    let together = (u64::from(pages) * PAGE_BYTES as u64 / shape.row_bytes).max(1);
    let records = shape.rows.div_ceil(together);
    let columns = records.clamp(2, CYCLE as u64).next_power_of_two();
    let blocks = records.div_ceil(columns);
    let blocks = (blocks <= N as u64).then(|| blocks.next_power_of_two())?;
    // A giant step costs a key switch in each block, and a baby step only one.
    let babies = columns.min(2 << columns.ilog2().div_ceil(2));
    let [columns, blocks, babies] = [columns, blocks, babies].map(|x| x as u32);
    Some(ParamsLiteral { set: SET.into(), records, pages, columns, blocks, babies, answer_bits: [0; 2] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::Params as _;

    #[test]
    fn large_tables_have_the_papers_grid() {
        for (mib, blocks) in [(16, 1), (256, 16), (1024, 64), (8192, 512)] {
            let literal = select(&TableShape::new(mib << 7, 8192, 1)).unwrap();
            assert_eq!((literal.columns, literal.blocks, literal.babies), (2048, blocks, 128));
        }
    }

    #[test]
    fn rows_that_no_grid_holds_are_refused() {
        for (rows, row_bytes) in
            [(0, 1), (1, 0), (1, (1 << 20) + 1), ((1 << 23) + 1, 8192), (u64::MAX, u64::MAX)]
        {
            assert!(select(&TableShape::new(rows, row_bytes, 1)).is_err(), "{rows} {row_bytes}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(24))]
        #[test]
        fn what_is_selected_passes_the_check(rows in 1u64..1 << 24, row_bytes in 1u64..1 << 21) {
            if let Ok(literal) = select(&TableShape::new(rows, row_bytes, 1)) {
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 <= -40.0);
                proptest::prop_assert!(report.records * (report.record_bytes / row_bytes) >= rows);
            }
        }
    }
}
