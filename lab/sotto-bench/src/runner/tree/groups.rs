//! The tables that one client queries: each by itself, or all that a proof visits once as the
//! buckets of one table, where a scheme queries those at once.

use super::Run;
use super::stack::Stack;
use crate::definition::Case;
use crate::error::BenchError;
use crate::plan::{CasePlan, PreparedCase};
use sotto_layers::color_proof::ROW_BYTES;
use std::borrow::Cow;
use std::ops::Range;

/// Tables that are encoded as one.
pub(super) struct Group<'a> {
    /// The numbers of the tables in the stack.
    tables: Range<usize>,
    /// Rows of the tables, one table after the other.
    pub(super) rows: Cow<'a, [u8]>,
    pub(super) case: Case,
}

/// All groups of a stack, or the reason why the scheme has no parameters for one.
pub(super) enum GroupPlan<'a> {
    Groups(Vec<Group<'a>>),
    NoFit(String),
}

/// Groups the tables of a stack for a scheme.
pub(super) fn plan<'a>(run: &Run<'_>, stack: &'a Stack, line: &Case) -> Result<GroupPlan<'a>, BenchError> {
    let tables = stack.tables();
    let alone = |i: usize, table: &'a Vec<u8>| Group {
        tables: i..i + 1,
        rows: Cow::Borrowed(table),
        case: Case { rows: (table.len() / ROW_BYTES) as u64, ..line.clone() },
    };
    let visits = stack.visits();
    let once = |i: &usize| visits.iter().filter(|visit| *visit == i).count() == 1;
    let buckets = (0..tables.len()).take_while(once).count();
    let longest = tables.iter().take(buckets).map(|table| table.len() / ROW_BYTES).max().unwrap_or(0) as u64;
    let case = Case { rows: longest * buckets as u64, buckets: buckets as u64, ..line.clone() };
    if buckets < 2 || !crate::plan::queries_buckets(&case, run.schemes) {
        let groups = tables.iter().enumerate().map(|(i, table)| alone(i, table));
        return Ok(GroupPlan::Groups(groups.collect()));
    }
    let each = match PreparedCase::of(&case, run.schemes, run.options)? {
        CasePlan::NoFit(why) => return Ok(GroupPlan::NoFit(why)),
        // As many rows as fit the records of a bucket.
        CasePlan::Plan(plan) => plan.packing.capacity() / buckets as u64,
    };
    let mut rows = Vec::with_capacity(buckets * each as usize * ROW_BYTES);
    for (i, table) in tables.iter().take(buckets).enumerate() {
        rows.extend_from_slice(table);
        rows.resize((i + 1) * each as usize * ROW_BYTES, 0);
    }
    let case = Case { rows: each * buckets as u64, ..case };
    let first = Group { tables: 0..buckets, rows: Cow::Owned(rows), case };
    let others = tables.iter().enumerate().skip(buckets).map(|(i, table)| alone(i, table));
    Ok(GroupPlan::Groups(std::iter::once(first).chain(others).collect()))
}

impl Group<'_> {
    /// The row of a visit to a table, if it is in this group.
    pub(super) fn row(&self, table: usize, row: u64) -> Option<u64> {
        let bucket = self.tables.clone().position(|own| own == table)?;
        Some(bucket as u64 * (self.case.rows / self.case.buckets) + row)
    }

    /// Number of queries of a proof.
    pub(super) fn queries(&self, visits: &[usize]) -> u64 {
        let visits = visits.iter().filter(|visit| self.tables.contains(visit)).count() as u64;
        visits / self.case.buckets
    }
}
