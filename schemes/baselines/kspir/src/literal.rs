//! Parameters as a catalog states them: the grid, and the bits of an answer.

use crate::grid::Grid;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The range of the bits of a mask's coefficient in an answer: up to 42 a client's product with the
/// mask is exact.
pub const MASK_BITS: RangeInclusive<u8> = 18..=42;

/// Bytes of a seed.
pub const SEED_BYTES: usize = 32;

/// Maximum bytes of an image.
pub const MAX_BYTES: u64 = 1 << 46;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`](crate::ring::SET).
    pub set: String,
    /// Number of records.
    pub records: u64,
    /// Pages of a record, 8 KiB each.
    pub pages: u32,
    /// Columns of a block, D.
    pub columns: u32,
    /// Blocks, r.
    pub blocks: u32,
    /// Baby steps, n1.
    pub babies: u32,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
}

impl ParamsLiteral {
    /// The grid of the literal, if it is valid.
    pub fn grid(&self) -> Option<Grid> {
        Grid::new(self.pages, self.columns, self.blocks, self.babies)
    }
}
