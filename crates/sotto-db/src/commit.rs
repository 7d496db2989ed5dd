//! The Merkle tree over a table's rows ([`sotto_catalog::rows_root`]): built, put into records, and moved along with changes.

use crate::progress::{Stage, Watcher};
use crate::table::{Packed, TableSource};
use crate::{DbError, Result};
use rayon::prelude::*;
use sotto_catalog::Packing;
use sotto_catalog::rows_root::{self, Leaf, NODE_BYTES, Node, RowsRoot};
use sotto_core::{Artifact, Change, Misuse, Rows, Section, Sink, Sure};
use std::collections::BTreeSet;

/// Bytes of rows that are read at a time.
const BLOCK_BYTES: u64 = 8 << 20;

/// A leaf of rows that are not looked up together has at least so many bytes: the leaves are below a hundredth of the table.
const LEAF_BYTES: u64 = 4096;

/// The tree: the leaves, and the levels above them up to the nodes of the artifact.
#[derive(Default)]
pub(crate) struct Tree {
    levels: Vec<Vec<Node>>,
    leaf_rows: u64,
    path: Option<u32>,
}

/// How many rows a leaf has where rows are not verified one by one: those of whole records.
pub(crate) fn usual_leaf(packing: &Packing) -> u64 {
    let together = packing.rows_per_record();
    together.saturating_mul(LEAF_BYTES.div_ceil(packing.rows_bytes()))
}

impl Tree {
    /// The tree over the rows of a table.
    ///
    /// # Errors
    /// [`DbError::Scheme`] if the table cannot be read.
    pub(crate) fn of(
        table: &dyn TableSource,
        leaf_rows: u64,
        path: Option<u32>,
        watch: Watcher<'_>,
    ) -> Result<Self> {
        let tree = Tree::of_while(table, leaf_rows, path, watch, &|| true)?;
        Ok(tree.sure("nobody stops it"))
    }

