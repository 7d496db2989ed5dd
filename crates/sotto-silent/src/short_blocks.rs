//! Short blocks: queries for tables of few records, and their matrix.
//!
//! A block of a query has `N` coefficients. Usually each of them selects a record, a product with a
//! row of the matrix is a number in the constant coefficient, and packing `N` numbers takes `N - 1`
//! switches, whatever the number of records. A *short* block selects `g` records, a power of two:
//! with `Y = X^g`, the bytes `P_k,t` of record `k` are the coefficients of `sum_t P_k,t Y^t`, and the
//! product with the block has those of the selected record at all powers of `Y`. So packing takes
//! `g - 1` switches for `N` bytes (`sotto_lattice::inspiring::TracePacking`), and what it prepares
//! has `6.25 g` bytes for each byte of a record, where weights take 8 KiB.
//!
//! ```text
//! row      c + g j      coefficient c of group j: bytes N j + c + g T of each record
//! column   N b + k + g t     record g b + k, and T = -t modulo N / g
//! ```
//!
//! In coefficient `c + g T` of the packed ciphertext is byte `c + g T` of the group; where `T` is not
//! zero its sign is changed, since `Y^(N / g) = -1`.

use crate::lattice::{N, Q_BITS, mask_bytes};
use crate::plain_modulus::PlainModulus;
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};
use std::ops::Range;

/// Largest number of records of a short block.
pub const MAX_BLOCK: u64 = N as u64 / 2;

/// A table of records in short blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortBlocks {
    /// Bytes in a record.
    pub record_bytes: usize,
    /// Number of records.
    pub records: usize,
    /// Records in a block: a power of two up to [`MAX_BLOCK`].
    pub block: usize,
}

impl ShortBlocks {
    /// Blocks of a query.
    pub const fn blocks(&self) -> usize {
        self.records.div_ceil(self.block)
    }

    /// Words of a query.
    pub const fn words(&self) -> usize {
        N * self.blocks()
    }

    /// Packed ciphertexts of a record.
    pub const fn groups(&self) -> usize {
        self.record_bytes.div_ceil(N)
    }

    /// Powers of `Y`.
    pub const fn powers(&self) -> usize {
        N / self.block
    }

    /// The layout of the matrix, or of some groups of it.
    pub fn layout(&self, groups: &Range<usize>) -> PanelLayout {
        PanelLayout::new(groups.len() * self.block, self.words())
    }

    /// Bytes of the digits of a group's switches.
    pub const fn digit_bytes(&self) -> u64 {
        (self.block as u64 - 1) * PlainModulus::BYTE.packing().bodies() as u64 * mask_bytes(Q_BITS)
    }

    /// Bytes of the matrix and the digits.
    pub fn image_bytes(&self) -> u64 {
        // Not as a layout, since a browser's addresses cannot count the bytes of a large table.
        let rows = (self.groups() * self.block).next_multiple_of(PANEL_ROWS) as u64;
        rows * self.words() as u64 + self.groups() as u64 * self.digit_bytes()
    }

    /// Gives the numbers of a group the signs of its bytes, or the reverse.
    pub fn change_signs(&self, group: &mut [u8]) {
        group.iter_mut().skip(self.block).for_each(|byte| *byte = byte.wrapping_neg());
    }
}
