//! Packing of words that need fewer than 64 bits, so that rows share cache lines.
//!
//! Some consecutive rows are a *bunch*. All but the last have a line for each column, and the last
//! one's words are in the bits that those leave free, from their highest bits on:
//!
//! | words | rows of a bunch | a line's own bits | free bits |
//! |---|---|---|---|
//! | residues below 2^50 | 5 | 0 to 49 | 52 to 63 of the first three lines, 50 to 63 of the fourth |
//! | pairs of residues below 2^28 | 8 | 0 to 27 of each half | 28 to 31 of each half, four bits of the half to a line |
//!
//! So a register gathers a last word with one concatenating shift per line, while the line is
//! multiplied: no bytes are shuffled. The product of 52-bit words ignores the bits from the 52nd
//! on. Rows at the end of a tile that do not fill a bunch have lines of their own, with free bits
//! of zero.

use super::{CacheLine, LINE, LINE_BYTES, TILE_ROWS};

/// The kind of words, which determines how they share lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordPacking {
    /// Residues below 2^50, five in four lines.
    Residues,
    /// Pairs of residues below 2^28, eight in seven lines.
    Pairs,
}

/// A part of a last word: `(line >> at) & mask` is `(word >> shift) & mask`.
#[derive(Debug, Clone, Copy)]
struct PackedField {
    at: u32,
    mask: u64,
    shift: u32,
}

impl WordPacking {
    /// Number of lines of a bunch, in each column.
    pub const fn lines(self) -> usize {
        match self {
            WordPacking::Residues => 4,
            WordPacking::Pairs => 7,
        }
    }

    /// Number of rows of a bunch.
    pub const fn rows(self) -> usize {
        self.lines() + 1
    }

    /// Number of lines of `rows` rows of one tile, in each column.
    pub const fn lines_of(self, rows: usize) -> usize {
        rows - rows / self.rows()
    }

    /// Number of lines of all rows of a table, in each column.
    pub const fn lines_of_table(self, rows: usize) -> usize {
        rows / TILE_ROWS * self.lines_of(TILE_ROWS) + self.lines_of(rows % TILE_ROWS)
    }

    /// Mask of the bits of a line's own word.
    #[inline(always)]
    pub(crate) const fn own(self) -> u64 {
        match self {
            WordPacking::Residues => (1 << 50) - 1,
            WordPacking::Pairs => 0x0FFF_FFFF_0FFF_FFFF,
        }
    }

    /// The part of the last word that line `i` of a bunch holds.
    #[inline(always)]
    const fn part(self, i: usize) -> PackedField {
        match (self, i) {
            (WordPacking::Residues, 3) => PackedField { at: 50, mask: 0x3FFF, shift: 0 },
            (WordPacking::Residues, _) => PackedField { at: 52, mask: 0xFFF, shift: 38 - 12 * i as u32 },
            (WordPacking::Pairs, _) => PackedField { at: 28, mask: 0xF_0000_000F, shift: 24 - 4 * i as u32 },
        }
    }

    /// Adds the part that line `i` holds to a last word.
    #[inline(always)]
    pub(crate) fn gather(self, i: usize, line: u64, word: &mut u64) {
        let part = self.part(i);
        *word |= ((line >> part.at) & part.mask) << part.shift;
    }

    /// Writes a last word's part into line `i`.
    #[inline(always)]
    pub(crate) fn scatter(self, i: usize, word: u64, line: &mut u64) {
        let part = self.part(i);
        *line = *line & self.own() | ((word >> part.shift) & part.mask) << part.at;
    }

    /// Writes a line's own word, and keeps its free bits.
    #[inline(always)]
    pub(crate) fn keep(self, word: u64, line: &mut u64) {
        *line = *line & !self.own() | word;
    }

