//! Sets as the leaves of a tree (Goldreich, Goldwasser, Micali).
//!
//! A seed has four children, which [`widen`] derives from it under the tree's key, and a leaf gives
//! as many numbers as fit into 64 bytes. The key is public, but every tree has its own, so that a
//! search for the seed of one tree does not test all other trees too.

use borsh::{BorshDeserialize, BorshSerialize};
use sotto_math::aes::{Aes, widen};
use std::fmt::Debug;
use std::ops::{BitAnd, BitXor};
use zeroize::Zeroize;

/// A node of a tree.
pub type Seed = [u8; 16];

/// The root of a tree: its key, which is not secret, and its seed, which is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct Root {
    /// The public key of the tree.
    pub salt: [u8; 16],
    /// The secret seed of the root.
    pub seed: Seed,
}

/// Approximate count of numbers that are grown at once, so that they stay in a near cache.
const AT_ONCE: usize = 1 << 14;

/// log2 of the children of a node.
const FAN: u32 = 2;

/// log2 of the bytes of a leaf.
const LEAF: u32 = 6;

/// An integer type for the numbers of a tree.
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
    /// log2 of the bytes of a number.
    const BYTES: u32;
    /// The number whose low `bits` bits are ones.
    fn ones(bits: u32) -> Self;
    /// The low bits of a mask as a number.
    fn low(mask: u32) -> Self;
    /// Decodes numbers from bytes.
    fn words(bytes: &[u8]) -> impl Iterator<Item = Self>;
    /// Appends the bytes of a number.
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
    /// log2 of the children of the root: two children where no power of four fits.
    top: u32,
    /// log2 of the numbers of a leaf.
    leaf: u32,
    mask: W,
}

/// Scratch memory for growing trees, wiped on drop.
pub struct TreeScratch<W: TreeNumber> {
    seeds: Vec<Seed>,
    below: Vec<Seed>,
    blocks: Vec<[u8; 16]>,
    numbers: Vec<W>,
}

impl<W: TreeNumber> Trees<W> {
    /// The shape of trees with 2^`all` numbers of `number_bits` bits.
    pub fn new(all: u32, number_bits: u32) -> Self {
        let leaf = all.min(LEAF - W::BYTES);
        let depth = (all - leaf).div_ceil(FAN);
        Trees { depth, top: FAN - (all - leaf) % FAN, leaf, mask: W::ones(number_bits) }
    }

    /// Number of trees to grow together for the best speed.
    pub fn together(&self) -> usize {
        (AT_ONCE / self.numbers()).max(1)
    }

    /// The mask of numbers, which is the largest number.
    pub fn mask(&self) -> W {
        self.mask
    }

    /// Numbers of a tree.
    pub fn numbers(&self) -> usize {
        self.span(0)
    }

    /// Levels of nodes that have children; the root is on level 0, and the children of the last
    /// level are leaves.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Number of seeds beside a path from the root to a leaf.
    pub fn beside(&self) -> usize {
        (0..self.depth).map(|level| self.fan(level) - 1).sum()
    }

    /// log2 of the numbers of a leaf.
    pub fn leaf_bits(&self) -> u32 {
        self.leaf
    }

    /// Number of other numbers in the leaf of a number.
    pub fn others(&self) -> usize {
        (1 << self.leaf) - 1
    }

    /// Number of children of a node on this level.
    pub fn fan(&self, level: u32) -> usize {
        1 << self.fan_bits(level)
    }

    /// Number of numbers below a node on this level.
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

    /// The index of the child, of a node on this level, on the path to a position.
    pub fn turn(&self, level: u32, position: u32) -> u32 {
        position >> self.bits(level + 1) & ((1 << self.fan_bits(level)) - 1)
    }

    /// Grows the trees with these roots: the numbers of each tree together.
    pub fn grow<'a>(&self, roots: impl Iterator<Item = Root>, scratch: &'a mut TreeScratch<W>) -> &'a [W] {
        scratch.numbers.clear();
        for mut root in roots {
            let key = Aes::new(&root.salt);
            scratch.seeds.clear();
            scratch.seeds.push(root.seed);
            (0..self.depth).for_each(|level| scratch.level(self.fan(level), &key));
            scratch.leaves(self, &key);
            root.zeroize();
        }
        &scratch.numbers
    }

    /// Grows the numbers below these nodes, which are children of one node on this level.
    pub fn grow_below<'a>(
        &self,
        key: &Aes,
        level: u32,
        nodes: &[Seed],
        scratch: &'a mut TreeScratch<W>,
    ) -> &'a mut [W] {
        scratch.numbers.clear();
        scratch.seeds.clear();
        scratch.seeds.extend_from_slice(nodes);
        (level + 1..self.depth).for_each(|level| scratch.level(self.fan(level), key));
        scratch.leaves(self, key);
        &mut scratch.numbers
    }
}

impl<W: TreeNumber> Default for TreeScratch<W> {
    fn default() -> Self {
        TreeScratch { seeds: Vec::new(), below: Vec::new(), blocks: Vec::new(), numbers: Vec::new() }
    }
}

impl<W: TreeNumber> TreeScratch<W> {
    /// Replaces the nodes of a level by those of the next. There is one node if it is the root's
    /// level.
    fn level(&mut self, fan: usize, key: &Aes) {
        self.below.resize(self.seeds.len() << FAN, [0; 16]);
        widen(key, &self.seeds, &mut self.below);
        self.below.truncate(fan * self.seeds.len());
        std::mem::swap(&mut self.seeds, &mut self.below);
    }

    fn leaves(&mut self, trees: &Trees<W>, key: &Aes) {
        self.blocks.resize(4 * self.seeds.len(), [0; 16]);
        widen(key, &self.seeds, &mut self.blocks);
        // Trees with fewer numbers than a leaf holds are a leaf, of which the first numbers count.
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
