//! Products with rows of a table that is not stored as slots.
//!
//! A row's slots are computed when the pass reaches it, and discarded. Each polynomial is written
//! and read in order, and one block of all at a time is packed into lines, which the kernels of the
//! pass multiply like those of a stored table. Lines of all blocks would leave the caches before
//! they are read, and each would be on a page of its own.

use super::pack_block;
use super::selectors::Selectors;
use crate::simd::args::tiles::{Block, CacheLine, LINE, LINE_BYTES, TileLayout, TileRun, WordFormat};
use crate::simd::shapes::TilesShape;
use crate::simd::{self, Kernels};

/// The shape of kernels for lines that are in a cache already, without data after them to prefetch.
const PLAIN: TilesShape = TilesShape { pairs: true, lone: false, runs: 0, second: false };

/// Largest number of queries in one call of a kernel.
const QUERIES: usize = 4;

/// Adds to each query's sums the products of some rows of some columns with its selectors of these
/// rows.
///
/// `layout` is that of a table of these rows and columns alone, and `polynomials` are theirs as
/// [stored](WordFormat::store) words, row after row. Sums are those of [`scan`](super::scan()) for a
/// table of these columns.
///
/// # Panics
/// If the layout is for another form, there are not as many polynomials of `n` words, a query has
/// another form, shape or number of components than the others, or there are not as many outputs,
/// each of `n cols comps` words.
pub fn scan_rows(
    form: &WordFormat,
    layout: &TileLayout,
    polynomials: &[&[u64]],
    queries: &[&Selectors],
    out: &mut [&mut [u64]],
) {
    scan_rows_with(simd::kernels(), form, layout, polynomials, queries, out);
}

fn scan_rows_with(
    kernels: &dyn Kernels,
    form: &WordFormat,
    layout: &TileLayout,
    polynomials: &[&[u64]],
    queries: &[&Selectors],
    out: &mut [&mut [u64]],
) {
    let comps = queries.first().map_or(1, |q| q.comps());
    assert_eq!(layout.packing(), form.packing(), "a layout for words of this form");
    assert_eq!(polynomials.len(), layout.rows() * layout.cols(), "the polynomials of these rows");
    assert!(polynomials.iter().all(|words| words.len() == layout.n()), "polynomials of n words");
    assert_eq!(queries.len(), out.len(), "one output per query");
    for (query, out) in queries.iter().zip(out.iter()) {
        assert!(query.fit(form, layout), "selectors of these rows");
        assert_eq!(query.comps(), comps, "queries of one kind");
        assert_eq!(out.len(), layout.n() * layout.cols() * comps, "sums of these columns");
    }
    // The polynomials in the order of their lines.
    let runs: Vec<(TileRun, Vec<&[[u64; LINE]]>)> = layout
        .runs()
        .map(|run| {
            let rows =
                polynomials[run.rows.start * layout.cols()..].chunks(layout.cols()).take(run.rows.len());
            let words =
                rows.flat_map(|row| &row[run.cols.clone()]).map(|words| words.as_chunks().0).collect();
            (run, words)
        })
        .collect();
    let width = layout.cols() * comps;
    let mut bytes = vec![0; layout.block_bytes() + LINE_BYTES];
    // Without an answer from align_offset the lines are only not aligned.
    let start = bytes.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
    let lines = &mut bytes[start..].as_chunks_mut::<LINE_BYTES>().0[..layout.block_lines()];
    for block in 0..layout.blocks() {
        let mut rest = &mut *lines;
        for (run, words) in &runs {
            let mine = rest.split_off_mut(..run.lines()).unwrap_or_default();
            pack_block(layout.packing(), run.cols.len(), words, block, mine);
        }
        for (queries, out) in queries.chunks(QUERIES).zip(out.chunks_mut(QUERIES)) {
            let mut selectors: [&[CacheLine]; QUERIES] = Default::default();
            let mut sums: [&mut [[u64; LINE]]; QUERIES] = Default::default();
            for (i, (query, out)) in queries.iter().zip(out).enumerate() {
                selectors[i] = query.block(block);
                sums[i] = &mut out.as_chunks_mut().0[block * width..(block + 1) * width];
            }
            let selectors = &selectors[..queries.len()];
            kernels.tiles(
                &PLAIN,
                form,
                Block { layout, lines, selectors, comps },
                &mut sums[..queries.len()],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::modulus::Modulus;
    use crate::tiles::{filled, scan};
    use std::ops::Range;

    /// Rows added a few at a time give the sums of the pass over the whole table, with every backend:
    /// more queries than one call takes, and edges of rows and columns.
    #[test]
    fn rows_add_up_to_the_pass() {
        let (n, rows, cols, comps) = (64, 37, 6, 2);
        for q in [1125899904679937, 268369921] {
            let form = WordFormat::new(&Modulus::new(q).unwrap()).unwrap();
            let layout = TileLayout::new(form.packing(), n, rows, cols).unwrap();
            let slots = |seed: u64| -> Vec<u64> { (0..n as u64).map(|i| mix(seed << 20 | i) % q).collect() };
            let polynomial = |row: usize, col: usize| slots((row * cols + col) as u64);
            let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
            let tiles = filled(&form, &layout, cells.map(|(row, col)| ((row, col), polynomial(row, col))));
            let selectors = |rows: Range<usize>| -> Vec<Selectors> {
                let layout = TileLayout::new(form.packing(), n, rows.len(), cols).unwrap();
                let of_query = |query: usize| {
                    let mut selectors = Selectors::new(&form, &layout, comps);
                    for (i, row) in rows.clone().enumerate() {
                        for comp in 0..comps {
                            let seed = (1 << 30) + (query << 20) + row * comps + comp;
                            selectors.set(i, comp, &slots(seed as u64));
                        }
                    }
                    selectors
                };
                (0..5).map(of_query).collect()
            };
            let queries = selectors(0..rows);
            let queries: Vec<&Selectors> = queries.iter().collect();
            let mut whole = vec![vec![0; n * cols * comps]; queries.len()];
            let mut out: Vec<&mut [u64]> = whole.iter_mut().map(Vec::as_mut_slice).collect();
            scan(&form, &layout, &tiles, 0..layout.blocks(), &queries, &mut out);
            for kernels in simd::available() {
                for (first, width) in [(0, 4), (4, 2), (0, 6)] {
                    let mut sums = vec![vec![0; n * width * comps]; queries.len()];
                    for (row, height) in [(0, 32), (32, 5)] {
                        let piece = TileLayout::new(form.packing(), n, height, width).unwrap();
                        let cell = |i: usize| polynomial(row + i / width, first + i % width);
                        let polynomials: Vec<Vec<u64>> = (0..height * width).map(cell).collect();
                        let polynomials: Vec<&[u64]> = polynomials.iter().map(Vec::as_slice).collect();
                        let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                        let some = selectors(row..row + height);
                        let some: Vec<&Selectors> = some.iter().collect();
                        scan_rows_with(kernels, &form, &piece, &polynomials, &some, &mut out);
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
}
