//! Strips: rectangles of a table, which threads fill one at a time.
//!
//! A strip is a rectangle of polynomials whose lines are contiguous in every block: one tile of
//! rows, some whole groups of columns. A thread that fills one in memory can write each block's
//! part of it in one piece.

use crate::simd::args::tiles::layout::TileLayout;
use crate::simd::args::tiles::{LINE, LINE_BYTES};
use std::ops::Range;

/// Approximate bytes of finished polynomials in a strip.
const STRIP_BYTES: usize = 32 << 20;

/// A rectangle of polynomials in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strip {
    /// Rows of the strip: those of a tile.
    pub rows: Range<usize>,
    /// Columns of the strip.
    pub cols: Range<usize>,
}

/// The strips of a table, in the order in which they are stored in each block.
pub fn strips(layout: &TileLayout) -> impl Iterator<Item = Strip> + '_ {
    let polynomial = layout.n() * size_of::<u64>();
    (0..layout.rows()).step_by(TileLayout::TILE_ROWS).flat_map(move |row| {
        let rows = row..(row + TileLayout::TILE_ROWS).min(layout.rows());
        let group = TileLayout::GROUP_COLS;
        let width = (STRIP_BYTES / polynomial / rows.len() / group).max(1) * group;
        (0..layout.cols())
            .step_by(width)
            .map(move |col| Strip { rows: rows.clone(), cols: col..(col + width).min(layout.cols()) })
    })
}

impl Strip {
    /// Bytes of the strip in one block.
    pub fn block_bytes(&self, layout: &TileLayout) -> usize {
        layout.packing().lines_of(self.rows.len()) * self.cols.len() * LINE_BYTES
    }

    /// The offset in the table of the strip's bytes of a block.
    pub fn offset(&self, layout: &TileLayout, block: usize) -> u64 {
        (block * layout.block_bytes() + self.start(layout)) as u64
    }

    /// The offset in a block of the strip's bytes.
    fn start(&self, layout: &TileLayout) -> usize {
        layout.lines_before(self.rows.start, self.cols.start) * LINE_BYTES
    }

    /// The positions of the strip's polynomials, in the order of their lines.
    pub fn polynomials(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let groups = self.cols.clone().step_by(TileLayout::GROUP_COLS);
        groups.flat_map(move |col| {
            let group = col..self.cols.end.min(col + TileLayout::GROUP_COLS);
            self.rows.clone().flat_map(move |row| group.clone().map(move |col| (row, col)))
        })
    }

    /// Writes polynomials of the strip, as stored words, into its bytes, which are block after
    /// block.
    ///
    /// Writing some together is faster than one by one: blocks are so far apart that each line
    /// would be a cache miss and a page of its own, and here the same line of each polynomial is
    /// written before the next line of any.
    ///
    /// # Panics
    /// If `strip` is not [`block_bytes`](Self::block_bytes) for each block, or a polynomial is not
    /// in it or not `n` words.
    pub fn put<W: AsRef<[u64]>>(
        &self,
        layout: &TileLayout,
        polynomials: &[((usize, usize), W)],
        strip: &mut [u8],
    ) {
        assert_eq!(strip.len(), self.block_bytes(layout) * layout.blocks(), "a strip's bytes of every block");
        assert!(
            polynomials.iter().all(|(_, words)| words.as_ref().len() == layout.n()),
            "polynomials of n words"
        );
        let start = self.start(layout);
        let cells: Vec<_> = polynomials.iter().map(|((row, col), _)| layout.cell(*row, *col)).collect();
        for (i, block) in strip.chunks_exact_mut(self.block_bytes(layout)).enumerate() {
            for (cell, (_, words)) in cells.iter().zip(polynomials) {
                let words = &words.as_ref().as_chunks::<LINE>().0[i];
                for (part, at) in cell.offsets().enumerate() {
                    cell.put(part, words, &mut block[at - start..].as_chunks_mut().0[0]);
                }
            }
        }
    }
}

/// Makes a table of these polynomials, given as reduced slots, for tests.
#[cfg(test)]
pub(crate) fn filled(
    form: &super::WordFormat,
    layout: &TileLayout,
    polynomials: impl Iterator<Item = ((usize, usize), Vec<u64>)>,
) -> Vec<u8> {
    let mut table = vec![0xEE; layout.bytes() as usize];
    for ((row, col), mut slots) in polynomials {
        form.store(&mut slots);
        let cell = layout.cell(row, col);
        for (block, words) in table.chunks_exact_mut(layout.block_bytes()).zip(slots.as_chunks::<LINE>().0) {
            for (i, at) in cell.offsets().enumerate() {
                cell.put(i, words, &mut block[at..].as_chunks_mut().0[0]);
            }
        }
    }
    // Lines that no bunch shares have free bits of zero.
    for block in table.chunks_exact_mut(layout.block_bytes()) {
        let cells = (0..layout.rows()).flat_map(|row| (0..layout.cols()).map(move |col| (row, col)));
        for (row, col) in cells.filter(|(row, _)| layout.sharing(*row).len() == 1) {
            let at = layout.cell(row, col).first * LINE_BYTES;
            for word in block[at..].as_chunks_mut::<LINE_BYTES>().0[0].as_chunks_mut::<8>().0 {
                *word = (u64::from_le_bytes(*word) & layout.packing().own()).to_le_bytes();
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::WordPacking;

    #[test]
    fn strips_are_the_table() {
        let shapes = [(64, 1, 1), (64, 33, 6), (4096, 70, 80)];
        for (packing, (n, rows, cols)) in [WordPacking::Residues, WordPacking::Pairs]
            .into_iter()
            .flat_map(|packing| shapes.map(|shape| (packing, shape)))
        {
            let layout = TileLayout::new(packing, n, rows, cols).unwrap();
            let word = |row: usize, col: usize, i: usize| ((row * 100 + col) * 4096 + i) as u64;
            let mut table = vec![0u8; layout.bytes() as usize];
            let mut count = 0;
            for strip in strips(&layout) {
                let mut bytes = vec![0; strip.block_bytes(&layout) * layout.blocks()];
                let all: Vec<_> = strip
                    .polynomials()
                    .map(|(row, col)| ((row, col), (0..n).map(|i| word(row, col, i)).collect::<Vec<_>>()))
                    .collect();
                count += all.len();
                all.chunks(8).for_each(|some| strip.put(&layout, some, &mut bytes));
                for (block, bytes) in bytes.chunks_exact(strip.block_bytes(&layout)).enumerate() {
                    let offset = strip.offset(&layout, block) as usize;
                    table[offset..offset + bytes.len()].copy_from_slice(bytes);
                }
            }
            assert_eq!(count, rows * cols);
            for (row, col, i) in
                [(0, 0, 0), (rows - 1, cols - 1, n - 1), (rows / 2, cols / 2, 9), (0, cols - 1, 63)]
            {
                let words = layout.read(i / 8, (row, col), |at, line| {
                    line.copy_from_slice(&table[at as usize..][..line.len()]);
                    Ok::<_, ()>(())
                });
                assert_eq!(words.unwrap()[i % 8], word(row, col, i));
            }
        }
    }
}
