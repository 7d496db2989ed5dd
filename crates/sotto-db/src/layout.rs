//! Layout of a table in records: the scheme's parameters, and where the proofs of single rows are
//! stored.
//!
//! The lower levels of a row's path are stored in its record, where an update rewrites `2^path`
//! records; the upper ones are one public file that each client fetches once and keeps up to date
//! by deltas. Every layout within those bounds is tried. The best one has the smallest overhead in
//! bytes or in server work, whichever is larger.

use crate::Result;
use crate::rows_tree::default_leaf_rows;
use rayon::prelude::*;
use sotto_catalog::catalog;
use sotto_catalog::rows_root::{NODE_BYTES, RowsRoot};
use sotto_catalog::{Hex32, Packing};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Misuse, ParamsError, ParamsReport, SchemeEntry, TableShape};

/// Whether rows can be verified one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowProofs {
    /// No lookup fetches a proof.
    #[default]
    No,
    /// Every lookup fetches a proof if proofs add at most a tenth to the bytes and to the server's
    /// work.
    IfCheap,
    /// Every lookup fetches a proof.
    Yes,
}

/// Largest number of nodes in the tree's file: a client reads all 32 KiB of them for each row, in a
/// few microseconds.
const MAX_NODES: u64 = 1 << 10;

/// Largest number of levels in a record: an update rewrites 2^12 records, or 2^6 where clients hold
/// a hint that changes with records.
const MAX_INSIDE: u32 = 12;
const MAX_INSIDE_HINT: u32 = 6;

/// Largest total size in bytes of rows that are grouped for the sake of a shorter path.
const MAX_TOGETHER: u64 = 4096;

/// Largest ratio of bytes, or of work, with proofs to those without that counts as cheap.
const CHEAP: f64 = 1.1;

/// Parameters of a scheme and the layout of a table's rows in its records.
#[derive(Debug, Clone)]
pub struct RecordLayout {
    /// The scheme's parameters, as canonical JSON.
    pub params: Vec<u8>,
    /// The scheme's report on the parameters.
    pub report: ParamsReport,
    /// Packing of rows into records.
    pub packing: Packing,
    /// Number of rows in a leaf of the table's tree.
    pub leaf_rows: u64,
    /// Number of nodes in each record that prove its rows; `None` if rows cannot be verified one by
    /// one.
    pub path: Option<u32>,
}

/// Search for the layout of a table.
pub struct LayoutSearch<'a> {
    /// Scheme that serves the table.
    pub entry: &'a SchemeEntry,
    /// Number of rows of the table, without headroom.
    pub rows: u64,
    /// Shape that the scheme must serve: rows including headroom.
    pub shape: TableShape,
}

