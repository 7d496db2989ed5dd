//! Choosing partitions, hints and backups for a table.

use crate::bound::{least_backups, least_hints};
use crate::params::{MOST_PER_SIDE, MOST_ROW_BYTES, ParamsLiteral};
use sotto_core::{ParamsError, Result, Shape};

/// Fewest queries, so that small tables can be asked more than a few times.
const LEAST_QUERIES: u64 = 128;

/// Fewest backups of a partition, for rows that are asked for again before they were read.
const LEAST_BACKUPS: u64 = 16;

/// A literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &Shape) -> Result<ParamsLiteral> {
    let &Shape { rows, row_bytes, lookups_per_client, .. } = shape;
    let no_fit = |why: &str| ParamsError::NoFit { rows, row_bytes, why: why.into() };
    if rows == 0 || row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    if rows > MOST_PER_SIDE * MOST_PER_SIDE || row_bytes > MOST_ROW_BYTES {
        return Err(no_fit("it needs more than 2^32 rows or more than 2^20 bytes in a row").into());
    }
    // c <= w. A partition of one row would leave nothing to choose.
    let w = 1 << rows.next_power_of_two().ilog2().div_ceil(2).max(1);
    let c = rows.div_ceil(w);
    // The paper's sqrt(n) ln n between two streams.
    let most = (c as f64 * (rows as f64).ln()).ceil() as u64;
    let queries = lookups_per_client.clamp(LEAST_QUERIES, most.max(LEAST_QUERIES));
    // Half of what may fail is for either way to.
    let each = shape.required_failure_log2() - 1.0;
    let hints = least_hints(queries, w, each);
    let backups = least_backups(queries, c, w, each).max(LEAST_BACKUPS);
    Ok(ParamsLiteral { rows, row_bytes, partitions: c, partition_rows: w, hints, backups, queries })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::Params as _;

    #[test]
    fn every_table_fits() {
        let rows = (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, 3 << 19, u64::from(u32::MAX), 1 << 32]);
        for rows in rows {
            for lookups in [1, 1000, u64::MAX] {
                let params = Params::check(select(&Shape::new(rows, 3, lookups)).unwrap()).unwrap();
                let places = (params.partitions() * params.partition_rows()) as u64;
                assert!((rows..rows + params.partition_rows() as u64).contains(&places), "{rows}");
            }
        }
    }

    #[test]
    fn the_papers_tables_have_its_partitions_and_queries() {
        for (log2_rows, queries) in [(20, 14_196), (24, 68_140), (28, 317_983)] {
            let params = select(&Shape::new(1 << log2_rows, 32, u64::MAX)).unwrap();
            let side = 1 << (log2_rows / 2);
            assert_eq!((params.partitions, params.partition_rows, params.queries), (side, side, queries));
            let hints = params.hints as f64 / side as f64;
            assert!((37.0..42.0).contains(&hints), "{hints} hints to a row of a partition");
            assert!((50..90).contains(&params.backups), "{} backups", params.backups);
        }
    }

    #[test]
    fn hints_and_backups_are_as_few_as_the_bound_allows() {
        for rows in [1 << 16, 1 << 20, 1 << 32] {
            let literal = select(&Shape::new(rows, 8, u64::MAX)).unwrap();
            let hints = ParamsLiteral { hints: literal.hints - literal.hints / 20, ..literal.clone() };
            let backups = ParamsLiteral { backups: literal.backups - 2, ..literal };
            assert!(Params::check(hints).is_err() && Params::check(backups).is_err(), "{rows} rows");
        }
    }

    #[test]
    fn limits_are_refused_not_wrapped() {
        for (rows, row_bytes) in
            [(0, 1), (1, 0), ((1 << 32) + 1, 1), (1, (1 << 20) + 1), (u64::MAX, u64::MAX)]
        {
            assert!(select(&Shape::new(rows, row_bytes, u64::MAX)).is_err(), "{rows} {row_bytes}");
        }
    }
}
