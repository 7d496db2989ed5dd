//! The rows of a leaf's path in its colors (the paper's indexing algorithm), and those of the siblings
//! of the path.
//!
//! A color's nodes are counted from left to right. They tile the leaves, so there is one such order
//! for every coloring. The number of nodes to the left of a path is counted on the way down.
//!
//! # Copaths
//!
//! A Merkle proof needs siblings, so the row of a node's slot holds its *sibling's* hash (the
//! paper's swapped tree). From left to right such rows could not be written as a log grows, since a
//! left child comes before many nodes under its sibling, and the sibling's hash is known only after
//! them. So rows have another order here: **a color's rows are written in the order in which their
//! hashes become known**, each hash to the color of its sibling. The rows of a log of `n` leaves
//! are then a prefix of all later rows, in every color.
//!
//! Below a node, a left child's row is therefore its color's last: its sibling is complete after
//! everything under it. A right child's row is known as soon as the left subtree is complete.

use crate::coloring::states::{Branch, State};
use crate::coloring::{ColorSlot, Coloring};
use crate::shape::PerfectTree;
use sotto_core::{Misuse, Result};

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
    /// [`Misuse::IndexPastEnd`] for a leaf past the end.
    pub fn path(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        let mut places = Vec::with_capacity(self.shape.height());
        self.path_into(leaf, &mut places)?;
        Ok(places)
    }

    /// [`Self::path`] into a vector that is reused.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a leaf past the end.
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

impl Coloring {
    /// The rows of a leaf's proof in a binary tree, from the sibling of the root's child down: `h`
    /// slots, one in each color.
    ///
    /// Fast, with memory accesses that depend on the leaf: for public leaves.
    /// [`Self::secret_copath`] is for secret ones.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a leaf past the end, and [`Misuse::Rule`] if the tree is not
    /// binary.
    pub fn copath(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        let mut places = Vec::with_capacity(self.shape.height());
        self.copath_into(leaf, &mut places)?;
        Ok(places)
    }

    /// [`Self::copath`] into a vector that is reused.
    ///
    /// # Errors
    /// Those of [`Self::copath`].
    pub fn copath_into(&self, leaf: u64, places: &mut Vec<ColorSlot>) -> Result<()> {
        self.shape.check_leaf(leaf)?;
        places.clear();
        self.descend(leaf, |place, _| places.push(place))
    }

    /// Rows of each color when the log has `leaves` leaves, counted by the hashes of complete
    /// subtrees. The root's hash is in no row.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] above the tree's leaves, and [`Misuse::Rule`] if the tree is not
    /// binary.
    pub fn copath_rows(&self, leaves: u64) -> Result<Vec<u64>> {
        if leaves == self.shape.leaves() {
            return Ok(self.sizes().to_vec());
        }
        self.shape.check_leaf(leaves)?;
        let mut rows = vec![0; self.shape.height()];
        self.descend(leaves, |place, written| {
            if let Some(rows) = rows.get_mut(usize::from(place.color)) {
                *rows = written;
            }
        })?;
        Ok(rows)
    }

    /// Calls `tell` for each slot on the path to a leaf, with the number of its color's rows that
    /// are known before the leaf is.
    fn descend(&self, leaf: u64, mut tell: impl FnMut(ColorSlot, u64)) -> Result<()> {
        if self.shape.arity() != 2 {
            return Err(Misuse::Rule("a proof by siblings must be of a binary tree").into());
        }
        let mut walk = PathWalk::new();
        let mut state = self.states.get(self.root);
        for height in (1..=self.shape.height()).rev() {
            let [left, right] = sides(state)?;
            let branch = if self.shape.digit(leaf, height) == 0 {
                let first = walk.place(left.place);
                let last = ColorSlot { row: first.row + state.sizes[usize::from(left.place)] - 1, ..first };
                tell(last, first.row);
                left
            } else {
                walk.pass(right);
                // The left child's own row is not written yet.
                walk.counts[usize::from(left.place)] -= 1;
                let place = walk.place(right.place);
                // The right child's row has just been written.
                tell(place, place.row + 1);
                right
            };
            walk.descend(branch);
            state = self.states.get(branch.state);
        }
        Ok(())
    }
}

pub(super) fn sides(state: &State) -> Result<&[Branch; 2]> {
    state
        .branches
        .as_slice()
        .try_into()
        .map_err(|_| Misuse::Rule("a proof by siblings must be of a binary tree").into())
}
