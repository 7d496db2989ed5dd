//! The cyclic convolution of length 8190 in floating point, four columns or rows to a register.
//!
//! Products are those of the [transform in doubles](super::ntt). A block of four columns, and then of four rows, is
//! copied to where all its small transforms are done in turn; the copies of rows are transposed.
//!
//! **Bounds**, in multiples of q below 2^50. Factors are at most 1/2, so that a product with `x` is at most `1/2 + x / 8`. A
//! transform of `2 H + 1` leaves at most `x + 2 H (1/2 + x / 4)` of places of `x`, one of 3 at most `3 x` or `1/2 + 9 x / 4`;
//! the last step reduces that to 1/2:
//!
//! | along | of | places at most | before the reduction |
//! |---|---|---|---|
//! | a column | 7 | 1, what comes in is not centred | 5.5 |
//! | | 13 | 1/2 | 8 |
//! | a row | 2 | 1/2, or 5/8 after the product with the spectrum | 5/4, not reduced |
//! | | 5 | 5/4 | 4.5 |
//! | | 9 | 1/2 in the first step, 13/8 in the second | 39/8 |
//!
//! What is added up is thus below 2^53, and exact. Primes here are 1 modulo 8190 * 8191, so that 2^50 is far enough away for
//! what rounding adds to a half.

use super::lanes::{load, store};
use super::ntt::{Constants, Factors, from_integers, to_integers, transpose};
use crate::rader::{
    COLUMNS, Cells, FIVES, Grid, NINES, Nine, ROWS, Root, Roots, SEVENS, Spectrum, THIRTEENS, WIDTH,
};
use core::arch::x86_64::*;

/// Registers that rows and columns fill.
const STRIPS: usize = ROWS.div_ceil(4);

/// The places of four columns or rows.
type Strip = [__m256d; WIDTH];

#[target_feature(enable = "avx2,fma")]
pub(super) fn cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
    let c = Constants::of(&g.modulus);
    let mut x = [_mm256_setzero_pd(); WIDTH];
    for v in 0..STRIPS {
        for (x, row) in x.iter_mut().zip(&*cells) {
            *x = from_integers(load(&row.as_chunks::<4>().0[v]));
        }
        down(g, c, &mut x);
        for (x, row) in x.iter().zip(&mut *cells) {
            store(&mut row.as_chunks_mut::<4>().0[v], _mm256_castpd_si256(*x));
        }
    }
    for (v, rows) in cells.as_chunks_mut::<4>().0.iter_mut().enumerate().take(STRIPS) {
        take_rows(rows, &mut x);
        across(g, c, &mut x);
        for (x, factors) in x.iter_mut().zip(spectrum) {
            *x = c.times(*x, c.factors(from_integers(load(&factors.as_chunks::<4>().0[v]))));
        }
        across(g, c, &mut x);
        put_rows(&x, rows);
    }
    for v in 0..STRIPS {
        for (x, row) in x.iter_mut().zip(&*cells) {
            *x = _mm256_castsi256_pd(load(&row.as_chunks::<4>().0[v]));
        }
        down(g, c, &mut x);
        for (x, row) in x.iter().zip(&mut *cells) {
            store(&mut row.as_chunks_mut::<4>().0[v], to_integers(c, *x));
        }
    }
}

/// Four transforms of 91.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn down(g: &Grid, c: Constants, x: &mut Strip) {
    for at in &SEVENS {
        small(&g.seven, c, at, x);
    }
    for at in &THIRTEENS {
        small(&g.thirteen, c, at, x);
    }
}

/// Four transforms of 90.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn across(g: &Grid, c: Constants, x: &mut Strip) {
    // Of each pair the even place is the first.
    for i in (0..COLUMNS).step_by(2) {
        let other = (i + COLUMNS / 2) % COLUMNS;
        let (a, b) = (x[i], x[other]);
        (x[i], x[other]) = (_mm256_add_pd(a, b), _mm256_sub_pd(a, b));
    }
    for at in &FIVES {
        small(&g.five, c, at, x);
    }
    for at in &NINES {
        nine(&g.nine, c, at, x);
    }
}

/// Four transforms of an odd length: of each pair of opposite places, what is even in it and what is odd.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn small<const P: usize, const H: usize>(roots: &Roots<H>, c: Constants, at: &[u8; P], x: &mut Strip) {
    let first = x[usize::from(at[0])];
    let (mut sums, mut differences) = ([first; H], [first; H]);
    let mut total = first;
    for j in 0..H {
        let (a, b) = (x[usize::from(at[1 + j])], x[usize::from(at[P - 1 - j])]);
        (sums[j], differences[j]) = (_mm256_add_pd(a, b), _mm256_sub_pd(a, b));
        total = _mm256_add_pd(total, sums[j]);
    }
    x[usize::from(at[0])] = c.reduced(total);
    for k in 0..H {
        let (mut even, mut odd) = (first, _mm256_setzero_pd());
        for j in 0..H {
            let (e, o) = (&roots.even[k][j], &roots.odd[k][j]);
            even = _mm256_add_pd(even, c.times(sums[j], Factors::every(e.centred, e.over_q)));
            odd = _mm256_add_pd(odd, c.times(differences[j], Factors::every(o.centred, o.over_q)));
        }
        x[usize::from(at[1 + k])] = c.reduced(_mm256_add_pd(even, odd));
        x[usize::from(at[P - 1 - k])] = c.reduced(_mm256_sub_pd(even, odd));
    }
}

/// Four transforms of 9.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn nine(roots: &Nine, c: Constants, at: &[u8; 9], x: &mut Strip) {
    let at = at.map(usize::from);
    let mut y = [[x[at[0]]; 3]; 3];
    for (i, y) in y.iter_mut().enumerate() {
        *y = three(&roots.third, c, [x[at[i]], x[at[i + 3]], x[at[i + 6]]]);
    }
    let [first, second, fourth] = &roots.twiddles;
    for (i, k, root) in [(1, 1, first), (1, 2, second), (2, 1, second), (2, 2, fourth)] {
        y[i][k] = c.times(y[i][k], Factors::every(root.centred, root.over_q));
    }
    for k in 0..3 {
        let z = three(&roots.third, c, [y[0][k], y[1][k], y[2][k]]);
        x[at[k]] = c.reduced(z[0]);
        x[at[k + 3]] = c.reduced(z[1]);
        x[at[k + 6]] = c.reduced(z[2]);
    }
}

/// Four transforms of 3, not reduced.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn three(root: &Root, k: Constants, [a, b, c]: [__m256d; 3]) -> [__m256d; 3] {
    let product = k.times(_mm256_sub_pd(b, c), Factors::every(root.centred, root.over_q));
    [
        _mm256_add_pd(a, _mm256_add_pd(b, c)),
        _mm256_add_pd(_mm256_sub_pd(a, c), product),
        _mm256_sub_pd(_mm256_sub_pd(a, b), product),
    ]
}

/// Four rows of doubles, transposed.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn take_rows(rows: &[[u64; WIDTH]; 4], x: &mut Strip) {
    for (v, x) in x.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for (x, row) in x.iter_mut().zip(rows) {
            *x = _mm256_castsi256_pd(load(&row.as_chunks::<4>().0[v]));
        }
        *x = transpose(*x);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn put_rows(x: &Strip, rows: &mut [[u64; WIDTH]; 4]) {
    for (v, x) in x.as_chunks::<4>().0.iter().enumerate() {
        for (x, row) in transpose(*x).into_iter().zip(&mut *rows) {
            store(&mut row.as_chunks_mut::<4>().0[v], _mm256_castpd_si256(x));
        }
    }
}
