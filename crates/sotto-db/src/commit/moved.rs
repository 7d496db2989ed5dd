//! The tree after changes to rows, and what changes with it.

use super::laid::Unpacked;
use super::{Tree, node, one};
use crate::progress::{Stage, Watcher};
use rayon::prelude::*;
use sotto_catalog::Packing;
use sotto_catalog::rows_root::{NODE_BYTES, Node, RowsRoot};
use sotto_core::{Change, Misuse, Rows, Sure};
use std::collections::BTreeSet;

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
        watch: Watcher<'_>,
    ) -> sotto_core::Result<Moved> {
        let RowsRoot { leaf_rows, path, .. } = *self.root;
        let (levels, rows_after) = (path.unwrap_or(0), self.packing.rows());
        let new = self.root.leaves(self.rows_before)..self.root.leaves(rows_after);
        let tops = rows.map(|row| row / leaf_rows).chain(new).map(|leaf| leaf >> levels);
        let tops: Vec<u64> = tops.collect::<BTreeSet<_>>().into_iter().collect();
        let each = leaf_rows.saturating_mul(self.packing.row_bytes()).saturating_mul(1 << levels);
        let stage = Stage::new(watch, "hash rows", each.saturating_mul(tops.len() as u64));
        let below = |top: &u64| self.below(*top).inspect(|_| stage.add(each));
        let moved = tops.par_iter().map(below).collect::<sotto_core::Result<Vec<_>>>()?;
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
