//! Two passes: a row of the hint is fetched like a row of a table, so that no client needs the
//! hint.
//!
//! The table is a matrix D of signed bytes. A record is w bytes, in w rows of one column: record
//! `r = j B + i` is in block i of the rows and in column j. For each block there are w rows of the
//! hint `H = D A`, rounded to 24 bits, and w words of `y = D c` for a query c, rounded to 16.
//! Together they reveal the record to anyone who has the secret of c. So they are a second table,
//! with a column for each block: [`ROW_BYTES`] bytes of each hint row, which depend on no query,
//! and two *fresh* bytes of each word, which depend on the query. A second encrypted unit vector
//! selects the column of block i (DoublePIR: Henzinger et al., USENIX Security 2023, section 5; the
//! rounding of the hint is ours).
//!
//! | module | contents |
//! |---|---|
//! | [`bound`] | the noise of words that are read with rounded masks |
//! | [`select`] | the possible layouts of a table, and their prices |
//! | `server` | writing both matrices, changing bytes in both, and the first pass (feature `server`) |

pub mod bound;
pub mod select;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use server::{FirstPass, update_image, write};

use crate::lwe::encrypt::{read, rounded_mask};
use crate::lwe::ring::N;
use sotto_math::matrix::PanelLayout;
use zeroize::Zeroizing;

/// Bits of a hint's word after rounding: three bytes.
pub const HINT_BITS: u32 = 24;

/// Bits of a first pass's word after rounding: two bytes.
pub const FRESH_BITS: u32 = 16;

/// Bytes of a row of the hint in the second matrix.
pub const ROW_BYTES: usize = N * HINT_BITS as usize / 8;

/// Maximum bytes of a record.
pub const MAX_RECORD_BYTES: u64 = 64;

/// Maximum blocks of rows, which are columns of the second matrix.
pub const MAX_BLOCKS: u64 = 1 << 16;

/// Maximum columns of the first matrix. Their noise ends a little above or below.
pub const MAX_COLUMNS: u64 = 1 << 19;

/// The layout of a table in the two matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoPassLayout {
    /// Bytes in a record, w.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks of rows, B: a power of two, so that finding a record's block takes no division.
    pub blocks: u64,
}

impl TwoPassLayout {
    /// The reason to refuse the layout, if any: a field, and its constraint.
    pub fn refusal(&self) -> Option<(&'static str, String)> {
        let most = MAX_COLUMNS.saturating_mul(self.blocks);
        if !(1..=MAX_RECORD_BYTES).contains(&self.record_bytes) {
            Some(("record_bytes", format!("must be in 1..={MAX_RECORD_BYTES}")))
        } else if !self.blocks.is_power_of_two() || self.blocks > MAX_BLOCKS {
            Some(("blocks", format!("must be a power of two and at most {MAX_BLOCKS}")))
        } else if !(1..=most).contains(&self.records) {
            Some(("records", format!("must be in 1..={most}, {MAX_COLUMNS} for each block")))
        } else {
            None
        }
    }

    /// Columns of the first matrix, m.
    pub fn columns(&self) -> u64 {
        self.records.div_ceil(self.blocks)
    }

    /// Rows of the first matrix, l.
    pub fn rows(&self) -> u64 {
        self.record_bytes * self.blocks
    }

    /// Rows of the second matrix.
    pub fn second_rows(&self) -> u64 {
        self.record_bytes * ROW_BYTES as u64
    }

    /// Bytes of the first matrix in an image.
    pub fn first_bytes(&self) -> u64 {
        self.rows().next_multiple_of(64) * self.columns().next_multiple_of(4)
    }

    /// Bytes of the second matrix in an image.
    pub fn second_bytes(&self) -> u64 {
        self.second_rows() * self.blocks.next_multiple_of(4)
    }

    /// The layout of the first matrix.
    pub fn first(&self) -> PanelLayout {
        PanelLayout::new(self.rows() as usize, self.columns() as usize)
    }

    /// The layout of the second matrix.
    pub fn second(&self) -> PanelLayout {
        PanelLayout::new(self.second_rows() as usize, self.blocks as usize)
    }

    /// Regroups the words of all rows: for each byte of a record, the words of all blocks.
    pub fn by_byte(&self, words: &[u64]) -> Vec<Vec<i16>> {
        let width = self.record_bytes as usize;
        let of_byte = |byte| words.iter().skip(byte).step_by(width).map(|word| *word as i16).collect();
        (0..width).map(of_byte).collect()
    }

    /// The column and the block of a record.
    pub fn place(&self, record: u64) -> [u32; 2] {
        [(record >> self.blocks.trailing_zeros()) as u32, (record & (self.blocks - 1)) as u32]
    }
}

/// Recovers a record from a column of the second table, its rounded hint rows and its fresh words,
/// and the secret of the first query.
pub fn record(hint: &[u8], fresh: &[u16], s: &[i32]) -> Vec<u8> {
    let mut row = Zeroizing::new(Vec::with_capacity(N));
    let mut masks = Zeroizing::new(Vec::with_capacity(fresh.len()));
    for bytes in hint.chunks_exact(ROW_BYTES) {
        row.clear();
        row.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|[low, middle, high]| u64::from(u32::from_le_bytes([*low, *middle, *high, 0]))),
        );
        masks.push(rounded_mask(&row, HINT_BITS, s));
    }
    let fresh: Zeroizing<Vec<u64>> = Zeroizing::new(fresh.iter().map(|word| u64::from(*word)).collect());
    read(&fresh, &masks, FRESH_BITS).collect()
}

#[cfg(test)]
mod tests;
