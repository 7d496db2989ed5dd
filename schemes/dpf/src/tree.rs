//! Growing a key: the paper's EvalAll with early termination (sections 3.2.1 and 3.2.3).
//!
//! A tree is grown from the left, a *subtree* of at most 1,024 leaves at a time, so that it fits a
//! cache for any size of the table. Subtrees grow from nodes of subtrees ten levels higher.

use crate::generator::{Generator, Seed};
use crate::message::Query;
use sotto_core::ExpectOrDefault;

/// Levels of a subtree.
const LEVELS: usize = 10;

/// The tree of a query's key.
pub struct Tree {
    generator: Generator,
    levels: Vec<MaskedCorrectionWord>,
    word: [u8; 64],
    /// Subtrees above each other, the root's first.
    subtrees: Vec<Subtree>,
    leaves: Vec<[u8; 16]>,
}

/// A level's correction word, with bits as masks.
struct MaskedCorrectionWord {
    seed: [u64; 2],
    left: u8,
    right: u8,
}

/// The lowest nodes of a subtree.
struct Subtree {
    /// The first level of the subtree.
    top: usize,
    bottom: usize,
    /// The number of the node that it grows from; none before it has grown.
    grown: Option<u64>,
    nodes: Nodes,
}

/// Nodes of one level, and memory to grow them.
#[derive(Default)]
struct Nodes {
    seeds: Vec<Seed>,
    /// Control bits, as 0x00 and 0xFF.
    masks: Vec<u8>,
    seeds_below: Vec<Seed>,
    masks_below: Vec<u8>,
    control: Vec<[u8; 16]>,
}

impl Tree {
    /// The tree of a key.
    pub fn new(query: &Query) -> Self {
        let mask = |bit: u8| 0u8.wrapping_sub(bit);
        let levels = query.levels.iter();
        let levels: Vec<MaskedCorrectionWord> = levels
            .map(|level| MaskedCorrectionWord {
                seed: words(&level.seed),
                left: mask(level.left),
                right: mask(level.right),
            })
            .collect();
        let depth = levels.len();
        let root =
            Subtree { top: 0, bottom: 0, grown: Some(0), nodes: Nodes::one(query.root, mask(query.party)) };
        let tops = (0..depth).rev().filter(|top| (depth - top).is_multiple_of(LEVELS) || *top == 0);
        let mut spans: Vec<usize> = tops.collect();
        spans.reverse();
        let mut subtrees = vec![root];
        for (i, top) in spans.iter().enumerate() {
            let bottom = spans.get(i + 1).copied().unwrap_or(depth);
            subtrees.push(Subtree { top: *top, bottom, grown: None, nodes: Nodes::default() });
        }
        Tree {
            generator: Generator::new(&query.salt),
            levels,
            word: query.leaf,
            subtrees,
            leaves: Vec::new(),
        }
    }

    /// The bits of `count` leaves from `first` on. All of them are in one subtree: `first` is a
    /// multiple of a power of two that is neither below `count` nor above 1,024.
    pub fn leaves(&mut self, first: u64, count: usize) -> Leaves<'_> {
        let depth = self.levels.len();
        let mut above: Option<&Subtree> = None;
        for subtree in &mut self.subtrees {
            if let Some(above) = above {
                let number = first >> (depth - subtree.top);
                if subtree.grown != Some(number) {
                    subtree.grow(above, number, &self.levels, &self.generator);
                }
            }
            above = Some(subtree);
        }
        let Some(Subtree { top, nodes, .. }) = above else {
            return Leaves { bytes: &[], masks: &[], word: &self.word };
        };
        let within = (first & ((1 << (depth - top)) - 1)) as usize;
        let range = within..within + count;
        let seeds = nodes.seeds.get(range.clone()).expect_or_default("these leaves are in one subtree");
        self.leaves.resize(4 * seeds.len(), [0; 16]);
        self.generator.leaves(seeds, &mut self.leaves);
        Leaves {
            bytes: self.leaves.as_flattened().as_chunks().0,
            masks: nodes.masks.get(range).expect_or_default("these leaves are in one subtree"),
            word: &self.word,
        }
    }
}

/// Bits of some leaves, without the correction word, which is to be added where the mask says so.
pub struct Leaves<'a> {
    /// The 512 bits of each leaf.
    pub bytes: &'a [[u8; 64]],
    /// 0x00 or 0xFF for each leaf.
    pub masks: &'a [u8],
    /// The leaves' correction word.
    pub word: &'a [u8; 64],
}

impl Subtree {
    /// Grows from node `number` of the top level, which is among the lowest of the subtree above.
    fn grow(&mut self, above: &Subtree, number: u64, levels: &[MaskedCorrectionWord], generator: &Generator) {
        let within = (number & ((1 << (above.bottom - above.top)) - 1)) as usize;
        let node = above.nodes.seeds.get(within).zip(above.nodes.masks.get(within));
        let Some((seed, mask)) = node else { return };
        self.nodes.set(*seed, *mask);
        for level in levels.get(self.top..self.bottom).expect_or_default("a subtree spans levels of the tree")
        {
            self.nodes.descend(level, generator);
        }
        self.grown = Some(number);
    }
}

impl Nodes {
    fn one(seed: Seed, mask: u8) -> Self {
        let mut nodes = Nodes::default();
        nodes.set(seed, mask);
        nodes
    }

    fn set(&mut self, seed: Seed, mask: u8) {
        self.seeds.clear();
        self.seeds.push(seed);
        self.masks.clear();
        self.masks.push(mask);
    }

    /// Replaces all nodes of a level by those of the next.
    fn descend(&mut self, level: &MaskedCorrectionWord, generator: &Generator) {
        let count = self.seeds.len();
        self.seeds_below.resize(2 * count, [0; 16]);
        self.control.resize(count, [0; 16]);
        self.masks_below.resize(2 * count, 0);
        generator.children(&self.seeds, &mut self.seeds_below);
        generator.control(&self.seeds, &mut self.control);
        let below = self.seeds_below.as_chunks_mut::<2>().0.iter_mut();
        let masks_below = self.masks_below.as_chunks_mut::<2>().0.iter_mut();
        for (((children, masks), mask), [control, ..]) in
            below.zip(masks_below).zip(&self.masks).zip(&self.control)
        {
            let wide = 0u64.wrapping_sub(u64::from(mask & 1));
            for child in children {
                let [low, high] = words(child);
                let corrected = [low ^ level.seed[0] & wide, high ^ level.seed[1] & wide];
                child
                    .as_chunks_mut::<8>()
                    .0
                    .iter_mut()
                    .zip(corrected)
                    .for_each(|(c, w)| *c = w.to_le_bytes());
            }
            let own = [0u8.wrapping_sub(control & 1), 0u8.wrapping_sub(control >> 1 & 1)];
            *masks = [own[0] ^ mask & level.left, own[1] ^ mask & level.right];
        }
        std::mem::swap(&mut self.seeds, &mut self.seeds_below);
        std::mem::swap(&mut self.masks, &mut self.masks_below);
    }
}

fn words(seed: &Seed) -> [u64; 2] {
    let [low, high] = *seed.as_chunks::<8>().0 else { return [0; 2] };
    [u64::from_le_bytes(low), u64::from_le_bytes(high)]
}
