//! The cyclic convolution of length 8190 in floating point, four columns or rows per register.
//!
//! Products are those of the [doubles](super::doubles). A block of four columns, and then of four
//! rows, is copied to a buffer in which all its small transforms are done in turn; the copies of
//! rows are transposed.
//!
//! **Bounds**, in multiples of q below 2^50. Factors are at most 1/2, so a product with `x` is at
//! most `1/2 + x / 8`. A transform of `2 H + 1` leaves at most `x + 2 H (1/2 + x / 4)` of positions
//! of `x`, one of 3 at most `3 x` or `1/2 + 9 x / 4`; the last step reduces that to 1/2:
//!
//! | along | of | places at most | before the reduction |
//! |---|---|---|---|
//! | a column | 7 | 1, what comes in is not centered | 5.5 |
//! | | 13 | 1/2 | 8 |
//! | a row | 2 | 1/2, or 5/8 after the product with the spectrum | 5/4, not reduced |
//! | | 5 | 5/4 | 4.5 |
//! | | 9 | 1/2 in the first step, 13/8 in the second | 39/8 |
//!
//! All sums are thus below 2^53, and exact. Primes here are 1 modulo 8190 * 8191, so 2^50 is far
//! enough away for what rounding adds to a half.

use super::doubles::{Constants, Doubles, Factors};
use crate::simd::args::grid::{
    COLUMNS, Cells, FIVES, Grid, NINES, Nine, ROWS, Root, Roots, SEVENS, Spectrum, THIRTEENS, WIDTH,
};

/// Number of registers that rows and columns fill.
const STRIPS: usize = ROWS.div_ceil(4);

/// The positions of four columns or rows.
type Strip<R> = [<R as Doubles>::Doubles; WIDTH];

#[inline(always)]
pub(in crate::simd) fn cyclic<R: Doubles>(r: R, g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
    let c = Constants::of(r, &g.modulus);
    let mut x = [c.q; WIDTH];
    for v in 0..STRIPS {
        for (x, row) in x.iter_mut().zip(&*cells) {
            *x = c.take(&row.as_chunks::<4>().0[v]);
        }
        down(g, c, &mut x);
        for (x, row) in x.iter().zip(&mut *cells) {
            c.keep(&mut row.as_chunks_mut::<4>().0[v], *x);
        }
    }
    for (v, rows) in cells.as_chunks_mut::<4>().0.iter_mut().enumerate().take(STRIPS) {
        take_rows(c, rows, &mut x);
        across(g, c, &mut x);
        for (x, factors) in x.iter_mut().zip(spectrum) {
            *x = c.times(*x, c.factors(c.take(&factors.as_chunks::<4>().0[v])));
        }
        across(g, c, &mut x);
        put_rows(c, &x, rows);
    }
    for v in 0..STRIPS {
        for (x, row) in x.iter_mut().zip(&*cells) {
            *x = c.kept(&row.as_chunks::<4>().0[v]);
        }
        down(g, c, &mut x);
        for (x, row) in x.iter().zip(&mut *cells) {
            c.put(&mut row.as_chunks_mut::<4>().0[v], *x);
        }
    }
}

/// Computes four transforms of 91.
#[inline(always)]
fn down<R: Doubles>(g: &Grid, c: Constants<R>, x: &mut Strip<R>) {
    for at in &SEVENS {
        small(&g.seven, c, at, x);
    }
    for at in &THIRTEENS {
        small(&g.thirteen, c, at, x);
    }
}

/// Computes four transforms of 90.
#[inline(always)]
fn across<R: Doubles>(g: &Grid, c: Constants<R>, x: &mut Strip<R>) {
    // The even position of each pair comes first.
    for i in (0..COLUMNS).step_by(2) {
        let other = (i + COLUMNS / 2) % COLUMNS;
        let (a, b) = (x[i], x[other]);
        (x[i], x[other]) = (c.r.plus(a, b), c.r.minus(a, b));
    }
    for at in &FIVES {
        small(&g.five, c, at, x);
    }
    for at in &NINES {
        nine(&g.nine, c, at, x);
    }
}

