//! The Merkle tree over a table's rows ([`sotto_catalog::rows_root`]).
//!
//! `update` updates the tree after changes to rows, and has the records that tree and image are read
//! and written through.

mod update;

pub(crate) use update::{EditedRecords, RecordsWithProofs, RowsFromRecords};
pub(crate) use update::{TreeUpdate, TreeUpdater};

use crate::Result;
use crate::progress::{ByteProgress, Watcher};
use crate::table::TableSource;
use rayon::prelude::*;
use sotto_catalog::Packing;
use sotto_catalog::rows_root::{self, LeafHasher, NODE_BYTES, Node, RowsRoot};
use sotto_core::server::bytes_per_part;
use sotto_core::{Artifact, ExpectOrDefault, RecordSource, Section, Sink};
use std::ops::Range;

/// Bytes of rows that are read at a time.
const BLOCK_BYTES: u64 = 8 << 20;

/// Smallest size in bytes of a leaf of rows that are not verified one by one: the leaves are below
/// a hundredth of the table.
const LEAF_BYTES: u64 = 4096;

/// The Merkle tree over a table's rows: its leaves, and the levels above them up to the nodes of
/// the artifact.
#[derive(Default)]
pub(crate) struct RowsTree {
    levels: Vec<Vec<Node>>,
    leaf_rows: u64,
    path: Option<u32>,
}

/// Rows per leaf where rows are not verified one by one: those of whole records.
pub(crate) fn default_leaf_rows(packing: &Packing) -> u64 {
    let together = packing.rows_per_record();
    together.saturating_mul(LEAF_BYTES.div_ceil(packing.rows_bytes()))
}

impl RowsTree {
    /// The tree over the rows of a table.
    ///
    /// # Errors
    /// [`crate::DbError::Scheme`] if the table cannot be read.
    pub(crate) fn of(
        table: &dyn TableSource,
        leaf_rows: u64,
        path: Option<u32>,
        watch: Watcher<'_>,
    ) -> Result<Self> {
        let tree = RowsTree::of_while(table, leaf_rows, path, BLOCK_BYTES, watch, &|| true)?;
        Ok(tree.expect_or_default("the callback never stops"))
    }

