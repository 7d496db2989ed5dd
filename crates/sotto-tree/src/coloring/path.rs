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
//!
//! A coloring as a small graph of states.
//!
//! Colors are passed down as lists. The coloring below a node depends on its list's sizes alone,
//! not on which colors have them, and few lists of sizes occur: starting balanced, no more than 20
//! at any height of a binary tree, and one or two at most heights. So a tree of 2^36 leaves is some
//! tens of states, and every property of it comes from a walk through them.
//!
//! A *place* is a position in a node's list. States refer to places, not to colors.

use super::{ColorSlot, Coloring};
use crate::shape::PerfectTree;
use sotto_core::{Misuse, Result};
use std::collections::HashMap;

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
    /// The errors of [`Self::copath`].
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

/// The coloring below every node that has the same list of sizes.
#[derive(Debug)]
pub(crate) struct State {
    /// For each place, the number of nodes of its color below the node.
    pub(crate) sizes: Vec<u64>,
    /// One branch for each child, from left to right.
    pub(crate) branches: Vec<Branch>,
}

/// A child of a state, and its list.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The place of the child's color.
    pub(crate) place: u8,
    /// The child's state.
    pub(crate) state: u32,
    /// The places, in this list, of the colors in the child's.
    pub(crate) order: Vec<u8>,
    /// For each place, the number of nodes of its color among the children to the left, and below
    /// them.
    pub(crate) before: Vec<u64>,
    /// `before` and `order` in one word for each place, so that code that reads all branches reads
    /// one word: `order` is the lowest byte, and `before` is above it.
    pub(crate) words: Vec<u64>,
}

/// The coloring of a child as a rule gives it.
pub(crate) struct Child {
    /// The place of the child's color.
    pub(crate) place: u8,
    /// The child's state.
    pub(crate) state: u32,
    /// The places, in its parent's list, of the colors in its own list.
    pub(crate) order: Vec<u8>,
}

/// All states of a coloring, children before parents.
#[derive(Debug)]
pub(crate) struct States {
    all: Vec<State>,
}

impl States {
    /// The number of the state without layers below it.
    pub(crate) const LEAF: u32 = 0;

    pub(crate) fn new() -> Self {
        States { all: vec![State { sizes: Vec::new(), branches: Vec::new() }] }
    }

    pub(crate) fn get(&self, state: u32) -> &State {
        &self.all[state as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The states with `height` layers below them.
    pub(crate) fn of_height(&self, height: usize) -> impl Iterator<Item = (u32, &State)> {
        (0u32..).zip(&self.all).filter(move |(_, state)| state.sizes.len() == height)
    }

    /// Adds a node's state, made of its children's states, and counts the nodes below it.
    pub(crate) fn add(&mut self, height: usize, children: Vec<Child>) -> u32 {
        let mut sizes = vec![0; height];
        let branches = children
            .into_iter()
            .map(|Child { place, state, order }| {
                let before = sizes.clone();
                sizes[usize::from(place)] += 1;
                for (place, size) in order.iter().zip(&self.get(state).sizes) {
                    sizes[usize::from(*place)] += size;
                }
                let orders = order.iter().copied().chain(std::iter::repeat(0));
                let words =
                    before.iter().zip(orders).map(|(before, place)| before << 8 | u64::from(place)).collect();
                Branch { place, state, order, before, words }
            })
            .collect();
        self.all.push(State { sizes, branches });
        (self.all.len() - 1) as u32
    }
}

/// States by the lists of sizes that led to them.
#[derive(Default)]
pub(crate) struct StateCache(HashMap<Vec<u64>, u32>);

impl StateCache {
    pub(crate) fn get(&self, sizes: &[u64]) -> Option<u32> {
        if sizes.is_empty() { Some(States::LEAF) } else { self.0.get(sizes).copied() }
    }

    pub(crate) fn insert(&mut self, sizes: Vec<u64>, state: u32) {
        self.0.insert(sizes, state);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Sorts a child's list by size, colors of equal size staying in order: places of its parent's list, and sizes.
pub(crate) fn sorted(mut list: Vec<(u64, u8)>) -> (Vec<u64>, Vec<u8>) {
    list.sort_by_key(|(size, _)| *size);
    list.into_iter().unzip()
}
