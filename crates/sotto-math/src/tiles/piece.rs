//! A few polynomials of a table in memory, for passes over tables that are not stored as slots: a
//! row's slots are computed when the pass reaches it, and discarded.
//!
//! A piece is a table of at most 32 by 4 polynomials, a single run, so that the kernels of the pass
//! multiply it like a run of a stored table. The products are added to sums of its own columns.

use super::selectors::Selectors;
use crate::simd::args::tiles::layout::TileLayout;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::tiles::{Block, CacheLine, LINE, LINE_BYTES};
use crate::simd::shapes::TilesShape;
use crate::simd::{self, Kernels};

/// The shape of kernels for a piece, whose lines are in a cache already, without data after them to
/// prefetch.
const PLAIN: TilesShape = TilesShape { pairs: true, lone: false, runs: 0, second: false };

/// Largest number of queries in one call of a kernel.
const QUERIES: usize = 4;

/// A run of a table: some rows of some columns.
#[derive(Debug)]
pub struct TilePiece {
    form: WordFormat,
    layout: TileLayout,
    /// Lines of the piece, aligned to cache lines.
    bytes: Vec<u8>,
    start: usize,
}

impl TilePiece {
    /// Makes a piece of `rows` by `cols` polynomials of `n` slots; `None` if there is no such
    /// layout, or it is more than a run.
    pub fn new(form: &WordFormat, n: usize, rows: usize, cols: usize) -> Option<Self> {
        let layout = TileLayout::new(form.packing(), n, rows, cols)?;
        if rows > TileLayout::TILE_ROWS || cols > TileLayout::GROUP_COLS {
            return None;
        }
        let bytes = vec![0; layout.blocks() * layout.block_bytes() + LINE_BYTES];
        // Without an answer from align_offset the lines are only not aligned.
        let start = bytes.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        Some(TilePiece { form: *form, layout, bytes, start })
    }

    /// The shape of the piece.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// Sets all polynomials of a row, given as reduced slots.
    ///
    /// # Panics
    /// If there is no such row, there is not one polynomial for each column, or one is not `n`
    /// long.
    pub fn set_row(&mut self, row: usize, polynomials: &[&[u64]]) {
        let layout = self.layout;
        assert!(row < layout.rows() && polynomials.len() == layout.cols(), "a row of this piece");
        assert!(polynomials.iter().all(|slots| slots.len() == layout.n()), "polynomials of n slots");
        let cell = layout.cell(row, 0);
        let lines = self.bytes[self.start..].as_chunks_mut::<LINE_BYTES>().0;
        for (i, block) in lines.chunks_exact_mut(layout.block_lines()).take(layout.blocks()).enumerate() {
            for (col, slots) in polynomials.iter().enumerate() {
                let mut words = slots.as_chunks::<LINE>().0[i];
                self.form.store(&mut words);
                for (part, at) in cell.offsets().enumerate() {
                    cell.put(part, &words, &mut block[at / LINE_BYTES + col]);
                }
            }
        }
    }

    /// Adds to each query's sums the products with its selectors from row `first` of the whole
    /// table on. Sums are those of [`scan`](super::scan()) for a table of these columns.
    ///
    /// # Panics
    /// If a query is of another form or has no such rows, queries are not of one kind, or there are
    /// not as many outputs, each of `n cols comps` words.
    pub fn add(&self, first: usize, queries: &[&Selectors], out: &mut [&mut [u64]]) {
        self.add_with(simd::kernels(), first, queries, out);
    }