    /// Builds the tree from blocks of `block_bytes` bytes, as long as `go_on` returns true; `None`
    /// if it was stopped.
    ///
    /// # Errors
    /// The errors of [`RowsTree::of`].
    pub(crate) fn of_while(
        table: &dyn TableSource,
        leaf_rows: u64,
        path: Option<u32>,
        block_bytes: u64,
        watch: Watcher<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Self>> {
        let (rows, width) = (table.rows(), table.row_bytes());
        let stage = ByteProgress::new(watch, "hash rows", rows.saturating_mul(width as u64));
        let leaf_bytes = leaf_rows.saturating_mul(width as u64);
        let mut leaves = Vec::new();
        if leaf_bytes > block_bytes {
            for leaf in 0..rows.div_ceil(leaf_rows) {
                if !go_on() {
                    return Ok(None);
                }
                leaves.push(one(table, leaf, leaf_rows)?);
                stage.add(leaf_bytes);
            }
            return Ok(Some(RowsTree::over(leaves, leaf_rows, path)));
        }
        let step = (block_bytes / leaf_bytes).max(1) * leaf_rows;
        let mut block = Vec::new();
        for first in (0..rows).step_by(step as usize) {
            if !go_on() {
                return Ok(None);
            }
            let held = step.min(rows - first);
            block.resize((held as usize) * width, 0);
            table.read(first, &mut block)?;
            // The last leaf is as long as the others.
            let leaf_bytes = leaf_bytes as usize;
            block.resize(block.len().next_multiple_of(leaf_bytes), 0);
            leaves.par_extend(block.par_chunks(leaf_bytes).map(LeafHasher::of));
            stage.add(held * width as u64);
        }
        Ok(Some(RowsTree::over(leaves, leaf_rows, path)))
    }

    fn over(leaves: Vec<Node>, leaf_rows: u64, path: Option<u32>) -> Self {
        let mut levels = vec![leaves];
        for _ in 0..path.unwrap_or(0) {
            let below = levels.last().map(Vec::as_slice).unwrap_or_default();
            let above = below.par_chunks(2).map(|pair| rows_root::parent(&node(pair, 0), &node(pair, 1)));
            let above = above.collect();
            levels.push(above);
        }
        RowsTree { levels, leaf_rows, path }
    }

    /// Nodes of the tree's artifact.
    pub(crate) fn nodes(&self) -> &[u8] {
        self.levels.last().map(|nodes| nodes.as_flattened()).unwrap_or_default()
    }

    /// The root that the catalog commits to.
    pub(crate) fn root(&self) -> RowsRoot {
        RowsRoot { root: rows_root::root(self.nodes()), leaf_rows: self.leaf_rows, path: self.path }
    }

    /// Writes the tree's artifact.
    pub(crate) fn write(&self, out: &dyn Sink) -> sotto_core::Result<()> {
        write(out, Artifact::Tree, self.nodes())
    }

    /// Whether the records contain the paths of all leaves. Many paths are read together, since
    /// some images interleave records.
    pub(crate) fn has_inline_proofs(
        &self,
        records: &dyn RecordSource,
        packing: &Packing,
        rows: u64,
    ) -> sotto_core::Result<bool> {
        let bytes = packing.path_bytes() as usize;
        let leaves = if bytes == 0 { 0 } else { rows.div_ceil(self.leaf_rows) };
        let together = (BLOCK_BYTES / (bytes as u64).max(1)).max(1);
        let are_laid = |first: u64| {
            let leaves = first..leaves.min(first + together);
            let mut held = vec![0; (leaves.end - leaves.start) as usize * bytes];
            read_each(records, packing, leaves.clone(), packing.path_offset(), &mut held)?;
            Ok(leaves.zip(held.chunks_exact(bytes)).all(|(leaf, held)| held == self.path(leaf)))
        };
        let all = (0..leaves.div_ceil(together)).into_par_iter().map(|i| are_laid(i * together));
        all.try_reduce(|| true, |one, other| Ok(one && other))
    }

    /// The path of a leaf, also of one past the end: records whose numbers agree in their higher
    /// bits agree in the higher nodes.
    fn path(&self, leaf: u64) -> Vec<u8> {
        let (levels, leaf) = (self.levels.len().saturating_sub(1), leaf as usize);
        let beside = |(level, nodes): (usize, &Vec<Node>)| node(nodes, (leaf >> level) ^ 1);
        self.levels.iter().take(levels).enumerate().flat_map(beside).collect()
    }
}

/// Reads the same byte range of several leaves. The range starts `offset` bytes after the beginning
/// of each leaf's first record, and `out` is divided equally among the leaves. All ranges are
/// requested at once: see [`RecordSource::read_parts`].
pub(crate) fn read_each(
    records: &dyn RecordSource,
    packing: &Packing,
    leaves: Range<u64>,
    offset: u64,
    out: &mut [u8],
) -> sotto_core::Result<()> {
    let Some(last) = leaves.end.checked_sub(1).filter(|last| *last >= leaves.start) else { return Ok(()) };
    let each = bytes_per_part((leaves.end - leaves.start) as usize, out.len())?;
    packing.leaf_places(last, offset, each)?;
    // The range is at the same place in every leaf.
    for place in packing.leaf_places(leaves.start, offset, each)? {
        let record = |i: u64| place.record + i * packing.records_per_row() as u64;
        let parts: Vec<_> = (0..leaves.end - leaves.start).map(|i| (record(i), place.offset)).collect();
        if place.bytes.len() == each {
            return records.read_parts(&parts, out);
        }
        let mut read = vec![0; parts.len() * place.bytes.len()];
        records.read_parts(&parts, &mut read)?;
        for (out, read) in out.chunks_exact_mut(each).zip(read.chunks_exact(place.bytes.len())) {
            out.get_mut(place.bytes.clone())
                .expect_or_default("a place lies in its bytes")
                .copy_from_slice(read);
        }
    }
    Ok(())
}

/// Writes one artifact of the tree.
fn write(out: &dyn Sink, artifact: Artifact, bytes: &[u8]) -> sotto_core::Result<()> {
    out.reserve(Section::Public(artifact), bytes.len() as u64)?;
    out.write_at(Section::Public(artifact), 0, bytes)
}

/// Writes the artifact of the next tree, and the delta from the tree before if clients fetch the
/// tree and the delta is smaller.
pub(crate) fn write_tree(
    out: &dyn Sink,
    path: Option<u32>,
    old: &[u8],
    new: &[u8],
) -> sotto_core::Result<()> {
    write(out, Artifact::Tree, new)?;
    let is_fetched = path.is_some() && new.len() > NODE_BYTES;
    let delta = rows_root::delta(old, new).filter(|delta| (1..new.len()).contains(&delta.len()));
    match delta.filter(|_| is_fetched) {
        Some(delta) => write(out, Artifact::TreeDelta, &delta),
        None => Ok(()),
    }
}

/// The node at `index`, or the placeholder of a missing node.
fn node(nodes: &[Node], index: usize) -> Node {
    nodes.get(index).copied().unwrap_or([0; NODE_BYTES])
}

/// Hashes one leaf with at most a block in memory.
fn one(table: &dyn TableSource, leaf: u64, leaf_rows: u64) -> sotto_core::Result<Node> {
    let (mut hash, width) = (LeafHasher::default(), table.row_bytes());
    let first = leaf.saturating_mul(leaf_rows);
    // Rows are read together, so that a record that they share is decoded once.
    if leaf_rows.saturating_mul(width as u64) <= BLOCK_BYTES {
        let mut rows = vec![0; leaf_rows as usize * width];
        let there = table.rows().saturating_sub(first).min(leaf_rows) as usize;
        table.read(
            first,
            rows.get_mut(..there * width).expect_or_default("there are no more rows than a leaf has"),
        )?;
        hash.update(&rows);
        return Ok(hash.finish());
    }
    let mut block = vec![0; (BLOCK_BYTES as usize).min(width)];
    for row in first..first.saturating_add(leaf_rows) {
        for offset in (0..width).step_by(block.len().max(1)) {
            let length = block.len().min(width - offset);
            let part = block.get_mut(..length).expect_or_default("a part is no longer than the block");
            match row < table.rows() {
                true => table.read_part(row, offset as u64, part)?,
                false => part.fill(0),
            }
            hash.update(part);
        }
    }
    Ok(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_testkit::memory::MemoryRows;
    use std::sync::Mutex;

    /// Records of 8 bytes that contain their number, and the list of those that were read.
    struct Counted(Mutex<Vec<u64>>);

    impl RecordSource for Counted {
        fn records(&self) -> u64 {
            5
        }

        fn record_bytes(&self) -> usize {
            8
        }

        fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
            for (record, out) in (first..).zip(out.chunks_exact_mut(8)) {
                self.0.lock().unwrap().push(record);
                out.copy_from_slice(&record.to_le_bytes());
            }
            Ok(())
        }
    }

    /// Counts the reads of records, and the ranges of each read.
    struct RecordingSource<'a>(&'a dyn RecordSource, Mutex<Vec<usize>>);

