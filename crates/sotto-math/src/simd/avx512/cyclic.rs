//! The cyclic convolution of length 8190 in 52-bit arithmetic, eight columns or rows per register.
//!
//! A sum of products is accumulated in two halves of 52 bits and reduced once, by Montgomery's
//! method (1985): multiples of 2^52 are dropped, so factors are stored times 2^52, and nothing is
//! divided.
//!
//! **Bounds**, in multiples of q below 2^50, so that 4 is less than the 52 bits that a product
//! reads. Every small transform takes positions below 2 and leaves positions below 2:
//!
//! | of | sums and differences | before the reduction |
//! |---|---|---|
//! | 2 | 4 | 4 |
//! | 5, 7, 13: `2 H + 1` | 4, so that a product over 2^52 is at most 1 | `3 H + 3`, of the sum of all places `4 H + 2`: 26 |
//! | 9 | 6 in the first step, 10 in the second | 10 |
//!
//! A number `x` below 32 is reduced by a quotient that is too low by less than `1 + x / 32`.

use super::ntt::transpose;
use super::products::{below, every};
use super::registers::{load, store};
use crate::modulus::Modulus;
use crate::simd::args::grid::{
    COLUMNS, Cells, FIVES, Grid, NINES, Nine, Root, Roots, SEVENS, Spectrum, THIRTEENS, WIDTH,
};
use core::arch::x86_64::*;

type Line = [u64; 8];

/// Number of lines of a row of cells.
const LINES: usize = WIDTH / 8;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
    let r = Reduction::new(&g.modulus);
    let columns = COLUMNS.div_ceil(8);
    for first in 0..columns {
        down::<false>(g, &r, &mut cells.as_flattened_mut().as_chunks_mut::<8>().0[first..]);
    }
    let mut x = [[0; 8]; COLUMNS.next_multiple_of(8)];
    for (v, rows) in cells.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        take_rows(rows, &mut x);
        across(g, &r, &mut x, |x, _| x);
        across(g, &r, &mut x, |x, column| r.product(x, load(&spectrum[column].as_chunks::<8>().0[v])));
        put_rows(&x, rows);
    }
    for first in 0..columns {
        down::<true>(g, &r, &mut cells.as_flattened_mut().as_chunks_mut::<8>().0[first..]);
    }
}

/// Computes eight transforms of 91, of positions that are a row apart; reduced if `REDUCED`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn down<const REDUCED: bool>(g: &Grid, r: &Reduction, x: &mut [Line]) {
    for at in &SEVENS {
        small::<7, 3, LINES, false>(&g.seven, r, at, x);
    }
    for at in &THIRTEENS {
        small::<13, 6, LINES, REDUCED>(&g.thirteen, r, at, x);
    }
}

/// Computes eight transforms of 90, after `before` was applied to each position.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn across(g: &Grid, r: &Reduction, x: &mut [Line], before: impl Fn(__m512i, usize) -> __m512i) {
    // The even position of each pair comes first.
    for i in (0..COLUMNS).step_by(2) {
        let other = (i + COLUMNS / 2) % COLUMNS;
        let (a, b) = (before(load(&x[i]), i), before(load(&x[other]), other));
        store(&mut x[i], below(_mm512_add_epi64(a, b), r.two_q));
        store(&mut x[other], below(r.difference(a, b), r.two_q));
    }
    for at in &FIVES {
        small::<5, 2, 1, false>(&g.five, r, at, x);
    }
    for at in &NINES {
        nine(&g.nine, r, at, x);
    }
}

