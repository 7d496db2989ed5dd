//! Walks for a secret leaf: every state of each height is read, and each of its branches, and masks
//! select the data of the leaf's path. The reads and their order depend on the tree's shape alone.

use super::path::sides;
use super::path::{Branch, States};
use super::{ColorSlot, Coloring};
use crate::shape::PerfectTree;
use sotto_core::{Misuse, Result};
use std::hint::black_box;
use subtle::ConstantTimeEq;

const LAYERS: usize = PerfectTree::MAX_LAYERS;

/// A walk whose whole state is secret.
struct SecretWalk {
    state: u32,
    /// For each place, the number of nodes of its color to the left, with the color in the lowest
    /// byte.
    words: [u64; LAYERS],
}

/// The data of one layer's branches that the masks select.
struct SelectedBranch {
    state: u32,
    /// The place of the node.
    place: u8,
    /// For each place in the next list, its place in this one, in the lowest byte; above it the
    /// count to add for each place in this list before the node's row is read off.
    words: [u64; LAYERS],
    /// The count to add to the node's row.
    ahead: u64,
}

impl SelectedBranch {
    fn nothing() -> Self {
        SelectedBranch { state: 0, place: 0, words: [0; LAYERS], ahead: 0 }
    }

    /// Takes a branch over where the mask is all ones.
    fn keep(&mut self, mask: u64, branch: &Branch) {
        self.state |= mask as u32 & branch.state;
        self.place |= mask as u8 & branch.place;
        for (kept, word) in self.words.iter_mut().zip(&branch.words) {
            *kept |= mask & word;
        }
    }
}

impl Coloring {
    /// [`Self::path`] for a secret leaf, in time of about the square of the height, times the
    /// states of a height.
    ///
    /// Where `q` is no power of two the leaf's digits come from divisions, whose time depends on
    /// the numbers on some processors.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a leaf past the end.
    /// [`Misuse::IndexPastEnd`].
    pub fn secret_path(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        self.walk(leaf, |states, height, walk, digit, kept| {
            for (number, state) in states.of_height(height) {
                let here = equal(number.into(), walk.state.into());
                for (s, branch) in (0u64..).zip(&state.branches) {
                    kept.keep(here & equal(s, digit), branch);
                }
            }
            Ok(())
        })
    }

    /// [`Self::copath`] for a secret leaf.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a leaf past the end, and [`Misuse::Rule`] if the tree is not
    /// binary.
    pub fn secret_copath(&self, leaf: u64) -> Result<Vec<ColorSlot>> {
        if self.shape.arity() != 2 {
            return Err(Misuse::Rule("a proof by siblings must be of a binary tree").into());
        }
        self.walk(leaf, |states, height, walk, digit, kept| {
            for (number, state) in states.of_height(height) {
                let here = equal(number.into(), walk.state.into());
                let [left, right] = sides(state)?;
                let (to_left, to_right) = (here & equal(0, digit), here & equal(1, digit));
                kept.keep(to_left, left);
                kept.keep(to_right, right);
                let own = usize::from(left.place);
                kept.ahead |= to_left & (state.sizes[own] - 1);
                // As in `descend`, the left child's own row comes after all rows under its sibling.
                kept.words[own] = kept.words[own].wrapping_sub((to_right & 1) << 8);
            }
            Ok(())
        })
    }

    fn walk(
        &self,
        leaf: u64,
        layer: impl Fn(&States, usize, &SecretWalk, u64, &mut SelectedBranch) -> Result<()>,
    ) -> Result<Vec<ColorSlot>> {
        self.shape.check_leaf(leaf)?;
        let mut walk = SecretWalk { state: self.root, words: std::array::from_fn(|i| i as u64) };
        let mut places = Vec::with_capacity(self.shape.height());
        for height in (1..=self.shape.height()).rev() {
            let mut kept = SelectedBranch::nothing();
            layer(&self.states, height, &walk, self.shape.digit(leaf, height) as u64, &mut kept)?;
            places.push(walk.step(height, &kept));
        }
        Ok(places)
    }
}

impl SecretWalk {
    /// Adds the counts, reads off the node's slot, and continues in its list.
    fn step(&mut self, height: usize, kept: &SelectedBranch) -> ColorSlot {
        for (word, before) in self.words.iter_mut().zip(&kept.words) {
            *word = word.wrapping_add(before & !0xFF);
        }
        let mut here = [kept.place.into()];
        self.take(height, &mut here);
        let [here] = here;
        let mut words = kept.words.map(|word| word & 0xFF);
        self.take(height, words.get_mut(..height - 1).unwrap_or_default());
        *self = SecretWalk { state: kept.state, words };
        ColorSlot { color: here as u8, row: (here >> 8) + kept.ahead }
    }

    /// Replaces each of these secret places, among the `height` places, by its word.
    fn take(&self, height: usize, places: &mut [u64]) {
        // If the compiler knew how small a place is, it would recognize the mask below as a
        // comparison, and make a branch of it.
        let places = black_box(places);
        let mut sums = [0u64; LAYERS];
        for (p, word) in (0u64..).zip(&self.words).take(height) {
            for (sum, place) in sums.iter_mut().zip(&*places) {
                // All ones where the difference is zero: the only one whose predecessor has the top bit.
                *sum |= word & 0u64.wrapping_sub((p ^ place).wrapping_sub(1) >> 63);
            }
        }
        places.iter_mut().zip(sums).for_each(|(place, sum)| *place = sum);
    }
}

/// All ones if equal, else zero, opaque to the compiler.
fn equal(a: u64, b: u64) -> u64 {
    0u64.wrapping_sub(a.ct_eq(&b).unwrap_u8().into())
}
