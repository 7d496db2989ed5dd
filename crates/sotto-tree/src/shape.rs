//! The shape of a perfect tree: the number of children of a node, and the number of layers.

use sotto_core::{Misuse, ParamsError, Result};

/// Maximum number of leaves of a tree: 2^40, as the index of static certificate-transparency logs
/// has 40 bits.
const MAX_LEAVES: u64 = 1 << 40;

/// A perfect tree. The root is layer 0 and has no color: its hash is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfectTree {
    arity: u16,
    height: u8,
}

impl PerfectTree {
    /// Maximum number of layers of a tree.
    pub(crate) const MAX_LAYERS: usize = 40;

    /// A tree with `arity` children of each node and `height` layers below the root: 2 to 256, and
    /// 1 to 40, with at most 2^40 leaves.
    ///
    /// # Errors
    /// [`ParamsError::Field`] outside these ranges.
    pub fn new(arity: u16, height: u8) -> Result<Self> {
        let field = |field, why: &str| ParamsError::Field { field, why: why.into() };
        if !(2..=256).contains(&arity) {
            return Err(field("arity", "must be 2 to 256").into());
        }
        if height == 0 {
            return Err(field("height", "must be at least 1").into());
        }
        match u64::from(arity).checked_pow(height.into()) {
            Some(leaves) if leaves <= MAX_LEAVES => Ok(PerfectTree { arity, height }),
            _ => Err(field("height", "must make a tree of at most 2^40 leaves").into()),
        }
    }

    /// The lowest binary tree that has at least `leaves` leaves.
    ///
    /// # Errors
    /// [`ParamsError::Field`] above 2^40 leaves.
    pub fn binary_for(leaves: u64) -> Result<Self> {
        let height = leaves.clamp(2, u64::MAX / 2).next_power_of_two().ilog2();
        Self::new(2, height as u8)
    }

    /// Number of children of a node, the paper's `q`.
    pub fn arity(self) -> u64 {
        self.arity.into()
    }

    /// Number of layers below the root, the paper's `h`.
    pub fn height(self) -> usize {
        self.height.into()
    }

    /// Number of nodes in the lowest layer.
    pub fn leaves(self) -> u64 {
        self.arity().pow(self.height.into())
    }

    /// Number of nodes below the root, `q + q^2 + ... + q^h`.
    pub fn nodes(self) -> u64 {
        below(self.arity(), self.height())
    }

    /// The child that a leaf's path takes at a node with `height` layers below it.
    pub(crate) fn digit(self, leaf: u64, height: usize) -> usize {
        let (q, layers) = (self.arity(), height as u32 - 1);
        let digit = if q.is_power_of_two() {
            leaf >> (q.ilog2() * layers) & (q - 1)
        } else {
            leaf / q.pow(layers) % q
        };
        digit as usize
    }

    pub(crate) fn check_leaf(self, leaf: u64) -> Result<()> {
        if leaf < self.leaves() {
            return Ok(());
        }
        Err(Misuse::IndexPastEnd { index: leaf, len: self.leaves() }.into())
    }
}

/// Number of nodes under a node with `height` layers below it.
pub(crate) fn below(arity: u64, height: usize) -> u64 {
    (0..height).fold(0, |nodes, _| (nodes + 1) * arity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_limits() {
        assert!(
            PerfectTree::new(1, 3).is_err()
                && PerfectTree::new(257, 1).is_err()
                && PerfectTree::new(2, 0).is_err()
        );
        assert!(PerfectTree::new(2, 40).is_ok() && PerfectTree::new(2, 41).is_err());
        assert!(
            PerfectTree::new(256, 5).is_ok()
                && PerfectTree::new(256, 6).is_err()
                && PerfectTree::new(3, 26).is_err()
        );
    }

    #[test]
    fn a_binary_tree_is_as_high_as_its_leaves_need() {
        for (leaves, height) in
            [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 20, 20), ((1 << 20) + 1, 21)]
        {
            assert_eq!(PerfectTree::binary_for(leaves).unwrap().height(), height, "{leaves} leaves");
        }
        assert!(
            PerfectTree::binary_for((1 << 40) + 1).is_err() && PerfectTree::binary_for(u64::MAX).is_err()
        );
    }
}
