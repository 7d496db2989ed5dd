//! Choosing hints, pairs and blocks for a table.

use super::params::{BLOCK_STEP, ParamsLiteral};
use crate::bound;
use sotto_core::{Result, Shape};

/// How many queries a row of a partition pays for, with one key: P = 80 w. The search goes through every id that was ever a
/// hint, so that it takes twice as long in the end; and pairs that nobody orders cost nothing.
const PAIRS_PER_ROW: u64 = 80;

/// Fewest pairs, so that small tables can be asked more than a few times.
const LEAST_PAIRS: u64 = 64;

/// Hints of a block to a row of a partition, 16 w: while the rows of some partitions are in a cache, each is added that
/// often in the mean, or eight times, and that pays for having read them.
const BLOCK_PER_ROW: u64 = 16;

/// Fewest hints of a block, if rows are not long: so that small tables are asked more than a few times between two orders.
const LEAST_BLOCK: u64 = 128;

/// Bytes of a supply, if rows are not so long that the smallest block has more.
const USUAL_SUPPLY_BYTES: u64 = 4 << 20;

/// A literal for a table: partitions as with one server. How many lookups are expected does not matter.
///
/// # Errors
/// As [`crate::select::select`].
pub fn select(shape: &Shape) -> Result<ParamsLiteral> {
    let one = crate::select::select(shape)?;
    let (c, w, row_bytes) = (one.partitions, one.partition_rows, one.row_bytes);
    let wanted = (PAIRS_PER_ROW * w).max(LEAST_PAIRS);
    let most = (BLOCK_PER_ROW * w).max(LEAST_BLOCK).min(USUAL_SUPPLY_BYTES / row_bytes).max(BLOCK_STEP);
    // Half a block more than are wanted: what rounding adds at most.
    let least = bound::least_hints(wanted + most / 2, shape.required_failure_log2(), w, |_| c);
    // As many blocks as it takes, and all of one size, so that rounding adds few hints.
    let blocks = least.div_ceil(most / BLOCK_STEP * BLOCK_STEP);
    let block = least.div_ceil(blocks).next_multiple_of(BLOCK_STEP);
    let pairs = wanted.next_multiple_of(block / 2);
    Ok(ParamsLiteral {
        rows: one.rows,
        row_bytes,
        partitions: c,
        partition_rows: w,
        hints: blocks * block,
        pairs,
        block,
    })
}
