//! Sums of ciphertexts times rows: the pass over a table.
//!
//! A table is `rows` by `cols` plaintexts; column `a` becomes the sum over `b` of selector `b`
//! times row `(b, a)`. Modulo each prime this is the same pass as Spiral's first dimension, over a
//! table of tiles of its own ([`sotto_math::tiles`]): rows are read once and in order, both parts
//! are summed from one read, and sums are reduced every 32 rows. The tables of the level's primes
//! are concatenated.
//!
//! Rows may also come as coefficients ([`CoefficientFormat`]), many times smaller, and become
//! values when the pass reaches them: once for all queries of the pass, a few rows at a time, so that
//! the values never leave the caches.

use super::coefficients::CoefficientFormat;
use super::encrypt::Ciphertext;
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;
use crate::scratch::sum_of_products;
#[cfg(feature = "server")]
use crate::threads::{items_per_thread, store_rows};
#[cfg(feature = "server")]
use rayon::prelude::*;
#[cfg(feature = "server")]
use sotto_math::tiles::SelectorBuffer;
use sotto_math::tiles::{self, Selectors, TileLayout, WordFormat};
use std::ops::Range;

/// Columns that are multiplied together where rows come as coefficients: they share the reads of
/// the selectors.
pub const STREAMED_COLS: usize = 2 * TileLayout::GROUP_COLS;

/// Largest number of rows that are values at the same time, in each of [`STREAMED_COLS`] columns: 2 MiB
/// modulo each prime at degree 8192. With fewer rows the sums are read and written more often; twelve
/// took longer on Zen 5, with 1 MiB of second-level cache.
pub const STREAMED_ROWS: usize = 4;

/// Buffers in which rows of coefficients become values: modulo each prime, row after row.
#[derive(Debug, Default)]
pub struct RowBuffers(Vec<Vec<AlignedWords>>);

/// The shape of a table at one level, and the product with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProduct {
    level: Level,
    /// Parts of a selector.
    parts: usize,
    layout: TileLayout,
    /// Word format of values modulo each prime.
    forms: Vec<WordFormat>,
}

