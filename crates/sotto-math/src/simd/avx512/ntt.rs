//! The transform in 52-bit arithmetic, eight slots to a register.
//!
//! Levels whose blocks are longer than 64 slots go two at a time through memory; the
//! last six stay in eight registers, a square of 64 slots. Three
//! of those six pair registers; then the square is transposed, so that the last three,
//! which would pair lanes, pair registers too.
//!
//! **Bounds.** Only the low 52 bits of a register mean anything, because multiplication
//! reads no others. When q is so small that nothing can grow past them
//! ([`Reduction::AtTheEnd`]), there is no reduction between levels at all: a level adds a
//! number below 2q, or subtracts it, so values stay positive if a multiple of 2q for each
//! level, the *bias*, is added at the start. Otherwise values are kept below 4q, as Harvey does.

use super::lanes::{load, store, widen};
use super::products::{Constants, add_product, below};
use crate::ntt::{Factor, LaneFactors, Reduction, Room, SquareFactors, Tables};
use core::arch::x86_64::*;

type Row = [u64; 8];
type Square = [Row; 8];

/// A constant factor in every lane, or one for each.
#[derive(Clone, Copy)]
struct Factors {
    w: __m512i,
    quotient: __m512i,
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    match t.reduction {
        Reduction::AtTheEnd => Forward::<true>::new(t).words(x),
        Reduction::EachLevel => Forward::<false>::new(t).words(x),
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
    match t.reduction {
        Reduction::AtTheEnd => Forward::<true>::new(t).bytes(bytes, out),
        Reduction::EachLevel => Forward::<false>::new(t).bytes(bytes, out),
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn forward_i8_mul_acc(t: &Tables, bytes: &[i8], b: &[u64], sum: Room<'_>) {
    match t.reduction {
        Reduction::AtTheEnd => Forward::<true>::new(t).bytes_mul_acc(bytes, b, sum),
        Reduction::EachLevel => Forward::<false>::new(t).bytes_mul_acc(bytes, b, sum),
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    match t.reduction {
        Reduction::AtTheEnd => Inverse::<true>::new(t).run(x),
        Reduction::EachLevel => Inverse::<false>::new(t).run(x),
    }
}

/// A forward transform in progress; `LAZY` is [`Reduction::AtTheEnd`].
struct Forward<'a, const LAZY: bool> {
    t: &'a Tables,
    c: Constants,
    bias: __m512i,
}

impl<'a, const LAZY: bool> Forward<'a, LAZY> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(t: &'a Tables) -> Self {
        let q = t.modulus.value();
        // When values are reduced at each level, one q makes bytes positive: the smallest
        // prime that any plan takes is 257.
        let bias = if LAZY { 2 * u64::from(t.n.trailing_zeros()) * q } else { q };
        Forward { t, c: Constants::new(t), bias: _mm512_set1_epi64(bias as i64) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn words(&self, x: &mut [u64]) {
        let rows = x.as_chunks_mut::<8>().0;
        if LAZY {
            for row in rows.iter_mut() {
                store(row, _mm512_add_epi64(load(row), self.bias));
            }
        }
        self.long_levels(rows, 1);
        self.squares(rows);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn bytes(&self, bytes: &[i8], out: &mut [u64]) {
        let rows = out.as_chunks_mut::<8>().0;
        let done = self.first_levels(bytes, rows);
        self.long_levels(rows, done);
        self.squares(rows);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn bytes_mul_acc(&self, bytes: &[i8], b: &[u64], sum: Room<'_>) {
        let rows = sum.scratch.as_chunks_mut::<8>().0;
        let done = self.first_levels(bytes, rows);
        self.long_levels(rows, done);
        let squares = rows.as_chunks::<8>().0.iter().zip(&self.t.forward.squares);
        let sums = b.as_chunks::<64>().0.iter().zip(sum.cells.as_chunks_mut::<8>().0);
        for ((square, f), (b, cells)) in squares.zip(sums) {
            let values = self.square(square, f);
            for ((value, b), cell) in values.into_iter().zip(b.as_chunks::<8>().0).zip(cells) {
                add_product(value, b, cell);
            }
        }
    }

    /// Spreads bytes to lanes and does the first two levels if blocks are long enough.
    /// Returns how many blocks there are then.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn first_levels(&self, bytes: &[i8], rows: &mut [Row]) -> usize {
        let bytes = bytes.as_chunks::<8>().0;
        if self.t.n < 256 {
            for (row, bytes) in rows.iter_mut().zip(bytes) {
                store(row, _mm512_add_epi64(widen(bytes), self.bias));
            }
            return 1;
        }
        let f = three(&self.t.forward.factors, 1);
        let [a, b, c, d] = quarters(bytes);
        for ((out, (a, b)), (c, d)) in quarters_mut(rows).zip(a.iter().zip(b)).zip(c.iter().zip(d)) {
            let mut x = [widen(a), widen(b), widen(c), widen(d)];
            for x in &mut x {
                *x = _mm512_add_epi64(*x, self.bias);
            }
            store_quarters(out, self.two_levels(x, f));
        }
        4
    }

    /// Levels of more than 64 slots to a block, from the one with `blocks` blocks on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn long_levels(&self, rows: &mut [Row], mut blocks: usize) {
        while self.t.n / blocks >= 256 {
            for (i, block) in rows.chunks_exact_mut(self.t.n / blocks / 8).enumerate() {
                let f = three(&self.t.forward.factors, blocks + i);
                for [a, b, c, d] in quarters_mut(block) {
                    let x = [load(a), load(b), load(c), load(d)];
                    store_quarters([a, b, c, d], self.two_levels(x, f));
                }
            }
            blocks *= 4;
        }
        if self.t.n / blocks == 128 {
            for (i, block) in rows.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let f = every(self.t.forward.factors[blocks + i]);
                let (left, right) = block.split_at_mut(8);
                for (a, b) in left.iter_mut().zip(right) {
                    let [x, y] = self.butterfly([load(a), load(b)], f);
                    store(a, x);
                    store(b, y);
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn two_levels(&self, [a, b, c, d]: [__m512i; 4], f: [Factors; 3]) -> [__m512i; 4] {
        let [a, c] = self.butterfly([a, c], f[0]);
        let [b, d] = self.butterfly([b, d], f[0]);
        let [a, b] = self.butterfly([a, b], f[1]);
        let [c, d] = self.butterfly([c, d], f[2]);
        [a, b, c, d]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn squares(&self, rows: &mut [Row]) {
        for (square, f) in rows.as_chunks_mut::<8>().0.iter_mut().zip(&self.t.forward.squares) {
            for (value, row) in self.square(square, f).into_iter().zip(square) {
                store(row, self.reduce(value));
            }
        }
    }

    /// The last six levels of one run of 64 slots.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square(&self, square: &Square, f: &SquareFactors) -> [__m512i; 8] {
        let (rows, lanes) = (every_seven(f), lanes_seven(f));
        let mut x = load_square(square);
        self.pairs::<4>(&mut x, &rows);
        self.pairs::<2>(&mut x, &rows[1..]);
        self.pairs::<1>(&mut x, &rows[3..]);
        let mut x = transpose(x);
        self.pairs::<4>(&mut x, &lanes);
        self.pairs::<2>(&mut x, &lanes[1..]);
        self.pairs::<1>(&mut x, &lanes[3..]);
        x
    }

    /// One level between registers `D` apart.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn pairs<const D: usize>(&self, x: &mut [__m512i; 8], factors: &[Factors]) {
        for (block, &f) in factors.iter().enumerate().take(4 / D) {
            for i in 0..D {
                let (u, v) = (2 * block * D + i, (2 * block + 1) * D + i);
                [x[u], x[v]] = self.butterfly([x[u], x[v]], f);
            }
        }
    }

    /// `u + v w` and `u - v w`, after Cooley and Tukey.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn butterfly(&self, [u, v]: [__m512i; 2], f: Factors) -> [__m512i; 2] {
        let product = times(self.c, v, f);
        if LAZY {
            [_mm512_add_epi64(u, product), _mm512_sub_epi64(u, product)]
        } else {
            let u = below(u, self.c.two_q);
            let product = self.c.low_52(product);
            [_mm512_add_epi64(u, product), _mm512_sub_epi64(_mm512_add_epi64(u, self.c.two_q), product)]
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduce(&self, x: __m512i) -> __m512i {
        let x = if LAZY {
            // The quotient by q, or one less.
            let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, self.c.barrett);
            self.c.low_52(_mm512_madd52lo_epu64(x, quotient, self.c.minus_q))
        } else {
            below(x, self.c.two_q)
        };
        below(x, self.c.q)
    }
}

/// An inverse transform in progress: the levels in reverse, each with `u + v` and
/// `(u - v) w`, after Gentleman and Sande. Sums double where they are not reduced.
struct Inverse<'a, const LAZY: bool> {
    t: &'a Tables,
    c: Constants,
    scale: Factors,
}

impl<'a, const LAZY: bool> Inverse<'a, LAZY> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(t: &'a Tables) -> Self {
        let scale = Factors {
            w: _mm512_set1_epi64(t.scale[0].w as i64),
            quotient: _mm512_set1_epi64(t.scale[0].quotient as i64),
        };
        Inverse { t, c: Constants::new(t), scale }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn run(&self, x: &mut [u64]) {
        let rows = x.as_chunks_mut::<8>().0;
        for (square, f) in rows.as_chunks_mut::<8>().0.iter_mut().zip(&self.t.inverse.squares) {
            for (value, row) in self.square(square, f).into_iter().zip(square) {
                store(row, value);
            }
        }
        let n = self.t.n;
        let mut blocks = n / 64;
        let mut level = 6;
        if blocks.trailing_zeros() % 2 == 1 {
            blocks /= 2;
            for (i, block) in rows.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let f = every(self.t.inverse.factors[blocks + i]);
                let (left, right) = block.split_at_mut(8);
                for (a, b) in left.iter_mut().zip(right) {
                    let [x, y] = self.butterfly([load(a), load(b)], f, self.bias(level));
                    store(a, x);
                    store(b, y);
                }
            }
            level += 1;
        }
        while blocks > 1 {
            blocks /= 4;
            let bias = [self.bias(level), self.bias(level + 1)];
            for (i, block) in rows.chunks_exact_mut(n / blocks / 8).enumerate() {
                let f = three(&self.t.inverse.factors, blocks + i);
                for [a, b, c, d] in quarters_mut(block) {
                    let x = [load(a), load(b), load(c), load(d)];
                    store_quarters([a, b, c, d], self.two_levels(x, f, bias));
                }
            }
            level += 2;
        }
        for row in rows {
            let x = self.c.low_52(times(self.c, load(row), self.scale));
            store(row, below(x, self.c.q));
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn two_levels(&self, [a, b, c, d]: [__m512i; 4], f: [Factors; 3], bias: [__m512i; 2]) -> [__m512i; 4] {
        let [a, b] = self.butterfly([a, b], f[1], bias[0]);
        let [c, d] = self.butterfly([c, d], f[2], bias[0]);
        let [a, c] = self.butterfly([a, c], f[0], bias[1]);
        let [b, d] = self.butterfly([b, d], f[0], bias[1]);
        [a, b, c, d]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square(&self, square: &Square, f: &SquareFactors) -> [__m512i; 8] {
        let (rows, lanes) = (every_seven(f), lanes_seven(f));
        let mut x = load_square(square);
        self.pairs::<1>(&mut x, &lanes[3..], 0);
        self.pairs::<2>(&mut x, &lanes[1..], 1);
        self.pairs::<4>(&mut x, &lanes, 2);
        let mut x = transpose(x);
        self.pairs::<1>(&mut x, &rows[3..], 3);
        self.pairs::<2>(&mut x, &rows[1..], 4);
        self.pairs::<4>(&mut x, &rows, 5);
        x
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn pairs<const D: usize>(&self, x: &mut [__m512i; 8], factors: &[Factors], level: u32) {
        let bias = self.bias(level);
        for (block, &f) in factors.iter().enumerate().take(4 / D) {
            for i in 0..D {
                let (u, v) = (2 * block * D + i, (2 * block + 1) * D + i);
                [x[u], x[v]] = self.butterfly([x[u], x[v]], f, bias);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn butterfly(&self, [u, v]: [__m512i; 2], f: Factors, bias: __m512i) -> [__m512i; 2] {
        let sum = _mm512_add_epi64(u, v);
        let difference = _mm512_sub_epi64(_mm512_add_epi64(u, bias), v);
        let product = times(self.c, difference, f);
        if LAZY { [sum, product] } else { [below(sum, self.c.two_q), self.c.low_52(product)] }
    }

    /// A multiple of q that no value exceeds before this level.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bias(&self, level: u32) -> __m512i {
        let grown = if LAZY { level } else { 0 };
        _mm512_set1_epi64((self.t.modulus.value() << (grown + 1)) as i64)
    }
}

/// `x w` modulo q and modulo 2^52: the low 52 bits are below 2q.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn times(c: Constants, x: __m512i, f: Factors) -> __m512i {
    let zero = _mm512_setzero_si512();
    let quotient = _mm512_madd52hi_epu64(zero, x, f.quotient);
    _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, x, f.w), quotient, c.minus_q)
}

/// One factor in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn every(f: Factor) -> Factors {
    Factors { w: _mm512_set1_epi64(f.w as i64), quotient: _mm512_set1_epi64(f.quotient as i64) }
}

/// The factors of one block and of the two halves it falls into.
#[inline]
#[target_feature(enable = "avx512f")]
fn three(factors: &[Factor], i: usize) -> [Factors; 3] {
    [every(factors[i]), every(factors[2 * i]), every(factors[2 * i + 1])]
}

// Written out, and not with `map`: a closure made here has this function's instructions,
// and the library's functions, which have not, would call it instead of containing it.

/// The seven factors of the levels that pair rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn every_seven(f: &SquareFactors) -> [Factors; 7] {
    let [a, b, c, d, e, f, g] = f.rows;
    [every(a), every(b), every(c), every(d), every(e), every(f), every(g)]
}

/// The seven registers of factors of the levels that pair lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_seven(f: &SquareFactors) -> [Factors; 7] {
    let [a, b, c, d, e, f, g] = &f.lanes;
    [lanes(a), lanes(b), lanes(c), lanes(d), lanes(e), lanes(f), lanes(g)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(f: &LaneFactors) -> Factors {
    Factors { w: load(&f.w), quotient: load(&f.quotient) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_square(square: &Square) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = square;
    [load(a), load(b), load(c), load(d), load(e), load(f), load(g), load(h)]
}

/// An 8 by 8 transposition: pairs of lanes, then pairs of halves, then pairs of quarters.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(x: [__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = x;
    let [c0, c2, c4, c6] = transpose_quarters([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let [c1, c3, c5, c7] = transpose_quarters([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// A 4 by 4 transposition of 128-bit quarters.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (ab_even, ab_odd) = (_mm512_shuffle_i64x2::<EVEN>(a, b), _mm512_shuffle_i64x2::<ODD>(a, b));
    let (cd_even, cd_odd) = (_mm512_shuffle_i64x2::<EVEN>(c, d), _mm512_shuffle_i64x2::<ODD>(c, d));
    [
        _mm512_shuffle_i64x2::<EVEN>(ab_even, cd_even),
        _mm512_shuffle_i64x2::<EVEN>(ab_odd, cd_odd),
        _mm512_shuffle_i64x2::<ODD>(ab_even, cd_even),
        _mm512_shuffle_i64x2::<ODD>(ab_odd, cd_odd),
    ]
}

fn quarters<T>(x: &[T]) -> [&[T]; 4] {
    let (left, right) = x.split_at(x.len() / 2);
    let (a, b) = left.split_at(left.len() / 2);
    let (c, d) = right.split_at(right.len() / 2);
    [a, b, c, d]
}

fn quarters_mut<T>(x: &mut [T]) -> impl Iterator<Item = [&mut T; 4]> {
    let (left, right) = x.split_at_mut(x.len() / 2);
    let (a, b) = left.split_at_mut(left.len() / 2);
    let (c, d) = right.split_at_mut(right.len() / 2);
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_quarters(to: [&mut Row; 4], x: [__m512i; 4]) {
    for (to, x) in to.into_iter().zip(x) {
        store(to, x);
    }
}
