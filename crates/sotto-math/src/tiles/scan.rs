//! The pass over a table, and the extraction of the answer's polynomials from its sums.
//!
//! Each run of a block (32 rows by 4 columns) is multiplied by its rows' selectors, the products
//! are summed in registers without a reduction, and at its end the sums are reduced and added to
//! those of the runs above. So there is no limit to the rows, and sums in memory are always
//! reduced.

use super::selectors::Selectors;
use crate::simd::args::tiles::{Block, LINE, LINE_BYTES, TileLayout, WordFormat};
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
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::modulus::Modulus;
    use crate::simd::available;
    use crate::simd::shapes::TILES;
    use crate::tiles::filled;

    const NARROW: [u64; 4] = [1125899904679937, 1125899903827969, 268369921, 12289];

    fn pair() -> WordFormat {
        let [first, second] = [268369921, 249561089].map(|q| Modulus::new(q).unwrap());
        WordFormat::new(&Modulus::composite(first, second).unwrap()).unwrap()
    }

    fn forms() -> Vec<(WordFormat, u64)> {
        let narrow = NARROW.map(|q| (WordFormat::new(&Modulus::new(q).unwrap()).unwrap(), q));
        narrow.into_iter().chain([(pair(), 268369921 * 249561089)]).collect()
    }

    struct Case {
        form: WordFormat,
        q: u64,
        layout: TileLayout,
        comps: usize,
        /// Slots, `[row][col][n]`.
        table: Vec<Vec<Vec<u64>>>,
        tiles: Vec<u8>,
        /// Slots, `[query][row][comp][n]`.
        queries: Vec<Vec<Vec<Vec<u64>>>>,
    }

    impl Case {
        fn new(
            (form, q): (WordFormat, u64),
            (n, rows, cols): (usize, usize, usize),
            (count, comps): (usize, usize),
            word: impl Fn(u64) -> u64,
        ) -> Self {
            let layout = TileLayout::new(form.packing(), n, rows, cols).unwrap();
            let next = std::cell::Cell::new(0);
            let slots = || {
                next.set(next.get() + n as u64);
                (0..n as u64).map(|i| word(next.get() + i) % q).collect::<Vec<_>>()
            };
            let many = |count: usize| (0..count).map(|_| slots()).collect::<Vec<_>>();
            let table: Vec<_> = (0..rows).map(|_| many(cols)).collect();
            let cells = table.iter().enumerate().flat_map(|(row, polynomials)| {
                polynomials.iter().enumerate().map(move |(col, slots)| ((row, col), slots.clone()))
            });
            let tiles = filled(&form, &layout, cells);
            let queries = (0..count).map(|_| (0..rows).map(|_| many(comps)).collect()).collect();
            Case { form, q, layout, comps, table, tiles, queries }
        }

        /// Computes the sums of one polynomial, in integers that cannot overflow: the definition.
        fn exact(&self, query: usize, col: usize, comp: usize) -> Vec<u64> {
            let q = u128::from(self.q);
            let sum = |slot: usize| {
                let products = self.table.iter().zip(&self.queries[query]).map(|(polynomials, selector)| {
                    u128::from(polynomials[col][slot]) * u128::from(selector[comp][slot]) % q
                });
                (products.sum::<u128>() % q) as u64
            };
            (0..self.layout.n()).map(sum).collect()
        }

        /// Computes the words that one backend gives for each query, all queries sharing one pass, with
        /// the blocks in two parts.
        fn sums(&self, kernels: &dyn Kernels, shape: TilesShape, queries: &[Selectors]) -> Vec<Vec<u64>> {
            let layout = &self.layout;
            let cut = layout.blocks() / 3;
            let (above, below) = self.tiles.split_at(cut * layout.block_bytes());
            let queries: Vec<_> = queries.iter().collect();
            let mut out = vec![vec![0xAAAA; layout.n() * layout.cols() * self.comps]; queries.len()];
            let at = cut * LINE * layout.cols() * self.comps;
            let (mut left, mut right): (Vec<_>, Vec<_>) = out.iter_mut().map(|o| o.split_at_mut(at)).unzip();
            scan_with((kernels, shape), &self.form, layout, above, 0..cut, &queries, &mut left);
            scan_with(
                (kernels, shape),
                &self.form,
                layout,
                below,
                cut..layout.blocks(),
                &queries,
                &mut right,
            );
            out
        }

        fn check(&self) {
            let selectors: Vec<_> = (self.queries.iter())
                .map(|query| {
                    let mut selectors = Selectors::new(&self.form, &self.layout, self.comps);
                    for (row, selector) in query.iter().enumerate() {
                        for (comp, slots) in selector.iter().enumerate() {
                            selectors.set(row, comp, slots);
                        }
                    }
                    selectors
                })
                .collect();
            for (query, selectors) in self.queries.iter().zip(&selectors) {
                let mut stored = Selectors::new(&self.form, &self.layout, self.comps);
                for (row, selector) in query.iter().enumerate() {
                    let mut words = selector.clone();
                    words.iter_mut().for_each(|words| self.form.store(words));
                    stored.set_stored_rows(row, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
                }
                assert_eq!(stored, *selectors);
            }
            let shape = (self.layout, self.comps, selectors.len(), self.q);
            let scalar = self.sums(&simd::Scalar, TILES[0].1, &selectors);
            for (query, sums) in scalar.iter().enumerate() {
                let (cols, comps) = (self.layout.cols(), self.comps);
                // Some columns together, in groups that divide nothing.
                for first in (0..cols).step_by(3) {
                    let group = first..cols.min(first + 3);
                    let mut out = vec![vec![0xBBBB; self.layout.n()]; group.len() * comps];
                    let mut slices: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
                    gather(&self.form, &self.layout, comps, sums, group.clone(), &mut slices);
                    for (i, out) in out.iter().enumerate() {
                        let (col, comp) = (first + i / comps, i % comps);
                        assert_eq!(
                            *out,
                            self.exact(query, col, comp),
                            "{shape:?} query {query} {col} {comp}"
                        );
                    }
                }
            }
            for (kernels, (name, how)) in
                available().flat_map(|kernels| TILES.iter().map(move |how| (kernels, how)))
            {
                assert_eq!(
                    self.sums(kernels, *how, &selectors),
                    scalar,
                    "{shape:?} {} {name}",
                    kernels.name()
                );
            }
        }
    }

    #[test]
    fn awkward_shapes() {
        for form in forms() {
            for rows in [1, 2, 31, 32, 33, 70] {
                for cols in [1, 2, 3, 4, 5, 7, 10] {
                    for comps in [1, 2, 3] {
                        Case::new(form, (64, rows, cols), (1, comps), mix).check();
                    }
                }
            }
        }
    }

    #[test]
    fn any_number_of_queries_shares_a_pass() {
        for form in forms() {
            for count in [0, 2, 3, 4, 5, 7, 9] {
                for (rows, cols) in [(3, 1), (65, 6), (40, 11)] {
                    for comps in [1, 2, 3, 4] {
                        Case::new(form, (128, rows, cols), (count, comps), mix).check();
                    }
                }
            }
        }
    }

    #[test]
    fn many_rows_of_the_largest_words() {
        for form in forms() {
            for comps in [2, 3] {
                for count in [1, 2, 4] {
                    Case::new(form, (64, 257, 5), (count, comps), |_| form.1 - 1).check();
                }
            }
            Case::new(form, (64, 4096, 2), (1, 2), |_| form.1 - 1).check();
            Case::new(form, (64, 4096, 1), (2, 3), mix).check();
        }
    }

    #[test]
    fn words_of_every_pattern_at_the_edges_of_the_halves() {
        for form in forms() {
            let edges = [0, 1, form.1 - 1, form.1 / 2, (1 << 32) - 1, 1 << 32, (1 << 28) - 1, 1 << 27];
            Case::new(form, (128, 70, 6), (3, 2), |i| edges[(mix(i) % 8) as usize]).check();
        }
    }

    #[test]
    #[cfg(panic = "unwind")]
    fn a_query_for_another_table_is_refused() {
        let form = pair();
        let layout = TileLayout::new(form.packing(), 64, 3, 2).unwrap();
        let other = TileLayout::new(form.packing(), 64, 4, 2).unwrap();
        let selectors = Selectors::new(&form, &other, 2);
        let tiles = vec![0; layout.bytes() as usize];
        let mut out = vec![0; 64 * 2 * 2];
        let refused = std::panic::catch_unwind(move || {
            scan(&form, &layout, &tiles, 0..8, &[&selectors], &mut [&mut out]);
        });
        assert!(refused.is_err());
    }
}
