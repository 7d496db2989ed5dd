//! The named parameter sets: a ring, and the pruning of its trees.

use crate::folding_tree::FoldingTree;
use crate::rings::{M8191_NAME, POW2_NAME};

/// A named set.
#[derive(Debug, PartialEq)]
pub struct Set {
    /// The name to type.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The ring's name.
    pub ring: &'static str,
    /// The pruning of the set's trees.
    pub pruning: Pruning,
    /// Whether a guard follows the leaves: see [`FoldingTree::guarded`].
    pub guard: bool,
    /// Whether images hold rows as coefficients for any size, and not only where values would be
    /// too many.
    pub streamed: bool,
}

/// The level at which trees are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruning {
    /// Pruning wherever it costs least, with leaves of any length. Without a named set, the best of
    /// these is taken.
    ByCost,
    /// Pruning as in the paper: lengths are powers of two, halved level by level, down to the first
    /// level whose leaves fit a cycle.
    Halving,
    /// No pruning: leaves of two.
    Not,
}

/// All sets.
pub static SETS: [Set; 9] = [
    Set {
        name: POW2_NAME,
        about: "X^8192 + 1 with t = 65537, trees pruned by cost: for large tables and records",
        ring: POW2_NAME,
        pruning: Pruning::ByCost,
        guard: false,
        streamed: false,
    },
    Set {
        name: M8191_NAME,
        about: "the paper's ring, the 8191st cyclotomic polynomial with t = 2, trees pruned by cost",
        ring: M8191_NAME,
        pruning: Pruning::ByCost,
        guard: false,
        streamed: false,
    },
    Set {
        name: "pow2-streamed",
        about: "pow2 with an image of the table's own size, transformed in each pass: a seventh of the memory",
        ring: POW2_NAME,
        pruning: Pruning::ByCost,
        guard: false,
        streamed: true,
    },
    Set {
        name: "m8191-streamed",
        about: "m8191 with an image of the table's own size, transformed in each pass: a 64th of the memory",
        ring: M8191_NAME,
        pruning: Pruning::ByCost,
        guard: false,
        streamed: true,
    },
    Set {
        name: "pow2-guarded",
        about: "pow2 with a guard after the leaves: an honest client's answer holds its record alone",
        ring: POW2_NAME,
        pruning: Pruning::ByCost,
        guard: true,
        streamed: false,
    },
    Set {
        name: "m8191-guarded",
        about: "m8191 with a guard after the leaves: an honest client's answer holds its record alone",
        ring: M8191_NAME,
        pruning: Pruning::ByCost,
        guard: true,
        streamed: false,
    },
    Set {
        name: "pow2-paper",
        about: "X^8192 + 1, trees of powers of two, pruned where the paper prunes them",
        ring: POW2_NAME,
        pruning: Pruning::Halving,
        guard: false,
        streamed: false,
    },
    Set {
        name: "m8191-paper",
        about: "the paper's ring, trees of powers of two, pruned where the paper prunes them",
        ring: M8191_NAME,
        pruning: Pruning::Halving,
        guard: false,
        streamed: false,
    },
    Set {
        name: "m8191-unpruned",
        about: "the paper's ring, leaves of two as in the paper's unpruned trees, and a guard after them",
        ring: M8191_NAME,
        pruning: Pruning::Not,
        guard: true,
        streamed: false,
    },
];

impl Set {
    /// The paper's tree for `rows` rows in a ring with cycles of `cycle` slots; `None` where trees
    /// are chosen by cost, or the set has none.
    pub(crate) fn tree(&self, rows: u64, cycle: u32) -> Option<FoldingTree> {
        // n' is the next power of two. With a single leaf one side would have nothing to select.
        let z = rows.checked_next_power_of_two()?.trailing_zeros().max(2);
        match self.pruning {
            Pruning::ByCost => None,
            Pruning::Halving => (1..=z)
                .filter_map(|levels| FoldingTree::halving(z, levels))
                .find(|tree| tree.folded() <= cycle as usize),
            Pruning::Not => FoldingTree::halving(z, z),
        }
    }

    /// The set's tree if it fits a period: with a guard and the zeroes that it needs, or without.
    pub(crate) fn within(&self, tree: FoldingTree, period: u32) -> Option<FoldingTree> {
        let tree = if self.guard { tree.guarded()? } else { tree };
        let slots = if self.guard { tree.guarded_slots() } else { tree.folded() };
        (slots <= period as usize).then_some(tree)
    }
}
