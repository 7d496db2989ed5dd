//! Where the nodes of a leaf's path lie in their colors (the paper's indexing algorithm).
//!
//! A color's nodes are counted from left to right. They tile the leaves, so that there is one such order, whatever
//! made the coloring. The number of nodes to the left of a path is counted on the way down.

use super::states::Branch;
use super::{ColorSlot, Coloring};
use crate::shape::PerfectTree;
use sotto_core::Result;

/// Counts and colors on the way down, each a list that follows the node's.
#[derive(Clone, Copy)]
pub(super) struct PathWalk {
    /// Which color each place has.
    pub(super) colors: [u8; PerfectTree::MAX_LAYERS],
    /// Nodes of each place's color to the left.
    pub(super) counts: [u64; PerfectTree::MAX_LAYERS],
}

impl PathWalk {
    pub(super) fn new() -> Self {
        PathWalk { colors: std::array::from_fn(|i| i as u8), counts: [0; PerfectTree::MAX_LAYERS] }
    }

    /// Counts what lies left of a child.
    pub(super) fn pass(&mut self, branch: &Branch) {
        for (count, before) in self.counts.iter_mut().zip(&branch.before) {
            *count += before;
        }
    }

    /// The child itself, once what lies left of it is counted.
    pub(super) fn place(&self, place: u8) -> ColorSlot {
        let place = usize::from(place) % PerfectTree::MAX_LAYERS;
        ColorSlot { color: self.colors[place], row: self.counts[place] }
    }

    /// Goes on in the child's list.
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
    /// The nodes of a leaf's path, from the root's child down to the leaf: `h` places, one in each color.
    ///
    /// Fast, and its memory accesses follow the leaf: for leaves that are no secret. See [`Self::copath`] for those
    /// that are.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`](sotto_core::Misuse::IndexPastEnd).
    pub fn path(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        let mut places = Vec::with_capacity(self.shape.height());
        self.path_into(leaf, &mut places)?;
        Ok(places)
    }

    /// The same, into a vector whose room is used again.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`](sotto_core::Misuse::IndexPastEnd).
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
