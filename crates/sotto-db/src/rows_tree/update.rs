//! Updates the tree over a table's rows after changes to some of them. Records that end with the proofs
//! of their rows, tables that read rows out of records, and records that are changed or read together.

use crate::progress::{ByteProgress, Watcher};
use crate::rows_tree::{BLOCK_BYTES, RowsTree, node, one, read_each};
use crate::table::{PackedRecords, TableSource};
use rayon::prelude::*;
use sotto_catalog::Packing;
use sotto_catalog::rows_root::{NODE_BYTES, Node, RowsRoot};
use sotto_core::server::bytes_per_part;
use sotto_core::{ExpectOrDefault, Misuse, RecordChange, RecordSource};
use std::collections::BTreeSet;
use std::ops::Range;

/// The updated tree, and the changes to records that follow from it.
pub(crate) struct TreeUpdate {
    /// Nodes of the tree's artifact.
    pub(crate) nodes: Vec<u8>,
    /// Changes to the paths in records, in the order of the records.
    pub(crate) paths: Vec<RecordChange>,
}

/// Number of ranges that are read one after the other, within the limits of `READ_BYTES` on the
/// size of each. Some images interleave distant records, so reading more at once is better.
const PARTS: u64 = 8;
const READ_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=128 << 20;

/// Updates a tree after changes to rows.
pub(crate) struct TreeUpdater<'a> {
    pub(crate) root: &'a RowsRoot,
    /// Nodes of the tree's artifact, of the epoch before.
    pub(crate) nodes: &'a [u8],
    /// Records with the new rows, and with the paths of the epoch before.
    pub(crate) records: &'a dyn RecordSource,
    /// Layout of the new rows, and the number of rows before.
    pub(crate) packing: Packing,
    pub(crate) rows_before: u64,
}

