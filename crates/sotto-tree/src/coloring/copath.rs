//! The rows of the siblings of a leaf's path: the rows of a Merkle proof, in an order that is only
//! ever appended to.
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

use super::path::PathWalk;
use super::states::{Branch, State};
use super::{ColorSlot, Coloring};
use sotto_core::{Misuse, Result};

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
