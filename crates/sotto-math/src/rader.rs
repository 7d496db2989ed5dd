//! The values of a polynomial at all primitive roots of unity of order 8191, by one cyclic
//! convolution.
//!
//! Modulo `Phi(X) = X^8190 + ... + X + 1` a product of polynomials is a product value by value at
//! the 8190 roots of `Phi`. 8191 is prime and 17 generates its units, so the roots are `w^(17^i)`,
//! and Rader's rearrangement (1968) turns the transform into one cyclic convolution of length 8190:
//! with the coefficient of `X^(17^-k)` called `b_k`,
//!
//! ```text
//! f(w^(17^i)) = a_0 + sum over k of b_k w^(17^(i - k))
//! ```
//!
//! and back, with `-1 = 17^4095`, by another one. Values are in the order of `i`, so that the
//! automorphism `X -> X^(17^s)` is a [rotation](rotate) by `s`, without a table. Any function of
//! the product `17^i j` can replace the power of `w`: that is a [`Circulant`].
//!
//! **The convolution.** 8190 = 7 * 13 * 2 * 5 * 9, factors without common divisors, so the cyclic
//! group of order 8190 is a product of five small ones and its transform one along each, without
//! twiddle factors between (Good 1958, Thomas 1963). That needs primes `q = 1 mod 8190 * 8191`. The
//! common approach, a negacyclic transform of 16384 padded with zeros, requires less of the prime
//! and takes longer: `cargo run --release -p sotto-math --example rader`.

use crate::modulus::Modulus;
use crate::simd::args::grid::{self, Cells, Grid, HEIGHT, Spectrum, WIDTH};
use crate::simd::args::ntt::Factor;
use crate::simd::{self, Kernels};
use std::sync::LazyLock;

/// The order of the roots of unity.
pub const ORDER: usize = 8191;

/// The degree of the polynomial whose roots they are, and the number of values.
pub const DEGREE: usize = ORDER - 1;

/// Words of a polynomial: its coefficients or values, and two zeros.
pub const WORDS: usize = 8192;

/// A generator of the units modulo [`ORDER`]: its powers are all exponents of roots.
pub const GENERATOR: usize = 17;

/// The precomputed tables for transforms modulo one prime.
#[derive(Debug, Clone)]
pub struct RaderPlan {
    modulus: Modulus,
    root: u64,
    /// 1/8191, with a quotient of 64 bits.
    over_order: Factor,
    forward: Circulant,
    inverse: Circulant,
}

impl RaderPlan {
    /// Makes a plan; `None` unless `q` is a prime and 1 modulo 8190 * 8191.
    pub fn new(q: Modulus) -> Option<Self> {
        let order = ORDER as u64;
        if q.factors().is_some() || !(q.value() - 1).is_multiple_of(order) {
            return None;
        }
        // The order of a power divides a prime: it is 1 or the prime.
        let root = (2..).map(|g| q.pow(g, (q.value() - 1) / order)).find(|&r| r != 1)?;
        let mut powers = vec![1; ORDER];
        for i in 1..ORDER {
            powers[i] = q.mul(powers[i - 1], root);
        }
        let over = q.inv(order);
        Some(RaderPlan {
            modulus: q,
            root,
            over_order: Factor::new(over, q.value(), true),
            forward: Circulant::new(q, |exponent| powers[exponent])?,
            inverse: Circulant::new(q, |exponent| q.mul(over, powers[ORDER - exponent]))?,
        })
    }

    /// The prime.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The root of unity of order 8191; value `i` is at its power by 17^i.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Transforms 8190 reduced coefficients and two zeros to reduced values and two zeros, in
    /// place.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`] long.
    pub fn forward(&self, x: &mut [u64]) {
        self.forward_with(simd::kernels(), x);
    }

    /// Transforms 8190 reduced values and two zeros to the reduced coefficients modulo `Phi` and
    /// two zeros, in place.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`] long.
    pub fn inverse(&self, x: &mut [u64]) {
        self.inverse_with(simd::kernels(), x);
    }

    /// Reduces modulo `Phi`: subtracts the reduced coefficient of `X^8190` from all others, and
    /// sets it to zero.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`] long.
    pub fn reduce(&self, x: &mut [u64]) {
        check(x.len());
        let top = std::mem::take(&mut x[DEGREE]);
        for x in &mut x[..DEGREE] {
            *x = self.modulus.sub(*x, top);
        }
    }

    pub(crate) fn forward_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        // With the constant coefficient subtracted from all, that of X^8190 too, the polynomial has
        // the same values and no constant.
        check(x.len());
        let constant = x[0];
        self.forward.values_of(kernels, x, |x| self.modulus.sub(x, constant));
    }

    pub(crate) fn inverse_with(&self, kernels: &dyn Kernels, x: &mut [u64]) {
        // These are the coefficients of the polynomial with the value 0 at 1. The first is the sum of all values, 8190 numbers
        // below 2^50, over 8191.
        check(x.len());
        let first = self.over_order.times(x[..DEGREE].iter().sum(), self.modulus.value());
        let last = self.inverse.coefficients_of(kernels, x, |x, last| self.modulus.sub(x, last));
        x[0] = self.modulus.sub(first, last);
    }
}

/// Writes the values of `f(X^(17^by))` for the values `x` of `f`: those from index `by` on, around
/// the end. The last two words are zero.
///
/// # Panics
/// If `x` or `out` is not [`WORDS`] long.
pub fn rotate(by: usize, x: &[u64], out: &mut [u64]) {
    check(x.len());
    check(out.len());
    let by = by % DEGREE;
    let (out, rest) = out.split_at_mut(DEGREE);
    let (end, start) = out.split_at_mut(DEGREE - by);
    end.copy_from_slice(&x[by..DEGREE]);
    start.copy_from_slice(&x[..by]);
    rest.fill(0);
}

/// Computes `f(X^(17^by))` modulo `Phi` for the signed coefficients `x` of `f`. The last two words
/// are zero.
///
/// # Panics
/// If `x` is not [`WORDS`] long.
pub fn substitute(by: usize, x: &[i32]) -> Vec<i32> {
    check(x.len());
    let power = (0..by % DEGREE).fold(1, |power, _| power * GENERATOR % ORDER);
    let mut out = vec![0; WORDS];
    for (i, &x) in x[..DEGREE].iter().enumerate() {
        out[i * power % ORDER] = x;
    }
    let top = std::mem::take(&mut out[DEGREE]);
    out[..DEGREE].iter_mut().for_each(|out| *out -= top);
    out
}

fn check(len: usize) {
    assert_eq!(len, WORDS, "a slice of 8192 words");
}

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
    /// If `x` is not [`WORDS`] long.
    pub fn to_values(&self, x: &mut [u64]) {
        self.to_values_with(simd::kernels(), x);
    }

    /// Replaces reduced values by the sums over `i` of `h(17^i j) x[i]`, reduced, for each `j` from 1 on, and zeros.
    ///
    /// # Panics
    /// If `x` is not [`WORDS`] long.
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
    fn values_of(&self, kernels: &dyn Kernels, x: &mut [u64], before: impl Fn(u64) -> u64) {
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
    fn coefficients_of(&self, kernels: &dyn Kernels, x: &mut [u64], after: impl Fn(u64, u64) -> u64) -> u64 {
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

#[cfg(test)]
mod tests;
