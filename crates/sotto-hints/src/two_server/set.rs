//! Sets of rows: derived from a key and an id, and shifted to contain a given number.

use super::tree::{Root, TreeNumber, Trees};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_math::aes::Aes;
use zeroize::Zeroize;

/// A set of rows as a tree and a shift: its numbers are the tree's, each xor the shift. A shift
/// turns a random set into one that has a given number at a given position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct Set<W> {
    /// The tree that gives the numbers.
    pub root: Root,
    /// The number that is xored to all of them.
    pub shift: W,
}

impl<W: TreeNumber> Set<W> {
    /// Whether the shift is in the range of the trees' numbers. No other fault of a set shows
    /// without growing its tree.
    pub fn is_possible(&self, trees: &Trees<W>) -> bool {
        self.shift <= trees.mask()
    }
}

/// The sets of a key, which only the client and the second server know.
pub struct KeyedSets<W> {
    aes: Aes,
    mask: W,
}

impl<W: TreeNumber> KeyedSets<W> {
    /// The sets of a key, for trees of this shape.
    pub fn new(trees: &Trees<W>, key: &[u8; 16]) -> Self {
        KeyedSets { aes: Aes::new(key), mask: trees.mask() }
    }

    /// A number by which a client recognizes its queries.
    pub(super) fn name(&self) -> u64 {
        let mut block = [[0; 16]];
        self.aes.grid(u64::MAX, 1, 0, 1, &mut block);
        let [[name @ .., _, _, _, _, _, _, _, _]] = block;
        u64::from_le_bytes(name)
    }

    /// Candidate `a` for the set of id `j`: its salt is AES(j, 4a), its seed AES(j, 4a + 1), and its shift begins AES(j, 4a + 2).
    pub fn candidate(&self, id: u32, attempt: u64) -> Set<W> {
        let mut blocks = [[0; 16]; 3];
        self.aes.grid(u64::from(id), 1, 4 * attempt, 3, &mut blocks);
        let [salt, seed, shift] = blocks;
        let shift = W::words(&shift).next().unwrap_or_default() & self.mask;
        Set { root: Root { salt, seed }, shift }
    }
}