    /// The same for as long as `go_on` says so.
    ///
    /// # Errors
    /// As [`Tree::of`].
    pub(crate) fn of_while(
        table: &dyn TableSource,
        leaf_rows: u64,
        path: Option<u32>,
        watch: Watcher<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Self>> {
        let (rows, width) = (table.rows(), table.row_bytes());
        let stage = Stage::new(watch, "hash rows", rows.saturating_mul(width as u64));
        let leaf_bytes = leaf_rows.saturating_mul(width as u64);
        let mut leaves = Vec::new();
        if leaf_bytes > BLOCK_BYTES {
            for leaf in 0..rows.div_ceil(leaf_rows) {
                if !go_on() {
                    return Ok(None);
                }
                leaves.push(one(table, leaf, leaf_rows).map_err(DbError::Scheme)?);
                stage.add(leaf_bytes);
            }
            return Ok(Some(Tree::over(leaves, leaf_rows, path)));
        }
        let step = (BLOCK_BYTES / leaf_bytes).max(1) * leaf_rows;
        let mut block = Vec::new();
        for first in (0..rows).step_by(step as usize) {
            if !go_on() {
                return Ok(None);
            }
            let held = step.min(rows - first);
            block.resize((held as usize) * width, 0);
            table.read(first, &mut block).map_err(DbError::Scheme)?;
            // The last leaf is as long as the others.
            let leaf_bytes = leaf_bytes as usize;
            block.resize(block.len().next_multiple_of(leaf_bytes), 0);
            leaves.par_extend(block.par_chunks(leaf_bytes).map(Leaf::of));
            stage.add(held * width as u64);
        }
        Ok(Some(Tree::over(leaves, leaf_rows, path)))
    }

    fn over(leaves: Vec<Node>, leaf_rows: u64, path: Option<u32>) -> Self {
        let mut levels = vec![leaves];
        for _ in 0..path.unwrap_or(0) {
            let below = levels.last().map(Vec::as_slice).unwrap_or_default();
            let above = below.par_chunks(2).map(|pair| rows_root::parent(&node(pair, 0), &node(pair, 1)));
            let above = above.collect();
            levels.push(above);
        }
        Tree { levels, leaf_rows, path }
    }

    /// The tree's artifact.
    pub(crate) fn nodes(&self) -> &[u8] {
        self.levels.last().map(|nodes| nodes.as_flattened()).unwrap_or_default()
    }

    /// What the catalog says.
    pub(crate) fn root(&self) -> RowsRoot {
        RowsRoot { root: rows_root::root(self.nodes()), leaf_rows: self.leaf_rows, path: self.path }
    }

    /// Writes the artifact.
    pub(crate) fn write(&self, out: &dyn Sink) -> sotto_core::Result<()> {
        write(out, Artifact::Tree, self.nodes())
    }

    /// Whether the records hold the paths of all leaves.
    pub(crate) fn is_laid(
        &self,
        records: &dyn Rows,
        packing: &Packing,
        rows: u64,
    ) -> sotto_core::Result<bool> {
        let bytes = packing.path_bytes() as usize;
        let leaves = if bytes == 0 { 0 } else { rows.div_ceil(self.leaf_rows) };
        let is_laid = |leaf: u64| {
            let mut held = vec![0; bytes];
            for place in packing.leaf_places(leaf, packing.path_offset(), bytes)? {
                let part = held.get_mut(place.bytes).sure("a place lies in its path");
                records.read_part(place.record, place.offset, part)?;
            }
            Ok(held == self.path(leaf))
        };
        let all = (0..leaves).into_par_iter().map(is_laid);
        all.try_reduce(|| true, |one, other| Ok(one && other))
    }

    /// The nodes beside a leaf's way up, also for one past the end: records whose numbers agree in their higher bits agree in the
    /// higher nodes.
    fn path(&self, leaf: u64) -> Vec<u8> {
        let (levels, leaf) = (self.levels.len().saturating_sub(1), leaf as usize);
        let beside = |(level, nodes): (usize, &Vec<Node>)| node(nodes, (leaf >> level) ^ 1);
        self.levels.iter().take(levels).enumerate().flat_map(beside).collect()
    }
}

/// Writes an artifact of the tree.
fn write(out: &dyn Sink, artifact: Artifact, bytes: &[u8]) -> sotto_core::Result<()> {
    out.reserve(Section::Public(artifact), bytes.len() as u64)?;
    out.write_at(Section::Public(artifact), 0, bytes)
}

/// Writes the next tree's artifact, and what leads to it from the one before, where clients fetch it and that is less.
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

/// A node, or what stands for one that there is not.
fn node(nodes: &[Node], index: usize) -> Node {
    nodes.get(index).copied().unwrap_or([0; NODE_BYTES])
}

/// One leaf, of which at most a block is in memory.
fn one(table: &dyn TableSource, leaf: u64, leaf_rows: u64) -> sotto_core::Result<Node> {
    let (mut hash, width) = (Leaf::default(), table.row_bytes());
    let first = leaf.saturating_mul(leaf_rows);
    let mut block = vec![0; (BLOCK_BYTES as usize).min(width)];
    for row in first..first.saturating_add(leaf_rows) {
        for offset in (0..width).step_by(block.len().max(1)) {
            let length = block.len().min(width - offset);
            let part = block.get_mut(..length).sure("a part is no longer than the block");
            match row < table.rows() {
                true => table.read_part(row, offset as u64, part)?,
                false => part.fill(0),
            }
            hash.update(part);
        }
    }
    Ok(hash.finish())
}

/// The tree after changes to rows, and all that changes with it.
pub(crate) struct Moved {
    /// The tree's artifact.
    pub(crate) nodes: Vec<u8>,
    /// Those of the rows and those of what proves them, in the order of their records.
    pub(crate) changes: Vec<Change>,
}

/// Moves a tree along with changes.
pub(crate) struct Move<'a> {
    pub(crate) root: &'a RowsRoot,
    /// The tree's artifact, of the epoch before.
    pub(crate) nodes: &'a [u8],
    /// The records with the rows that they are to have, and the paths that they had.
    pub(crate) records: &'a dyn Rows,
    /// The layout of the rows that are to be, and how many there were.
    pub(crate) packing: Packing,
    pub(crate) rows_before: u64,
}