impl TableProduct {
    /// Makes the shape of `rows` by `cols` plaintexts; `None` if there is no such layout.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>, level: Level, rows: usize, cols: usize) -> Option<Self> {
        Self::of_parts(rns, level, 2, rows, cols)
    }

    /// Makes the shape for ciphertexts of `parts` parts: one, where the results of masks are known
    /// beforehand.
    pub fn of_parts<R: SlotRing>(
        rns: &RnsRing<R>,
        level: Level,
        parts: usize,
        rows: usize,
        cols: usize,
    ) -> Option<Self> {
        let forms: Vec<WordFormat> =
            rns.plans(level).map(|plan| WordFormat::new(plan.modulus())).collect::<Option<_>>()?;
        // All primes are below 2^50, so the words of all have the same layout.
        let layout = TileLayout::new(forms.first()?.packing(), rns.ring().words(), rows, cols)?;
        (parts > 0).then_some(TableProduct { level, parts, layout, forms })
    }

    /// The level that rows are multiplied at.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The layout of the values of one prime.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// The bytes of all primes' tables.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() * self.forms.len() as u64
    }

    /// Stores selectors in the layout that the pass reads, one for each prime.
    ///
    /// # Panics
    /// If there is not one ciphertext for each row, or one is of another level or has other parts.
    #[cfg(feature = "server")]
    pub fn selectors(&self, ciphers: &[Ciphertext]) -> Vec<Selectors> {
        self.selectors_in(ciphers, &SelectorBuffer::default)
    }

    /// Stores selectors in the layout that the pass reads, in memory from `buffers`.
    ///
    /// # Panics
    /// As [`selectors`](Self::selectors).
    #[cfg(feature = "server")]
    pub fn selectors_in(
        &self,
        ciphers: &[Ciphertext],
        buffers: &dyn Fn() -> SelectorBuffer,
    ) -> Vec<Selectors> {
        assert_eq!(ciphers.len(), self.layout.rows(), "one ciphertext a row");
        self.arrange(&self.layout, ciphers, buffers)
    }

    /// Stores selectors in the layout that [`stream`](Self::stream) reads, in memory from `buffers`:
    /// for the rows that are values at the same time one for each prime, so that a pass reads them in
    /// order.
    ///
    /// # Panics
    /// As [`selectors`](Self::selectors).
    #[cfg(feature = "server")]
    pub fn streamed_selectors(
        &self,
        ciphers: &[Ciphertext],
        buffers: &dyn Fn() -> SelectorBuffer,
    ) -> Vec<Selectors> {
        assert_eq!(ciphers.len(), self.layout.rows(), "one ciphertext a row");
        let layout = |rows| TileLayout::new(self.layout.packing(), self.layout.n(), rows, 1);
        let some = |some: &[Ciphertext]| {
            layout(some.len()).map(|layout| self.arrange(&layout, some, buffers)).unwrap_or_default()
        };
        ciphers.chunks(STREAMED_ROWS).flat_map(some).collect()
    }

    /// Stores the selectors of the rows of a layout, one for each prime.
    #[cfg(feature = "server")]
    fn arrange(
        &self,
        layout: &TileLayout,
        ciphers: &[Ciphertext],
        buffers: &dyn Fn() -> SelectorBuffer,
    ) -> Vec<Selectors> {
        assert!(
            ciphers.iter().all(|c| (c.level(), c.parts()) == (self.level, self.parts)),
            "selectors of this level"
        );
        let of_limb = |(limb, form): (usize, &WordFormat)| {
            let mut selectors = Selectors::in_buffer(form, layout, self.parts, buffers());
            store_rows(&mut selectors, ciphers, |c| (0..self.parts).map(move |part| c.limb(part, limb)));
            selectors
        };
        self.forms.iter().enumerate().map(of_limb).collect()
    }

    /// Number of words of one query's sums, modulo one prime and for one block.
    pub fn block_words(&self) -> usize {
        self.layout.cols() * self.parts * 8
    }

    /// Makes the pass over some blocks of one prime's table, for any number of queries: `out[i]`
    /// receives the sums of query `i`.
    ///
    /// # Panics
    /// If `tiles` are not those blocks, a query's selectors are not those of this limb, or an
    /// output is not [`block_words`](Self::block_words) long for each block.
    pub fn scan(
        &self,
        limb: usize,
        tiles: &[u8],
        blocks: Range<usize>,
        queries: &[&Selectors],
        out: &mut [&mut [u64]],
    ) {
        tiles::scan(&self.forms[limb], &self.layout, tiles, blocks, queries, out);
    }

    /// Makes the pass over at most [`STREAMED_COLS`] columns of rows that come as coefficients, and
    /// returns the sums of each query, limb by limb, like [`scan`](Self::scan) for a table of these
    /// columns. `cell` gives the plaintext of a row and a column, and `queries` the
    /// [selectors](Self::streamed_selectors) of each query.
    ///
    /// # Panics
    /// If there are no such columns or too many, a plaintext does not have the length of
    /// [`CoefficientFormat`], or a query does not have all selectors.
    pub fn stream<'a, R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        cols: Range<usize>,
        cell: &dyn Fn(usize, usize) -> &'a [u8],
        queries: &[&[Selectors]],
        buffers: &mut RowBuffers,
    ) -> Vec<Vec<Vec<u64>>> {
        let (ring, rows, width) = (rns.ring(), self.layout.rows(), cols.len());
        assert!(cols.end <= self.layout.cols() && width <= STREAMED_COLS, "a few columns of this table");
        let stored = CoefficientFormat::new(ring);
        let limbs = self.forms.len();
        let selectors = rows.div_ceil(STREAMED_ROWS) * limbs;
        assert!(queries.iter().all(|query| query.len() == selectors), "the selectors of all rows");
        let zeroes = || vec![vec![0; ring.words() * width * self.parts]; queries.len()];
        let mut sums: Vec<Vec<Vec<u64>>> = (0..limbs).map(|_| zeroes()).collect();
        let buffers = &mut buffers.0;
        buffers.resize_with(limbs, Vec::new);
        let primes: Vec<u64> = rns.plans(self.level).map(|plan| plan.modulus().value()).collect();
        for (group, first) in (0..rows).step_by(STREAMED_ROWS).enumerate() {
            let height = STREAMED_ROWS.min(rows - first);
            let count = height * width;
            for values in &mut *buffers {
                values.resize_with(values.len().max(count), || AlignedWords::zero(ring.words()));
            }
            for i in 0..count {
                // Read once, and transformed modulo every prime.
                let mut values: Vec<&mut [u64]> = buffers.iter_mut().map(|values| &mut *values[i]).collect();
                stored.residues(cell(first + i / width, cols.start + i % width), &primes, &mut values);
                values.into_iter().enumerate().for_each(|(limb, values)| ring.forward(limb, values));
            }
            let Some(layout) = TileLayout::new(self.layout.packing(), ring.words(), height, width) else {
                continue;
            };
            for (limb, ((form, values), sums)) in self.forms.iter().zip(&*buffers).zip(&mut sums).enumerate()
            {
                let selectors: Vec<&Selectors> =
                    queries.iter().map(|query| &query[group * limbs + limb]).collect();
                let polynomials: Vec<&[u64]> = values[..count].iter().map(|values| &**values).collect();
                let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                tiles::scan_rows(form, &layout, &polynomials, &selectors, &mut out);
            }
        }
        sums
    }

    /// Extracts the ciphertexts of some columns from the sums of all blocks modulo each prime. The
    /// sums are those of `width` columns. Each thread of the current pool takes a range of the columns.
    ///
    /// # Panics
    /// If there are not all sums, or no such columns.
    #[cfg(feature = "server")]
    pub fn columns<R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        sums: &[&[u64]],
        width: usize,
        cols: Range<usize>,
    ) -> Vec<Ciphertext> {
        let each = items_per_thread(cols.len());
        let some = |first: usize| {
            let column = |_| Ciphertext::unfilled(rns, self.level, self.parts);
            let mut out: Vec<Ciphertext> = (first..cols.end.min(first + each)).map(column).collect();
            self.columns_into(sums, width, first, &mut out);
            out
        };
        cols.clone().into_par_iter().step_by(each).flat_map_iter(some).collect()
    }

    /// Makes a ciphertext of zeros with the shape of a column.
    pub fn column<R: SlotRing>(&self, rns: &RnsRing<R>) -> Ciphertext {
        Ciphertext::zero(rns, self.level, self.parts)
    }

    /// Overwrites ciphertexts of the shape of a column by the columns from `first` on.
    ///
    /// # Panics
    /// As [`columns`](Self::columns), or if one is of another shape.
    pub fn columns_into(&self, sums: &[&[u64]], width: usize, first: usize, out: &mut [Ciphertext]) {
        assert_eq!(sums.len(), self.forms.len(), "the sums modulo each prime");
        let cols = first..first + out.len();
        // A layout of any number of rows: sums have none.
        let Some(layout) = TileLayout::new(self.layout.packing(), self.layout.n(), 1, width) else { return };
        for (limb, (form, sums)) in self.forms.iter().zip(sums).enumerate() {
            let mut parts: Vec<&mut [u64]> = out.iter_mut().flat_map(|c| c.limbs_mut(limb)).collect();
            tiles::gather(form, &layout, self.parts, sums, cols.clone(), &mut parts);
        }
    }
}