/// Computes eight transforms of an odd length: the even and odd parts of each pair of opposite
/// positions.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn small<const P: usize, const H: usize, const APART: usize, const REDUCED: bool>(
    roots: &Roots<H>,
    r: &Reduction,
    at: &[u8; P],
    x: &mut [Line],
) {
    let at = at.map(|at| usize::from(at) * APART);
    let zero = _mm512_setzero_si512();
    let first = load(&x[at[0]]);
    let (mut sums, mut differences) = ([first; H], [first; H]);
    let mut total = first;
    for j in 0..H {
        let (a, b) = (load(&x[at[1 + j]]), load(&x[at[P - 1 - j]]));
        (sums[j], differences[j]) = (_mm512_add_epi64(a, b), r.difference(a, b));
        total = _mm512_add_epi64(total, sums[j]);
    }
    store(&mut x[at[0]], r.reduced::<REDUCED>(total));
    // More than the odd half subtracts.
    let first = _mm512_add_epi64(first, _mm512_set1_epi64((H as i64 + 1) * r.modulus));
    for k in 0..H {
        let (mut even, mut odd) = ([zero, first], [zero, zero]);
        for j in 0..H {
            r.add(&mut even, sums[j], &roots.even[k][j]);
            r.add(&mut odd, differences[j], &roots.odd[k][j]);
        }
        let (even, odd) = (r.over_2_52(even), r.over_2_52(odd));
        store(&mut x[at[1 + k]], r.reduced::<REDUCED>(_mm512_add_epi64(even, odd)));
        store(&mut x[at[P - 1 - k]], r.reduced::<REDUCED>(_mm512_sub_epi64(even, odd)));
    }
}

/// Computes eight transforms of 9.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn nine(roots: &Nine, r: &Reduction, at: &[u8; 9], x: &mut [Line]) {
    let at = at.map(usize::from);
    let mut y = [[_mm512_setzero_si512(); 3]; 3];
    for (i, y) in y.iter_mut().enumerate() {
        *y = three(&roots.third, r, [load(&x[at[i]]), load(&x[at[i + 3]]), load(&x[at[i + 6]])]);
    }
    let [first, second, fourth] = &roots.twiddles;
    for (i, k, root) in [(1, 1, first), (1, 2, second), (2, 1, second), (2, 2, fourth)] {
        y[i][k] = r.times(below(y[i][k], r.four_q), root);
    }
    for y in &mut y[1..] {
        y[0] = below(below(y[0], r.four_q), r.two_q);
    }
    for k in 0..3 {
        let z = three(&roots.third, r, [y[0][k], y[1][k], y[2][k]]);
        for (i, z) in z.into_iter().enumerate() {
            store(&mut x[at[k + 3 * i]], r.reduced::<false>(z));
        }
    }
}

/// Computes eight transforms of 3, of positions of which the last two are below 2q: at most 4q
/// above the first, and not reduced.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn three(root: &Root, r: &Reduction, [a, b, c]: [__m512i; 3]) -> [__m512i; 3] {
    let product = r.times(r.difference(b, c), root);
    [
        _mm512_add_epi64(a, _mm512_add_epi64(b, c)),
        _mm512_add_epi64(r.difference(a, c), product),
        r.difference(r.difference(a, b), product),
    ]
}

