//! Tables of polynomials in tiles: the position of each polynomial's slots, and slots as stored
//! words.
//!
//! Slots are independent of each other, so the table is divided into *blocks* of eight slots: a
//! block has what the answer's eight slots need, and threads take blocks. Eight words of one
//! polynomial are a *line*, 64 bytes, one vector register. Inside a block, lines are in tiles of 32
//! rows, then in groups of four columns:
//!
//! ```text
//! block:  | rows 0..32, columns 0..4 | rows 0..32, columns 4..8 | ... | rows 32..64, columns 0..4 | ...
//! group:  | row 0: c c+1 c+2 c+3 | row 1: c c+1 c+2 c+3 | ...         6.5 or 7 KiB, less at the edges
//! line:   | slots 8 b .. 8 b + 8, little-endian words |                          64 bytes
//! ```
//!
//! The last row of each *bunch* of rows has no lines: its words are in bits that the others leave
//! free ([`packing`](packing)).
//!
//! A pass reads all of this in order. It takes four columns at once, because each selector line is
//! then loaded once for four products, and 32 rows at once, because the selectors of that many rows
//! stay in the first-level cache while all columns pass by. With 64 rows four queries were a tenth
//! slower, and one too, which we cannot explain.
//!
//! Modulo a number below 2^50 a slot's word is the residue. Modulo a larger product of two primes
//! below 2^28 it is both residues, `(x mod q1) + 2^32 (x mod q2)`: a product of words is then two
//! 32-bit multiplications, and 32 such products are summed before anything is reduced.

pub(crate) mod packing;

use crate::modulus::Modulus;
use packing::{Cell, WordPacking};
use std::ops::Range;

/// Number of slots in a block, which is the number of words in a line.
pub(crate) const LINE: usize = 8;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 64;

/// Rows in a tile.
pub(crate) const TILE_ROWS: usize = 32;

/// Eight words, a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct CacheLine(pub(crate) [u64; LINE]);

/// The input of one call of a kernel: one block, some queries.
pub(crate) struct Block<'a> {
    pub(crate) layout: &'a TileLayout,
    /// Lines of the table.
    pub(crate) lines: &'a [[u8; LINE_BYTES]],
    /// Lines of each query's selectors: row after row, component after component.
    pub(crate) selectors: &'a [&'a [CacheLine]],
    pub(crate) comps: usize,
}

/// The shape of a table of polynomials in tiles. Nothing is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLayout {
    packing: WordPacking,
    n: usize,
    rows: usize,
    cols: usize,
}

/// Lines that are contiguous: those of some rows by at most four columns, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileRun {
    packing: WordPacking,
    /// Rows of the run.
    pub rows: Range<usize>,
    /// Columns of the run.
    pub cols: Range<usize>,
}

impl TileRun {
    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.packing.lines_of(self.rows.len()) * self.cols.len()
    }
}

impl TileLayout {
    /// Rows in a tile.
    pub const TILE_ROWS: usize = TILE_ROWS;
    /// Columns in a group.
    pub const GROUP_COLS: usize = 4;
    /// Largest number of polynomials of a run.
    pub(crate) const RUN: usize = Self::TILE_ROWS * Self::GROUP_COLS;

    /// Makes the layout of `rows` by `cols` polynomials of `n` slots, whose words share lines by
    /// `packing`.
    ///
    /// `None` unless `n` is a positive multiple of 64, there is a polynomial, and the table's bytes
    /// can be counted in an `isize`, as those of a slice are.
    pub fn new(packing: WordPacking, n: usize, rows: usize, cols: usize) -> Option<Self> {
        let words = n.checked_mul(rows)?.checked_mul(cols)?;
        let bytes = isize::try_from(words.checked_mul(size_of::<u64>())?);
        (n.is_multiple_of(64) && words > 0 && bytes.is_ok()).then_some(TileLayout { packing, n, rows, cols })
    }

    /// How words share lines.
    pub fn packing(&self) -> WordPacking {
        self.packing
    }

    /// Number of slots of a polynomial.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of rows of polynomials.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns of polynomials.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of blocks of eight slots.
    pub fn blocks(&self) -> usize {
        self.n / LINE
    }

    /// Bytes of the whole table.
    pub fn bytes(&self) -> u64 {
        self.blocks() as u64 * self.block_bytes() as u64
    }

