//! What is written into a catalog: public numbers, enough to make everything else.

use crate::folding_tree::FoldingTree;
use crate::layout::Layout;
use crate::rings::{self, RingSet};
use crate::rotations::Rotations;
use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_prg::PublicSeed;

/// The seed in literals that were selected for a table whose rows nobody has read. No table is published with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// Name of the ring: see [`rings`].
    pub ring: String,
    /// Primes of a query, besides the special one of keys.
    pub primes: u8,
    /// Primes that are left when the table is multiplied: what its image holds.
    pub scan_primes: u8,
    /// Levels of products after which unfolding leaves a prime, down to those of the table.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub levels: u8,
    /// Lengths of the leaves that make u.
    pub left: Vec<u32>,
    /// Lengths of the leaves that make v.
    pub right: Vec<u32>,
    /// After how many slots a query repeats.
    pub period: u32,
    /// Tables of rows that share a query.
    pub layers: u32,
    /// How many records.
    pub records: u64,
    /// Bits of a coefficient of an answer: of its body, and of its mask.
    pub answer_bits: [u8; 2],
    /// Places that a second key of rotation turns a query by, or 1 where there is none: see [`Rotations`].
    #[serde(default = "no_stride", skip_serializing_if = "is_no_stride")]
    pub stride: u32,
    /// What the image holds of a row.
    #[serde(default, skip_serializing_if = "RowFormat::is_values")]
    pub form: RowFormat,
    /// Rows of the table that may be written under one mask: those which the failure bound takes at their worst.
    pub written: u32,
    /// Seed of the public mask on the data.
    pub mask: PublicSeed,
}

/// What the image holds of a row. Clients need not know; that it is among what they check keeps one table's name one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowFormat {
    /// Its values modulo the primes it is multiplied at: 8 times the table in one ring, and 64 times in the other.
    #[default]
    Values,
    /// Its coefficients, hardly more than the table; each pass makes values of them as it comes to them.
    Coefficients,
}

impl RowFormat {
    /// Whether it is the form that is not written down: catalogs from before there was a choice say nothing.
    fn is_values(&self) -> bool {
        *self == RowFormat::Values
    }
}

/// Levels that are not written down: catalogs from before there was a choice say nothing.
fn one() -> u8 {
    1
}

fn is_one(levels: &u8) -> bool {
    *levels == one()
}

/// The stride that is not written down.
fn no_stride() -> u32 {
    1
}

fn is_no_stride(stride: &u32) -> bool {
    *stride == no_stride()
}

/// Most levels of products that a prime may have to hold.
pub const MAX_LEVELS: u8 = 4;

/// Layers at most: answers of so many ciphertexts.
pub const MAX_LAYERS: u32 = 4096;

/// Bytes of an image at most.
pub const MAX_BYTES: u64 = 1 << 46;

impl Literal {
    /// The ring's facts.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if there is no ring of that name.
    pub fn ring(&self) -> Result<&'static RingSet, ParamsError> {
        rings::find(&self.ring)
    }

    /// The tree.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if there is none with these leaves.
    pub fn tree(&self) -> Result<FoldingTree, ParamsError> {
        let why = "1 to 16 lengths in 1..=4096 with a product of at most 2^24, on each side";
        FoldingTree::new(&self.left, &self.right)
            .ok_or_else(|| ParamsError::Field { field: "left, right", why: why.into() })
    }

    /// How many primes products of so many levels are left with, that were multiplied modulo `primes`.
    pub fn left_with(&self, primes: usize, depth: u32) -> usize {
        let leaves = depth.is_multiple_of(u32::from(self.levels).max(1));
        (primes - usize::from(leaves && primes > 1)).max(primes.min(self.scan_primes.into()))
    }

    /// How a query is turned to every place of what was folded.
    pub fn turns(&self, tree: &FoldingTree) -> Rotations {
        Rotations { places: tree.folded(), stride: self.stride.max(1) as usize }
    }

    /// Where a record's bits lie.
    pub fn layout(&self, ring: &RingSet) -> Layout {
        Layout {
            cycle: ring.cycle,
            cycles: ring.cycles,
            slot_bits: ring.slot_bits,
            period: self.period,
            layers: self.layers,
        }
    }
}