/// Computes `out = sum over j of ciphers[j] rows[j]`, for a few rows given as values, at any
/// addresses.
///
/// # Panics
/// If there are not as many rows, a ciphertext is not of the shape of `out`, or a row is too short
/// for its level.
pub fn product_sum<R: SlotRing>(
    rns: &RnsRing<R>,
    ciphers: &[&Ciphertext],
    rows: &[&[u64]],
    out: &mut Ciphertext,
) {
    let (level, parts, words) = (out.level(), out.parts(), rns.ring().words());
    assert_eq!(ciphers.len(), rows.len(), "one row a ciphertext");
    assert!(ciphers.iter().all(|c| (c.level(), c.parts()) == (level, parts)), "ciphertexts of one shape");
    for (limb, plan) in rns.plans(level).enumerate() {
        for part in 0..parts {
            let rows = rows.iter().map(|row| &row[limb * words..][..words]);
            let products = ciphers.iter().map(|c| c.limb(part, limb)).zip(rows);
            sum_of_products(plan, products, out.limb_mut(part, limb), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{
        encrypted, levels, on_every_ring, opened, plaintexts, secret, slots, slotwise,
    };
    use sotto_math::tiles::strips;

    on_every_ring!(columns_are_sums_of_rows);

    /// Tests more rows than a tile has, more columns than a group, and two queries in one pass.
    fn columns_are_sums_of_rows<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let all = plaintexts(rns);
        let (rows, cols) = (33, 5);
        let held: Vec<Vec<u64>> = all.iter().map(|plaintext| slots(rns, plaintext)).collect();
        let plain = |row: usize, col: usize| (row * 3 + col) % all.len();
        for level in levels(rns).take(2) {
            let all_values: Vec<_> = all.iter().map(|plaintext| rns.from_plain(level, plaintext)).collect();
            let table = TableProduct::new(rns, level, rows, cols).unwrap();
            let bytes = table.layout().bytes() as usize;
            let mut tiles = vec![0; table.bytes() as usize];
            for (limb, tiles) in tiles.chunks_mut(bytes).enumerate() {
                let words = |(row, col)| {
                    let values = &all_values[plain(row, col)];
                    ((row, col), values[limb * rns.ring().words()..][..rns.ring().words()].to_vec())
                };
                for strip in strips(table.layout()) {
                    let polynomials: Vec<_> = strip.polynomials().map(words).collect();
                    let mut filled = vec![0; strip.block_bytes(table.layout()) * table.layout().blocks()];
                    strip.put(table.layout(), &polynomials, &mut filled);
                    for (block, bytes) in filled.chunks(strip.block_bytes(table.layout())).enumerate() {
                        let at = strip.offset(table.layout(), block) as usize;
                        tiles[at..at + bytes.len()].copy_from_slice(bytes);
                    }
                }
            }
            let queries: Vec<Vec<Ciphertext>> = [0, 1]
                .map(|query| {
                    let selector =
                        |row: usize| encrypted(rns, level, &secret, &all[(row + query) % 3], row as u64);
                    (0..rows).map(selector).collect()
                })
                .into();
            let selectors: Vec<Vec<Selectors>> = queries.iter().map(|query| table.selectors(query)).collect();
            let blocks = table.layout().blocks();
            let mut sums = vec![vec![vec![7; blocks * table.block_words()]; level.primes()]; 2];
            for (limb, tiles) in tiles.chunks(bytes).enumerate() {
                let selectors: Vec<&Selectors> = selectors.iter().map(|selectors| &selectors[limb]).collect();
                let mut out: Vec<&mut [u64]> =
                    sums.iter_mut().map(|sums| sums[limb].as_mut_slice()).collect();
                table.scan(limb, tiles, 0..blocks, &selectors, &mut out);
            }
            // The same rows as coefficients, a few columns at a time.
            let stored: Vec<Vec<u8>> = all
                .iter()
                .map(|plaintext| {
                    let mut bytes = Vec::new();
                    CoefficientFormat::new(rns.ring()).put(plaintext, &mut bytes);
                    bytes
                })
                .collect();
            let in_groups: Vec<Vec<Selectors>> = queries
                .iter()
                .map(|query| table.streamed_selectors(query, &SelectorBuffer::default))
                .collect();
            let in_groups: Vec<&[Selectors]> = in_groups.iter().map(Vec::as_slice).collect();
            let buffers = &mut RowBuffers::default();
            for start in (0..cols).step_by(STREAMED_COLS) {
                let some = start..(start + STREAMED_COLS).min(cols);
                let streamed = table.stream(
                    rns,
                    some.clone(),
                    &|row, col| stored[plain(row, col)].as_slice(),
                    &in_groups,
                    buffers,
                );
                for (query, sums) in sums.iter().enumerate() {
                    let mine: Vec<&[u64]> = streamed.iter().map(|limb| limb[query].as_slice()).collect();
                    let mine = table.columns(rns, &mine, some.len(), 0..some.len());
                    let whole: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
                    let whole = table.columns(rns, &whole, cols, some.clone());
                    assert!(
                        mine.iter()
                            .zip(&whole)
                            .all(|(a, b)| a.part(0) == b.part(0) && a.part(1) == b.part(1))
                    );
                }
            }
            for (query, (ciphers, sums)) in queries.iter().zip(&sums).enumerate() {
                let sums: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
                let columns = table.columns(rns, &sums, cols, 1..cols);
                for (column, col) in columns.iter().zip(1..) {
                    let values: Vec<&[u64]> =
                        (0..rows).map(|row| all_values[plain(row, col)].as_slice()).collect();
                    let mut sum = Ciphertext::zero(rns, level, 2);
                    sum.part_mut(0).fill(1);
                    product_sum(rns, &ciphers.iter().collect::<Vec<_>>(), &values, &mut sum);
                    assert!(
                        (0..2).all(|part| sum.part(part) == column.part(part)),
                        "column {col}, query {query}"
                    );
                    let expected = (0..rows).fold(held[2].clone(), |sum, row| {
                        let [v, x] = [(row + query) % 3, plain(row, col)].map(|i| &held[i]);
                        slotwise(rns, 0, &sum, &slotwise(rns, 1, v, x))
                    });
                    assert_eq!(opened(rns, &secret, column), expected, "column {col}, query {query}");
                }
            }
        }
    }
}
