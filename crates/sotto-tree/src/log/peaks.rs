//! The right edge of a log: the roots of its largest complete subtrees, from left to right.
//!
//! They are all that is needed to append, they determine the log's root, and they are public with
//! it: one hash for each bit of the log's length. The parts of a proof in subtrees that are not
//! complete yet are computed from them.

use super::hash::{Hash, empty, node};
use super::subtree;
use sotto_core::{PeerMisbehaved, Result};

/// A complete subtree of `2^level` leaves, the `index`-th of its level from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteSubtree {
    /// The level of the subtree's root, 0 for leaves.
    pub level: u8,
    /// The number of the subtree among those of its level, from the left.
    pub index: u64,
    /// The hash of the subtree's root.
    pub hash: Hash,
}

/// Complete subtrees of a log, one for each bit of its length, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    leaves: u64,
    hashes: Vec<Hash>,
}

impl Peaks {
    /// The peaks of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// The peaks of a log of `leaves` leaves, as received. [`Self::root`] shows whether they are
    /// right.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Count`] for another number of hashes.
    pub fn from_hashes(leaves: u64, hashes: Vec<Hash>) -> Result<Self> {
        let (got, want) = (hashes.len() as u64, u64::from(leaves.count_ones()));
        if got != want {
            return Err(PeerMisbehaved::Count { what: "peaks", got, want }.into());
        }
        Ok(Peaks { leaves, hashes })
    }

    /// Leaves of the log.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// The hashes of the peaks, the largest subtree's first.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Appends a leaf, and calls `known` for every subtree that it completes: the leaf itself, then
    /// those above.
    pub fn append(&mut self, leaf: Hash, mut known: impl FnMut(CompleteSubtree)) {
        let made = CompleteSubtree { level: 0, index: self.leaves, hash: leaf };
        known(made);
        self.complete(made, known);
    }

    /// Appends leaves, with the same calls of `known` as if each were appended by itself. It takes
    /// less time, since nodes of one layer are hashed together.
    pub fn extend(&mut self, mut leaves: &[Hash], mut known: impl FnMut(CompleteSubtree)) {
        while !leaves.is_empty() {
            // The largest complete subtree that begins here, up to the size of a tile.
            let level = self.leaves.trailing_zeros().min(leaves.len().ilog2()).min(8);
            let (run, rest) = leaves.split_at(1 << level);
            let first = self.leaves;
            let above = subtree::above(run);
            let mut made = CompleteSubtree { level: 0, index: first, hash: run[0] };
            for (index, leaf) in (first..).zip(run) {
                made = CompleteSubtree { level: 0, index, hash: *leaf };
                known(made);
                while made.index & 1 == 1 && u32::from(made.level) < level {
                    let (up, index) = (made.level + 1, made.index >> 1);
                    // Layer l of the upper nodes begins after 2^(level - 1) + ... + 2^(level - l +
                    // 1) nodes.
                    let before = (1 << level) - (2 << (level - u32::from(up)));
                    let at = before + (index - (first >> up)) as usize;
                    made = CompleteSubtree { level: up, index, hash: above[at] };
                    known(made);
                }
            }
            self.complete(made, &mut known);
            leaves = rest;
        }
    }

    /// Appends a complete subtree on the right, and calls `known` for those that it completes.
    fn complete(&mut self, mut made: CompleteSubtree, mut known: impl FnMut(CompleteSubtree)) {
        self.leaves += 1 << made.level;
        while made.index & 1 == 1
            && let Some(left) = self.hashes.pop()
        {
            made = CompleteSubtree {
                level: made.level + 1,
                index: made.index >> 1,
                hash: node(&left, &made.hash),
            };
            known(made);
        }
        self.hashes.push(made.hash);
    }

    /// The root of the log.
    pub fn root(&self) -> Hash {
        self.root_from(0).unwrap_or_else(empty)
    }

    /// The root of the leaves from `start` on, where a peak starts; none if there are no leaves.
    pub(crate) fn root_from(&self, start: u64) -> Option<Hash> {
        let mut begin = 0;
        let levels = (0..64).rev().filter(|level| self.leaves >> level & 1 == 1);
        let starts = levels.map(|level| {
            let at = begin;
            begin += 1 << level;
            at
        });
        let peaks: Vec<&Hash> =
            starts.zip(&self.hashes).filter(|(at, _)| *at >= start).map(|(_, hash)| hash).collect();
        let (last, others) = peaks.split_last()?;
        Some(others.iter().rev().fold(**last, |right, left| node(left, &right)))
    }
}
