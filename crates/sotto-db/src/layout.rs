//! How a table lies in records: the scheme's parameters, and where the nodes go that prove its rows one by one.
//!
//! The lower levels of a row's path ride in its record, where an update rewrites `2^path` records; the upper ones are one public
//! file that each client fetches once, and follows by deltas. Every layout within those bounds is tried, and the one is taken
//! that adds least to bytes or server's work, whichever it adds more to.

use crate::rows_tree::default_leaf_rows;
use crate::{DbError, Result};
use rayon::prelude::*;
use sotto_catalog::catalog;
use sotto_catalog::rows_root::{NODE_BYTES, RowsRoot};
use sotto_catalog::{Hex32, Packing};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Misuse, ParamsError, ParamsReport, SchemeEntry, TableShape};

/// Whether rows can be verified one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowProofs {
    /// No lookup brings a proof.
    #[default]
    No,
    /// Every lookup does, if that adds at most a tenth to the bytes and to the server's work.
    IfCheap,
    /// Every lookup does.
    Yes,
}

/// Nodes of the tree's file, at most: a client reads all 32 KiB of them for each row, in some microseconds.
const MAX_NODES: u64 = 1 << 10;

/// Levels in a record, at most: an update rewrites 2^12 records. Where clients hold a hint that records change, 2^6.
const MAX_INSIDE: u32 = 12;
const MAX_INSIDE_HINT: u32 = 6;

/// Rows that are put together for the sake of a shorter path have at most so many bytes.
const MAX_TOGETHER: u64 = 4096;

/// What "cheap" is: so many times the bytes and the work, at most.
const CHEAP: f64 = 1.1;

/// A layout.
#[derive(Debug, Clone)]
pub struct RecordLayout {
    /// The scheme's parameters, as canonical JSON.
    pub params: Vec<u8>,
    /// What they promise and cost.
    pub report: ParamsReport,
    /// How rows lie in records.
    pub packing: Packing,
    /// Rows that a leaf of the table's tree has.
    pub leaf_rows: u64,
    /// Nodes in each record that prove its rows; `None` if rows cannot be verified one by one.
    pub path: Option<u32>,
}

/// What is laid out.
pub struct LayoutSearch<'a> {
    /// The scheme.
    pub entry: &'a SchemeEntry,
    /// The table's rows, without the room after them.
    pub rows: u64,
    /// What is asked of the scheme: rows with their room.
    pub shape: TableShape,
}