impl Move<'_> {
    /// Hashes the leaves of the rows that changed, and of those that are new.
    pub(crate) fn apply(
        &self,
        rows: impl Iterator<Item = u64>,
        mut changes: Vec<Change>,
    ) -> sotto_core::Result<Moved> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let (levels, rows_after) = (path.unwrap_or(0), self.packing.rows());
        let new = self.root.leaves(self.rows_before)..self.root.leaves(rows_after);
        let tops = rows.map(|row| row / leaf_rows).chain(new).map(|leaf| leaf >> levels);
        let tops: Vec<u64> = tops.collect::<BTreeSet<_>>().into_iter().collect();
        let moved = tops.par_iter().map(|top| self.below(*top)).collect::<sotto_core::Result<Vec<_>>>()?;
        let mut nodes = self.nodes.to_vec();
        nodes.resize(self.root.tree_bytes(rows_after) as usize, 0);
        for (top, (node, paths)) in tops.into_iter().zip(moved) {
            let place = nodes.as_chunks_mut::<NODE_BYTES>().0.get_mut(top as usize);
            *place.ok_or(Misuse::Rule("a node is one of the tree's"))? = node;
            changes.extend(paths);
        }
        changes.sort_by_key(|change| (change.record, change.offset));
        Ok(Moved { nodes, changes })
    }

    /// A node of the artifact, and what changes in the paths of all leaves below it.
    fn below(&self, top: u64) -> sotto_core::Result<(Node, Vec<Change>)> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let levels = path.unwrap_or(0);
        let first = top << levels;
        let leaves = first..self.root.leaves(self.packing.rows()).min((top + 1) << levels);
        let table = Unpacked { records: self.records, packing: self.packing };
        let hashes = leaves.clone().into_par_iter().map(|leaf| one(&table, leaf, leaf_rows));
        let tree = Tree::over(hashes.collect::<sotto_core::Result<_>>()?, leaf_rows, path);
        let node = node(tree.levels.last().map(Vec::as_slice).unwrap_or_default(), 0);
        let mut changes = Vec::new();
        for leaf in leaves.filter(|_| levels > 0) {
            let path = tree.path(leaf - first);
            for (level, node) in (0..).zip(path.as_chunks::<NODE_BYTES>().0) {
                let at = self.packing.path_offset() + level * NODE_BYTES as u64;
                let mut held = [0; NODE_BYTES];
                let places = self.packing.leaf_places(leaf, at, NODE_BYTES)?;
                for place in &places {
                    let part = held.get_mut(place.bytes.clone()).sure("a place lies in its node");
                    self.records.read_part(place.record, place.offset, part)?;
                }
                for place in places.into_iter().filter(|_| held != *node) {
                    let bytes = node.get(place.bytes).sure("a place lies in its node").to_vec();
                    changes.push(Change { record: place.record, offset: place.offset, bytes });
                }
            }
        }
        Ok((node, changes))
    }
}

/// The records of a table, each leaf of which ends with its path.
pub(crate) struct Proven<'a> {
    pub(crate) records: Packed<'a>,
    pub(crate) packing: Packing,
    pub(crate) tree: &'a Tree,
}

impl Proven<'_> {
    /// Writes what there is of paths in `out`, which are bytes of one record from `offset` on.
    fn lay(&self, record: u64, offset: u64, out: &mut [u8]) {
        let packing = &self.packing;
        if packing.path_bytes() == 0 {
            return;
        }
        let (leaf, part) = (record / packing.lookups() as u64, record % packing.lookups() as u64);
        // Where the path begins and where `out` does, both from the start of the leaf.
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

impl Rows for Proven<'_> {
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

/// The rows of records: a table again.
pub(crate) struct Unpacked<'a> {
    pub(crate) records: &'a dyn Rows,
    pub(crate) packing: Packing,
}

impl TableSource for Unpacked<'_> {
    fn rows(&self) -> u64 {
        self.packing.rows()
    }

    fn row_bytes(&self) -> usize {
        self.packing.row_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let width = self.row_bytes();
        let together = self.packing.rows_per_record();
        if self.packing.lookups() > 1 {
            let rows = (first..).zip(out.chunks_exact_mut(width));
            return rows.into_iter().try_for_each(|(row, out)| self.read_part(row, 0, out));
        }
        // As many records as the rows lie in, read together.
        let step = self.records.record_bytes();
        let (record, before) = (first / together, (first % together) as usize);
        let count = (before + out.len() / width).div_ceil(together as usize);
        let mut records = vec![0; count * step];
        self.records.read(record, &mut records)?;
        let rows =
            records.chunks_exact(step).flat_map(|record| record.chunks_exact(width).take(together as usize));
        out.chunks_exact_mut(width).zip(rows.skip(before)).for_each(|(out, row)| out.copy_from_slice(row));
        Ok(())
    }

    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (leaf, slot) = (row / self.packing.rows_per_record(), row % self.packing.rows_per_record());
        let begin = slot * self.packing.row_bytes() + offset;
        for place in self.packing.leaf_places(leaf, begin, out.len())? {
            let part = out.get_mut(place.bytes).ok_or(Misuse::Rule("a place lies in its row"))?;
            self.records.read_part(place.record, place.offset, part)?;
        }
        Ok(())
    }
}
