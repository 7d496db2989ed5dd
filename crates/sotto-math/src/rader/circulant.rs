//! Matrices that Rader's rearrangement makes circulant.

use super::{DEGREE, GENERATOR, ORDER, check};
use crate::modulus::Modulus;
use crate::simd::args::grid::{self, Cells, Grid, HEIGHT, Spectrum, WIDTH};
use crate::simd::{self, Kernels};
use std::sync::LazyLock;

/// The matrix with `h(17^i j mod 8191)` in row `i` and column `j`, and products with it and its transpose.
///
/// Rows are called values, from 0 to 8189, and columns coefficients, from 1 to 8190.
#[derive(Debug, Clone)]
pub struct Circulant {
    grid: Grid,
    /// `h(17^t)` and `h(17^-t)`, transformed.
    to_values: Spectrum,
    to_coefficients: Spectrum,
}

/// Orders of the cells, from the first coefficient or the first value on.
struct Order {
    coefficients: CellOrder,
    values: CellOrder,
}

/// The order of words in the cells, and its reverse.
struct CellOrder {
    /// Index of each cell's word; any index for a cell that is padding.
    words: Box<[[u16; WIDTH]; HEIGHT]>,
    /// Cell in which a convolution leaves each word.
    cells: Vec<u16>,
}

impl CellOrder {
    /// Makes the order of words of which number `i` is at position `place(i)` of the cyclic group.
    fn new(place: impl Fn(usize) -> usize) -> Self {
        let mut words = Box::new([[0; WIDTH]; HEIGHT]);
        for i in 0..DEGREE {
            words.as_flattened_mut()[usize::from(grid::cell(place(i)))] = i as u16;
        }
        let cells = (0..DEGREE).map(|i| grid::cell(negative(place(i)))).collect();
        CellOrder { words, cells }
    }
}

/// The powers 17^i modulo 8191.
static POWERS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let next = |power: &usize| Some(power * GENERATOR % ORDER);
    std::iter::successors(Some(1), next).take(DEGREE).collect()
});

static ORDERS: LazyLock<Order> = LazyLock::new(|| {
    let mut logarithms = vec![0; ORDER];
    (0..DEGREE).for_each(|k| logarithms[POWERS[k]] = k);
    Order { coefficients: CellOrder::new(|i| negative(logarithms[i + 1])), values: CellOrder::new(|i| i) }
});

fn negative(k: usize) -> usize {
    (DEGREE - k) % DEGREE
}

impl Circulant {
    /// Makes the matrix of `h`, which maps numbers from 1 to 8190 to reduced ones; `None` unless
    /// `q` is a prime and 1 modulo 8190.
    pub fn new(q: Modulus, h: impl Fn(usize) -> u64) -> Option<Self> {
        let grid = Grid::new(q)?;
        let factor =
            |exponent: &dyn Fn(usize) -> usize| (0..DEGREE).map(|t| h(POWERS[exponent(t)])).collect();
        let [to_values, to_coefficients] = [factor(&|t| t), factor(&negative)].map(|x| grid.spectrum(x));
        Some(Circulant { grid, to_values, to_coefficients })
    }

    /// Replaces reduced coefficients by the sums over `j` of `h(17^i j) x[j]`, reduced, and two
    /// zeros. `x[0]` is ignored.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`](super::WORDS) long.
    pub fn to_values(&self, x: &mut [u64]) {
        self.to_values_with(simd::kernels(), x);
    }

    /// Replaces reduced values by the sums over `i` of `h(17^i j) x[i]`, reduced, for each `j` from 1 on, and zeros.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`](super::WORDS) long.
    pub fn to_coefficients(&self, x: &mut [u64]) {
        self.to_coefficients_with(simd::kernels(), x);
    }

    pub(crate) fn to_values_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        self.values_of(kernels, x, |x| x);
    }

    pub(crate) fn to_coefficients_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        self.coefficients_of(kernels, x, |x, _| x);
    }

    /// Computes [`to_values`](Self::to_values) for each coefficient after `before` was applied to
    /// it.
    pub(super) fn values_of(&self, kernels: &dyn Kernels, x: &mut [u64], before: impl Fn(u64) -> u64) {
        check(x.len());
        let (from, to) = (&ORDERS.coefficients, &ORDERS.values);
        let mut cells = [[0; WIDTH]; HEIGHT];
        self.multiply(kernels, &self.to_values, from, &x[1..ORDER], before, &mut cells);
        let (values, rest) = x.split_at_mut(DEGREE);
        put(&cells, to, values, |x| x);
        rest.fill(0);
    }

    /// Computes [`to_coefficients`](Self::to_coefficients), applies `after` to each coefficient and
    /// the last, and returns the last.
    pub(super) fn coefficients_of(
        &self,
        kernels: &dyn Kernels,
        x: &mut [u64],
        after: impl Fn(u64, u64) -> u64,
    ) -> u64 {
        check(x.len());
        let (from, to) = (&ORDERS.values, &ORDERS.coefficients);
        let mut cells = [[0; WIDTH]; HEIGHT];
        self.multiply(kernels, &self.to_coefficients, from, &x[..DEGREE], |x| x, &mut cells);
        let last = cells.as_flattened()[usize::from(to.cells[DEGREE - 1])];
        let (zero, rest) = x.split_at_mut(1);
        let (coefficients, rest) = rest.split_at_mut(DEGREE);
        put(&cells, to, coefficients, |x| after(x, last));
        (zero[0], rest[0]) = (0, 0);
        last
    }

    /// Writes the product into the cells.
    fn multiply(
        &self,
        kernels: &dyn Kernels,
        spectrum: &Spectrum,
        from: &CellOrder,
        x: &[u64],
        before: impl Fn(u64) -> u64,
        cells: &mut Cells,
    ) {
        for (row, words) in cells.iter_mut().zip(&*from.words) {
            row.iter_mut().zip(words).for_each(|(cell, word)| *cell = before(x[usize::from(*word)]));
        }
        kernels.cyclic(&self.grid, spectrum, cells);
    }
}

/// Applies `after` to the word of each position.
fn put(cells: &Cells, to: &CellOrder, out: &mut [u64], after: impl Fn(u64) -> u64) {
    let cells = cells.as_flattened();
    out.iter_mut().zip(&to.cells).for_each(|(out, at)| *out = after(cells[usize::from(*at)]));
}
