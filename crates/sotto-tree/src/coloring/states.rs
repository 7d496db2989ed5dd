//! A coloring as a small graph of states.
//!
//! Colors are passed down as lists. The coloring below a node depends on its list's sizes alone,
//! not on which colors have them, and few lists of sizes occur: starting balanced, no more than 20
//! at any height of a binary tree, and one or two at most heights. So a tree of 2^36 leaves is some
//! tens of states, and every property of it comes from a walk through them.
//!
//! A *place* is a position in a node's list. States refer to places, not to colors.

use std::collections::HashMap;

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