    /// Bytes of one block.
    pub fn block_bytes(&self) -> usize {
        self.block_lines() * LINE_BYTES
    }

    /// The byte ranges of some columns, in order: one for each tile of rows of each block. `cols`
    /// begins with a group of columns, and ends with one or with the last column: then the ranges
    /// concatenated are the table of these columns alone.
    pub fn columns(&self, cols: Range<usize>) -> impl Iterator<Item = Range<u64>> {
        let layout = *self;
        let edge = move |col: usize| col.is_multiple_of(Self::GROUP_COLS) || col == layout.cols;
        debug_assert!(
            edge(cols.start) && edge(cols.end) && cols.end <= layout.cols,
            "whole groups of columns"
        );
        (0..self.blocks()).flat_map(move |block| {
            let cols = cols.clone();
            (0..layout.rows).step_by(Self::TILE_ROWS).map(move |row| {
                let place = |col: usize| {
                    let lines = block * layout.block_lines() + layout.lines_before(row, col);
                    lines as u64 * LINE_BYTES as u64
                };
                place(cols.start)..place(cols.end)
            })
        })
    }

    /// Number of lines of one block.
    pub(crate) fn block_lines(&self) -> usize {
        self.packing.lines_of_table(self.rows) * self.cols
    }

    /// Number of lines in a block before those of a tile of rows and a group of columns, which
    /// begin at this row and column.
    pub(crate) fn lines_before(&self, row: usize, col: usize) -> usize {
        let tile_rows = Self::TILE_ROWS.min(self.rows - row);
        self.packing.lines_of_table(row) * self.cols + col * self.packing.lines_of(tile_rows)
    }

    /// The position of polynomial `(row, col)` in a block.
    pub(crate) fn cell(&self, row: usize, col: usize) -> Cell {
        let packing = self.packing;
        let (in_tile, in_group) = (row % Self::TILE_ROWS, col % Self::GROUP_COLS);
        let (first_row, first_col) = (row - in_tile, col - in_group);
        let bunch = self.sharing(row);
        let shared = bunch.len() == packing.rows() && row + 1 == bunch.end;
        // The words of the last row of a bunch are in all of the bunch's lines.
        let line = packing.lines_of(if shared { bunch.start - first_row } else { in_tile });
        let step = Self::GROUP_COLS.min(self.cols - first_col);
        let first = self.lines_before(first_row, first_col) + line * step + in_group;
        Cell { packing, first, step, shared }
    }

    /// The rows that share lines with this row. Two of them must not be changed in one column at
    /// the same time.
    pub fn sharing(&self, row: usize) -> Range<usize> {
        let in_tile = row % Self::TILE_ROWS;
        let tile = row - in_tile;
        let first = tile + in_tile - in_tile % self.packing.rows();
        let end = first + self.packing.rows();
        if end > self.rows.min(tile + Self::TILE_ROWS) { row..row + 1 } else { first..end }
    }

    /// The runs of a block, in the order in which they are stored. All blocks have the same.
    ///
    /// A run's lines are contiguous, so that an encoder can fill and write it as a whole.
    pub fn runs(&self) -> impl Iterator<Item = TileRun> {
        let (all_rows, all_cols, packing) = (self.rows, self.cols, self.packing);
        let span = |first: usize, step: usize, end: usize| first..end.min(first + step);
        (0..all_rows).step_by(Self::TILE_ROWS).flat_map(move |row| {
            let rows = span(row, Self::TILE_ROWS, all_rows);
            (0..all_cols).step_by(Self::GROUP_COLS).map(move |col| TileRun {
                packing,
                rows: rows.clone(),
                cols: span(col, Self::GROUP_COLS, all_cols),
            })
        })
    }
}

/// The form in which slots modulo some number are stored. Only numbers that have a form have a
/// value of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordFormat {
    form: WordForm,
}

/// Form of words, with the constants of its reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordForm {
    Residue(OneResidue),
    Pair(TwoResidues),
}

/// Residues modulo one number below 2^50.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneResidue {
    pub(crate) modulus: Modulus,
    /// 2^52 mod q.
    pub(crate) two_52: u64,
    /// 2^49 and 2^75 mod q.
    pub(crate) folds: [u64; 2],
}

