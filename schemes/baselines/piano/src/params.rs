//! Parameters: N rows of B bytes, c partitions of w rows, M hints, m backups of each partition, Q queries.

use crate::bound::{self, least_backups, min_hints};
use serde::{Deserialize, Serialize};
use sotto_core::{Result, TableShape};
use sotto_hints::one_server::params::{FamilyReport, balanced, security_model};
use sotto_hints::one_server::{HintNumbers, Literal, state::HEAD_BYTES};

/// Minimum number of queries, so that clients of small tables can make more than a few.
const MIN_QUERIES: u64 = 128;

/// Minimum number of backups of a partition, for rows that are requested again before they were
/// recovered.
const MIN_BACKUPS: u64 = 16;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Partitions of the table, c.
    pub partitions: u64,
    /// Rows in a partition, w; a power of two.
    pub partition_rows: u64,
    /// Hints that a client has at any time, M.
    pub hints: u64,
    /// Backups of each partition, m, and as many replacement entries.
    pub backups: u64,
    /// Queries that a client can make, Q.
    pub queries: u64,
}

impl Literal for ParamsLiteral {
    const MULTIPLE: u64 = 1;
    const MIN_ROWS: u64 = 2;
    const PER_PARTITION: bool = true;
    /// Backups are counted with 16 bits.
    const MAX_BACKUPS: u64 = (1 << 16) - 1;

    fn numbers(&self) -> HintNumbers {
        let &ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, backups, queries } = self;
        HintNumbers { rows, row_bytes, partitions, partition_rows, hints, backups, queries }
    }

    fn promise(&self) -> FamilyReport {
        let &ParamsLiteral { row_bytes, partitions: c, hints, backups, queries, .. } = self;
        FamilyReport {
            failure_log2: bound::failure_log2(&self.numbers()),
            covered: bound::covered(&self.numbers()),
            candidates: bound::candidates(&self.numbers()),
            client_bytes: HEAD_BYTES + 4 + 2 * c + hints * (row_bytes + 1) + c * backups * 2 * row_bytes,
            growth: queries * (row_bytes + 5),
            // An offset of each partition and a replacement entry for each query.
            model: security_model(queries as f64 * (c + 1) as f64),
            details: sotto_core::report_details(|| {
                vec![("m", backups.to_string()), ("Q", queries.to_string())]
            }),
        }
    }

    fn select(shape: &TableShape) -> Result<Self> {
        let &TableShape { rows, row_bytes, lookups_per_client, .. } = shape;
        // c <= w. A partition of one row would leave nothing to choose.
        let w = balanced(shape)?.max(2);
        let c = rows.div_ceil(w);
        // The paper's sqrt(n) ln n between two streams.
        let most = (c as f64 * (rows as f64).ln()).ceil() as u64;
        let queries = lookups_per_client.clamp(MIN_QUERIES, most.max(MIN_QUERIES));
        // Each way to fail gets half of the failure probability.
        let each = shape.required_failure_log2() - 1.0;
        let hints = min_hints(queries, w, each);
        let backups = least_backups(queries, c, w, each).max(MIN_BACKUPS);
        Ok(ParamsLiteral { rows, row_bytes, partitions: c, partition_rows: w, hints, backups, queries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use sotto_core::Params as _;

    #[test]
    fn every_table_fits() {
        let rows = (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, 3 << 19, u64::from(u32::MAX), 1 << 32]);
        for rows in rows {
            for lookups in [1, 1000, u64::MAX] {
                let params =
                    Params::check(ParamsLiteral::select(&TableShape::new(rows, 3, lookups)).unwrap())
                        .unwrap();
                assert!((rows..rows + params.partition_rows() as u64).contains(&params.places()), "{rows}");
            }
        }
        for (rows, row_bytes) in [(0, 1), (1, 0), ((1 << 32) + 1, 1), (1, (1 << 20) + 1)] {
            assert!(
                ParamsLiteral::select(&TableShape::new(rows, row_bytes, u64::MAX)).is_err(),
                "{rows} {row_bytes}"
            );
        }
    }

    #[test]
    fn the_papers_tables_have_its_partitions_and_queries() {
        for (log2_rows, queries) in [(20, 14_196), (24, 68_140), (28, 317_983)] {
            let literal = ParamsLiteral::select(&TableShape::new(1 << log2_rows, 32, u64::MAX)).unwrap();
            let side = 1 << (log2_rows / 2);
            assert_eq!((literal.partitions, literal.partition_rows, literal.queries), (side, side, queries));
            let hints = literal.hints as f64 / side as f64;
            assert!((37.0..42.0).contains(&hints), "{hints} hints to a row of a partition");
            assert!((50..90).contains(&literal.backups), "{} backups", literal.backups);
            // The numbers are as small as the bound allows.
            let hints = ParamsLiteral { hints: literal.hints - literal.hints / 20, ..literal.clone() };
            let backups = ParamsLiteral { backups: literal.backups - 2, ..literal };
            assert!(Params::check(hints).is_err() && Params::check(backups).is_err());
        }
    }
}
