//! A set as the leaves of a tree (Goldreich, Goldwasser, Micali), and the tree without one of them.
//!
//! A seed has four children, which are what [`widen`] makes of it under a key of the tree's own, and a leaf gives 32 numbers of
//! 16 bits, one for each of 32 partitions. Without one number, a tree is the seeds beside the path from the root to its leaf, and
//! the 31 other numbers of the leaf, all in order. They are as many for every path, and nothing in them says which path it was: a weakly privately
//! puncturable function, in the paper's words. Who has them can assume any position, and gets other numbers from most assumptions.
//!
//! The key is public, but every tree has another: who looks for the seed of one tree does not try it on all others too.

use crate::params::Params;
use sotto_math::aes::{Aes, descend, widen};
use zeroize::{Zeroize, Zeroizing};

/// A node of a tree.
pub type Seed = [u8; 16];

/// A tree's key, which is not secret, and the seed of its root, which is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize)]
pub struct Root {
    pub(crate) salt: [u8; 16],
    pub(crate) seed: Seed,
}

/// Numbers that are grown at once, about: what stays in a near cache.
const AT_ONCE: usize = 1 << 14;

/// log2 of the children of a node.
const FAN: u32 = 2;

/// log2 of the most numbers of a leaf.
pub(crate) const LEAF: u32 = 5;

/// log2 of the numbers of a block.
pub(crate) const EIGHT: u32 = 3;

/// The shape of trees.
#[derive(Debug, Clone)]
pub struct Trees {
    /// Levels of nodes that have children.
    depth: u32,
    /// log2 of the children that the root has: two where no power of four would do.
    top: u32,
    /// log2 of the numbers of a leaf.
    leaf: u32,
    mask: u16,
}

/// Room to grow trees in; wiped on drop.
#[derive(Default)]
pub struct Room {
    seeds: Vec<Seed>,
    below: Vec<Seed>,
    blocks: Vec<[u8; 16]>,
    numbers: Vec<u16>,
}

impl Trees {
    /// Trees of as many numbers as there are partitions.
    pub fn new(params: &Params) -> Self {
        let all = params.partitions().ilog2();
        let leaf = all.min(LEAF);
        let depth = (all - leaf).div_ceil(FAN);
        Trees { depth, top: FAN - (all - leaf) % FAN, leaf, mask: params.mask() }
    }

    /// Trees that are best grown together.
    pub fn together(&self) -> usize {
        (AT_ONCE >> self.bits(0)).max(1)
    }

    /// The last offset in a partition, w - 1.
    pub fn mask(&self) -> u16 {
        self.mask
    }