/// Residues modulo two primes below 2^28, the first in the lower half of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TwoResidues {
    pub(crate) moduli: [Modulus; 2],
    /// floor((2^64 - 1) / q), for each prime.
    quotients: [u64; 2],
    /// The inverse of the first modulo the second.
    inverse: u64,
}

impl WordFormat {
    /// Finds the form for slots modulo `q`; `None` if there is none: `q` is 2^50 or more, and not
    /// the product of two primes below 2^28.
    pub fn new(q: &Modulus) -> Option<Self> {
        if q.value() < 1 << 50 {
            return Some(WordFormat { form: WordForm::Residue(OneResidue::new(q)) });
        }
        let [first, second] = q.factors()?.map(Modulus::new);
        Self::pair(first?, second?)
    }

    /// Makes the form for slots modulo `first * second`.
    ///
    /// `None` unless both are distinct and below 2^28.
    pub fn pair(first: Modulus, second: Modulus) -> Option<Self> {
        let moduli = [first, second];
        let distinct = first != second && moduli.iter().all(|q| q.bits() <= 28);
        distinct.then(|| {
            let inverse = second.inv(second.reduce(first.value()));
            WordFormat {
                form: WordForm::Pair(TwoResidues {
                    moduli,
                    quotients: moduli.map(|q| u64::MAX / q.value()),
                    inverse,
                }),
            }
        })
    }

    /// How the words share lines.
    pub fn packing(&self) -> WordPacking {
        match self.form {
            WordForm::Residue(_) => WordPacking::Residues,
            WordForm::Pair(_) => WordPacking::Pairs,
        }
    }

    pub(crate) fn form(&self) -> &WordForm {
        &self.form
    }

    /// Converts reduced slots to stored words, in place.
    pub fn store(&self, slots: &mut [u64]) {
        if let WordForm::Pair(pair) = &self.form {
            slots.iter_mut().for_each(|x| *x = pair.split(*x));
        }
    }

    /// Converts stored words to reduced slots, in place.
    pub fn restore(&self, words: &mut [u64]) {
        if let WordForm::Pair(pair) = &self.form {
            words.iter_mut().for_each(|x| *x = pair.join(*x));
        }
    }
}

impl OneResidue {
    fn new(q: &Modulus) -> Self {
        let folds = [49, 75].map(|e| q.reduce_u128(1 << e));
        OneResidue { modulus: *q, two_52: q.reduce(1 << 52), folds }
    }

    /// Reduces any number below 2^116.
    pub(crate) fn reduce(&self, x: u128) -> u64 {
        let q = &self.modulus;
        let (lo, hi) = (x as u64 & ((1 << 52) - 1), (x >> 52) as u64);
        q.add(q.mul(q.reduce(hi), self.two_52), q.reduce(lo))
    }
}

impl TwoResidues {
    /// Adds any numbers below 2^63, one modulo each prime, to a stored word.
    pub(crate) fn add(&self, word: u64, [low, high]: [u64; 2]) -> u64 {
        let (x1, x2) = (word & u64::from(u32::MAX), word >> 32);
        self.residue(0, low + x1) | self.residue(1, high + x2) << 32
    }

    fn split(&self, x: u64) -> u64 {
        self.residue(0, x) | self.residue(1, x) << 32
    }

    /// Reduces any number modulo one of the primes.
    fn residue(&self, i: usize, x: u64) -> u64 {
        // With m = floor((2^64 - 1) / q), x m / 2^64 is less than x / q by less than 2.
        let q = self.moduli[i].value();
        let quotient = ((u128::from(x) * u128::from(self.quotients[i])) >> 64) as u64;
        let r = x - quotient * q;
        let r = r.min(r.wrapping_sub(q));
        r.min(r.wrapping_sub(q))
    }