impl TreeUpdater<'_> {
    /// Hashes the leaves of changed and of new rows.
    pub(crate) fn apply(
        &self,
        rows: impl Iterator<Item = u64>,
        watch: Watcher<'_>,
    ) -> sotto_core::Result<TreeUpdate> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let (levels, rows_after) = (path.unwrap_or(0), self.packing.rows());
        let new = self.root.leaves(self.rows_before)..self.root.leaves(rows_after);
        let tops = rows.map(|row| row / leaf_rows).chain(new).map(|leaf| leaf >> levels);
        let tops: Vec<u64> = tops.collect::<BTreeSet<_>>().into_iter().collect();
        let each = leaf_rows.saturating_mul(self.packing.row_bytes()).saturating_mul(1 << levels);
        let stage = ByteProgress::new(watch, "hash rows", each.saturating_mul(tops.len() as u64));
        let all = each.saturating_mul(tops.len() as u64);
        let bytes = (all / PARTS).clamp(*READ_BYTES.start(), *READ_BYTES.end());
        let together = usize::try_from(bytes / each).unwrap_or(usize::MAX).max(1);
        let mut moved = Vec::with_capacity(tops.len());
        for runs in groups(&tops, together) {
            let below = |tops: &&[u64]| {
                let (Some(first), Some(last)) = (tops.first(), tops.last()) else { return Ok(Vec::new()) };
                self.below(*first..*last + 1).inspect(|_| stage.add(each.saturating_mul(tops.len() as u64)))
            };
            let runs = runs.par_iter().map(below).collect::<sotto_core::Result<Vec<_>>>()?;
            moved.extend(runs.into_iter().flatten());
        }
        let mut nodes = self.nodes.to_vec();
        nodes.resize(self.root.tree_bytes(rows_after) as usize, 0);
        let mut all = Vec::new();
        for (top, (node, paths)) in tops.into_iter().zip(moved) {
            let place = nodes.as_chunks_mut::<NODE_BYTES>().0.get_mut(top as usize);
            *place.ok_or(Misuse::Rule("a node is past the end of the tree"))? = node;
            all.extend(paths);
        }
        Ok(TreeUpdate { nodes, paths: all })
    }

    /// Nodes of the artifact in a range, each with the changes to the paths of all leaves below it.
    fn below(&self, tops: Range<u64>) -> sotto_core::Result<Vec<(Node, Vec<RecordChange>)>> {
        let levels = self.root.path.unwrap_or(0);
        let end = self.root.leaves(self.packing.rows());
        let leaves_of = |top: u64| top << levels..end.min((top + 1) << levels);
        let leaves = leaves_of(tops.start).start..leaves_of(tops.end - 1).end;
        let window = self.window(leaves, 2 * READ_BYTES.end())?;
        tops.into_par_iter().map(|top| self.node(window.as_ref(), leaves_of(top))).collect()
    }

    /// The records of a range of leaves, with all their rows and proofs, unless they have more than
    /// `max_bytes` bytes.
    fn window(&self, leaves: Range<u64>, max_bytes: u64) -> sotto_core::Result<Option<RecordWindow<'_>>> {
        let packing = &self.packing;
        let record =
            |group: u64| group.saturating_mul(packing.records_per_row() as u64).min(packing.records());
        let rows = leaves.start.saturating_mul(self.root.leaf_rows)
            ..leaves.end.saturating_mul(self.root.leaf_rows).min(packing.rows());
        let first = record(rows.start / packing.rows_per_record());
        let count = record(rows.end.div_ceil(packing.rows_per_record())).saturating_sub(first);
        let small = count.saturating_mul(packing.record_bytes()) <= max_bytes;
        small.then(|| RecordWindow::read(self.records, first, count)).transpose()
    }

    /// The node of a leaf, and the path that is stored in its records.
    fn leaf(&self, window: Option<&RecordWindow<'_>>, leaf: u64) -> sotto_core::Result<(Node, Vec<u8>)> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let of_leaf = if window.is_none() { self.window(leaf..leaf + 1, BLOCK_BYTES)? } else { None };
        let records = window.or(of_leaf.as_ref()).map_or(self.records, |window| window);
        let mut held = vec![0; path.unwrap_or(0) as usize * NODE_BYTES];
        if !held.is_empty() {
            for place in self.packing.leaf_places(leaf, self.packing.path_offset(), held.len())? {
                let part = held.get_mut(place.bytes).expect_or_default("a place lies in its path");
                records.read_part(place.record, place.offset, part)?;
            }
        }
        Ok((one(&RowsFromRecords { records, packing: self.packing }, leaf, leaf_rows)?, held))
    }

    /// A node of the artifact, and the changes to the paths of the leaves below it. Without a
    /// window the records are read leaf by leaf.
    fn node(
        &self,
        window: Option<&RecordWindow<'_>>,
        leaves: Range<u64>,
    ) -> sotto_core::Result<(Node, Vec<RecordChange>)> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let read = leaves.clone().into_par_iter().map(|leaf| self.leaf(window, leaf));
        let (hashes, paths): (Vec<_>, Vec<_>) =
            read.collect::<sotto_core::Result<Vec<_>>>()?.into_iter().unzip();
        let tree = RowsTree::over(hashes, leaf_rows, path);
        let top = node(tree.levels.last().map(Vec::as_slice).unwrap_or_default(), 0);
        let mut changes = Vec::new();
        for (leaf, held) in leaves.clone().zip(paths) {
            let path = tree.path(leaf - leaves.start);
            for changed in differing(&held, &path) {
                let at = self.packing.path_offset() + changed.start as u64;
                for place in self.packing.leaf_places(leaf, at, changed.len())? {
                    let new = path.get(changed.clone()).and_then(|new| new.get(place.bytes));
                    let bytes = new.expect_or_default("a place lies in its nodes").to_vec();
                    changes.push(RecordChange { record: place.record, offset: place.offset, bytes });
                }
            }
        }
        Ok((top, changes))
    }
}

/// Groups runs of consecutive nodes such that each group has at most `together` nodes, or one run.
fn groups(tops: &[u64], together: usize) -> Vec<Vec<&[u64]>> {
    let mut groups: Vec<Vec<&[u64]>> = Vec::new();
    let mut left = 0;
    for run in tops.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(together)) {
        match groups.last_mut().filter(|_| run.len() <= left) {
            Some(group) => group.push(run),
            None => {
                groups.push(vec![run]);
                left = together;
            }
        }
        left = left.saturating_sub(run.len());
    }
    groups
}

