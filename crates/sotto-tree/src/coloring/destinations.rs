//! The colors to which a growing log writes its hashes, many leaves at a time.
//!
//! A walk for each of a log's hashes would take longer than hashing. The order of writing below a
//! node depends only on its state, so it is computed once for each low state, and a walk finds the
//! colors.

use super::path::PathWalk;
use super::path::State;
use super::path::sides;
use super::{ColorSlot, Coloring};
use sotto_core::{Misuse, Result};

/// Colors of the hashes that a complete subtree makes, each in the order in which the hashes become
/// known: children before parents, left before right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    /// Colors of all hashes below the subtree's root.
    pub inside: Vec<u8>,
    /// Colors of the subtree's root, its parent, and so on up to the root's child: the log's size
    /// determines which of these the subtree's last leaf completes.
    pub above: Vec<u8>,
}

/// The orders of all subtrees of one height, for lookups.
pub struct DestinationTable<'a> {
    coloring: &'a Coloring,
    height: usize,
    /// Places in the order of writing, by state; empty for states of other heights.
    orders: Vec<Vec<u8>>,
}

impl Coloring {
    /// The destinations of hashes, for subtrees of `2^height` leaves: `height` is below the tree's
    /// own, and at most 16.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for other heights, and if the tree is not binary.
    pub fn destinations(&self, height: usize) -> Result<DestinationTable<'_>> {
        if self.shape.arity() != 2 || height >= self.shape.height() || height > 16 {
            return Err(Misuse::Rule(
                "the subtrees must be of a binary tree, lower than it, and at most 16 layers high",
            )
            .into());
        }
        let mut orders: Vec<Vec<u8>> = Vec::new();
        for state in (0..self.states.len() as u32).map(|state| self.states.get(state)) {
            let layers = state.sizes.len();
            orders.push(if (1..=height).contains(&layers) { order(state, &orders)? } else { Vec::new() });
        }
        Ok(DestinationTable { coloring: self, height, orders })
    }
}

/// The places of a state's hashes, from those of its children's.
fn order(state: &State, orders: &[Vec<u8>]) -> Result<Vec<u8>> {
    let [left, right] = sides(state)?;
    let mut out = Vec::new();
    for (branch, sibling) in [(left, right), (right, left)] {
        let below = orders.get(branch.state as usize).into_iter().flatten();
        out.extend(below.map(|place| branch.order[usize::from(*place)]));
        out.push(sibling.place);
    }
    Ok(out)
}

impl DestinationTable<'_> {
    /// The destinations of subtree `number` from the left.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] if there is no such subtree.
    pub fn of(&self, number: u64, out: &mut Destinations) -> Result<()> {
        let Coloring { shape, states, root } = self.coloring;
        let layers = shape.height() - self.height;
        if number >> layers != 0 {
            return Err(Misuse::IndexPastEnd { index: number, len: 1 << layers }.into());
        }
        out.above.clear();
        let mut walk = PathWalk::new();
        let mut state = *root;
        for layer in (0..layers).rev() {
            let [left, right] = sides(states.get(state))?;
            let (branch, sibling) = if number >> layer & 1 == 0 { (left, right) } else { (right, left) };
            let ColorSlot { color, .. } = walk.place(sibling.place);
            out.above.push(color);
            walk.descend(branch);
            state = branch.state;
        }
        out.above.reverse();
        out.inside.clear();
        out.inside.extend(self.orders[state as usize].iter().map(|place| walk.colors[usize::from(*place)]));
        Ok(())
    }
}