    /// Joins residues by the Chinese remainder theorem: `x1 + q1 ((x2 - x1) / q1 mod q2)`.
    fn join(&self, word: u64) -> u64 {
        let [first, second] = &self.moduli;
        let (x1, x2) = (word & u64::from(u32::MAX), word >> 32);
        // Both factors are below 2^28.
        let lift = self.residue(1, second.sub(x2, self.residue(1, x1)) * self.inverse);
        x1 + first.value() * lift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_in_order_and_contain_every_line_at_its_offset() {
        let shapes =
            [(64, 1, 1), (64, 64, 4), (128, 65, 5), (64, 130, 9), (192, 7, 3), (64, 64, 6), (64, 45, 2)];
        for (packing, (n, rows, cols)) in [WordPacking::Residues, WordPacking::Pairs]
            .into_iter()
            .flat_map(|packing| shapes.map(|shape| (packing, shape)))
        {
            let layout = TileLayout::new(packing, n, rows, cols).unwrap();
            let mut at = 0;
            for run in layout.runs() {
                assert_eq!(layout.lines_before(run.rows.start, run.cols.start), at);
                let first = at;
                let mut shared = Vec::new();
                for row in run.rows.clone() {
                    for col in run.cols.clone() {
                        let cell = layout.cell(row, col);
                        let bunch = layout.sharing(row);
                        assert!(bunch.contains(&row) && run.rows.contains(&(bunch.end - 1)));
                        if cell.shared {
                            assert_eq!((bunch.end, bunch.len()), (row + 1, packing.rows()));
                            let lines = bunch.clone().take(packing.lines()).map(|row| layout.cell(row, col));
                            let lines: Vec<usize> = lines.map(|cell| cell.first * LINE_BYTES).collect();
                            assert_eq!(cell.offsets().collect::<Vec<_>>(), lines, "({row}, {col})");
                            shared.push((row, col));
                        } else {
                            assert_eq!(cell.first, at, "({row}, {col})");
                            assert_eq!(cell.offsets().collect::<Vec<_>>(), [at * LINE_BYTES]);
                            at += 1;
                        }
                    }
                }
                assert_eq!(run.lines(), at - first);
                assert_eq!(shared.len(), run.rows.len() / packing.rows() * run.cols.len());
            }
            assert_eq!(at, layout.block_lines());
            assert_eq!(layout.bytes(), (layout.blocks() * at * LINE_BYTES) as u64);
        }
    }

    #[test]
    fn invalid_shapes_are_refused() {
        for (n, rows, cols) in [
            (0, 1, 1),
            (63, 1, 1),
            (96, 1, 1),
            (64, 0, 1),
            (64, 1, 0),
            (64, 1 << (usize::BITS / 2 + 8), 1 << (usize::BITS / 2 + 8)),
            (64, 1 << (usize::BITS - 10), 1),
        ] {
            assert_eq!(TileLayout::new(WordPacking::Pairs, n, rows, cols), None, "{n} {rows} {cols}");
        }
    }

    #[test]
    fn pairs_hold_both_residues_and_come_back() {
        for (q1, q2) in [(268369921, 249561089), (249561089, 268369921), (3, 268369921), (12289, 5)] {
            let words = WordFormat::pair(Modulus::new(q1).unwrap(), Modulus::new(q2).unwrap()).unwrap();
            let q = q1 * q2;
            let edges = [0, 1, q1 - 1, q1, q2 - 1, q2, q / 2, q - q1, q - q2, q - 1].map(|x| x % q);
            let mut slots: Vec<u64> = (0..2000).map(|i| crate::matrix::mix(i) % q).chain(edges).collect();
            let before = slots.clone();
            words.store(&mut slots);
            for (word, x) in slots.iter().zip(&before) {
                assert_eq!(*word, (x % q1) | (x % q2) << 32, "{x}");
            }
            words.restore(&mut slots);
            assert_eq!(slots, before);
        }
    }

    #[test]
    fn a_residue_below_two_to_the_fifty_is_its_own_word() {
        let words = WordFormat::new(&Modulus::new(1125899904679937).unwrap()).unwrap();
        let mut slots = [0, 1, 1125899904679936];
        words.store(&mut slots);
        assert_eq!(slots, [0, 1, 1125899904679936]);
        words.restore(&mut slots);
        assert_eq!(slots, [0, 1, 1125899904679936]);
    }

    #[test]
    fn primes_of_a_pair_are_small_and_distinct() {
        let [a, b, wide] = [268369921, 249561089, 4294828033].map(|q| Modulus::new(q).unwrap());
        assert!(WordFormat::pair(a, b).is_some());
        assert_eq!(WordFormat::new(&Modulus::composite(a, b).unwrap()), WordFormat::pair(a, b));
        assert_eq!(WordFormat::new(&Modulus::composite(a, wide).unwrap()), None);
        assert_eq!(WordFormat::pair(a, a), None);
        assert_eq!(WordFormat::pair(a, wide), None);
    }
}