    impl RecordSource for RecordingSource<'_> {
        fn records(&self) -> u64 {
            self.0.records()
        }

        fn record_bytes(&self) -> usize {
            self.0.record_bytes()
        }

        fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
            self.1.lock().unwrap().push(out.len() / self.record_bytes());
            self.0.read(first, out)
        }

        fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> sotto_core::Result<()> {
            self.1.lock().unwrap().push(parts.len());
            self.0.read_parts(parts, out)
        }
    }

    #[test]
    fn all_paths_are_read_at_once_and_so_are_rows_of_several_records() {
        // A row and its path of one node span two records; the last row is missing, but its path
        // exists.
        let (packing, path) = (Packing::new(7, 40, 16, 40).unwrap().with_paths(1, 32).unwrap(), Some(1));
        assert_eq!(packing.records_per_row(), 2);
        let rows: Vec<u8> = (0..7 * 40).map(|i| i as u8).collect();
        let tree = RowsTree::over(rows.chunks(40).map(LeafHasher::of).collect(), 1, path);
        let mut records = vec![0; 16 * 40];
        for leaf in 0..7 {
            records[leaf * 80..][..40].copy_from_slice(&rows[leaf * 40..][..40]);
            records[leaf * 80 + 48..][..32].copy_from_slice(&tree.path(leaf as u64));
        }
        let held = MemoryRows::new(40, records.clone());
        let recording = RecordingSource(&held, Mutex::default());
        assert!(tree.has_inline_proofs(&recording, &packing, 7).unwrap());
        let mut out = vec![0; 5 * 40];
        RowsFromRecords { records: &recording, packing }.read(1, &mut out).unwrap();
        assert_eq!(out, rows[40..][..200]);
        assert_eq!(*recording.1.lock().unwrap(), [7, 5], "each time in one go");
        for leaf in 0..7 {
            let mut records = records.clone();
            records[leaf * 80 + 79] ^= 1;
            assert!(!tree.has_inline_proofs(&MemoryRows::new(40, records), &packing, 7).unwrap(), "{leaf}");
        }
    }

    #[test]
    fn a_leaf_gets_rows_that_share_a_record_out_of_it_once() {
        let records = Counted(Mutex::default());
        // Two rows of four bytes in a record, four in a leaf, and only one in the last leaf.
        let packing = Packing::new(9, 4, 5, 8).unwrap();
        let table = RowsFromRecords { records: &records, packing };
        let read = |leaf| {
            let node = one(&table, leaf, 4).unwrap();
            (node, std::mem::take(&mut *records.0.lock().unwrap()))
        };
        let (whole, reads) = read(1);
        assert_eq!(reads, [2, 3]);
        let rows = [2_u64.to_le_bytes(), 3_u64.to_le_bytes()].concat();
        assert_eq!(whole, LeafHasher::of(&rows));
        // Bytes past the end are zeros.
        let (last, reads) = read(2);
        assert_eq!(reads, [4]);
        let mut rows = [0; 16];
        rows[..4].copy_from_slice(&4_u32.to_le_bytes());
        assert_eq!(last, LeafHasher::of(&rows));
    }
}
