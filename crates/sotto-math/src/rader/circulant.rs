//! Matrices that Rader's rearrangement makes circulant.

use super::grid::{self, Cells, Grid, HEIGHT, Spectrum, WIDTH};
use super::{DEGREE, GENERATOR, ORDER, check};
use crate::modulus::Modulus;
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

/// Where everything lies among the cells: where it is put, and where a convolution leaves it.
struct Order {
    /// From the first coefficient on.
    coefficients: Vec<[u16; 2]>,
    values: Vec<[u16; 2]>,
}

/// 17^i modulo 8191.
static POWERS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let next = |power: &usize| Some(power * GENERATOR % ORDER);
    std::iter::successors(Some(1), next).take(DEGREE).collect()
});

static ORDERS: LazyLock<Order> = LazyLock::new(|| {
    let cells = |k: usize| [k, negative(k)].map(grid::cell);
    let mut coefficients = vec![[0; 2]; DEGREE];
    (0..DEGREE).for_each(|k| coefficients[POWERS[negative(k)] - 1] = cells(k));
    Order { coefficients, values: (0..DEGREE).map(cells).collect() }
});

fn negative(k: usize) -> usize {
    (DEGREE - k) % DEGREE
}

impl Circulant {
    /// The matrix of `h`, of numbers from 1 to 8190 to reduced ones. `None` unless `q` is a prime and 1 modulo 8190.
    pub fn new(q: Modulus, h: impl Fn(usize) -> u64) -> Option<Self> {
        let grid = Grid::new(q)?;
        let factor =
            |exponent: &dyn Fn(usize) -> usize| (0..DEGREE).map(|t| h(POWERS[exponent(t)])).collect();
        let [to_values, to_coefficients] = [factor(&|t| t), factor(&negative)].map(|x| grid.spectrum(x));
        Some(Circulant { grid, to_values, to_coefficients })
    }

    /// Replaces reduced coefficients by the sums over `j` of `h(17^i j) x[j]`, reduced, and two zeros. `x[0]` has no part.
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
        check(x.len());
        let (coefficients, values) = (&ORDERS.coefficients, &ORDERS.values);
        self.multiply(kernels, &self.to_values, [(1, coefficients), (0, values)], x);
    }

    pub(crate) fn to_coefficients_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        check(x.len());
        let (coefficients, values) = (&ORDERS.coefficients, &ORDERS.values);
        self.multiply(kernels, &self.to_coefficients, [(0, values), (1, coefficients)], x);
    }

    /// From where the first says to where the second does, each with the index of its first word.
    fn multiply(
        &self,
        kernels: &dyn Kernels,
        spectrum: &Spectrum,
        [(start, from), (end, to)]: [(usize, &Vec<[u16; 2]>); 2],
        x: &mut [u64],
    ) {
        let mut cells: Cells = [[0; WIDTH]; HEIGHT];
        let flat = cells.as_flattened_mut();
        for (x, &[at, _]) in x[start..].iter().zip(from) {
            flat[usize::from(at)] = *x;
        }
        kernels.cyclic(&self.grid, spectrum, &mut cells);
        let flat = cells.as_flattened();
        x.fill(0);
        for (x, &[_, at]) in x[end..].iter_mut().zip(to) {
            *x = flat[usize::from(at)];
        }
    }
}
