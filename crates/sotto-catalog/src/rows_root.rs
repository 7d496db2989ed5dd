//! The root of a Merkle tree over a table's rows, to which the catalog commits, and proofs of
//! single rows.
//!
//! ```text
//! leaf j      H_leaf(rows j * leaf_rows .. (j + 1) * leaf_rows, one after the other; rows past the table's end are zero)
//! node        H_node(left | right)                   a missing leaf counts as 32 zero bytes
//! tree        the nodes `path` levels above the leaves, one after the other: the artifact `tree`
//! root        H_root(tree)
//! ```
//!
//! The hashes are BLAKE3, keyed with three public words. In a table whose rows can be verified one
//! by one, each lookup fetches a leaf and the `path` sibling nodes of its path, and the artifact
//! contains the node that they lead to. In other tables `path` is absent, the artifact contains the
//! leaves, and only someone who has all rows can compare them with the root.

use crate::{CatalogError, Hex32, Packing, Result};
use serde::{Deserialize, Serialize};
use sotto_core::{Misuse, PeerMisbehaved, Record};
use std::hint::black_box;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Largest number of rows of a table.
pub const MAX_ROWS: u64 = 1 << 40;

/// Bytes of a tree node.
pub const NODE_BYTES: usize = 32;

/// Largest number of levels of a path.
pub const MAX_LEVELS: u32 = 40;

/// Largest number of nodes in the tree's artifact where rows are verified one by one: 512 KiB, all
/// of which a client reads for each row.
pub const MAX_NODES: u64 = 1 << 14;

const LEAF_KEY: &[u8; 32] = b"sotto 2026 rows root v1, leaf...";
const NODE_KEY: &[u8; 32] = b"sotto 2026 rows root v1, node...";
const ROOT_KEY: &[u8; 32] = b"sotto 2026 rows root v1, root...";

/// A node of the tree.
pub type Node = [u8; NODE_BYTES];

/// Commitment to a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowsRoot {
    /// Root of the tree.
    pub root: Hex32,
    /// Rows in a leaf; where there is a path, the rows that are looked up together.
    pub leaf_rows: u64,
    /// Number of nodes that are fetched with a leaf; `None` if rows cannot be verified one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<u32>,
}

/// Hashes the rows of a leaf piece by piece.
pub struct LeafHasher(blake3::Hasher);

impl Default for LeafHasher {
    fn default() -> Self {
        LeafHasher(blake3::Hasher::new_keyed(LEAF_KEY))
    }
}

impl LeafHasher {
    /// Adds the next bytes of the leaf.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The node of the leaf.
    pub fn finish(&self) -> Node {
        *self.0.finalize().as_bytes()
    }

    /// Hashes the rows of a leaf at once.
    pub fn of(rows: &[u8]) -> Node {
        *blake3::keyed_hash(LEAF_KEY, rows).as_bytes()
    }
}

/// Hash of two sibling nodes.
pub fn parent(left: &Node, right: &Node) -> Node {
    let mut both = [0; 2 * NODE_BYTES];
    let (first, second) = both.split_at_mut(NODE_BYTES);
    first.copy_from_slice(left);
    second.copy_from_slice(right);
    *blake3::keyed_hash(NODE_KEY, &both).as_bytes()
}

/// Root over the nodes of the tree's artifact.
pub fn root(tree: &[u8]) -> Hex32 {
    blake3::keyed_hash(ROOT_KEY, tree).into()
}

impl RowsRoot {
    /// Number of leaves of a table of `rows` rows.
    pub fn leaves(&self, rows: u64) -> u64 {
        rows.div_ceil(self.leaf_rows.max(1))
    }

    /// Bytes of the tree's artifact for a table of `rows` rows.
    pub fn tree_bytes(&self, rows: u64) -> u64 {
        let below = 1u64.checked_shl(self.path.unwrap_or(0)).unwrap_or(u64::MAX);
        self.leaves(rows).div_ceil(below).saturating_mul(NODE_BYTES as u64)
    }

    /// Bytes of the path that each lookup fetches in addition to the rows.
    pub fn path_bytes(&self) -> u64 {
        u64::from(self.path.unwrap_or(0)) * NODE_BYTES as u64
    }

    /// Whether a client must download the tree before it can verify rows. A tree of one node
    /// follows from the root.
    pub fn needs_tree(&self, rows: u64) -> bool {
        self.path.is_some() && self.tree_bytes(rows) > NODE_BYTES as u64
    }

    /// Whether the records of a lookup are the publisher's. `tree` is the artifact, or empty where
    /// it is not needed.
    ///
    /// What is compared, in which order and for how long does not depend on `row` or on the
    /// contents of the records; only the result does. A row past the end is treated as row 0, whose
    /// records are looked up for it.
    ///
    /// # Errors
    /// [`Misuse`] for records of another number or size, or another tree.
    pub fn verifies(
        &self,
        packing: &Packing,
        row: u64,
        records: &[Record],
        tree: &[u8],
    ) -> sotto_core::Result<bool> {
        let (rows, path) = packing.leaf(records)?;
        self.proves(packing, row, LeafHasher::of(&rows), &path, tree)
    }

