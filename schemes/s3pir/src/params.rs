//! Parameters: N rows of B bytes, c partitions of w rows, M hints, P backup pairs; and the bound on
//! failed lookups that says how many hints there have to be.
//!
//! A hint holds c/2 + 1 of the c partitions, and one of the w rows of each. So it contains a given
//! row with probability (c/2 + 1)/(c w), a little more than 1/(2w), and README.md proves that this
//! stays so whatever was requested before.

use serde::{Deserialize, Serialize};
use sotto_core::{Goal, NamedSet, Result, TableShape};
use sotto_hints::one_server::params::{
    FamilyReport, MAX_IDS, MAX_PER_SIDE, balanced, min_partitions, security_model,
};
use sotto_hints::one_server::{HintNumbers, Literal, state::HEAD_BYTES};
use std::f64::consts::LN_2;

/// Number of queries that a row of a partition pays for: P = 40 w, half as many as there are hints
/// (the paper's 0.5 lambda w with lambda = 80). More would make the state larger for a longer time
/// between two streams.
const PAIRS_PER_ROW: u64 = 40;

/// Minimum number of pairs, so that clients of small tables can make more than a few queries.
pub(crate) const MIN_PAIRS: u64 = 64;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Partitions of the table, c; even. Rows past the last are zero and not stored.
    pub partitions: u64,
    /// Rows in a partition, w; a power of two.
    pub partition_rows: u64,
    /// Hints that a client has at any time, M.
    pub hints: u64,
    /// Backup pairs that a client starts with, P, which is the number of queries that it can make.
    pub pairs: u64,
}

/// Bytes of the saved state of a new client with `hints` hints and `pairs` pairs.
pub(crate) fn client_bytes(row_bytes: u64, hints: u64, pairs: u64) -> u64 {
    HEAD_BYTES + 4 + hints * (row_bytes + 9) + pairs * (2 * row_bytes + 4)
}

/// The named sets, each with the factor by which its partitions are wider than a balanced table's.
/// Fewer, wider partitions make queries and the server's work smaller by that factor, and the
/// client's state and its preparation's memory larger.
const SETS: [(NamedSet, u64); 3] = [
    set("balanced", "as many partitions as rows in each: least client state for its requests", 1),
    set("half", "requests of half the size, twice the client state", 2),
    set("quarter", "requests of a quarter, four times the client state", 4),
];

const fn set(name: &'static str, about: &'static str, wider: u64) -> (NamedSet, u64) {
    (NamedSet { name, about }, wider)
}

impl Literal for ParamsLiteral {
    const MULTIPLE: u64 = 2;
    const MIN_ROWS: u64 = 1;
    const PER_PARTITION: bool = false;
    const MAX_BACKUPS: u64 = MAX_IDS;

    fn numbers(&self) -> HintNumbers {
        let &ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs } = self;
        HintNumbers { rows, row_bytes, partitions, partition_rows, hints, backups: pairs, queries: pairs }
    }

    fn promise(&self) -> FamilyReport {
        let &ParamsLiteral { row_bytes, partitions: c, partition_rows: w, hints, pairs, .. } = self;
        FamilyReport {
            failure_log2: failure_log2(hints, pairs, c, w),
            covered: "of any query of the whole budget, not of one lookup",
            candidates: candidates(hints, pairs, c, w),
            client_bytes: client_bytes(row_bytes, hints, pairs),
            growth: 0,
            // c (1 + 1/16 + 1/4) blocks for each of P.
            model: security_model(pairs as f64 * c as f64 * 1.3125),
            details: sotto_core::report_details(|| vec![("P", pairs.to_string())]),
        }
    }

    fn sets() -> Vec<NamedSet> {
        SETS.iter().map(|(named, _)| *named).collect()
    }

    fn select(shape: &TableShape) -> Result<Self> {
        let &TableShape { rows, row_bytes, lookups_per_client, goal, ref set, .. } = shape;
        // c <= w for a balanced table: the state is streamed once, the request is sent each time.
        let balanced = balanced(shape)?;
        let named = SETS.iter().find(|(known, _)| set.as_deref() == Some(known.name));
        let wider = named.map_or(wider(goal), |(_, wider)| *wider);
        let w = (balanced * wider).min(MAX_PER_SIDE).min(rows.next_power_of_two());
        let pairs = lookups_per_client.clamp(MIN_PAIRS, (PAIRS_PER_ROW * w).max(MIN_PAIRS));
        let c = min_partitions::<Self>(rows, w);
        let hints = min_hints(pairs, shape.required_failure_log2(), w, |_| c);
        Ok(ParamsLiteral { rows, row_bytes, partitions: c, partition_rows: w, hints, pairs })
    }
}

fn wider(goal: Goal) -> u64 {
    match goal {
        Goal::ServerTime | Goal::Rate => 1,
        Goal::TotalBytes => 2,
        Goal::QueryBytes => 4,
    }
}

