//! Parameters as a catalog states them: public numbers that determine everything else.

use crate::folding_tree::FoldingTree;
use crate::layout::Layout;
use crate::rings::{self, RingSet};
use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_lattice::bgv::rotation_grid::Rotations;
use sotto_prg::PublicSeed;

/// The seed in literals that were selected for a table without reading its rows. No table is
/// published with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: see [`rings`].
    pub ring: String,
    /// Primes of a query, besides the special one of keys.
    pub primes: u8,
    /// Primes that are left when the table is multiplied, which are those of its image.
    pub scan_primes: u8,
    /// Levels of products after which unfolding leaves a prime, down to those of the table.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub levels: u8,
    /// Lengths of the leaves that make u.
    pub left: Vec<u32>,
    /// Lengths of the leaves that make v.
    pub right: Vec<u32>,
    /// Slots after which a query repeats.
    pub period: u32,
    /// Tables of rows that share a query.
    pub layers: u32,
    /// Number of records.
    pub records: u64,
    /// Bits of a coefficient of an answer: of its body, and of its mask.
    pub answer_bits: [u8; 2],
    /// Places by which a second rotation key rotates a query, or 1 where there is none: see
    /// [`Rotations`].
    #[serde(default = "no_stride", skip_serializing_if = "is_no_stride")]
    pub stride: u32,
    /// The form of a row in the image.
    #[serde(default, skip_serializing_if = "RowFormat::is_values")]
    pub form: RowFormat,
    /// Number of rows that may be rewritten under one mask: the failure bound takes these in the
    /// worst case.
    pub written: u32,
    /// Seed of the public mask on the data.
    pub mask: PublicSeed,
}

/// The form of a row in the image. Clients do not use it; but they check it with the rest, so that
/// one table has one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowFormat {
    /// Values modulo the primes of the scan: 8 times the table in one ring, and 64 times in the
    /// other.
    #[default]
    Values,
    /// Coefficients, hardly more than the table; each pass converts them to values.
    Coefficients,
}

impl RowFormat {
    /// Whether it is the default form, which is omitted: older catalogs have no such field.
    fn is_values(&self) -> bool {
        *self == RowFormat::Values
    }
}

/// The default of levels, which is omitted: older catalogs have no such field.
fn one() -> u8 {
    1
}

fn is_one(levels: &u8) -> bool {
    *levels == one()
}

/// The default stride, which is omitted.
fn no_stride() -> u32 {
    1
}

fn is_no_stride(stride: &u32) -> bool {
    *stride == no_stride()
}

/// Maximum levels of products that a prime may have to hold.
pub const MAX_LEVELS: u8 = 4;

/// Maximum number of layers, which are ciphertexts of an answer.
pub const MAX_LAYERS: u32 = 4096;

/// Maximum bytes of an image.
pub const MAX_BYTES: u64 = 1 << 46;

impl ParamsLiteral {
    /// The ring of the literal.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if there is no ring of that name.
    pub fn ring(&self) -> Result<&'static RingSet, ParamsError> {
        rings::find(&self.ring)
    }

    /// The folding tree of the literal.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if there is no tree with these leaves.
    pub fn tree(&self) -> Result<FoldingTree, ParamsError> {
        let why = "must be 1 to 16 lengths in 1..=4096, with a product of at most 2^24, on each side";
        FoldingTree::new(&self.left, &self.right)
            .ok_or_else(|| ParamsError::Field { field: "left, right", why: why.into() })
    }

    /// Number of primes that are left after `depth` levels of products that began modulo `primes`
    /// primes.
    pub fn left_with(&self, primes: usize, depth: u32) -> usize {
        let leaves = depth.is_multiple_of(u32::from(self.levels).max(1));
        (primes - usize::from(leaves && primes > 1)).max(primes.min(self.scan_primes.into()))
    }

    /// The rotations of a query to every place of the folded vector.
    pub fn rotations(&self, tree: &FoldingTree) -> Rotations {
        Rotations { places: tree.folded(), stride: self.stride.max(1) as usize }
    }

    /// The positions of a record's bits.
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
