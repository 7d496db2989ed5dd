//! A tree's hashes: for a binary tree those of a log (RFC 6962), for another one random bytes,
//! since its nodes would depend on a commitment that is out of scope.

use super::SEED;
use sotto_core::ExpectOrDefault;
use sotto_math::sha256;
use sotto_tree::PerfectTree;
use sotto_tree::log::{Hash, hash};

/// All nodes of a perfect tree except for the root.
pub(super) struct Nodes {
    shape: PerfectTree,
    /// Nodes layer by layer from the top, from left to right.
    all: Vec<Hash>,
    root: Hash,
}

impl Nodes {
    pub(super) fn new(shape: PerfectTree) -> Self {
        let mut all = vec![[0; 32]; shape.nodes() as usize];
        if shape.arity() != 2 {
            SEED.stream("nodes", shape.arity()).fill(all.as_flattened_mut());
            return Nodes { shape, all, root: [0; 32] };
        }
        let first = first(shape, shape.height());
        for (i, leaf) in all.iter_mut().skip(first).enumerate() {
            *leaf = hash::leaf(&(i as u64).to_le_bytes());
        }
        for layer in (1..shape.height()).rev() {
            let (above, below) = all.split_at_mut(self::first(shape, layer + 1));
            let (_, parents) = above.split_at_mut(self::first(shape, layer));
            sha256::nodes(
                below
                    .as_chunks()
                    .0
                    .get(..parents.len())
                    .expect_or_default("a layer has two nodes for each above it"),
                parents,
            );
        }
        let mut root = [[0; 32]];
        sha256::nodes(
            all.as_chunks().0.get(..1).expect_or_default("a tree has two nodes under its root"),
            &mut root,
        );
        let [root] = root;
        Nodes { shape, all, root }
    }

    pub(super) fn shape(&self) -> PerfectTree {
        self.shape
    }

    /// The root of a binary tree.
    pub(super) fn root(&self) -> &Hash {
        &self.root
    }

    /// All nodes: layer by layer from the top, from left to right.
    pub(super) fn all(&self) -> &[Hash] {
        &self.all
    }

    pub(super) fn leaves(&self) -> &[Hash] {
        self.all.get(first(self.shape, self.shape.height())..).expect_or_default("a tree has leaves")
    }

    /// A node by its number among all.
    pub(super) fn node(&self, place: u64) -> Hash {
        self.all.get(place as usize).copied().expect_or_default("a place is that of a node")
    }

    /// The numbers of a leaf's path, from the root's child down.
    pub(super) fn path(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        let (q, h) = (shape.arity(), shape.height());
        (1..=h).map(|layer| first(shape, layer) as u64 + leaf / q.pow((h - layer) as u32)).collect()
    }

    /// The numbers of the siblings of a path in a binary tree, from the leaf's up.
    pub(super) fn siblings(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        // Every layer begins at an even number.
        Self::path(shape, leaf).into_iter().rev().map(|place| place ^ 1).collect()
    }

    /// The numbers of the nodes that prove a leaf.
    pub(super) fn proof(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        if shape.arity() == 2 { Self::siblings(shape, leaf) } else { Self::path(shape, leaf) }
    }
}

/// The number of a layer's first node; layer 1 is that of the root's children.
fn first(shape: PerfectTree, layer: usize) -> usize {
    (1..layer).fold(0, |nodes, _| (nodes + 1) * shape.arity() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_tree::log::{Peaks, proof};

    #[test]
    fn a_binary_tree_is_that_of_a_log() {
        for height in [1, 2, 5] {
            let nodes = Nodes::new(PerfectTree::new(2, height).unwrap());
            let mut peaks = Peaks::new();
            nodes.leaves().iter().for_each(|leaf| peaks.append(*leaf, |_| ()));
            assert_eq!((peaks.leaves(), &peaks.root()), (1 << height, nodes.root()));
            for leaf in 0..1 << height {
                let hashes: Vec<Hash> =
                    Nodes::proof(nodes.shape(), leaf).into_iter().map(|place| nodes.node(place)).collect();
                proof::verify(&nodes.leaves()[leaf as usize], leaf, 1 << height, &hashes, nodes.root())
                    .unwrap();
            }
        }
    }

    #[test]
    fn paths_lead_from_node_to_child() {
        let nodes = Nodes::new(PerfectTree::new(5, 3).unwrap());
        assert_eq!((nodes.all().len(), nodes.leaves().len()), (5 + 25 + 125, 125));
        let path = |leaf| Nodes::proof(nodes.shape(), leaf);
        assert_eq!(path(0), [0, 5, 30]);
        assert_eq!(path(124), [4, 29, 154]);
        assert_eq!(path(33), [1, 5 + 6, 30 + 33]);
        assert_ne!(nodes.node(3), nodes.node(4));
    }
}
