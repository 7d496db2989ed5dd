//! The pass over a table, and the extraction of the answer's polynomials from its sums.
//!
//! Each run of a block (32 rows by 4 columns) is multiplied by its rows' selectors, the products
//! are summed in registers without a reduction, and at its end the sums are reduced and added to
//! those of the runs above. So there is no limit to the rows, and sums in memory are always
//! reduced.

use super::selectors::Selectors;
use crate::simd::args::tiles::layout::TileLayout;
use crate::simd::args::tiles::words::WordFormat;
use crate::simd::args::tiles::{Block, LINE, LINE_BYTES};
use crate::simd::shapes::TilesShape;
use crate::simd::{self, Kernels};
use std::ops::Range;

/// Multiplies some blocks of a table by the selectors of any number of queries, in one pass.
///
/// `tiles` are the bytes of those blocks alone, so that several threads can take disjoint blocks of
/// one table. `out[i]` receives the sums of query `i` as stored words, in lines of eight:
/// `[block][col][comp][8]`. Those of all blocks together are the input of [`gather`].
///
/// # Panics
/// If the layout is for another form, `tiles` is not as long as those blocks or there are no such
/// blocks, a query has another form, shape or number of components than the others, there are not
/// as many outputs as queries, or an output is not `8 cols comps` words for each block.
pub fn scan(
    form: &WordFormat,
    layout: &TileLayout,
    tiles: &[u8],
    blocks: Range<usize>,
    queries: &[&Selectors],
    out: &mut [&mut [u64]],
) {
    scan_with((simd::kernels(), simd::shapes::shapes().tiles), form, layout, tiles, blocks, queries, out);
}

pub(crate) fn scan_with(
    (kernels, shape): (&dyn Kernels, TilesShape),
    form: &WordFormat,
    layout: &TileLayout,
    tiles: &[u8],
    blocks: Range<usize>,
    queries: &[&Selectors],
    out: &mut [&mut [u64]],
) {
    let comps = queries.first().map_or(1, |q| q.comps());
    let sums = layout.cols() * comps;
    assert!(blocks.end <= layout.blocks(), "blocks of this table");
    assert_eq!(layout.packing(), form.packing(), "a layout for words of this form");
    assert_eq!(tiles.len(), blocks.len() * layout.block_bytes(), "the bytes of these blocks");
    assert_eq!(queries.len(), out.len(), "one output per query");
    for (query, out) in queries.iter().zip(out.iter_mut()) {
        assert!(query.fit(form, layout), "a query for this table");
        assert_eq!(query.comps(), comps, "queries of one kind");
        assert_eq!(out.len(), blocks.len() * sums * LINE, "an output for these blocks");
        out.fill(0);
    }
    let lines = tiles.as_chunks::<LINE_BYTES>().0;
    for ((i, block), lines) in blocks.enumerate().zip(lines.chunks_exact(layout.block_lines())) {
        let selectors: Vec<_> = queries.iter().map(|query| query.block(block)).collect();
        let mut sums: Vec<_> =
            out.iter_mut().map(|out| &mut out.as_chunks_mut::<LINE>().0[i * sums..(i + 1) * sums]).collect();
        kernels.tiles(&shape, form, Block { layout, lines, selectors: &selectors, comps }, &mut sums);
    }
}

/// Extracts polynomials of the answer from one query's sums, as reduced slots: those of some
/// columns, column after column and component after component.
///
/// Polynomials are in the sums a line at a time, each on another page. Columns that are extracted
/// together share those pages, which are most of the cost.
///
/// # Panics
/// If `sums` are not those of all blocks, there are no such columns, or `out` is not `n` words for
/// each component of each of them.
pub fn gather(
    form: &WordFormat,
    layout: &TileLayout,
    comps: usize,
    sums: &[u64],
    cols: Range<usize>,
    out: &mut [&mut [u64]],
) {
    gather_stored(layout, comps, sums, cols, out);
    out.iter_mut().for_each(|out| form.restore(out));
}

/// Extracts polynomials like [`gather`], as [stored](WordFormat::store) words.
///
/// # Panics
/// As [`gather`].
pub fn gather_stored(
    layout: &TileLayout,
    comps: usize,
    sums: &[u64],
    cols: Range<usize>,
    out: &mut [&mut [u64]],
) {
    assert_eq!(sums.len(), layout.n() * layout.cols() * comps, "the sums of all blocks");
    assert!(cols.end <= layout.cols() && out.len() == cols.len() * comps, "polynomials of the answer");
    assert!(out.iter().all(|out| out.len() == layout.n()), "polynomials of n slots");
    let blocks = sums.as_chunks::<LINE>().0.chunks_exact(layout.cols() * comps);
    for (block, lines) in blocks.enumerate() {
        for (out, line) in out.iter_mut().zip(&lines[cols.start * comps..]) {
            out.as_chunks_mut::<LINE>().0[block] = *line;
        }
    }
}

#[cfg(test)]
mod tests;