    pub(crate) fn add_with(
        &self,
        kernels: &dyn Kernels,
        first: usize,
        queries: &[&Selectors],
        out: &mut [&mut [u64]],
    ) {
        let layout = &self.layout;
        let comps = queries.first().map_or(1, |q| q.comps());
        assert_eq!(queries.len(), out.len(), "one output per query");
        for (query, out) in queries.iter().zip(out.iter()) {
            assert!(query.hold(&self.form, layout.n(), first + layout.rows()), "a query with these rows");
            assert_eq!(query.comps(), comps, "queries of one kind");
            assert_eq!(out.len(), layout.n() * layout.cols() * comps, "sums of these columns");
        }
        let rows = first * comps..(first + layout.rows()) * comps;
        let lines = self.bytes[self.start..].as_chunks::<LINE_BYTES>().0;
        for (queries, out) in queries.chunks(QUERIES).zip(out.chunks_mut(QUERIES)) {
            let mut left: [&mut [[u64; LINE]]; QUERIES] = Default::default();
            left.iter_mut().zip(out).for_each(|(left, out)| *left = out.as_chunks_mut::<LINE>().0);
            for (block, lines) in lines.chunks_exact(layout.block_lines()).take(layout.blocks()).enumerate() {
                let mut selectors: [&[CacheLine]; QUERIES] = Default::default();
                let mut sums: [&mut [[u64; LINE]]; QUERIES] = Default::default();
                for (i, query) in queries.iter().enumerate() {
                    selectors[i] = &query.block(block)[rows.clone()];
                    let (mine, rest) = std::mem::take(&mut left[i]).split_at_mut(layout.cols() * comps);
                    (sums[i], left[i]) = (mine, rest);
                }
                let selectors = &selectors[..queries.len()];
                kernels.tiles(
                    &PLAIN,
                    &self.form,
                    Block { layout, lines, selectors, comps },
                    &mut sums[..queries.len()],
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::modulus::Modulus;
    use crate::tiles::scan;
    use crate::tiles::strip::filled;

    /// Piece by piece the result is that of the pass over the whole table, with every backend: more
    /// queries than one call takes, and edges of rows and columns.
    #[test]
    fn pieces_add_up_to_the_pass() {
        let (n, rows, cols, comps) = (64, 37, 6, 2);
        for q in [1125899904679937, 268369921] {
            let form = WordFormat::new(&Modulus::new(q).unwrap()).unwrap();
            let layout = TileLayout::new(form.packing(), n, rows, cols).unwrap();
            let slots = |seed: u64| -> Vec<u64> { (0..n as u64).map(|i| mix(seed << 20 | i) % q).collect() };
            let polynomial = |row: usize, col: usize| slots((row * cols + col) as u64);
            let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
            let tiles = filled(&form, &layout, cells.map(|(row, col)| ((row, col), polynomial(row, col))));
            let queries: Vec<Selectors> = (0..5)
                .map(|query| {
                    let mut selectors = Selectors::new(&form, &layout, comps);
                    (0..rows * comps).for_each(|i| {
                        selectors.set(i / comps, i % comps, &slots((1 << 30) + (query << 20) + i as u64))
                    });
                    selectors
                })
                .collect();
            let queries: Vec<&Selectors> = queries.iter().collect();
            let mut whole = vec![vec![0; n * cols * comps]; queries.len()];
            let mut out: Vec<&mut [u64]> = whole.iter_mut().map(Vec::as_mut_slice).collect();
            scan(&form, &layout, &tiles, 0..layout.blocks(), &queries, &mut out);
            for kernels in simd::available() {
                for (first, width) in [(0, 4), (4, 2)] {
                    let mut sums = vec![vec![0; n * width * comps]; queries.len()];
                    for (row, height) in [(0, 32), (32, 5)] {
                        let mut piece = TilePiece::new(&form, n, height, width).unwrap();
                        for i in 0..height {
                            let polynomials: Vec<Vec<u64>> =
                                (0..width).map(|j| polynomial(row + i, first + j)).collect();
                            piece.set_row(i, &polynomials.iter().map(Vec::as_slice).collect::<Vec<_>>());
                        }
                        let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                        piece.add_with(kernels, row, &queries, &mut out);
                    }
                    for (sums, whole) in sums.iter().zip(&whole) {
                        let (each, all) = (width * comps * LINE, cols * comps * LINE);
                        for (sums, whole) in sums.chunks(each).zip(whole.chunks(all)) {
                            assert_eq!(
                                sums,
                                &whole[first * comps * LINE..][..each],
                                "{}, {q}",
                                kernels.name()
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_a_run_is_no_piece() {
        let form = WordFormat::new(&Modulus::new(268369921).unwrap()).unwrap();
        let fits = |n, rows, cols| TilePiece::new(&form, n, rows, cols).is_some();
        assert_eq!(
            [fits(64, 32, 4), fits(64, 33, 4), fits(64, 32, 5), fits(64, 0, 1), fits(63, 1, 1)],
            [true, false, false, false, false]
        );
    }
}
