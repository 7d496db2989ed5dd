//! Choosing partitions, hints and pairs for a table.

use crate::bound;
use crate::params::{MOST_PER_SIDE, MOST_ROW_BYTES, ParamsLiteral, least_partitions};
use sotto_core::{Goal, NamedSet, ParamsError, Result, Shape};

/// How many queries a row of a partition pays for: P = 40 w, half as many as there are hints (the paper's
/// 0.5 lambda w with lambda = 80). More would make the state larger for a longer time between two streams.
const PAIRS_PER_ROW: u64 = 40;

/// Fewest pairs, so that small tables can be asked more than a few times.
const LEAST_PAIRS: u64 = 64;

/// A set that can be asked for by name: how many times wider partitions are than a balanced table's.
pub(crate) struct Set {
    pub(crate) named: NamedSet,
    wider: u64,
}

/// c = w, and fewer, wider partitions: they make requests and the server's work smaller by the factor that makes the
/// client's state and its preparation's memory larger.
pub(crate) const SETS: [Set; 3] = [
    Set {
        named: NamedSet {
            name: "balanced",
            about: "as many partitions as rows in each: least client state for its requests",
        },
        wider: 1,
    },
    Set {
        named: NamedSet { name: "half", about: "requests of half the size, twice the client state" },
        wider: 2,
    },
    Set {
        named: NamedSet { name: "quarter", about: "requests of a quarter, four times the client state" },
        wider: 4,
    },
];

/// A literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &Shape) -> Result<ParamsLiteral> {
    let &Shape { rows, row_bytes, lookups_per_client, goal, ref set, .. } = shape;
    let no_fit = |why: &str| ParamsError::NoFit { rows, row_bytes, why: why.into() };
    if rows == 0 || row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    if rows > MOST_PER_SIDE * MOST_PER_SIDE || row_bytes > MOST_ROW_BYTES {
        return Err(no_fit("it needs more than 2^32 rows or more than 2^20 bytes in a row").into());
    }
    let named = SETS.iter().find(|known| set.as_deref() == Some(known.named.name));
    let wider = named.map_or(wider(goal), |known| known.wider);
    // c <= w for a balanced table: the state is streamed once, the request is sent each time.
    let balanced = 1 << rows.next_power_of_two().ilog2().div_ceil(2);
    let w = (balanced * wider).min(MOST_PER_SIDE).min(rows.next_power_of_two());
    let pairs = lookups_per_client.clamp(LEAST_PAIRS, (PAIRS_PER_ROW * w).max(LEAST_PAIRS));
    let c = least_partitions(rows, w);
    let hints = bound::least_hints(pairs, shape.required_failure_log2(), w, |_| c);
    Ok(ParamsLiteral { rows, row_bytes, partitions: c, partition_rows: w, hints, pairs })
}

fn wider(goal: Goal) -> u64 {
    match goal {
        Goal::ServerTime | Goal::Rate => 1,
        Goal::TotalBytes => 2,
        Goal::QueryBytes => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use sotto_core::Params as _;

    fn checked(shape: &Shape) -> Params {
        Params::check(select(shape).unwrap()).unwrap()
    }

    #[test]
    fn the_papers_tables_have_its_partitions_and_our_requests() {
        for (log2_rows, side, request) in [(20, 1 << 10, 768), (24, 1 << 12, 3584), (28, 1 << 14, 16384)] {
            let params = checked(&Shape::new(1 << log2_rows, 32, u64::MAX));
            assert_eq!((params.partitions(), params.partition_rows()), (side, side));
            assert_eq!((params.request_bytes(), params.pairs()), (request, 40 * side));
            let hints = params.hints() as f64 / side as f64;
            assert!((75.0..84.0).contains(&hints), "{hints} hints to a row of a partition");
        }
    }

    #[test]
    fn every_table_fits_by_every_goal_and_set() {
        let rows = (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, 3 << 19, u64::from(u32::MAX), 1 << 32]);
        for rows in rows {
            let mut shape = Shape::new(rows, 3, 1000);
            for goal in Goal::ALL {
                shape.goal = goal;
                checked(&shape);
            }
            for set in &SETS {
                shape.set = Some(set.named.name.into());
                let params = checked(&shape);
                let (c, w) = (params.partitions() as u64, params.partition_rows() as u64);
                assert!(c * w >= rows && c.is_multiple_of(2), "{rows} rows in {c} partitions of {w}");
            }
        }
    }

    #[test]
    fn hints_are_as_few_as_the_bound_allows() {
        for rows in [1, 100, 1 << 20, 1 << 32] {
            let mut literal = select(&Shape::new(rows, 8, u64::MAX)).unwrap();
            literal.hints -= 3;
            assert!(Params::check(literal).is_err(), "{rows} rows can do with fewer hints");
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