/// Computes four transforms of an odd length: the even and odd parts of each pair of opposite
/// positions.
#[inline(always)]
fn small<R: Doubles, const P: usize, const H: usize>(
    roots: &Roots<H>,
    c: Constants<R>,
    at: &[u8; P],
    x: &mut Strip<R>,
) {
    let first = x[usize::from(at[0])];
    let (mut sums, mut differences) = ([first; H], [first; H]);
    let mut total = first;
    for j in 0..H {
        let (a, b) = (x[usize::from(at[1 + j])], x[usize::from(at[P - 1 - j])]);
        (sums[j], differences[j]) = (c.r.plus(a, b), c.r.minus(a, b));
        total = c.r.plus(total, sums[j]);
    }
    x[usize::from(at[0])] = c.reduced(total);
    for k in 0..H {
        let (mut even, mut odd) = (first, c.r.every(0.0));
        for j in 0..H {
            let (e, o) = (&roots.even[k][j], &roots.odd[k][j]);
            even = c.r.plus(even, c.times(sums[j], Factors::every(c.r, e.centered, e.over_q)));
            odd = c.r.plus(odd, c.times(differences[j], Factors::every(c.r, o.centered, o.over_q)));
        }
        x[usize::from(at[1 + k])] = c.reduced(c.r.plus(even, odd));
        x[usize::from(at[P - 1 - k])] = c.reduced(c.r.minus(even, odd));
    }
}

/// Computes four transforms of 9.
#[inline(always)]
fn nine<R: Doubles>(roots: &Nine, c: Constants<R>, at: &[u8; 9], x: &mut Strip<R>) {
    let at = at.map(usize::from);
    let mut y = [[x[at[0]]; 3]; 3];
    for (i, y) in y.iter_mut().enumerate() {
        *y = three(&roots.third, c, [x[at[i]], x[at[i + 3]], x[at[i + 6]]]);
    }
    let [first, second, fourth] = &roots.twiddles;
    for (i, k, root) in [(1, 1, first), (1, 2, second), (2, 1, second), (2, 2, fourth)] {
        y[i][k] = c.times(y[i][k], Factors::every(c.r, root.centered, root.over_q));
    }
    for k in 0..3 {
        let z = three(&roots.third, c, [y[0][k], y[1][k], y[2][k]]);
        x[at[k]] = c.reduced(z[0]);
        x[at[k + 3]] = c.reduced(z[1]);
        x[at[k + 6]] = c.reduced(z[2]);
    }
}

/// Computes four transforms of 3, not reduced.
#[inline(always)]
fn three<R: Doubles>(root: &Root, k: Constants<R>, [a, b, c]: [R::Doubles; 3]) -> [R::Doubles; 3] {
    let r = k.r;
    let product = k.times(r.minus(b, c), Factors::every(r, root.centered, root.over_q));
    [r.plus(a, r.plus(b, c)), r.plus(r.minus(a, c), product), r.minus(r.minus(a, b), product)]
}

/// Loads four rows of doubles, transposed.
#[inline(always)]
fn take_rows<R: Doubles>(c: Constants<R>, rows: &[[u64; WIDTH]; 4], x: &mut Strip<R>) {
    for (v, x) in x.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for (x, row) in x.iter_mut().zip(rows) {
            *x = c.kept(&row.as_chunks::<4>().0[v]);
        }
        *x = c.r.transpose(*x);
    }
}

#[inline(always)]
fn put_rows<R: Doubles>(c: Constants<R>, x: &Strip<R>, rows: &mut [[u64; WIDTH]; 4]) {
    for (v, x) in x.as_chunks::<4>().0.iter().enumerate() {
        for (x, row) in c.r.transpose(*x).into_iter().zip(&mut *rows) {
            c.keep(&mut row.as_chunks_mut::<4>().0[v], x);
        }
    }
}