/// Ranges in which two paths of one length have different nodes, with adjacent nodes merged.
fn differing(held: &[u8], path: &[u8]) -> Vec<Range<usize>> {
    let nodes = held.as_chunks::<NODE_BYTES>().0.iter().zip(path.as_chunks::<NODE_BYTES>().0);
    let others: Vec<usize> =
        nodes.enumerate().filter(|(_, (held, node))| held != node).map(|(level, _)| level).collect();
    let range_of = |levels: &[usize]| {
        let (first, last) = (levels.first()?, levels.last()?);
        Some(first * NODE_BYTES..(last + 1) * NODE_BYTES)
    };
    others.chunk_by(|a, b| a + 1 == *b).filter_map(range_of).collect()
}

/// Records of a table in which each leaf ends with its path.
pub(crate) struct RecordsWithProofs<'a> {
    pub(crate) records: PackedRecords<'a>,
    pub(crate) packing: Packing,
    pub(crate) tree: &'a RowsTree,
}

impl RecordsWithProofs<'_> {
    /// Writes the bytes of the path that are in `out`, which is a range of one record that starts
    /// at `offset`.
    fn lay(&self, record: u64, offset: u64, out: &mut [u8]) {
        let packing = &self.packing;
        if packing.path_bytes() == 0 {
            return;
        }
        let (leaf, part) =
            (record / packing.records_per_row() as u64, record % packing.records_per_row() as u64);
        // Offsets of the path and of `out`, both from the start of the leaf.
        let (begin, at) = (packing.path_offset(), part * packing.record_bytes() + offset);
        let (skipped, place) = (at.saturating_sub(begin) as usize, begin.saturating_sub(at) as usize);
        if skipped as u64 >= packing.path_bytes() || place >= out.len() {
            return;
        }
        let path = self.tree.path(leaf);
        let path = path.iter().skip(skipped);
        out.iter_mut().skip(place).zip(path).for_each(|(out, byte)| *out = *byte);
    }
}

impl RecordSource for RecordsWithProofs<'_> {
    fn records(&self) -> u64 {
        self.records.records()
    }

    fn record_bytes(&self) -> usize {
        self.records.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.records.read(first, out)?;
        let records = out.chunks_exact_mut(self.record_bytes());
        (first..).zip(records).for_each(|(record, out)| self.lay(record, 0, out));
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.records.read_part(record, offset, out)?;
        self.lay(record, offset, out);
        Ok(())
    }
}

/// Records of an image in which some bytes are replaced.
pub(crate) struct EditedRecords<'a> {
    pub(crate) old: Box<dyn RecordSource>,
    /// Changes, in the order of their records.
    pub(crate) changes: &'a [RecordChange],
}

impl EditedRecords<'_> {
    /// Applies the changes to `out`, which holds bytes of some records from byte `offset` of the
    /// first one on. `out` is whole records, or part of one.
    fn edit(&self, first: u64, offset: u64, out: &mut [u8]) {
        let width = self.old.record_bytes() as u64;
        let start = self.changes.partition_point(|change| change.record < first);
        for change in self.changes.iter().skip(start) {
            // Both offsets are from the start of the first record; the bytes before `offset` are
            // not requested.
            let at = (change.record - first).saturating_mul(width).saturating_add(change.offset);
            let end = offset.saturating_add(out.len() as u64);
            if at >= end {
                break;
            }
            let skipped = offset.saturating_sub(at) as usize;
            let place = at.saturating_sub(offset) as usize;
            let new = change.bytes.iter().skip(skipped);
            out.iter_mut().skip(place).zip(new).for_each(|(out, byte)| *out = *byte);
        }
    }
}

impl RecordSource for EditedRecords<'_> {
    fn records(&self) -> u64 {
        self.old.records()
    }

    fn record_bytes(&self) -> usize {
        self.old.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read(first, out)?;
        self.edit(first, 0, out);
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read_part(record, offset, out)?;
        self.edit(record, offset, out);
        Ok(())
    }

    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> sotto_core::Result<()> {
        self.old.read_parts(parts, out)?;
        let each = bytes_per_part(parts.len(), out.len())?;
        let parts = parts.iter().zip(out.chunks_exact_mut(each));
        parts.for_each(|((record, offset), out)| self.edit(*record, *offset, out));
        Ok(())
    }
}

