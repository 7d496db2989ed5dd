//! The cyclic convolution of length 8190, one column or row at a time.

use crate::modulus::Modulus;
use crate::simd::args::grid::{
    COLUMNS, Cells, FIVES, Grid, NINES, Nine, ROWS, Root, Roots, SEVENS, Spectrum, THIRTEENS,
};

pub(in crate::simd) fn cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
    down(g, cells);
    for (r, row) in cells.iter_mut().take(ROWS).enumerate() {
        across(g, row);
        for (x, factors) in row.iter_mut().zip(spectrum) {
            *x = g.modulus.mul(*x, factors[r]);
        }
        across(g, row);
    }
    down(g, cells);
}

/// Computes all transforms of 91.
fn down(g: &Grid, cells: &mut Cells) {
    for c in 0..COLUMNS {
        let mut x = [0; ROWS];
        x.iter_mut().zip(&*cells).for_each(|(x, row)| *x = row[c]);
        SEVENS.iter().for_each(|at| small(g, &g.seven, at, &mut x));
        THIRTEENS.iter().for_each(|at| small(g, &g.thirteen, at, &mut x));
        cells.iter_mut().zip(x).for_each(|(row, x)| row[c] = x);
    }
}

/// Computes one transform of 90.
fn across(g: &Grid, x: &mut [u64]) {
    let q = &g.modulus;
    for c in (0..COLUMNS).step_by(2) {
        let other = (c + COLUMNS / 2) % COLUMNS;
        (x[c], x[other]) = (q.add(x[c], x[other]), q.sub(x[c], x[other]));
    }
    FIVES.iter().for_each(|at| small(g, &g.five, at, x));
    NINES.iter().for_each(|at| nine(&g.modulus, &g.nine, at, x));
}

/// Computes one transform of an odd length: the even and odd parts of each pair of opposite
/// positions.
fn small<const P: usize, const H: usize>(g: &Grid, roots: &Roots<H>, at: &[u8; P], x: &mut [u64]) {
    let q = &g.modulus;
    let at = at.map(usize::from);
    let first = x[at[0]];
    let (mut sums, mut differences) = ([0; H], [0; H]);
    for j in 0..H {
        let (a, b) = (x[at[1 + j]], x[at[P - 1 - j]]);
        (sums[j], differences[j]) = (q.add(a, b), q.sub(a, b));
    }
    x[at[0]] = sums.iter().fold(first, |total, &sum| q.add(total, sum));
    for k in 0..H {
        let (mut even, mut odd) = (u128::from(first), 0);
        for j in 0..H {
            // At most seven numbers below 2^100.
            even += u128::from(sums[j]) * u128::from(roots.even[k][j].factor.w);
            odd += u128::from(differences[j]) * u128::from(roots.odd[k][j].factor.w);
        }
        let (even, odd) = (g.reduce(even), g.reduce(odd));
        (x[at[1 + k]], x[at[P - 1 - k]]) = (q.add(even, odd), q.sub(even, odd));
    }
}

/// Computes one transform of 9.
fn nine(q: &Modulus, roots: &Nine, at: &[u8; 9], x: &mut [u64]) {
    let at = at.map(usize::from);
    let mut y = [0, 1, 2].map(|i| three(q, &roots.third, [x[at[i]], x[at[i + 3]], x[at[i + 6]]]));
    let [first, second, fourth] = &roots.twiddles;
    for (i, k, root) in [(1, 1, first), (1, 2, second), (2, 1, second), (2, 2, fourth)] {
        y[i][k] = q.mul(y[i][k], root.factor.w);
    }
    for k in 0..3 {
        [x[at[k]], x[at[k + 3]], x[at[k + 6]]] = three(q, &roots.third, [y[0][k], y[1][k], y[2][k]]);
    }
}

fn three(q: &Modulus, root: &Root, [a, b, c]: [u64; 3]) -> [u64; 3] {
    let product = q.mul(q.sub(b, c), root.factor.w);
    [q.add(a, q.add(b, c)), q.add(q.sub(a, c), product), q.sub(q.sub(a, b), product)]
}
