//! The right edge of a log: the roots of its complete subtrees, as large as they come, from left to right.
//!
//! They are all that is needed to append, they give the log's root, and with it they are public: one hash for each bit
//! of the log's length. What a proof needs of subtrees that are not complete yet is made of them.

use super::hash::{Hash, empty, node};
use sotto_core::{PeerMisbehaved, Result};

/// A complete subtree of `2^level` leaves, the `index`-th of its level from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// 0 for leaves.
    pub level: u8,
    /// From the left.
    pub index: u64,
    /// The subtree's root.
    pub hash: Hash,
}

/// Complete subtrees of a log, one for each bit of its length, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    leaves: u64,
    hashes: Vec<Hash>,
}

impl Peaks {
    /// An empty log's.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of a log of so many leaves, from somebody else. Whether they are the right ones is for [`Self::root`]
    /// to show.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Count`].
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

    /// The largest first.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Appends a leaf, and tells of every subtree that it completes: the leaf itself, then what is above.
    pub fn append(&mut self, leaf: Hash, mut known: impl FnMut(Node)) {
        let mut made = Node { level: 0, index: self.leaves, hash: leaf };
        self.leaves += 1;
        known(made);
        while made.index & 1 == 1
            && let Some(left) = self.hashes.pop()
        {
            made = Node { level: made.level + 1, index: made.index >> 1, hash: node(&left, &made.hash) };
            known(made);
        }
        self.hashes.push(made.hash);
    }

    /// The root of the log.
    pub fn root(&self) -> Hash {
        self.root_from(0).unwrap_or_else(empty)
    }

    /// The root of the leaves from `start` on, where a peak starts; none where there is nothing.
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
