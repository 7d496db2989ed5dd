//! Parameters: N rows of B bytes, c partitions of w rows, M hints, m backups of each partition, Q
//! queries; and the bound on failed lookups, with the sequences of queries that it covers.
//!
//! A lookup fails in two ways. *No hint contains the row*: a hint has one of the w rows of each
//! partition, so it lacks a given row with probability 1 - 1/w, and README.md proves that this
//! stays so whatever was requested before. And *the partition has no backup left*: that depends on
//! the requests, and no practical number of backups covers every sequence. The bound here is for a
//! sequence of different rows, chosen without regard to the public order
//! ([`places`](crate::places)) of rows in partitions.

use serde::{Deserialize, Serialize};
use sotto_core::{Result, TableShape};
use sotto_hints::one_server::params::{FamilyReport, balanced, security_model};
use sotto_hints::one_server::{HintNumbers, Literal, state::HEAD_BYTES};
use std::f64::consts::LN_2;

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
            failure_log2: failure_log2(&self.numbers()),
            covered: covered(&self.numbers()),
            candidates: candidates(&self.numbers()),
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

/// log2 of a bound on the probability that any of a client's Q lookups fails, for the covered
/// sequences.
pub(crate) fn failure_log2(numbers: &HintNumbers) -> f64 {
    let &HintNumbers { partitions, partition_rows, hints, backups, queries, .. } = numbers;
    let missed = missed_log2(hints, queries, partition_rows);
    let starved = starved_log2(backups, queries, partitions, partition_rows);
    let larger = missed.max(starved);
    larger + ((missed - larger).exp2() + (starved - larger).exp2()).log2()
}

/// log2 of a bound on the probability that there is a query whose row is in no hint.
fn missed_log2(hints: u64, queries: u64, w: u64) -> f64 {
    (queries as f64).log2() + hints as f64 * (-1.0 / w as f64).ln_1p() / LN_2
}

/// log2 of a bound on the probability that more than m rows of any partition are requested.
///
/// Under a random order the requested rows are Q of all places without repetition, of which 1/c are
/// in a given partition. Their number exceeds m with probability at most exp(-Q D(a/Q, 1/c)), a = m
/// + 1 and D the relative entropy (Chernoff; Hoeffding 1963, section 6, for draws without
///   repetition). There are c partitions.
fn starved_log2(backups: u64, queries: u64, c: u64, w: u64) -> f64 {
    if backups >= queries.min(w) {
        // No partition has more rows than that, and no row is requested twice.
        return f64::NEG_INFINITY;
    }
    let (share, mean) = ((backups + 1) as f64 / queries as f64, 1.0 / c as f64);
    if share <= mean {
        return 0.0;
    }
    let term = |x: f64, y: f64| if x > 0.0 { x * (x / y).ln() } else { 0.0 };
    let entropy = term(share, mean) + term(1.0 - share, 1.0 - mean);
    (c as f64).log2() - queries as f64 * entropy / LN_2
}

/// The least number of hints for which a row is missed with probability at most 2^`target`.
pub(crate) fn min_hints(queries: u64, w: u64, target: f64) -> u64 {
    (((queries as f64).log2() - target) / -missed_log2(1, 1, w)).ceil() as u64
}

/// The least number of backups for which a partition runs out of backups with probability at most
/// 2^`target`.
pub(crate) fn least_backups(queries: u64, c: u64, w: u64, target: f64) -> u64 {
    let most = queries.min(w);
    (1..most).find(|backups| starved_log2(*backups, queries, c, w) <= target).unwrap_or(most)
}

/// Number of candidates that a query examines. Candidates are the ids whose offset in the partition
/// is the row's (1/w), those whose own entry has the row's tag without being it (1/65535), and
/// those whose own entry is the row. There are at most as many of the latter as the partition has
/// backups; the others are a sum of nearly independent rare events: twelve deviations and 32 above
/// its mean leave 2^-100.
pub(crate) fn candidates(numbers: &HintNumbers) -> u64 {
    let ids = (numbers.hints + numbers.partitions * numbers.backups) as f64;
    let mean = ids / numbers.partition_rows as f64 + ids / 65535.0;
    (mean + 12.0 * mean.sqrt() + 32.0).ceil() as u64 + numbers.backups
}

/// The sequences of queries that the bound covers.
pub(crate) fn covered(numbers: &HintNumbers) -> &'static str {
    if numbers.backups >= numbers.queries {
        "of any query of the whole budget, for all sequences of rows"
    } else if numbers.backups >= numbers.partition_rows {
        "of any query of the whole budget, if no row is requested again before it was read"
    } else {
        "of any query of the whole budget, if rows are chosen without regard to the table's public order and \
         none is requested again before it was read; other sequences use up the backups of a partition"
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

    /// The probability that one of c cells gets more than m of q throws, by the sum over one cell's binomial and by c.
    fn exact(m: u64, q: u64, c: u64) -> f64 {
        let p = 1.0 / c as f64;
        let mut term = (1.0 - p).powi(q as i32);
        let mut above = 0.0;
        for k in 0..=q {
            if k > m {
                above += term;
            }
            term *= (q - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        }
        above * c as f64
    }

    #[test]
    fn the_bound_is_above_the_binomial_and_near_it() {
        for (m, q, c) in [(4, 20, 10), (9, 50, 10), (30, 277, 64), (12, 40, 16), (39, 40, 2)] {
            let (bound, exact) = (starved_log2(m, q, c, 1 << 16), exact(m, q, c).log2());
            assert!(bound >= exact && bound < exact + 6.0, "{m} of {q} in {c}: {bound:.2}, {exact:.2}");
        }
    }

    #[test]
    fn the_least_is_the_least() {
        for (q, c, w) in [(14_196, 1024, 1024), (64, 2, 2), (1, 1, 2), (600, 100, 128), (64, 1, 1 << 16)] {
            let (hints, backups) = (min_hints(q, w, -41.0), least_backups(q, c, w, -41.0));
            assert!(missed_log2(hints, q, w) <= -41.0 && missed_log2(hints - 1, q, w) > -41.0, "{hints}");
            assert!(starved_log2(backups, q, c, w) <= -41.0, "{backups}");
            assert!(backups == 1 || starved_log2(backups - 1, q, c, w) > -41.0, "{backups}");
        }
    }
}
