//! A table of polynomials under the transform, and the one pass over it that answers queries.
//!
//! The table is `rows` by `cols` polynomials of `Z_q[X]/(X^n + 1)`, as slots. A query is a selector
//! per row: a ciphertext of `comps` polynomials, two for (a, b) and more where ciphertexts share
//! their *a*. The answer is one ciphertext per column,
//! `C[col][comp] = sum over rows of table[row][col] selector[row][comp]`, slot by slot: the *first
//! dimension* of Spiral (Menon and Wu, 2022, section 3) and its descendants.
//!
//! [`TileLayout`] has the position of each polynomial's slots, and reads and writes single
//! polynomials. [`WordFormat`] makes a slot a stored word, and [`WordPacking`] lets words of fewer
//! than 64 bits share cache lines. [`selectors`] has a query in the order in which the pass reads
//! it, and [`scan`](mod@scan) the pass.
//!
//! Threads fill a table one strip at a time: a rectangle of polynomials whose lines are contiguous
//! in every block, one tile of rows and some whole groups of columns. A thread that fills one in
//! memory can write each block's part of it in one piece. An encoder that has all polynomials of
//! some columns packs them: it writes every line once, front to back, and reads none, since lines
//! that several rows share are assembled from all of them.

mod rows;
pub mod scan;
pub mod selectors;

use crate::simd::args::tiles::packing::Cell;
use crate::simd::args::tiles::{LINE, LINE_BYTES};
use std::ops::Range;

pub use crate::simd::args::tiles::packing::WordPacking;
pub use crate::simd::args::tiles::{TileLayout, TileRun, WordFormat};
pub use rows::scan_rows;
pub use scan::{gather, gather_stored, scan};
pub use selectors::{SelectorBuffer, Selectors};

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
    /// Reading some together is faster than one by one, as for [`Strip::put`](Strip::put).
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
    form: &WordFormat,
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

impl Strip {
    /// Splits the strip into groups of columns, each of which is a strip: in a block their lines
    /// are concatenated.
    pub fn groups(&self) -> impl Iterator<Item = Strip> + use<> {
        let (rows, end) = (self.rows.clone(), self.cols.end);
        self.cols
            .clone()
            .step_by(TileLayout::GROUP_COLS)
            .map(move |col| Strip { rows: rows.clone(), cols: col..end.min(col + TileLayout::GROUP_COLS) })
    }

    /// Packs the bytes of a [group](Self::groups), block after block, from its polynomials as
    /// stored words, in the order of [`polynomials`](Self::polynomials). `None` stands for a
    /// polynomial of zeros.
    ///
    /// # Panics
    /// If there is not one for each position, one is not `n` words, the strip has more columns than
    /// a group, or `out` is not [`block_bytes`](Self::block_bytes) for each block.
    pub fn pack<W: AsRef<[u64]>>(&self, layout: &TileLayout, polynomials: &[Option<W>], out: &mut [u8]) {
        let (cols, packing) = (self.cols.len(), layout.packing());
        assert_eq!(out.len(), self.block_bytes(layout) * layout.blocks(), "a group's bytes of every block");
        assert_eq!(polynomials.len(), self.rows.len() * cols, "a polynomial for each position");
        assert!(cols <= TileLayout::GROUP_COLS, "the columns of one group");
        let zero = vec![0; layout.n()];
        let polynomials: Vec<&[[u64; LINE]]> = polynomials
            .iter()
            .map(|words| {
                let words = words.as_ref().map_or(zero.as_slice(), AsRef::as_ref);
                assert_eq!(words.len(), layout.n(), "polynomials of n words");
                words.as_chunks().0
            })
            .collect();
        for (i, block) in out.chunks_exact_mut(self.block_bytes(layout)).enumerate() {
            pack_block(packing, cols, &polynomials, i, block.as_chunks_mut().0);
        }
    }
}

/// Packs the lines of one block of a run of `cols` columns, from its polynomials as stored words, row after row.
fn pack_block(
    packing: WordPacking,
    cols: usize,
    polynomials: &[&[[u64; LINE]]],
    block: usize,
    out: &mut [[u8; LINE_BYTES]],
) {
    let (held, bunch) = (packing.lines() * cols, packing.rows() * cols);
    let bunches = polynomials.len() / bunch;
    let (bunched, single) = polynomials.split_at(bunches * bunch);
    let (of_bunches, of_single) = out.split_at_mut(bunches * held);
    for (bunch, out) in bunched.chunks_exact(bunch).zip(of_bunches.chunks_exact_mut(held)) {
        let (own, last) = bunch.split_at(held);
        for (i, (own, out)) in own.chunks_exact(cols).zip(out.chunks_exact_mut(cols)).enumerate() {
            for ((own, last), out) in own.iter().zip(last).zip(out) {
                let mut words = own[block];
                words.iter_mut().zip(&last[block]).for_each(|(word, last)| packing.scatter(i, *last, word));
                put(&words, out);
            }
        }
    }
    single.iter().zip(of_single).for_each(|(words, out)| put(&words[block], out));
}

#[inline(always)]
fn put(words: &[u64; LINE], out: &mut [u8; LINE_BYTES]) {
    out.as_chunks_mut::<8>().0.iter_mut().zip(words).for_each(|(out, word)| *out = word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::{WordPacking, strips, *};
    use crate::matrix::mix;
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

    #[test]
    fn groups_are_what_is_put_one_by_one() {
        for packing in [WordPacking::Residues, WordPacking::Pairs] {
            for (rows, cols) in [(1, 1), (33, 6), (64, 9), (47, 4)] {
                let layout = TileLayout::new(packing, 128, rows, cols).unwrap();
                for strip in strips(&layout) {
                    let mut whole = vec![0; strip.block_bytes(&layout) * layout.blocks()];
                    let mut groups: Vec<Vec<u8>> = Vec::new();
                    for group in strip.groups() {
                        let words = |(row, col): (usize, usize)| {
                            let word = |i| mix((row * 1000 + col * 130 + i) as u64) & packing.own();
                            ((row + col) % 5 > 0).then(|| (0..128).map(word).collect::<Vec<u64>>())
                        };
                        let all: Vec<_> = group.polynomials().map(words).collect();
                        let there: Vec<_> = group.polynomials().zip(&all).collect();
                        let there: Vec<_> =
                            there.into_iter().filter_map(|(at, words)| Some((at, words.as_ref()?))).collect();
                        strip.put(&layout, &there, &mut whole);
                        let mut out = vec![0xEE; group.block_bytes(&layout) * layout.blocks()];
                        group.pack(&layout, &all, &mut out);
                        groups.push(out);
                    }
                    for (i, block) in whole.chunks_exact(strip.block_bytes(&layout)).enumerate() {
                        let of = |group: &Vec<u8>| {
                            let len = group.len() / layout.blocks();
                            group[i * len..(i + 1) * len].to_vec()
                        };
                        assert!(block == groups.iter().flat_map(of).collect::<Vec<u8>>());
                    }
                }
            }
        }
    }
}
