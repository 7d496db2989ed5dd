use super::*;
use crate::matrix::mix;
use crate::modulus::Modulus;
use crate::simd::available;
use crate::simd::shapes::TILES;
use crate::tiles::strip::filled;

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
        scan_with((kernels, shape), &self.form, layout, below, cut..layout.blocks(), &queries, &mut right);
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
                    assert_eq!(*out, self.exact(query, col, comp), "{shape:?} query {query} {col} {comp}");
                }
            }
        }
        for (kernels, (name, how)) in
            available().flat_map(|kernels| TILES.iter().map(move |how| (kernels, how)))
        {
            assert_eq!(self.sums(kernels, *how, &selectors), scalar, "{shape:?} {} {name}", kernels.name());
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
