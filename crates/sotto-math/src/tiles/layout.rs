//! Where each polynomial's slots lie.
//!
//! Slots are independent of each other, so the table is cut into *blocks* of eight slots:
//! a block has what the answer's eight slots need, and threads take blocks. Eight words
//! of one polynomial are a *line*, 64 bytes, one vector register. Inside a block, lines go by
//! tiles of 32 rows, then by groups of four columns:
//!
//! ```text
//! block:  | rows 0..32, columns 0..4 | rows 0..32, columns 4..8 | ... | rows 32..64, columns 0..4 | ...
//! group:  | row 0: c c+1 c+2 c+3 | row 1: c c+1 c+2 c+3 | ...                    8 KiB, less at the edges
//! line:   | slots 8 b .. 8 b + 8, little-endian words |                          64 bytes
//! ```
//!
//! A pass reads all of this in order. Four columns at once, because each selector line is
//! then loaded once for four products; 32 rows at once, because the selectors of that many rows
//! stay in the first cache while all columns pass by. With 64 rows four queries were a tenth
//! slower, and one too, which we cannot explain.
//!
//! Words of 50 bits could lie in 50 bytes instead of 64. Unpacking eats up what is saved: one
//! thread took as long for the fewer bytes, so words stay whole.

use std::ops::Range;

/// Slots in a block: words in a line.
pub(crate) const LINE: usize = 8;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 64;

/// The shape of a table of polynomials in tiles. Nothing is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLayout {
    n: usize,
    rows: usize,
    cols: usize,
}

/// Lines that lie together: some rows by at most four columns, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The rows of this run.
    pub rows: Range<usize>,
    /// The columns of this run.
    pub cols: Range<usize>,
}

impl Run {
    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.rows.len() * self.cols.len()
    }
}

impl TileLayout {
    /// Rows in a tile.
    pub const TILE_ROWS: usize = 32;
    /// Columns in a group.
    pub const GROUP_COLS: usize = 4;

    /// The layout of `rows` by `cols` polynomials of `n` slots.
    ///
    /// `None` unless `n` is a positive multiple of 64, there is a polynomial, and the table's
    /// bytes can be counted in an `isize`, as those of a slice are.
    pub fn new(n: usize, rows: usize, cols: usize) -> Option<Self> {
        let words = n.checked_mul(rows)?.checked_mul(cols)?;
        let bytes = isize::try_from(words.checked_mul(size_of::<u64>())?);
        (n.is_multiple_of(64) && words > 0 && bytes.is_ok()).then_some(TileLayout { n, rows, cols })
    }

    /// Slots of a polynomial.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Rows of polynomials.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of polynomials.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Blocks of eight slots.
    pub fn blocks(&self) -> usize {
        self.n / LINE
    }

    /// Bytes of the whole table.
    pub fn bytes(&self) -> u64 {
        self.blocks() as u64 * self.block_bytes() as u64
    }

    /// Bytes of one block.
    pub fn block_bytes(&self) -> usize {
        self.rows * self.cols * LINE_BYTES
    }

    /// Where slots `8 block .. 8 block + 8` of polynomial `(row, col)` lie: 64 bytes from here.
    pub fn line(&self, block: usize, row: usize, col: usize) -> u64 {
        let (first_row, first_col) = (row - row % Self::TILE_ROWS, col - col % Self::GROUP_COLS);
        let tile_rows = Self::TILE_ROWS.min(self.rows - first_row);
        let group_cols = Self::GROUP_COLS.min(self.cols - first_col);
        let before = first_row * self.cols + first_col * tile_rows;
        let inside = (row - first_row) * group_cols + (col - first_col);
        block as u64 * self.block_bytes() as u64 + ((before + inside) * LINE_BYTES) as u64
    }

    /// The runs of a block, in the order in which they lie. All blocks have the same.
    ///
    /// A run's lines are contiguous, so that an encoder can fill and write it as a whole:
    /// 8 KiB from `line(block, run.rows.start, run.cols.start)`, less at the edges.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        let (all_rows, all_cols) = (self.rows, self.cols);
        let span = |first: usize, step: usize, end: usize| first..end.min(first + step);
        (0..all_rows).step_by(Self::TILE_ROWS).flat_map(move |row| {
            let rows = span(row, Self::TILE_ROWS, all_rows);
            (0..all_cols)
                .step_by(Self::GROUP_COLS)
                .map(move |col| Run { rows: rows.clone(), cols: span(col, Self::GROUP_COLS, all_cols) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_lie_in_order_and_hold_every_line_where_it_is_said_to_be() {
        for (n, rows, cols) in [(64, 1, 1), (64, 64, 4), (128, 65, 5), (64, 130, 9), (192, 7, 3), (64, 64, 6)]
        {
            let layout = TileLayout::new(n, rows, cols).unwrap();
            assert_eq!(layout.bytes(), (n * rows * cols * 8) as u64);
            let mut at = 0;
            for block in 0..layout.blocks() {
                for run in layout.runs() {
                    for row in run.rows.clone() {
                        for col in run.cols.clone() {
                            assert_eq!(layout.line(block, row, col), at, "({block}, {row}, {col})");
                            at += LINE_BYTES as u64;
                        }
                    }
                }
            }
            assert_eq!(at, layout.bytes());
        }
    }

    #[test]
    fn shapes_that_are_none() {
        for (n, rows, cols) in [
            (0, 1, 1),
            (63, 1, 1),
            (96, 1, 1),
            (64, 0, 1),
            (64, 1, 0),
            (64, 1 << 40, 1 << 40),
            (64, 1 << 54, 1),
        ] {
            assert_eq!(TileLayout::new(n, rows, cols), None, "{n} {rows} {cols}");
        }
    }
}