    /// Levels of nodes that have children; the root's is 0, and the last one's children are leaves.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Seeds beside a path from the root to a leaf.
    pub fn beside(&self) -> usize {
        (0..self.depth).map(|level| self.fan(level) - 1).sum()
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

    /// Rows that a server reads for one request.
    pub fn guessed_rows(&self) -> u64 {
        let levels: u64 =
            (0..self.depth).map(|level| 2 * (self.span(0) - self.span(0) / self.fan(level)) as u64).sum();
        levels + 2 * (self.span(0) - self.span(0) / self.span(self.depth)) as u64
    }

    fn fan_bits(&self, level: u32) -> u32 {
        if level == 0 { self.top } else { FAN }
    }

    /// log2 of the numbers below a node on this level.
    fn bits(&self, level: u32) -> u32 {
        self.leaf + (level..self.depth).map(|level| self.fan_bits(level)).sum::<u32>()
    }

    /// Which child of a node on this level the path to a position goes to.
    fn turn(&self, level: u32, position: u32) -> u32 {
        position >> self.bits(level + 1) & ((1 << self.fan_bits(level)) - 1)
    }

    /// The numbers of these trees, c of each, below w.
    pub fn grow<'a>(&self, roots: impl Iterator<Item = Root>, room: &'a mut Room) -> &'a [u16] {
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
    pub fn grow_below<'a>(&self, key: &Aes, level: u32, nodes: &[Seed], room: &'a mut Room) -> &'a mut [u16] {
        room.numbers.clear();
        room.seeds.clear();
        room.seeds.extend_from_slice(nodes);
        (level + 1..self.depth).for_each(|level| room.level(self.fan(level), key));
        room.leaves(self, key);
        &mut room.numbers
    }

    /// From the seeds of roots to the blocks that hold the number of each tree at a position, and those that share its block: eight,
    /// or all if a tree has fewer. Takes the same time for all positions.
    pub fn blocks_at(&self, salts: &[[u8; 16]], seeds: &mut [Seed], position: u32) {
        // A leaf has a block for each eight numbers, as an inner node has one for each child.
        let last = position >> EIGHT & ((1 << (self.leaf.max(EIGHT) - EIGHT)) - 1);
        let turns = (0..self.depth).map(|level| self.turn(level, position)).chain([last]);
        let turns: Zeroizing<Vec<u8>> = Zeroizing::new(turns.map(|turn| turn as u8).collect());
        descend(salts, &turns, seeds);
    }

    /// The numbers of these trees at a position, in the same time for all.
    pub fn numbers_at(&self, roots: impl Iterator<Item = Root>, position: u32) -> Vec<u16> {
        let (salts, seeds): (Vec<_>, Vec<_>) = roots.map(|root| (root.salt, root.seed)).unzip();
        let mut seeds = Zeroizing::new(seeds);
        self.blocks_at(&salts, &mut seeds, position);
        let within = position & ((1 << self.leaf.min(EIGHT)) - 1);
        seeds.iter().map(|block| pick(words(block), within) & self.mask).collect()
    }

    /// The number of a tree at a position.
    pub fn number(&self, root: &Root, position: u32) -> u16 {
        self.numbers_at([*root].into_iter(), position).first().copied().unwrap_or(0)
    }

    /// The seeds beside the path to the leaf of a position, the root's children first; and the other numbers of that leaf. Nothing
    /// that is done depends on the position.
    pub fn puncture(&self, root: &Root, position: u32) -> (Vec<Seed>, Vec<u16>) {
        let (key, mut seed) = (Aes::new(&root.salt), Zeroizing::new([root.seed]));
        let (mut beside, mut children) = (Vec::with_capacity(self.beside()), Zeroizing::new([[0; 16]; 4]));
        for level in 0..self.depth {
            widen(&key, seed.as_slice(), children.as_mut_slice());
            let turn = self.turn(level, position);
            let mut next = [0; 16];
            for (at, child) in (0..).zip(children.iter()) {
                blend(&mut next, child, equal(at, turn));
            }
            for (at, pair) in (0..).zip(children.windows(2)).take(self.fan(level) - 1) {
                let mut out = [0; 16];
                if let [before, after] = pair {
                    out = *before;
                    blend(&mut out, after, !below(at, turn));
                }
                beside.push(out);
            }
            *seed = [next];
        }
        widen(&key, seed.as_slice(), children.as_mut_slice());
        let numbers: Zeroizing<Vec<u16>> = Zeroizing::new(words(children.as_flattened()).collect());
        let hole = position & ((1 << self.leaf) - 1);
        let pairs = (0..).zip(numbers.windows(2)).take(self.others());
        let others = pairs.map(|(at, pair)| {
            let [before, after] = *pair else { return 0 };
            (before ^ (before ^ after) & !below(at, hole) as u16) & self.mask
        });
        (beside, others.collect())
    }
}

/// All ones if the numbers are equal, otherwise zero. Both are below 2^31.
fn equal(a: u32, b: u32) -> u32 {
    below(a ^ b, 1)
}

/// All ones if the first number is below the second, otherwise zero. Both are below 2^31.
fn below(a: u32, b: u32) -> u32 {
    (a.wrapping_sub(b) >> 31).wrapping_neg()
}

/// Replaces a seed where the mask is all ones.
fn blend(seed: &mut Seed, other: &Seed, mask: u32) {
    seed.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= (*byte ^ other) & mask as u8);
}

/// The number at a position of a list, all of which is read.
fn pick(numbers: impl Iterator<Item = u16>, position: u32) -> u16 {
    (0..).zip(numbers).fold(0, |sum, (at, number)| sum | number & equal(at, position) as u16)
}

/// The numbers that bytes of a leaf give, before they are cut to offsets.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word))
}

impl Room {
    /// From the nodes of a level, of which there is one if it is the root's, to those of the next.
    fn level(&mut self, fan: usize, key: &Aes) {
        self.below.resize(self.seeds.len() << FAN, [0; 16]);
        widen(key, &self.seeds, &mut self.below);
        self.below.truncate(fan * self.seeds.len());
        std::mem::swap(&mut self.seeds, &mut self.below);
    }

