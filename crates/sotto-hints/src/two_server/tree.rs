//! A set as the leaves of a tree (Goldreich, Goldwasser, Micali).
//!
//! A seed has four children, which are what [`widen`] makes of it under a key of the tree's own, and a leaf gives as
//! many numbers as
//! fit into 64 bytes. The key is public, but every tree has another: who looks for the seed of one tree does not try
//! it on all others too.

use borsh::{BorshDeserialize, BorshSerialize};
use sotto_math::aes::{Aes, widen};
use std::fmt::Debug;
use std::ops::{BitAnd, BitXor};
use zeroize::Zeroize;

/// A node of a tree.
pub type Seed = [u8; 16];

/// A tree's key, which is not secret, and the seed of its root, which is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct Root {
    /// The key.
    pub salt: [u8; 16],
    /// The seed.
    pub seed: Seed,
}

/// Numbers that are grown at once, about: what stays in a near cache.
const AT_ONCE: usize = 1 << 14;

/// log2 of the children of a node.
const FAN: u32 = 2;

/// log2 of the bytes of a leaf.
const LEAF: u32 = 6;

/// A number of a tree.
pub trait TreeNumber:
    Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + Into<u32>
    + Zeroize
    + BitAnd<Output = Self>
    + BitXor<Output = Self>
    + BorshSerialize
    + BorshDeserialize
    + 'static
{
    /// log2 of its bytes.
    const BYTES: u32;
    /// The number of all ones in this many low bits.
    fn ones(bits: u32) -> Self;
    /// The low bits of a mask.
    fn low(mask: u32) -> Self;
    /// The numbers that bytes are.
    fn words(bytes: &[u8]) -> impl Iterator<Item = Self>;
    /// Appends its bytes.
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! word {
    ($word:ty) => {
        impl TreeNumber for $word {
            const BYTES: u32 = size_of::<$word>().ilog2();
            fn ones(bits: u32) -> Self {
                <$word>::MAX >> (<$word>::BITS - bits)
            }
            fn low(mask: u32) -> Self {
                mask as $word
            }
            fn words(bytes: &[u8]) -> impl Iterator<Item = Self> {
                bytes.as_chunks().0.iter().map(|word| <$word>::from_le_bytes(*word))
            }
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

word!(u16);
word!(u32);

/// The shape of trees.
#[derive(Debug, Clone)]
pub struct Trees<W> {
    /// Levels of nodes that have children.
    depth: u32,
    /// log2 of the children that the root has: two where no power of four would do.
    top: u32,
    /// log2 of the numbers of a leaf.
    leaf: u32,
    mask: W,
}

/// Room to grow trees in; wiped on drop.
pub struct TreeScratch<W: TreeNumber> {
    seeds: Vec<Seed>,
    below: Vec<Seed>,
    blocks: Vec<[u8; 16]>,
    numbers: Vec<W>,
}

impl<W: TreeNumber> Trees<W> {
    /// Trees of 2^`all` numbers with so many bits.
    pub fn new(all: u32, number_bits: u32) -> Self {
        let leaf = all.min(LEAF - W::BYTES);
        let depth = (all - leaf).div_ceil(FAN);
        Trees { depth, top: FAN - (all - leaf) % FAN, leaf, mask: W::ones(number_bits) }
    }

    /// Trees that are best grown together.
    pub fn together(&self) -> usize {
        (AT_ONCE / self.numbers()).max(1)
    }

    /// What numbers are masked with: the largest.
    pub fn mask(&self) -> W {
        self.mask
    }

    /// Numbers of a tree.
    pub fn numbers(&self) -> usize {
        self.span(0)
    }

    /// Levels of nodes that have children; the root's is 0, and the last one's children are leaves.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Seeds beside a path from the root to a leaf.
    pub fn beside(&self) -> usize {
        (0..self.depth).map(|level| self.fan(level) - 1).sum()
    }

    /// log2 of the numbers of a leaf.
    pub fn leaf_bits(&self) -> u32 {
        self.leaf
    }

    /// Numbers beside another in its leaf.
    pub fn others(&self) -> usize {
        (1 << self.leaf) - 1
    }

    /// Children of a node on this level.
    pub fn fan(&self, level: u32) -> usize {
        1 << self.fan_bits(level)
    }

    /// Numbers below a node on this level.
    pub fn span(&self, level: u32) -> usize {
        1 << self.bits(level)
    }

    fn fan_bits(&self, level: u32) -> u32 {
        if level == 0 { self.top } else { FAN }
    }

    /// log2 of the numbers below a node on this level.
    fn bits(&self, level: u32) -> u32 {
        self.leaf + (level..self.depth).map(|level| self.fan_bits(level)).sum::<u32>()
    }

    /// Which child of a node on this level the path to a position goes to.
    pub fn turn(&self, level: u32, position: u32) -> u32 {
        position >> self.bits(level + 1) & ((1 << self.fan_bits(level)) - 1)
    }

    /// The numbers of these trees, those of each together.
    pub fn grow<'a>(&self, roots: impl Iterator<Item = Root>, room: &'a mut TreeScratch<W>) -> &'a [W] {
        room.numbers.clear();
        for mut root in roots {
            let key = Aes::new(&root.salt);
            room.seeds.clear();
            room.seeds.push(root.seed);
            (0..self.depth).for_each(|level| room.level(self.fan(level), &key));
            room.leaves(self, &key);
            root.zeroize();
        }
        &room.numbers
    }

    /// The numbers below these nodes, which are children of one on this level.
    pub fn grow_below<'a>(
        &self,
        key: &Aes,
        level: u32,
        nodes: &[Seed],
        room: &'a mut TreeScratch<W>,
    ) -> &'a mut [W] {
        room.numbers.clear();
        room.seeds.clear();
        room.seeds.extend_from_slice(nodes);
        (level + 1..self.depth).for_each(|level| room.level(self.fan(level), key));
        room.leaves(self, key);
        &mut room.numbers
    }
}

impl<W: TreeNumber> Default for TreeScratch<W> {
    fn default() -> Self {
        TreeScratch { seeds: Vec::new(), below: Vec::new(), blocks: Vec::new(), numbers: Vec::new() }
    }
}

impl<W: TreeNumber> TreeScratch<W> {
    /// From the nodes of a level, of which there is one if it is the root's, to those of the next.
    fn level(&mut self, fan: usize, key: &Aes) {
        self.below.resize(self.seeds.len() << FAN, [0; 16]);
        widen(key, &self.seeds, &mut self.below);
        self.below.truncate(fan * self.seeds.len());
        std::mem::swap(&mut self.seeds, &mut self.below);
    }

    fn leaves(&mut self, trees: &Trees<W>, key: &Aes) {
        self.blocks.resize(4 * self.seeds.len(), [0; 16]);
        widen(key, &self.seeds, &mut self.blocks);
        // Trees of fewer numbers than fit are a leaf, of which the first count.
        let count = self.seeds.len() << trees.leaf;
        let numbers = W::words(self.blocks.as_flattened()).take(count);
        self.numbers.extend(numbers.map(|number| number & trees.mask));
    }
}

impl<W: TreeNumber> Drop for TreeScratch<W> {
    fn drop(&mut self) {
        self.seeds.zeroize();
        self.below.zeroize();
        self.blocks.zeroize();
        self.numbers.zeroize();
    }
}