    /// Whether a leaf that was hashed while it arrived is the publisher's: see
    /// [`RowsRoot::verifies`].
    ///
    /// # Errors
    /// [`Misuse`] for a path of another length, or another tree.
    pub fn proves(
        &self,
        packing: &Packing,
        row: u64,
        leaf: Node,
        path: &[u8],
        tree: &[u8],
    ) -> sotto_core::Result<bool> {
        let (siblings, rest) = path.as_chunks::<NODE_BYTES>();
        let is_small = !self.needs_tree(packing.rows());
        let tree_bytes = if is_small { 0 } else { self.tree_bytes(packing.rows()) };
        if self.path != Some(siblings.len() as u32) || !rest.is_empty() || tree.len() as u64 != tree_bytes {
            return Err(
                Misuse::Rule("the path or tree has another size than the table's rows root implies").into()
            );
        }
        let (mut index, mut node) = (packing.leaf_index(row), leaf);
        for sibling in siblings {
            let is_right = Choice::from((index & 1) as u8);
            let (mut left, mut right) = (node, *sibling);
            for (left, right) in left.iter_mut().zip(right.iter_mut()) {
                u8::conditional_swap(left, right, is_right);
            }
            node = parent(&left, &right);
            index >>= 1;
        }
        let expected = if is_small { self.root.0 } else { pick(tree, index) };
        let found = if is_small { root(&node).0 } else { node };
        Ok(expected.ct_eq(&found).into())
    }

    pub(crate) fn check(&self, rows: u64) -> Result<()> {
        let refuse = |why: &str| Err(CatalogError::invalid("rows_root", why));
        if !(1..=MAX_ROWS).contains(&self.leaf_rows) {
            return refuse("expected 1 to 2^40 rows in a leaf");
        }
        if self.path.is_some_and(|path| path > MAX_LEVELS) {
            return refuse("expected at most 40 nodes in a path");
        }
        if self.path.is_some() && self.tree_bytes(rows) > MAX_NODES * NODE_BYTES as u64 {
            return refuse("expected at most 2^14 nodes in a tree with row proofs");
        }
        Ok(())
    }
}

/// Selects a node of the tree; all nodes are read.
fn pick(tree: &[u8], index: u64) -> Node {
    let (words, mut expected) = (tree.as_chunks::<8>().0, [0u64; 4]);
    for (i, node) in (0u64..).zip(words.as_chunks::<4>().0) {
        // All ones for the selected node. The black box keeps the mask from becoming a branch.
        let differs = i ^ index;
        let mask = black_box(((differs | differs.wrapping_neg()) >> 63).wrapping_sub(1));
        for (expected, word) in expected.iter_mut().zip(node) {
            *expected |= u64::from_le_bytes(*word) & mask;
        }
    }
    let mut out = [0; NODE_BYTES];
    out.as_chunks_mut::<8>().0.iter_mut().zip(expected).for_each(|(out, word)| *out = word.to_le_bytes());
    out
}

/// Applies a delta to the tree of an earlier epoch, in place. Both trees have the same length.
///
/// ```text
/// delta   for each node that differs: its number (u32 LE), the node (32 B)
/// ```
///
/// Total: the result of invalid bytes is not the tree that its catalog names.
///
/// # Errors
/// [`PeerMisbehaved`] for bytes that are not a delta.
pub fn patch(tree: &mut [u8], delta: &[u8]) -> sotto_core::Result<()> {
    let malformed =
        || PeerMisbehaved::Malformed { what: "tree-delta", why: "not a list of nodes of this tree".into() };
    let (changes, rest) = delta.as_chunks::<{ 4 + NODE_BYTES }>();
    let (nodes, _) = tree.as_chunks_mut::<NODE_BYTES>();
    for change in changes {
        let (number, node) = change.split_first_chunk().ok_or_else(malformed)?;
        let place = nodes.get_mut(u32::from_le_bytes(*number) as usize).ok_or_else(malformed)?;
        place.copy_from_slice(node);
    }
    if rest.is_empty() { Ok(()) } else { Err(malformed().into()) }
}

/// Delta that [`patch`] needs to turn the tree `old` into `new`; `None` for trees of different
/// lengths.
pub fn delta(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let (before, after) = (old.as_chunks::<NODE_BYTES>().0, new.as_chunks::<NODE_BYTES>().0);
    let changed = (0u32..).zip(before.iter().zip(after)).filter(|(_, (before, after))| before != after);
    let bytes = changed.flat_map(|(number, (_, after))| number.to_le_bytes().into_iter().chain(*after));
    (old.len() == new.len()).then(|| bytes.collect())
}