    fn leaves(&mut self, trees: &Trees, key: &Aes) {
        self.blocks.resize(4 * self.seeds.len(), [0; 16]);
        widen(key, &self.seeds, &mut self.blocks);
        // Trees of fewer than 32 numbers are a leaf, of which the first count.
        let count = self.seeds.len() << trees.leaf;
        self.numbers.extend(words(self.blocks.as_flattened()).take(count).map(|number| number & trees.mask));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.seeds.zeroize();
        self.below.zeroize();
        self.blocks.zeroize();
        self.numbers.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, Shape};

    const ROOT: Root = Root { salt: [3; 16], seed: [4; 16] };

    fn trees(rows: u64) -> (Params, Trees) {
        let params = Params::check(Params::select(&Shape::new(rows, 1, 1)).unwrap()).unwrap();
        let trees = Trees::new(&params);
        (params, trees)
    }

    #[test]
    fn numbers_alone_are_those_of_trees_and_trees_together_are_trees_alone() {
        for rows in [1, 30, 500, 1 << 11, 1 << 14, 1 << 20, 1 << 25, 1 << 32] {
            let (params, trees) = trees(rows);
            let roots = [ROOT, Root { salt: [7; 16], ..ROOT }, Root { seed: [7; 16], ..ROOT }];
            let together = trees.grow(roots.into_iter(), &mut Room::default()).to_vec();
            assert_eq!(together.len(), 3 * params.partitions());
            for (root, numbers) in roots.into_iter().zip(together.chunks(params.partitions())) {
                assert_eq!(trees.grow([root].into_iter(), &mut Room::default()), numbers);
                assert!(numbers.iter().all(|number| *number <= params.mask()));
                for position in (0..params.partitions()).step_by(1.max(params.partitions() / 300)) {
                    assert_eq!(trees.number(&root, position as u32), numbers[position], "{rows} {position}");
                }
            }
        }
    }

    /// Puts a punctured tree together at an assumed position.
    fn assumed(trees: &Trees, beside: &[Seed], others: &[u16], position: u32) -> Vec<u16> {
        let (key, mut rest) = (Aes::new(&ROOT.salt), beside);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for level in 0..trees.depth() {
            let (now, later) = rest.split_at(trees.fan(level) - 1);
            let numbers = trees.grow_below(&key, level, now, &mut Room::default()).to_vec();
            let (before, after) =
                numbers.split_at(trees.turn(level, position) as usize * trees.span(level + 1));
            left.extend_from_slice(before);
            right.splice(0..0, after.iter().copied());
            rest = later;
        }
        let (before, after) = others.split_at(position as usize & trees.others());
        [&left, before, after, &right].concat()
    }

    #[test]
    fn a_punctured_tree_lacks_one_number_wherever_it_is() {
        for rows in [1, 30, 500, 1 << 11, 1 << 13, 1 << 14, 1 << 20] {
            let (params, trees) = trees(rows);
            let whole = trees.grow([ROOT].into_iter(), &mut Room::default()).to_vec();
            for position in 0..params.partitions() as u32 {
                let (beside, others) = trees.puncture(&ROOT, position);
                assert_eq!((beside.len(), others.len()), (trees.beside(), trees.others()));
                let mut got = assumed(&trees, &beside, &others, position);
                got.insert(position as usize, whole[position as usize]);
                assert_eq!(got, whole, "{rows} {position}");
            }
        }
    }

    #[test]
    fn a_punctured_tree_does_not_know_its_path() {
        let (_, trees) = trees(1 << 20);
        let (beside, _) = trees.puncture(&ROOT, 200);
        // 200 is in the seventh of 32 leaves: the first child of two, then the second and third of four.
        let mut path = vec![ROOT.seed];
        for child in [0, 1, 2] {
            let mut children = [[0; 16]; 4];
            widen(&Aes::new(&ROOT.salt), &[path[path.len() - 1]], &mut children);
            path.push(children[child]);
        }
        assert_eq!(beside.len(), 7);
        assert!(path.iter().all(|seed| !beside.contains(seed)));
        let mut leaf = [[0; 16]; 4];
        widen(&Aes::new(&ROOT.salt), &[path[3]], &mut leaf);
        let numbers: Vec<u16> = words(leaf.as_flattened()).map(|number| number & trees.mask()).collect();
        assert_eq!(trees.puncture(&ROOT, 200).1, [&numbers[..8], &numbers[9..]].concat());
    }
}
