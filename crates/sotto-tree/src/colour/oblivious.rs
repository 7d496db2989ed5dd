//! The walks for a leaf that nobody may learn: every state of each height is read, and each of its branches, and what
//! belongs to the leaf's path is kept by masks. What is read, and in which order, depends on the tree's shape alone.

use super::copath::sides;
use super::states::{Branch, States};
use super::{Colouring, Place};
use crate::shape::Shape;
use sotto_core::{Misuse, Result};
use subtle::ConstantTimeEq;

const LAYERS: usize = Shape::MOST_LAYERS;

/// A walk of which everything is secret.
struct Secret {
    state: u32,
    colours: [u8; LAYERS],
    counts: [u64; LAYERS],
}

/// What masks keep of one layer's branches.
struct Kept {
    state: u32,
    /// The node's place.
    place: u8,
    order: [u8; LAYERS],
    /// What is to be counted before the node's row is read off.
    before: [u64; LAYERS],
    /// What is added to that row.
    ahead: u64,
}

impl Kept {
    fn nothing() -> Self {
        Kept { state: 0, place: 0, order: [0; LAYERS], before: [0; LAYERS], ahead: 0 }
    }

    /// Takes a branch over where the mask is all ones.
    fn keep(&mut self, mask: u64, branch: &Branch) {
        self.state |= mask as u32 & branch.state;
        self.place |= mask as u8 & branch.place;
        for (kept, place) in self.order.iter_mut().zip(&branch.order) {
            *kept |= mask as u8 & place;
        }
        for (kept, before) in self.before.iter_mut().zip(&branch.before) {
            *kept |= mask & before;
        }
    }
}

impl Colouring {
    /// [`Self::path`] for a secret leaf: about the square of the height, times the states of a height.
    ///
    /// Where `q` is no power of two the leaf's digits come from divisions, whose time depends on the numbers on some
    /// processors.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn secret_path(&self, leaf: u64) -> Result<Vec<Place>> {
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
    /// [`Misuse::IndexPastEnd`], and [`Misuse::Rule`] if the tree is not binary.
    pub fn secret_copath(&self, leaf: u64) -> Result<Vec<Place>> {
        if self.shape.arity() != 2 {
            return Err(Misuse::Rule("a proof by siblings is a binary tree's").into());
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
                // As in `descend`: the left child's own row comes after all that is under its sibling.
                kept.before[own] = kept.before[own].wrapping_sub(to_right & 1);
            }
            Ok(())
        })
    }

    fn walk(
        &self,
        leaf: u64,
        layer: impl Fn(&States, usize, &Secret, u64, &mut Kept) -> Result<()>,
    ) -> Result<Vec<Place>> {
        self.shape.check_leaf(leaf)?;
        let mut walk =
            Secret { state: self.root, colours: std::array::from_fn(|i| i as u8), counts: [0; LAYERS] };
        let mut places = Vec::with_capacity(self.shape.height());
        for height in (1..=self.shape.height()).rev() {
            let mut kept = Kept::nothing();
            layer(&self.states, height, &walk, self.shape.digit(leaf, height) as u64, &mut kept)?;
            places.push(walk.step(height, &kept));
        }
        Ok(places)
    }
}

impl Secret {
    /// Counts, reads off the node's place, and goes on in its list.
    fn step(&mut self, height: usize, kept: &Kept) -> Place {
        for (count, before) in self.counts.iter_mut().zip(&kept.before) {
            *count = count.wrapping_add(*before);
        }
        let (colour, row) = self.at(height, kept.place);
        let (mut colours, mut counts) = ([0; LAYERS], [0; LAYERS]);
        for ((next_colour, next_count), place) in
            colours.iter_mut().zip(&mut counts).zip(kept.order).take(height - 1)
        {
            (*next_colour, *next_count) = self.at(height, place);
        }
        *self = Secret { state: kept.state, colours, counts };
        Place { colour, row: row + kept.ahead }
    }

    /// The colour and the count of a secret place, among the `height` there are.
    fn at(&self, height: usize, place: u8) -> (u8, u64) {
        let (mut colour, mut count) = (0, 0);
        for (p, (c, n)) in (0u64..).zip(self.colours.iter().zip(&self.counts)).take(height) {
            // All ones where the difference is zero: the only one whose predecessor has the top bit.
            let mask = 0u64.wrapping_sub((p ^ u64::from(place)).wrapping_sub(1) >> 63);
            colour |= mask as u8 & c;
            count |= mask & n;
        }
        (colour, count)
    }
}

/// All ones if equal, else zero, and the compiler does not know which.
fn equal(a: u64, b: u64) -> u64 {
    0u64.wrapping_sub(a.ct_eq(&b).unwrap_u8().into())
}