/// Constants for numbers modulo a prime below 2^50, not all of them reduced.
struct Reduction {
    modulus: i64,
    q: __m512i,
    two_q: __m512i,
    four_q: __m512i,
    /// 2^52 - q.
    minus_q: __m512i,
    /// 1/q modulo 2^52.
    inverse: __m512i,
    /// floor(2^55 / q).
    quotient: __m512i,
    /// floor(2^(s + 51) / q), for q of s bits, and s - 1 and 53 - s.
    product_quotient: __m512i,
    shifts: [__m512i; 2],
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(modulus: &Modulus) -> Self {
        let (q, s) = (modulus.value(), modulus.bits());
        // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the
        // correct bits.
        let inverse = (0..5).fold(q, |x, _| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x))));
        let every = |x: u64| _mm512_set1_epi64(x as i64);
        Reduction {
            modulus: q as i64,
            q: every(q),
            two_q: every(2 * q),
            four_q: every(4 * q),
            minus_q: every((1 << 52) - q),
            inverse: every(inverse),
            quotient: every((1 << 55) / q),
            product_quotient: every(((1 << (s + 51)) / u128::from(q)) as u64),
            shifts: [every(u64::from(s) - 1), every(53 - u64::from(s))],
        }
    }

    /// Computes `a - b + 2q`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn difference(&self, a: __m512i, b: __m512i) -> __m512i {
        _mm512_sub_epi64(_mm512_add_epi64(a, self.two_q), b)
    }

    /// Reduces a number below 32q to one below 2q, or below q if `WHOLLY`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduced<const WHOLLY: bool>(&self, x: __m512i) -> __m512i {
        let quotient =
            _mm512_madd52hi_epu64(_mm512_setzero_si512(), _mm512_srli_epi64::<3>(x), self.quotient);
        let x = low_52(_mm512_madd52lo_epu64(x, quotient, self.minus_q));
        if WHOLLY { below(x, self.q) } else { x }
    }

    /// Adds a product with a factor times 2^52 to a sum in halves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(&self, [low, high]: &mut [__m512i; 2], x: __m512i, root: &Root) {
        let w = _mm512_set1_epi64(root.scaled as i64);
        *low = _mm512_madd52lo_epu64(*low, x, w);
        *high = _mm512_madd52hi_epu64(*high, x, w);
    }

    /// Divides a sum in halves by 2^52, modulo q: the result is between the quotient minus q and
    /// the quotient.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn over_2_52(&self, [low, high]: [__m512i; 2]) -> __m512i {
        let zero = _mm512_setzero_si512();
        // The multiple of q with the same lowest 52 bits.
        let multiple = _mm512_madd52lo_epu64(zero, low, self.inverse);
        let taken = _mm512_madd52hi_epu64(zero, multiple, self.q);
        _mm512_sub_epi64(_mm512_add_epi64(high, _mm512_srli_epi64::<52>(low)), taken)
    }

    /// Computes `x w`, for x below 2^52: below 2q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn times(&self, x: __m512i, root: &Root) -> __m512i {
        let (zero, f) = (_mm512_setzero_si512(), every(root.factor));
        let quotient = _mm512_madd52hi_epu64(zero, x, f.quotient);
        low_52(_mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, x, f.w), quotient, self.minus_q))
    }

    /// Computes `x y`, for x below 2q and y below q: below 2q.
    ///
    /// The product is cut to `p >> (s - 1)`, below 2^(s + 2), and the quotient is at most three too
    /// low.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn product(&self, x: __m512i, y: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let (low, high) = (_mm512_madd52lo_epu64(zero, x, y), _mm512_madd52hi_epu64(zero, x, y));
        let cut =
            _mm512_or_si512(_mm512_sllv_epi64(high, self.shifts[1]), _mm512_srlv_epi64(low, self.shifts[0]));
        let quotient = _mm512_madd52hi_epu64(zero, cut, self.product_quotient);
        below(low_52(_mm512_madd52lo_epu64(low, quotient, self.minus_q)), self.two_q)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn low_52(x: __m512i) -> __m512i {
    _mm512_and_si512(x, _mm512_set1_epi64((1 << 52) - 1))
}

/// Loads eight rows, transposed.
#[inline]
#[target_feature(enable = "avx512f")]
fn take_rows(rows: &[[u64; WIDTH]; 8], x: &mut [Line]) {
    for (v, x) in x.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut y = [_mm512_setzero_si512(); 8];
        for (y, row) in y.iter_mut().zip(rows) {
            *y = load(&row.as_chunks::<8>().0[v]);
        }
        for (x, y) in x.iter_mut().zip(transpose(y)) {
            store(x, y);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put_rows(x: &[Line], rows: &mut [[u64; WIDTH]; 8]) {
    for (v, x) in x.as_chunks::<8>().0.iter().enumerate() {
        let mut y = [_mm512_setzero_si512(); 8];
        for (y, x) in y.iter_mut().zip(x) {
            *y = load(x);
        }
        for (y, row) in transpose(y).into_iter().zip(&mut *rows) {
            store(&mut row.as_chunks_mut::<8>().0[v], y);
        }
    }
}
