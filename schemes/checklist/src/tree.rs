//! A set as the leaves of a tree (Goldreich, Goldwasser, Micali; the paper's section 4).
//!
//! A seed has four children, which are what [`widen`] makes of it under a key of the tree's own, and a leaf gives sixteen
//! numbers of 32 bits. Who knows all seeds beside the path from the root to a leaf knows all leaves but that one, and nothing
//! about it. When one number is punctured out of a leaf, the other fifteen are told as they are: they are words of the same
//! pseudo-random blocks, so they say nothing about it either.
//!
//! The key is public, but every tree has another: who looks for the seed of one tree does not try it on all others too.

use crate::params::{LEAF, Params};
use sotto_math::aes::{Aes, widen};
use zeroize::Zeroize;

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

/// Children of a node.
const FAN: usize = 4;

/// The shape of trees.
#[derive(Debug, Clone)]
pub struct Trees {
    /// Levels below the root.
    depth: usize,
    /// Children that the root has: two where no power of four would do.
    top: usize,
    leaf_rows: usize,
    mask: u32,
}

/// Room to grow trees in; wiped on drop.
#[derive(Default)]
pub struct Room {
    seeds: Vec<Seed>,
    below: Vec<Seed>,
    blocks: Vec<[u8; 16]>,
    numbers: Vec<u32>,
}

impl Trees {
    /// Trees of the depth that sets have.
    pub fn new(params: &Params) -> Self {
        let levels = (params.set_rows() / params.leaf_rows()).ilog2() as usize;
        Trees {
            depth: levels.div_ceil(2),
            top: if levels.is_multiple_of(2) { FAN } else { 2 },
            leaf_rows: params.leaf_rows(),
            mask: params.mask(),
        }
    }

    /// Trees that are best grown together.
    pub fn together(&self) -> usize {
        (AT_ONCE / self.numbers()).max(1)
    }

    /// The last place, n - 1.
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// The last position of a set, s - 1.
    pub fn last(&self) -> u32 {
        self.numbers() as u32 - 1
    }

    /// Numbers of a tree, s.
    fn numbers(&self) -> usize {
        self.leaf_rows * self.below(0)
    }

    /// Seeds beside a path from the root to a leaf.
    pub fn beside(&self) -> usize {
        (0..self.depth).map(|level| self.fan(level) - 1).sum()
    }

    /// Children of a node on this level; the root's is 0.
    fn fan(&self, level: usize) -> usize {
        if level == 0 { self.top } else { FAN }
    }

    /// Leaves below a node on this level.
    fn below(&self, level: usize) -> usize {
        (level..self.depth).map(|level| self.fan(level)).product()
    }

    /// The numbers of these trees, s of each, below n.
    pub fn grow<'a>(&self, roots: impl Iterator<Item = Root>, room: &'a mut Room) -> &'a [u32] {
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

    /// The seeds beside the path to the leaf of a number, the root's children first; and the other numbers of that leaf.
    pub fn puncture(&self, root: &Root, position: u32) -> (Vec<Seed>, Vec<u32>) {
        let (leaf, hole) = self.split(position);
        let (key, mut seed) = (Aes::new(&root.salt), root.seed);
        let (mut beside, mut children) = (Vec::with_capacity(self.beside()), [[0; 16]; FAN]);
        for level in 0..self.depth {
            widen(&key, &[seed], &mut children);
            let on = leaf / self.below(level + 1) % self.fan(level);
            // The position is told to the server, so a branch on it says nothing new.
            for (at, child) in children.iter().enumerate().take(self.fan(level)) {
                if at == on {
                    seed = *child;
                } else {
                    beside.push(*child);
                }
            }
        }
        widen(&key, &[seed], &mut children);
        let numbers = words(&children).take(self.leaf_rows).map(|number| number & self.mask);
        let others = (0..).zip(numbers).filter(|(at, _)| *at != hole).map(|(_, number)| number).collect();
        seed.zeroize();
        children.zeroize();
        (beside, others)
    }

    /// The numbers of a punctured tree, without the one that is missing.
    pub fn regrow<'a>(
        &self,
        salt: &[u8; 16],
        position: u32,
        beside: &[Seed],
        others: &[u32],
        room: &'a mut Room,
    ) -> impl Iterator<Item = u32> + 'a {
        let (leaf, hole) = self.split(position);
        let (key, mut beside) = (Aes::new(salt), beside.iter());
        // A node on the path is unknown, and what grows below it is thrown away.
        room.seeds.clear();
        room.seeds.push([0; 16]);
        for level in 0..self.depth {
            let fan = self.fan(level);
            room.level(fan, &key);
            let on = leaf / self.below(level + 1);
            let family = room.seeds.iter_mut().enumerate().skip(on / fan * fan).take(fan);
            for ((_, seed), known) in family.filter(|(at, _)| *at != on).zip(&mut beside) {
                *seed = *known;
            }
        }
        room.numbers.clear();
        room.leaves(self, &key);
        let first = leaf * self.leaf_rows;
        let known = (0..self.leaf_rows).filter(move |at| *at != hole);
        for (at, number) in known.zip(others) {
            if let Some(place) = room.numbers.get_mut(first + at) {
                *place = *number;
            }
        }
        let numbers = room.numbers.iter().enumerate();
        numbers.filter(move |(at, _)| *at != first + hole).map(|(_, number)| *number)
    }

    /// Which leaf, and which of its numbers.
    fn split(&self, position: u32) -> (usize, usize) {
        (position as usize / self.leaf_rows, position as usize % self.leaf_rows)
    }
}