/// A table that reads its rows out of records.
pub(crate) struct RowsFromRecords<'a> {
    pub(crate) records: &'a dyn RecordSource,
    pub(crate) packing: Packing,
}

impl TableSource for RowsFromRecords<'_> {
    fn rows(&self) -> u64 {
        self.packing.rows()
    }

    fn row_bytes(&self) -> usize {
        self.packing.row_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let width = self.row_bytes();
        let together = self.packing.rows_per_record();
        // The leaves that contain the rows are read together.
        let (leaf, before) = (first / together, (first % together) as usize);
        let count = (before + out.len() / width).div_ceil(together as usize);
        let several = self.packing.records_per_row() > 1;
        let step = if several { self.packing.rows_bytes() as usize } else { self.records.record_bytes() };
        let mut leaves = vec![0; count * step];
        match several {
            true => read_each(self.records, &self.packing, leaf..leaf + count as u64, 0, &mut leaves)?,
            false => self.records.read(leaf, &mut leaves)?,
        }
        let rows =
            leaves.chunks_exact(step).flat_map(|leaf| leaf.chunks_exact(width).take(together as usize));
        out.chunks_exact_mut(width).zip(rows.skip(before)).for_each(|(out, row)| out.copy_from_slice(row));
        Ok(())
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (leaf, slot) = (row / self.packing.rows_per_record(), row % self.packing.rows_per_record());
        let begin = slot * self.packing.row_bytes() + offset;
        for place in self.packing.leaf_places(leaf, begin, out.len())? {
            let part = out.get_mut(place.bytes).ok_or(Misuse::Rule("a proof lies outside its record"))?;
            self.records.read_part(place.record, place.offset, part)?;
        }
        Ok(())
    }
}

/// A range of records in memory; all others are read from the source.
pub(super) struct RecordWindow<'a> {
    source: &'a dyn RecordSource,
    /// Number of the first record in memory.
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> RecordWindow<'a> {
    /// Reads `count` records from `first` on.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn read(source: &'a dyn RecordSource, first: u64, count: u64) -> sotto_core::Result<Self> {
        let mut bytes = vec![0; count as usize * source.record_bytes()];
        source.read(first, &mut bytes)?;
        Ok(RecordWindow { source, first, bytes })
    }

    /// Bytes of a record, if all of them are in memory.
    fn held(&self, record: u64, offset: u64, len: usize) -> Option<&[u8]> {
        let before = record.checked_sub(self.first)?.checked_mul(self.source.record_bytes() as u64)?;
        let start = usize::try_from(before.checked_add(offset)?).ok()?;
        self.bytes.get(start..)?.get(..len)
    }
}

impl RecordSource for RecordWindow<'_> {
    fn records(&self) -> u64 {
        self.source.records()
    }

    fn record_bytes(&self) -> usize {
        self.source.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        match self.held(first, 0, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.source.read(first, out)?,
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        match self.held(record, offset, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.source.read_part(record, offset, out)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_together_where_they_follow_each_other() {
        let tops = [0, 1, 2, 5, 7, 8, 9, 10, 20];
        let groups = |together| groups(&tops, together);
        assert_eq!(groups(4), [vec![&tops[..3], &[5]], vec![&[7, 8, 9, 10]], vec![&[20]]]);
        assert_eq!(
            groups(2),
            [vec![&tops[..2]], vec![&[2], &[5]], vec![&[7, 8]], vec![&[9, 10]], vec![&[20]]]
        );
        assert_eq!(groups(99), [[&tops[..3], &[5], &[7, 8, 9, 10], &[20]]]);
    }

    #[test]
    fn stretches_of_paths_that_differ() {
        let path = |levels: [u8; 5]| levels.map(|level| [level; NODE_BYTES]).concat();
        let one = path([1, 2, 3, 4, 5]);
        let places = |other| differing(&one, &path(other));
        assert_eq!(places([1, 2, 3, 4, 5]), []);
        assert_eq!(places([0, 2, 0, 0, 5]), [0..32, 64..128]);
        assert_eq!(places([0; 5]), vec![0..160]);
    }
}