/// Number of ids that the bounds assume to be void: 2^-32 for each partition of each id is
/// expected, and there are fewer than 64 plus four times that, except with probability 2^-128.
pub(crate) fn voids(ids: u64, c: u64) -> u64 {
    64 + (ids * c).div_ceil(1 << 30)
}

/// log2 of a bound on the probability that any of a client's P queries is for a row that no hint
/// contains.
pub(crate) fn failure_log2(hints: u64, pairs: u64, c: u64, w: u64) -> f64 {
    let live = hints.saturating_sub(voids(hints + pairs, c)) as f64;
    (pairs as f64).log2() + live * miss_log2(w)
}

/// The least number of hints for which [`failure_log2`] is at most `target`.
pub(crate) fn min_hints(pairs: u64, target: f64, w: u64, c: impl Fn(u64) -> u64) -> u64 {
    let live = (((pairs as f64).log2() - target) / -miss_log2(w)).ceil() as u64 + 1;
    let mut hints = live;
    // The margin grows by a fraction of the number added to M, so this ends after a few iterations.
    while hints - live < voids(hints + pairs, c(w)) {
        hints = live + voids(hints + pairs, c(w));
    }
    hints
}

/// log2 of a bound on the probability that one hint lacks a given row, 1 - 1/(2w).
fn miss_log2(w: u64) -> f64 {
    (-0.5 / w as f64).ln_1p() / LN_2
}

/// Number of candidates that a query examines. Candidates are the ids whose offset in the partition
/// is the row's, selected or not (1/w), those that have the row as their extra entry, and those
/// whose extra entry only has the row's tag (1/65535). That is a sum of nearly independent rare
/// events: twelve deviations and 32 above its mean leave 2^-100.
///
/// The last kind is so rare unless rows are requested again and again. Such a row becomes the extra
/// entry of all live hints that contain it, some forty, and they are candidates of every row with
/// its tag. Half a dozen such rows that share their tag exceed the number; among thousands of such
/// rows the probability of that is in the millionths. Then the hints that were promoted last are
/// left out, and the choice is uniform among the others. No lookup fails by that.
pub(crate) fn candidates(hints: u64, pairs: u64, c: u64, w: u64) -> u64 {
    let (ids, hints, c, w) = ((hints + pairs) as f64, hints as f64, c as f64, w as f64);
    let mean = ids / w + hints * (c / 2.0 + 1.0) / (c * w) + ids / 65535.0;
    (mean + 12.0 * mean.sqrt() + 32.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use sotto_core::Params as _;

    fn checked(shape: &TableShape) -> Params {
        Params::check(ParamsLiteral::select(shape).unwrap()).unwrap()
    }

    #[test]
    fn the_papers_tables_have_its_partitions_and_our_requests() {
        for (log2_rows, side, request) in [(20, 1 << 10, 768), (24, 1 << 12, 3584), (28, 1 << 14, 16384)] {
            let params = checked(&TableShape::new(1 << log2_rows, 32, u64::MAX));
            assert_eq!((params.partitions(), params.partition_rows()), (side, side));
            assert_eq!((params.report().costs.query_bytes, params.queries()), (request, 40 * side));
            let hints = params.hints() as f64 / side as f64;
            assert!((75.0..84.0).contains(&hints), "{hints} hints to a row of a partition");
        }
    }

    #[test]
    fn every_table_fits_by_every_goal_and_set() {
        let rows = (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, 3 << 19, u64::from(u32::MAX), 1 << 32]);
        for rows in rows {
            let mut shape = TableShape::new(rows, 3, 1000);
            for goal in Goal::ALL {
                shape.goal = goal;
                checked(&shape);
            }
            for set in ParamsLiteral::sets() {
                shape.set = Some(set.name.into());
                let params = checked(&shape);
                let (c, w) = (params.partitions() as u64, params.partition_rows() as u64);
                assert!(c * w >= rows && c.is_multiple_of(2), "{rows} rows in {c} partitions of {w}");
            }
        }
    }

    #[test]
    fn hints_are_as_few_as_the_bound_allows() {
        for rows in [1, 100, 1 << 20, 1 << 32] {
            let mut literal = ParamsLiteral::select(&TableShape::new(rows, 8, u64::MAX)).unwrap();
            literal.hints -= 3;
            assert!(Params::check(literal).is_err(), "{rows} rows can do with fewer hints");
        }
    }

    #[test]
    fn limits_are_refused_not_wrapped() {
        for (rows, row_bytes) in
            [(0, 1), (1, 0), ((1 << 32) + 1, 1), (1, (1 << 20) + 1), (u64::MAX, u64::MAX)]
        {
            assert!(
                ParamsLiteral::select(&TableShape::new(rows, row_bytes, u64::MAX)).is_err(),
                "{rows} {row_bytes}"
            );
        }
    }
}
