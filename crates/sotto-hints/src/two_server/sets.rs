//! Sets of rows: derived from a key and an id, shifted to contain a given number, and punctured.
//!
//! A tree without one of its numbers: all seeds beside the path from the root to a leaf, together
//! with the other numbers of that leaf, determine the tree except for one number, and reveal
//! nothing about that number: without the nodes of the path, whatever grows below them is
//! pseudo-random. The numbers of seeds and of leaf numbers are the same for every position, and
//! their order does not reveal it.

use super::tree::{Root, Seed, TreeNumber, Trees};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_math::aes::{Aes, widen};
use std::hint::black_box;
use zeroize::{Zeroize, Zeroizing};

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

/// The parity of a hint is lost.
pub(super) const LOST: u8 = 0;
pub(super) const KNOWN: u8 = 1;
/// The parity of a hint comes with the answer to the query that made the hint.
pub(super) const AWAITED: u8 = 2;

/// A hint, without its parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize, BorshSerialize, BorshDeserialize)]
#[zeroize(bound = "W: Zeroize")]
pub struct Hint<W> {
    /// The rows of the hint.
    pub set: Set<W>,
    /// The number of the query that made the hint, or 0 for a hint of a hint response.
    pub(super) made: u64,
    pub(super) standing: u8,
}

impl<W> Hint<W> {
    /// A hint whose parity is not known yet.
    pub(super) fn without_parity(set: Set<W>) -> Self {
        Hint { set, made: 0, standing: LOST }
    }
}

impl<W: TreeNumber> Trees<W> {
    /// The seeds beside the path to the leaf of a position, the root's children first; and the
    /// other numbers of that leaf. No operation depends on the position.
    pub fn puncture(&self, root: &Root, position: u32) -> (Vec<Seed>, Vec<W>) {
        let (key, mut seed) = (Aes::new(&root.salt), Zeroizing::new([root.seed]));
        let (mut beside, mut children) = (Vec::with_capacity(self.beside()), Zeroizing::new([[0; 16]; 4]));
        for level in 0..self.depth() {
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
        let numbers: Zeroizing<Vec<W>> = Zeroizing::new(W::words(children.as_flattened()).collect());
        let hole = position & self.others() as u32;
        let pairs = (0..).zip(numbers.windows(2)).take(self.others());
        let others = pairs.map(|(at, pair)| {
            let [before, after] = *pair else { return W::default() };
            (before ^ (before ^ after) & W::low(black_box(!below(at, hole)))) & self.mask()
        });
        (beside, others.collect())
    }
}

/// All ones if the numbers are equal, otherwise zero. Both numbers are below 2^31.
pub fn equal(a: u32, b: u32) -> u32 {
    below(a ^ b, 1)
}

/// All ones if the first number is below the second, otherwise zero. Both numbers are below 2^31.
fn below(a: u32, b: u32) -> u32 {
    (a.wrapping_sub(b) >> 31).wrapping_neg()
}

/// Replaces a seed where the mask is all ones.
fn blend(seed: &mut Seed, other: &Seed, mask: u32) {
    // The black box keeps the mask from becoming a branch.
    let mask = black_box(mask as u8);
    seed.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= (*byte ^ other) & mask);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_server::tree::TreeScratch;

    const ROOT: Root = Root { salt: [3; 16], seed: [4; 16] };

    #[test]
    fn trees_together_are_trees_alone() {
        fn check<W: TreeNumber>(all: u32, bits: u32) {
            let trees = Trees::<W>::new(all, bits);
            let roots = [ROOT, Root { salt: [7; 16], ..ROOT }, Root { seed: [7; 16], ..ROOT }];
            let together = trees.grow(roots.into_iter(), &mut TreeScratch::default()).to_vec();
            assert_eq!(together.len(), 3 << all);
            for (root, numbers) in roots.into_iter().zip(together.chunks(1 << all)) {
                assert_eq!(trees.grow([root].into_iter(), &mut TreeScratch::default()), numbers);
                assert!(numbers.iter().all(|number| *number <= trees.mask()));
            }
        }
        for all in [1, 2, 3, 4, 5, 6, 7, 10, 13, 16] {
            check::<u16>(all, all.min(16));
            check::<u32>(all, 2 * all);
        }
    }

    /// Reassembles a punctured tree at an assumed position.
    fn assumed<W: TreeNumber>(trees: &Trees<W>, beside: &[Seed], others: &[W], position: u32) -> Vec<W> {
        let (key, mut rest) = (Aes::new(&ROOT.salt), beside);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for level in 0..trees.depth() {
            let (now, later) = rest.split_at(trees.fan(level) - 1);
            let numbers = trees.grow_below(&key, level, now, &mut TreeScratch::default()).to_vec();
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
        fn check<W: TreeNumber>(all: u32) {
            let trees = Trees::<W>::new(all, all);
            let whole = trees.grow([ROOT].into_iter(), &mut TreeScratch::default()).to_vec();
            for position in 0..1 << all {
                let (beside, others) = trees.puncture(&ROOT, position);
                assert_eq!((beside.len(), others.len()), (trees.beside(), trees.others()));
                let mut got = assumed(&trees, &beside, &others, position);
                got.insert(position as usize, whole[position as usize]);
                assert!(got == whole, "{all} {position}");
            }
        }
        for all in [1, 2, 4, 5, 6, 7, 10] {
            check::<u16>(all);
            check::<u32>(all);
        }
    }

    #[test]
    fn a_punctured_tree_does_not_know_its_path() {
        let trees = Trees::<u16>::new(10, 10);
        let (beside, others) = trees.puncture(&ROOT, 200);
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
        let numbers: Vec<u16> = u16::words(leaf.as_flattened()).map(|number| number & trees.mask()).collect();
        assert_eq!(others, [&numbers[..8], &numbers[9..]].concat());
    }
}