impl LayoutSearch<'_> {
    /// The best layout.
    ///
    /// # Errors
    /// [`DbError::Scheme`] for parameters that are refused, or rows for which there is no layout with paths.
    pub fn choose(&self, verified: RowProofs) -> Result<RecordLayout> {
        let verified = if self.entry.proven { RowProofs::Yes } else { verified };
        let plain = self.plain();
        if verified == RowProofs::No {
            return plain;
        }
        let base = plain.as_ref().map(|plain| self.costs(plain)).unwrap_or((f64::INFINITY, f64::INFINITY));
        let adds = |layout: &RecordLayout| {
            let (bytes, work) = self.costs(layout);
            (bytes / base.0).max(work / base.1)
        };
        let mut best: Option<(f64, RecordLayout)> = None;
        for layout in self.candidates() {
            let adds = if base.0.is_finite() { adds(&layout) } else { self.costs(&layout).0 };
            if best.as_ref().is_none_or(|(least, _)| adds < *least) {
                best = Some((adds, layout));
            }
        }
        match (best, verified) {
            (Some((_, layout)), RowProofs::Yes) => Ok(layout),
            (Some((adds, layout)), _) if adds <= CHEAP => Ok(layout),
            (None, RowProofs::Yes) => {
                plain?;
                let rule = Misuse::Rule(
                    "no parameters leave room for what proves rows: encode it without --verified",
                );
                Err(DbError::Scheme(rule.into()))
            }
            _ => plain,
        }
    }

    /// Without paths.
    fn plain(&self) -> Result<RecordLayout> {
        let (params, report) = self.select(&self.shape)?;
        let packing = Packing::new(self.rows, self.shape.row_bytes, report.records, report.record_bytes);
        let packing = packing.and_then(|packing| self.filled(packing)).map_err(DbError::Scheme)?;
        self.gate(&report, &packing)?;
        Ok(RecordLayout { params, report, packing, leaf_rows: default_leaf_rows(&packing), path: None })
    }

    /// The same with all the rows that its records have room for, where they are buckets: each bucket ends with its last record.
    fn filled(&self, packing: Packing) -> sotto_core::Result<Packing> {
        if self.shape.buckets == 1 { Ok(packing) } else { packing.filled(self.shape.buckets) }
    }

    /// How many leaves of so many rows there are, each of which is one bucket's.
    fn leaves(&self, leaf_rows: u64) -> u64 {
        let buckets = self.shape.buckets.max(1);
        (self.shape.rows / buckets).div_ceil(leaf_rows).saturating_mul(buckets)
    }

    /// Those with paths that are sound.
    fn candidates(&self) -> Vec<RecordLayout> {
        let width = self.shape.row_bytes;
        let groups =
            (0..=12).map(|log| 1u64 << log).take_while(|rows| *rows == 1 || rows * width <= MAX_TOGETHER);
        // With a leaf for each row the tree is highest: a path is no longer than that.
        let top = self.shape.rows.next_power_of_two().ilog2();
        let least = top.saturating_sub(MAX_NODES.ilog2() + MAX_TOGETHER.ilog2());
        let levels = (0..=MAX_INSIDE).filter(|levels| (least..=top).contains(levels));
        let tries: Vec<_> =
            levels.flat_map(|levels| groups.clone().map(move |rows| (levels, rows))).collect();
        let tried = tries.into_par_iter().flat_map_iter(|(levels, rows)| {
            let packed = (rows == 1).then(|| self.as_packed(levels)).flatten();
            packed.into_iter().chain(self.as_groups(levels, rows))
        });
        tried.filter(|layout| self.is_sound(layout)).collect()
    }

    /// As many rows in a record as the scheme would put there, and a path.
    fn as_packed(&self, levels: u32) -> Option<RecordLayout> {
        let (width, path_bytes) = (self.shape.row_bytes, u64::from(levels) * NODE_BYTES as u64);
        let mut shape = TableShape { proof_nodes: levels, ..self.shape.clone() };
        for _ in 0..4 {
            let (params, report) = self.select(&shape).ok()?;
            let leaf_rows = report.record_bytes.checked_sub(path_bytes)? / width;
            let needed = self.leaves(leaf_rows.max(1));
            if leaf_rows == 0 {
                return None;
            }
            if needed <= report.records {
                return self.laid(params, report, leaf_rows, levels);
            }
            shape.rows = needed.checked_mul(report.record_bytes / width)?;
        }
        None
    }

    /// So many rows and their path as one row of the scheme.
    fn as_groups(&self, levels: u32, leaf_rows: u64) -> Option<RecordLayout> {
        if !self.is_path(self.shape.rows, levels, leaf_rows, false) {
            return None;
        }
        let path_bytes = u64::from(levels) * NODE_BYTES as u64;
        let row_bytes = self.shape.row_bytes.checked_mul(leaf_rows)?.checked_add(path_bytes)?;
        let rows = self.leaves(leaf_rows);
        let (params, report) =
            self.select(&TableShape { rows, row_bytes, proof_nodes: levels, ..self.shape.clone() }).ok()?;
        // Where the scheme puts several of them in a record, they have one path between them.
        let most = report.record_bytes.saturating_sub(path_bytes) / self.shape.row_bytes;
        self.laid(params, report, most.max(leaf_rows), levels)
    }

    fn laid(
        &self,
        params: Vec<u8>,
        report: ParamsReport,
        leaf_rows: u64,
        levels: u32,
    ) -> Option<RecordLayout> {
        let packing = Packing::new(1, self.shape.row_bytes, report.records, report.record_bytes).ok()?;
        let packing = packing.with_paths(leaf_rows, u64::from(levels) * NODE_BYTES as u64).ok()?;
        // There is to be room for the rows to come, too.
        packing.with_rows(self.shape.rows).ok()?;
        let packing = self.filled(packing.with_rows(self.rows).ok()?).ok()?;
        self.gate(&report, &packing).ok()?;
        Some(RecordLayout { params, report, packing, leaf_rows, path: Some(levels) })
    }

    /// Whether the tree's file is small, and an update's part of the table.
    fn is_sound(&self, layout: &RecordLayout) -> bool {
        let hint = layout.report.costs.artifact_bytes > 0;
        layout.path.is_some_and(|levels| self.is_path(self.rows(layout), levels, layout.leaf_rows, hint))
    }

    /// Rows with their room, and with what fills buckets up.
    fn rows(&self, layout: &RecordLayout) -> u64 {
        self.shape.rows.max(layout.packing.rows())
    }

    fn is_path(&self, rows: u64, levels: u32, leaf_rows: u64, hint: bool) -> bool {
        let most = if hint { MAX_INSIDE_HINT } else { MAX_INSIDE };
        // A path past the root has nothing to say.
        let top = rows.div_ceil(leaf_rows).next_power_of_two().ilog2();
        let least = top.saturating_sub(MAX_NODES.ilog2());
        levels <= top && levels >= least && levels <= most.max(least)
    }

    fn select(&self, shape: &TableShape) -> Result<(Vec<u8>, ParamsReport)> {
        let params = (self.entry.select)(shape).map_err(DbError::Scheme)?;
        let report = (self.entry.report)(&params).map_err(DbError::Scheme)?;
        Ok((params, report))
    }

    fn gate(&self, report: &ParamsReport, packing: &Packing) -> Result<()> {
        catalog::gate(report, packing).map_err(DbError::Scheme)?;
        // A scheme may have ignored that there are more lookups to a request.
        let of_row = packing.failure_log2(report.failure_log2);
        if of_row > self.shape.required_failure_log2() {
            let together = self.shape.lookups_per_request.max(1);
            let log2 = of_row + (together as f64).log2();
            let (lookups, required) =
                (usize::try_from(together).unwrap_or(usize::MAX), REQUIRED_FAILURE_LOG2);
            let refused = ParamsError::UnreliableTogether { lookups, log2, required };
            return Err(DbError::Scheme(refused.into()));
        }
        Ok(())
    }

    /// Bytes that a client sends and fetches, over all its lookups; and the server's work for one.
    fn costs(&self, layout: &RecordLayout) -> (f64, f64) {
        let costs = &layout.report.costs;
        let lookups = layout.packing.records_per_row() as f64;
        let each = (costs.query_bytes + costs.answer_bytes) as f64 * self.entry.servers as f64 * lookups;
        let tree = layout.tree_bytes(self.rows(layout));
        let once = (costs.artifact_bytes + costs.keys_bytes + tree) as f64;
        (once + each * self.shape.lookups_per_client.max(1) as f64, costs.server_ops as f64 * lookups)
    }
}

impl RecordLayout {
    /// The root's shape, before there is a tree.
    pub(crate) fn root(&self) -> RowsRoot {
        RowsRoot { root: Hex32::from([0; NODE_BYTES]), leaf_rows: self.leaf_rows, path: self.path }
    }

    /// Bytes of the tree that clients of so many rows fetch to verify them; 0 where they need none.
    pub fn tree_bytes(&self, rows: u64) -> u64 {
        let root = self.root();
        if root.needs_tree(rows) { root.tree_bytes(rows) } else { 0 }
    }
}