impl LayoutSearch<'_> {
    /// Chooses the best layout.
    ///
    /// # Errors
    /// [`crate::DbError::Scheme`] for parameters that are refused, or rows for which no layout has proofs.
    pub fn choose(&self, verified: RowProofs) -> Result<RecordLayout> {
        let verified = match self.entry {
            // The digest of a downloaded table proves its rows.
            entry if entry.is_downloadable() => RowProofs::No,
            entry if entry.proven => RowProofs::Yes,
            _ => verified,
        };
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
                let rule = "no parameters leave room for row proofs: encode the table without --row-proofs";
                Err(Misuse::Rule(rule).into())
            }
            _ => plain,
        }
    }

    /// The layout without proofs.
    fn plain(&self) -> Result<RecordLayout> {
        let (params, report) = self.select(&self.shape)?;
        let packing = Packing::new(self.rows, self.shape.row_bytes, report.records, report.record_bytes);
        let packing = packing.and_then(|packing| self.filled(packing))?;
        self.gate(&report, &packing)?;
        Ok(RecordLayout { params, report, packing, leaf_rows: default_leaf_rows(&packing), path: None })
    }

    /// Extends the rows of buckets to all that their records have space for: each bucket ends with
    /// its last record.
    fn filled(&self, packing: Packing) -> sotto_core::Result<Packing> {
        if self.shape.buckets == 1 { Ok(packing) } else { packing.filled(self.shape.buckets) }
    }

    /// Number of leaves of `leaf_rows` rows each; a leaf belongs to one bucket.
    fn leaves(&self, leaf_rows: u64) -> u64 {
        let buckets = self.shape.buckets.max(1);
        (self.shape.rows / buckets).div_ceil(leaf_rows).saturating_mul(buckets)
    }

    /// All acceptable layouts with proofs.
    fn candidates(&self) -> Vec<RecordLayout> {
        let width = self.shape.row_bytes;
        let groups =
            (0..=12).map(|log| 1u64 << log).take_while(|rows| *rows == 1 || rows * width <= MAX_TOGETHER);
        // With one row per leaf the tree has its greatest height, which bounds the length of a
        // path.
        let top = self.shape.rows.next_power_of_two().ilog2();
        let least = top.saturating_sub(MAX_NODES.ilog2() + MAX_TOGETHER.ilog2());
        let levels = (0..=MAX_INSIDE).filter(|levels| (least..=top).contains(levels));
        let candidates: Vec<_> =
            levels.flat_map(|levels| groups.clone().map(move |rows| (levels, rows))).collect();
        let tried = candidates.into_par_iter().flat_map_iter(|(levels, rows)| {
            let packed = (rows == 1).then(|| self.as_packed(levels)).flatten();
            packed.into_iter().chain(self.as_groups(levels, rows))
        });
        tried.filter(|layout| self.is_sound(layout)).collect()
    }

    /// A layout with as many rows in a record as the scheme would pack there, and a path.
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

    /// A layout in which a row of the scheme is a group of `leaf_rows` rows and their path.
    fn as_groups(&self, levels: u32, leaf_rows: u64) -> Option<RecordLayout> {
        if !self.is_path(self.shape.rows, levels, leaf_rows, false) {
            return None;
        }
        let path_bytes = u64::from(levels) * NODE_BYTES as u64;
        let row_bytes = self.shape.row_bytes.checked_mul(leaf_rows)?.checked_add(path_bytes)?;
        let rows = self.leaves(leaf_rows);
        let (params, report) =
            self.select(&TableShape { rows, row_bytes, proof_nodes: levels, ..self.shape.clone() }).ok()?;
        // If the scheme packs several groups into a record, they share one path.
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
        // The headroom must fit too.
        packing.with_rows(self.shape.rows).ok()?;
        let packing = self.filled(packing.with_rows(self.rows).ok()?).ok()?;
        self.gate(&report, &packing).ok()?;
        Some(RecordLayout { params, report, packing, leaf_rows, path: Some(levels) })
    }

    /// Whether the tree's file is small, and also the part of the table that an update rewrites.
    fn is_sound(&self, layout: &RecordLayout) -> bool {
        let hint = layout.report.costs.artifact_bytes > 0;
        layout.path.is_some_and(|levels| self.is_path(self.rows(layout), levels, layout.leaf_rows, hint))
    }

    /// Number of rows including headroom and the rows that fill up buckets.
    fn rows(&self, layout: &RecordLayout) -> u64 {
        self.shape.rows.max(layout.packing.rows())
    }

    fn is_path(&self, rows: u64, levels: u32, leaf_rows: u64, hint: bool) -> bool {
        let most = if hint { MAX_INSIDE_HINT } else { MAX_INSIDE };
        // A path does not extend past the root.
        let top = rows.div_ceil(leaf_rows).next_power_of_two().ilog2();
        let least = top.saturating_sub(MAX_NODES.ilog2());
        levels <= top && levels >= least && levels <= most.max(least)
    }

    fn select(&self, shape: &TableShape) -> Result<(Vec<u8>, ParamsReport)> {
        let params = (self.entry.select)(shape)?;
        let report = (self.entry.report)(&params)?;
        Ok((params, report))
    }

    fn gate(&self, report: &ParamsReport, packing: &Packing) -> Result<()> {
        catalog::gate(report, packing)?;
        // The scheme may have ignored the number of lookups per request.
        let of_row = packing.failure_log2(report.failure_log2);
        if of_row > self.shape.required_failure_log2() {
            let together = self.shape.lookups_per_request.max(1);
            let log2 = of_row + (together as f64).log2();
            let (lookups, required) =
                (usize::try_from(together).unwrap_or(usize::MAX), REQUIRED_FAILURE_LOG2);
            let refused = ParamsError::UnreliableTogether { lookups, log2, required };
            return Err(sotto_core::Error::from(refused).into());
        }
        Ok(())
    }

    /// Bytes that a client sends and receives over all its lookups, and the server's work for one
    /// lookup.
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
    /// The root's shape, before the tree is built.
    pub(crate) fn root(&self) -> RowsRoot {
        RowsRoot { root: Hex32::from([0; NODE_BYTES]), leaf_rows: self.leaf_rows, path: self.path }
    }

    /// Bytes of the tree's file that clients of a table of this many rows download to verify them;
    /// 0 where they need none.
    pub fn tree_bytes(&self, rows: u64) -> u64 {
        let root = self.root();
        if root.needs_tree(rows) { root.tree_bytes(rows) } else { 0 }
    }
}
