//! The rows of a leaf's path in its colors (the paper's indexing algorithm).
//!
//! A color's nodes are counted from left to right. They tile the leaves, so there is one such order
//! for every coloring. The number of nodes to the left of a path is counted on the way down.

use super::states::Branch;
use super::{ColorSlot, Coloring};
use crate::shape::PerfectTree;
use sotto_core::Result;

/// A walk down a path: counts and colors, each a list in the order of the node's list.
#[derive(Clone, Copy)]
pub(super) struct PathWalk {
    /// The color of each place.
    pub(super) colors: [u8; PerfectTree::MAX_LAYERS],
    /// For each place, the number of nodes of its color to the left.
    pub(super) counts: [u64; PerfectTree::MAX_LAYERS],
}

impl PathWalk {
    pub(super) fn new() -> Self {
        PathWalk { colors: std::array::from_fn(|i| i as u8), counts: [0; PerfectTree::MAX_LAYERS] }
    }

    /// Counts the nodes to the left of a child.
    pub(super) fn pass(&mut self, branch: &Branch) {
        for (count, before) in self.counts.iter_mut().zip(&branch.before) {
            *count += before;
        }
    }

    /// The slot of the child, after the nodes to its left were counted.
    pub(super) fn place(&self, place: u8) -> ColorSlot {
        let place = usize::from(place) % PerfectTree::MAX_LAYERS;
        ColorSlot { color: self.colors[place], row: self.counts[place] }
    }

    /// Continues in the child's list.
    pub(super) fn descend(&mut self, branch: &Branch) {
        let above = *self;
        for (i, place) in branch.order.iter().enumerate() {
            let place = usize::from(*place) % PerfectTree::MAX_LAYERS;
            self.colors[i] = above.colors[place];
            self.counts[i] = above.counts[place];
        }
    }
}

impl Coloring {
    /// The slots of a leaf's path, from the root's child down to the leaf: `h` slots, one in each
    /// color.
    ///
    /// Fast, with memory accesses that depend on the leaf: for public leaves. [`Self::secret_path`]
    /// is for secret ones.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`](sotto_core::Misuse::IndexPastEnd) for a leaf past the end.
    pub fn path(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        let mut places = Vec::with_capacity(self.shape.height());
        self.path_into(leaf, &mut places)?;
        Ok(places)
    }

    /// [`Self::path`] into a vector that is reused.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`](sotto_core::Misuse::IndexPastEnd) for a leaf past the end.
    pub fn path_into(&self, leaf: u64, places: &mut Vec<ColorSlot>) -> Result<()> {
        self.shape.check_leaf(leaf)?;
        places.clear();
        let mut walk = PathWalk::new();
        let mut state = self.states.get(self.root);
        for height in (1..=self.shape.height()).rev() {
            let branch = &state.branches[self.shape.digit(leaf, height)];
            walk.pass(branch);
            places.push(walk.place(branch.place));
            walk.descend(branch);
            state = self.states.get(branch.state);
        }
        Ok(())
    }
}
