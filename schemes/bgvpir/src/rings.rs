//! The rings that a table may be in, by name.
//!
//! The list is closed on purpose: the signer of a catalog chooses a name, and no modulus.

use crate::folding_tree::FoldingTree;
use sotto_core::ParamsError;
use sotto_lattice::bgv::{M8191, Pow2, RnsRing};
use std::sync::{Arc, OnceLock};

/// Constants of a ring that need no transforms.
#[derive(Debug, PartialEq)]
pub struct RingSet {
    /// The name in catalogs.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Coefficients of a polynomial.
    pub degree: usize,
    /// The plain modulus, t.
    pub plain: u64,
    /// Slots of a cycle.
    pub cycle: u32,
    /// Cycles of a plaintext.
    pub cycles: u32,
    /// Bits of data in a slot.
    pub slot_bits: u32,
    /// Possible periods of a query: divisors of a cycle.
    pub periods: &'static [u32],
    /// Nanoseconds of one transform, for choosing among trees.
    pub transform: f64,
}

/// Maximum primes of a fresh ciphertext: with the special one as many as security allows at these
/// degrees.
pub const MAX_PRIMES: u8 = 3;
/// Words of a limb in each ring.
pub const LIMB: usize = 8192;
/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// The paper's ring: the 8191st cyclotomic field, binary plaintexts, 630 slots of GF(2^13).
pub const M8191_NAME: &str = "m8191";
/// A ring of a power of two, with 2 x 4096 slots of 16 bits.
pub const POW2_NAME: &str = "pow2";

/// All rings.
pub static RINGS: [RingSet; 2] = [
    RingSet {
        name: POW2_NAME,
        about: "X^8192 + 1 with t = 65537: two cycles of 4096 slots of 16 bits",
        degree: 8192,
        plain: 65537,
        cycle: 4096,
        cycles: 2,
        slot_bits: 16,
        periods: &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
        transform: 8_000.0,
    },
    RingSet {
        name: M8191_NAME,
        about: "the paper's: the 8191st cyclotomic polynomial with t = 2: one cycle of 630 slots of 13 bits",
        degree: 8190,
        plain: 2,
        cycle: 630,
        cycles: 1,
        slot_bits: 13,
        periods: &[5, 6, 7, 9, 10, 14, 15, 18, 21, 30, 35, 42, 45, 63, 70, 90, 105, 126, 210, 315, 630],
        transform: 60_000.0,
    },
];

/// The ring with a name.
///
/// # Errors
/// [`ParamsError::Field`] if there is none.
pub fn find(name: &str) -> Result<&'static RingSet, ParamsError> {
    let why = || ParamsError::Field { field: "ring", why: "must be pow2 or m8191".into() };
    RINGS.iter().find(|ring| ring.name == name).ok_or_else(why)
}

/// A ring with its transforms.
#[derive(Debug, Clone)]
pub enum Ring {
    /// The ring of a power of two.
    Pow2(RnsRing<Pow2>),
    /// The paper's ring.
    M8191(RnsRing<M8191>),
}

/// Evaluates an expression that is generic in the ring for either ring.
macro_rules! on_ring {
    ($ring:expr, $rns:ident => $body:expr) => {
        match $ring {
            $crate::rings::Ring::Pow2($rns) => $body,
            $crate::rings::Ring::M8191($rns) => $body,
        }
    };
}
pub(crate) use on_ring;

/// The ring with a name and `primes` primes besides the special one. It is made once: its tables
/// take milliseconds.
///
/// # Errors
/// [`ParamsError::Field`] if there is no such ring, or none with as many primes.
pub fn ring(name: &str, primes: u8) -> Result<Arc<Ring>, ParamsError> {
    static MADE: [[OnceLock<Option<Arc<Ring>>>; MAX_PRIMES as usize]; 2] =
        [const { [const { OnceLock::new() }; MAX_PRIMES as usize] }; 2];
    let set = find(name)?;
    let many = || ParamsError::Field { field: "primes", why: format!("must be in 1..={MAX_PRIMES}") };
    let kind = usize::from(set.name == M8191_NAME);
    let at = usize::from(primes).checked_sub(1).ok_or_else(many)?;
    let cell = MADE.get(kind).and_then(|rings| rings.get(at)).ok_or_else(many)?;
    let all = usize::from(primes) + 1;
    let make = || {
        Some(Arc::new(match kind {
            0 => Ring::Pow2(RnsRing::new(Pow2::standard(all)?)?),
            _ => Ring::M8191(RnsRing::new(M8191::standard(all)?)?),
        }))
    };
    cell.get_or_init(make).clone().ok_or_else(many)
}

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
