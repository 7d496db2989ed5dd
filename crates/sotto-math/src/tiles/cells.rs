//! Reads and writes of single polynomials in a table, a block at a time.

use crate::simd::args::tiles::layout::TileLayout;
use crate::simd::args::tiles::packing::Cell;
use crate::simd::args::tiles::{LINE, LINE_BYTES};

impl TileLayout {
    /// Reads the stored words of slots `8 block .. 8 block + 8` of polynomial `(row, col)`. `at`
    /// reads bytes of the table.
    ///
    /// # Errors
    /// The errors of `at`.
    ///
    /// # Panics
    /// If there is no such polynomial.
    pub fn read<E>(
        &self,
        block: usize,
        (row, col): (usize, usize),
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<[u64; LINE], E> {
        let cell = self.checked(row, col);
        let (mut words, mut line) = ([0; LINE], [0; LINE_BYTES]);
        for (i, offset) in cell.offsets().enumerate() {
            at(self.place(block, offset), &mut line)?;
            cell.take(i, &line, &mut words);
        }
        Ok(words)
    }

    /// Reads all stored words of some polynomials, concatenated, into `out`. They may be in several
    /// tables, each of which begins at some byte.
    ///
    /// Reading some together is faster than one by one, as for [`Strip::put`](super::Strip::put).
    /// `None` if the bytes do not contain all of them.
    ///
    /// # Panics
    /// If there is no such polynomial, or `out` is too short.
    pub fn read_many(&self, table: &[u8], cells: &[(u64, (usize, usize))], out: &mut [u64]) -> Option<()> {
        assert_eq!(out.len(), cells.len() * self.n(), "n words for each polynomial");
        let places = cells.iter().map(|(region, (row, col))| {
            let cell = self.checked(*row, *col);
            Some((table.get(usize::try_from(*region).ok()?..)?, cell))
        });
        let places = places.collect::<Option<Vec<_>>>()?;
        for block in 0..self.blocks() {
            for ((region, cell), out) in places.iter().zip(out.chunks_exact_mut(self.n())) {
                let words = &mut out.as_chunks_mut::<LINE>().0[block];
                *words = [0; LINE];
                for (i, offset) in cell.offsets().enumerate() {
                    let start = block * self.block_bytes() + offset;
                    cell.take(i, region.get(start..)?.first_chunk()?, words);
                }
            }
        }
        Some(())
    }

    /// Replaces the stored words of eight slots of a polynomial. Words of other rows in the same
    /// cache lines are read and stay, so two rows that [share](Self::sharing) lines must not be
    /// written at the same time.
    ///
    /// # Errors
    /// The errors of `at` and `put`.
    ///
    /// # Panics
    /// If there is no such polynomial.
    pub fn write<E>(
        &self,
        block: usize,
        (row, col): (usize, usize),
        words: &[u64; LINE],
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        put: impl Fn(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let cell = self.checked(row, col);
        let mut line = [0; LINE_BYTES];
        for (i, offset) in cell.offsets().enumerate() {
            let offset = self.place(block, offset);
            at(offset, &mut line)?;
            cell.put(i, words, &mut line);
            put(offset, &line)?;
        }
        Ok(())
    }

    fn checked(&self, row: usize, col: usize) -> Cell {
        assert!(row < self.rows() && col < self.cols(), "a polynomial of this table");
        self.cell(row, col)
    }

    fn place(&self, block: usize, offset: usize) -> u64 {
        block as u64 * self.block_bytes() as u64 + offset as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::tiles::WordPacking;
    use std::cell::RefCell;

    #[test]
    fn written_words_are_read_back_and_no_other_changes() {
        for packing in [WordPacking::Residues, WordPacking::Pairs] {
            let (rows, cols) = (41, 6);
            let layout = TileLayout::new(packing, 64, rows, cols).unwrap();
            let table = RefCell::new(vec![0; layout.bytes() as usize]);
            let at = |from: u64, out: &mut [u8]| {
                out.copy_from_slice(&table.borrow()[from as usize..][..out.len()]);
                Ok::<_, ()>(())
            };
            let put = |from: u64, bytes: &[u8]| {
                table.borrow_mut()[from as usize..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            };
            let words = |time: u64, block: usize, row: usize, col: usize| -> [u64; LINE] {
                let seed = mix(time << 40 | (block * 10_000 + row * 100 + col) as u64);
                std::array::from_fn(|i| mix(seed + i as u64) & packing.own())
            };
            let all = || {
                let cells = (0..rows).flat_map(move |row| (0..cols).map(move |col| (row, col)));
                (0..layout.blocks()).flat_map(move |block| cells.clone().map(move |cell| (block, cell)))
            };
            for (block, (row, col)) in all() {
                layout.write(block, (row, col), &words(0, block, row, col), at, put).unwrap();
            }
            // Some again, every third.
            let again = |(i, _): &(usize, _)| i % 3 == 0;
            for (_, (block, (row, col))) in all().enumerate().filter(again) {
                layout.write(block, (row, col), &words(1, block, row, col), at, put).unwrap();
            }
            for (i, (block, (row, col))) in all().enumerate() {
                let time = u64::from(i % 3 == 0);
                assert_eq!(layout.read(block, (row, col), at).unwrap(), words(time, block, row, col));
            }
            // Together, in any order, and of a table that begins later.
            let cells: Vec<_> = (0..rows * cols).map(|i| (7, (i * 7 % rows, i * 5 % cols))).collect();
            let (mut together, table) = (vec![1; cells.len() * 64], table.into_inner());
            layout.read_many(&[&[0; 7], &table[..]].concat(), &cells, &mut together).unwrap();
            for ((_, cell), words) in cells.iter().zip(together.chunks_exact(64)) {
                let at = |from: u64, out: &mut [u8]| {
                    out.copy_from_slice(&table[from as usize..][..out.len()]);
                    Ok::<_, ()>(())
                };
                for (block, words) in words.as_chunks().0.iter().enumerate() {
                    assert_eq!(*words, layout.read(block, *cell, at).unwrap());
                }
            }
            assert_eq!(layout.read_many(&table[1..], &cells, &mut together), None);
        }
    }
}
