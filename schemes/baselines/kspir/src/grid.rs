//! The positions of records in matrices, and of matrices in the image.
//!
//! A record is *pages* of N words of 16 bits; all records' pages of one number are a layer of their
//! own, and a query is multiplied by each layer. A layer is `r` *blocks*, matrices of N rows and D
//! columns, and a column holds `r` records:
//!
//! ```text
//! record i is number p = i mod r of column c = i div r
//! word k N / r + j of its page is, in block k, coefficient j r + p of the polynomial whose slots are column c
//! ```
//!
//! So every block holds an `r`th of each record, in coefficients that `r` divides after
//! multiplication by X^-p; and packing puts those of block k at `j r + k`.
//!
//! **Rotations.** D divides the slots of a cycle, and the query is a unit vector repeated in all
//! runs of D slots. With `rot_b` the rotation that moves slot `i + b` to `i`, the product of a
//! block and the vector is the sum over `b < D` of a diagonal times `rot_b` of the vector: slot `i`
//! of the diagonal is in row `i` and column `i + b mod D`. With `b = g n1 + a` that is
//!
//! ```text
//! sum over g of rot_(g n1) ( sum over a < n1 of  P_(a, g)  times  rot_a (vector) )
//! ```
//!
//! where slot `i` of the plaintext `P_(a, g)` is in row `i - g n1` and column `i + a mod D`. Those
//! are a table of `n1` rows and D / n1 columns for each block, and one pass over it makes all inner
//! sums.

use crate::ring::{CYCLE, N};
use sotto_math::tiles::{TileLayout, WordPacking};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 2 * N;

/// Maximum number of pages of a record.
pub const MAX_PAGES: u32 = 128;

/// The shape of a table. All numbers except for pages are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Pages of a record.
    pub pages: usize,
    /// Columns of a block, D.
    pub columns: usize,
    /// Blocks of a layer, and records of a column, r.
    pub blocks: usize,
    /// Baby steps, n1.
    pub babies: usize,
}

impl Grid {
    /// Whether all numbers but the pages are powers of two, and none is too large.
    pub fn is_valid(&self) -> bool {
        let power = |x: usize, most: usize| x.is_power_of_two() && x <= most;
        (1..=MAX_PAGES as usize).contains(&self.pages)
            && power(self.columns, CYCLE)
            && power(self.blocks, N)
            && power(self.babies, self.columns)
            && self.babies > 1
    }

    /// Maximum number of records of the grid.
    pub fn capacity(&self) -> u64 {
        (self.columns * self.blocks) as u64
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.pages * PAGE_BYTES
    }

    /// Bytes of a record's page in one block.
    pub fn part_bytes(&self) -> usize {
        PAGE_BYTES / self.blocks
    }

    /// Giant steps.
    pub fn giants(&self) -> usize {
        self.columns / self.babies
    }

    /// log2 of the blocks: levels of packing.
    pub fn levels(&self) -> usize {
        self.blocks.trailing_zeros() as usize
    }

    /// The position of a record: its column, and its number there, in time that does not depend on
    /// the record.
    pub fn place(&self, record: u64) -> [u64; 2] {
        [record >> self.levels(), record & (self.blocks as u64 - 1)]
    }

    /// Columns of plaintexts: a giant step each, block after block and layer after layer.
    pub fn cols(&self) -> usize {
        self.all_blocks() * self.giants()
    }

    /// The layout of the plaintexts of some blocks; `None` if there are none.
    pub fn layout(&self, blocks: usize) -> Option<TileLayout> {
        TileLayout::new(WordPacking::Pairs, N, self.babies, blocks * self.giants())
    }

    /// Blocks of all pages.
    pub fn all_blocks(&self) -> usize {
        self.pages * self.blocks
    }

    /// Bytes of the table of plaintexts.
    pub fn table_bytes(&self) -> u64 {
        let lines = WordPacking::Pairs.lines_of_table(self.babies) as u64;
        lines * self.cols() as u64 * 8 * N as u64
    }
}