impl Room {
    /// From the nodes of a level, of which there is one if it is the root's, to those of the next.
    fn level(&mut self, fan: usize, key: &Aes) {
        self.below.resize(FAN * self.seeds.len(), [0; 16]);
        widen(key, &self.seeds, &mut self.below);
        self.below.truncate(fan * self.seeds.len());
        std::mem::swap(&mut self.seeds, &mut self.below);
    }

    fn leaves(&mut self, trees: &Trees, key: &Aes) {
        self.blocks.resize(4 * self.seeds.len(), [0; 16]);
        widen(key, &self.seeds, &mut self.blocks);
        // Trees of fewer than sixteen numbers are a leaf, of which the first count.
        let count = if trees.leaf_rows == LEAF { LEAF * self.seeds.len() } else { trees.leaf_rows };
        let words = self.blocks.as_flattened().as_chunks().0.get(..count).unwrap_or_default();
        self.numbers.extend(words.iter().map(|word| u32::from_le_bytes(*word) & trees.mask));
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

fn words(blocks: &[[u8; 16]]) -> impl Iterator<Item = u32> + '_ {
    blocks.as_flattened().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word))
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
    fn trees_together_are_trees_alone() {
        for rows in [1, 30, 500, 1 << 11, 1 << 14, 1 << 20] {
            let (params, trees) = trees(rows);
            let roots = [ROOT, Root { salt: [7; 16], ..ROOT }, Root { seed: [7; 16], ..ROOT }];
            let together = trees.grow(roots.into_iter(), &mut Room::default()).to_vec();
            assert_eq!(together.len(), 3 * params.set_rows());
            for (root, numbers) in roots.into_iter().zip(together.chunks(params.set_rows())) {
                assert_eq!(trees.grow([root].into_iter(), &mut Room::default()), numbers);
                assert!(numbers.iter().all(|number| *number <= params.mask()));
            }
        }
    }

    #[test]
    fn a_punctured_tree_lacks_one_number_wherever_it_is() {
        for rows in [1, 30, 500, 1 << 9, 1 << 11, 1 << 14] {
            let (params, trees) = trees(rows);
            let mut whole = trees.grow([ROOT].into_iter(), &mut Room::default()).to_vec();
            for position in 0..params.set_rows() {
                let (beside, others) = trees.puncture(&ROOT, position as u32);
                assert_eq!((beside.len(), others.len()), (trees.beside(), params.leaf_rows() - 1));
                let room = &mut Room::default();
                let position = position as u32;
                let got: Vec<u32> = trees.regrow(&ROOT.salt, position, &beside, &others, room).collect();
                let missing = whole.remove(position as usize);
                assert_eq!(got, whole, "{rows} {position}");
                whole.insert(position as usize, missing);
            }
        }
    }

    #[test]
    fn a_punctured_tree_does_not_know_its_path() {
        let (_, trees) = trees(1 << 20);
        let (beside, _) = trees.puncture(&ROOT, 100);
        // 100 is in the seventh of 64 leaves: the first, second, third child.
        let mut path = vec![ROOT.seed];
        for child in [0, 1, 2] {
            let mut children = [[0; 16]; 4];
            widen(&Aes::new(&ROOT.salt), &[path[path.len() - 1]], &mut children);
            path.push(children[child]);
        }
        assert_eq!(beside.len(), 9);
        assert!(path.iter().all(|seed| !beside.contains(seed)));
    }
}