    /// Unpacks the words of a run of `cols` columns, row after row. `fetch` is called with the
    /// number of each line, in order.
    #[inline(always)]
    pub(crate) fn unpack(
        self,
        cols: usize,
        lines: &[[u8; LINE_BYTES]],
        out: &mut [CacheLine],
        fetch: impl Fn(usize),
    ) {
        let bunches = out.len() / (self.rows() * cols);
        let (bunched, own) = lines.split_at(bunches * self.lines() * cols);
        let (in_bunches, single) = out.split_at_mut(bunches * self.rows() * cols);
        let bunched =
            bunched.chunks_exact(self.lines() * cols).zip(in_bunches.chunks_exact_mut(self.rows() * cols));
        for (bunch, (lines, out)) in bunched.enumerate() {
            let (own, last) = out.split_at_mut(self.lines() * cols);
            last.fill(CacheLine([0; LINE]));
            let rows = lines.chunks_exact(cols).zip(own.chunks_exact_mut(cols)).enumerate();
            for (i, (lines, own)) in rows {
                for (col, ((line, own), last)) in lines.iter().zip(own).zip(&mut *last).enumerate() {
                    fetch((bunch * self.lines() + i) * cols + col);
                    for ((bytes, own), last) in
                        line.as_chunks::<8>().0.iter().zip(&mut own.0).zip(&mut last.0)
                    {
                        let word = u64::from_le_bytes(*bytes);
                        *own = word & self.own();
                        self.gather(i, word, last);
                    }
                }
            }
        }
        for (i, (line, own_words)) in own.iter().zip(single).enumerate() {
            fetch(bunches * self.lines() * cols + i);
            for (bytes, word) in line.as_chunks::<8>().0.iter().zip(&mut own_words.0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
    }
}

/// The position of a polynomial's words in a block: in a line of their own, or in the free bits of
/// a bunch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) packing: WordPacking,
    /// Number of the first line, from the start of the block.
    pub(crate) first: usize,
    /// Lines from one row to the next.
    pub(crate) step: usize,
    /// Whether the row is the last of a bunch.
    pub(crate) shared: bool,
}

impl Cell {
    /// Offsets of the lines that hold the words, in bytes from the start of the block.
    pub(crate) fn offsets(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        let (first, step) = (self.first, self.step);
        (0..if self.shared { self.packing.lines() } else { 1 }).map(move |i| (first + i * step) * LINE_BYTES)
    }

    /// Reads the words' part out of line `i` of [`offsets`](Self::offsets).
    #[inline(always)]
    pub(crate) fn take(&self, i: usize, line: &[u8; LINE_BYTES], words: &mut [u64; LINE]) {
        for (word, bytes) in words.iter_mut().zip(line.as_chunks::<8>().0) {
            let line = u64::from_le_bytes(*bytes);
            if self.shared {
                self.packing.gather(i, line, word);
            } else {
                *word = line & self.packing.own();
            }
        }
    }

    /// Writes the words' part into line `i` of [`offsets`](Self::offsets), and keeps the words of
    /// other rows there.
    #[inline(always)]
    pub(crate) fn put(&self, i: usize, words: &[u64; LINE], line: &mut [u8; LINE_BYTES]) {
        for (word, bytes) in words.iter().zip(line.as_chunks_mut::<8>().0) {
            let mut line = u64::from_le_bytes(*bytes);
            if self.shared {
                self.packing.scatter(i, *word, &mut line);
            } else {
                self.packing.keep(*word, &mut line);
            }
            *bytes = line.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;

    /// Writes a bunch in any order, over any contents; a bit is in one position only.
    #[test]
    fn every_word_of_a_bunch_comes_back() {
        for packing in [WordPacking::Residues, WordPacking::Pairs] {
            for seed in 0..50 {
                let word = |i: usize| mix(seed * 100 + i as u64) & packing.own();
                let words: Vec<u64> = match seed {
                    0 => vec![packing.own(); packing.rows()],
                    1 => vec![0; packing.rows()],
                    _ => (0..packing.rows()).map(word).collect(),
                };
                let mut lines: Vec<u64> = (0..packing.lines()).map(|i| word(50 + i)).collect();
                let (last, own) = words.split_last().unwrap();
                let scatter = |lines: &mut [u64]| {
                    lines.iter_mut().enumerate().for_each(|(i, line)| packing.scatter(i, *last, line));
                };
                let keep = |lines: &mut [u64]| {
                    lines.iter_mut().zip(own).for_each(|(line, word)| packing.keep(*word, line));
                };
                if seed % 2 == 0 {
                    scatter(&mut lines);
                    keep(&mut lines);
                } else {
                    keep(&mut lines);
                    scatter(&mut lines);
                }
                let mut gathered = 0;
                lines.iter().enumerate().for_each(|(i, line)| packing.gather(i, *line, &mut gathered));
                assert_eq!(gathered, *last);
                assert_eq!(lines.iter().map(|line| line & packing.own()).collect::<Vec<_>>(), own);
            }
        }
    }

    /// Residues use the low 52 bits of a line as they are, so bits 50 and 51 stay zero except in
    /// the fourth.
    #[test]
    fn lines_of_residues_are_words_of_52_bits() {
        for i in 0..3 {
            let mut line = 0;
            WordPacking::Residues.scatter(i, WordPacking::Residues.own(), &mut line);
            assert_eq!(line, 0xFFF << 52);
        }
    }

    #[test]
    fn lines_of_a_tile() {
        let lines = |packing: WordPacking| [0, 1, 4, 5, 7, 8, 10, 16, 32].map(|rows| packing.lines_of(rows));
        assert_eq!(lines(WordPacking::Residues), [0, 1, 4, 4, 6, 7, 8, 13, 26]);
        assert_eq!(lines(WordPacking::Pairs), [0, 1, 4, 5, 7, 7, 9, 14, 28]);
    }
}
