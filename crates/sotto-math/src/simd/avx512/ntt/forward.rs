//! The forward transform: coefficients, or bytes, to slots.

use super::super::products::{Constants, Factors, add_product, below, every, times};
use super::super::registers::{load, store, widen};
use super::{
    Row, Square, every_seven, lanes_seven, load_square, quarters, quarters_mut, store_quarters, three,
    transpose,
};
use crate::simd::args::AccumulatorMut;
use crate::simd::args::ntt::{SquareFactors, Tables};
use core::arch::x86_64::*;

/// A forward transform in progress; `LAZY` means that values are reduced only at the end.
pub(super) struct Forward<'a, const LAZY: bool, const WIDE: bool> {
    t: &'a Tables,
    c: Constants,
    bias: __m512i,
}

impl<'a, const LAZY: bool, const WIDE: bool> Forward<'a, LAZY, WIDE> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::simd::avx512) fn new(t: &'a Tables) -> Self {
        let q = t.modulus.value();
        // When values are reduced at each level, one q makes bytes positive: the smallest prime of
        // any plan is 257.
        let each = if WIDE { 4 } else { 2 };
        let bias = if LAZY { each * u64::from(t.n.trailing_zeros()) * q } else { q };
        Forward { t, c: Constants::new(t), bias: _mm512_set1_epi64(bias as i64) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(in crate::simd::avx512) fn words(&self, x: &mut [u64]) {
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(in crate::simd::avx512) fn bytes(&self, bytes: &[i8], out: &mut [u64]) {
        let rows = out.as_chunks_mut::<8>().0;
        let done = self.first_levels(bytes, rows);
        self.long_levels(rows, done);
        self.squares(rows);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(in crate::simd::avx512) fn bytes_mul_acc(&self, bytes: &[i8], b: &[u64], sum: AccumulatorMut<'_>) {
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

    /// Spreads bytes to lanes, does the first two levels if blocks are long enough, and returns the
    /// number of blocks after that.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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

    /// Does the levels of more than 64 slots per block, from the one with `blocks` blocks on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn two_levels(&self, [a, b, c, d]: [__m512i; 4], f: [Factors; 3]) -> [__m512i; 4] {
        let [a, c] = self.butterfly([a, c], f[0]);
        let [b, d] = self.butterfly([b, d], f[0]);
        let [a, b] = self.butterfly([a, b], f[1]);
        let [c, d] = self.butterfly([c, d], f[2]);
        [a, b, c, d]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn squares(&self, rows: &mut [Row]) {
        for (square, f) in rows.as_chunks_mut::<8>().0.iter_mut().zip(&self.t.forward.squares) {
            for (value, row) in self.square(square, f).into_iter().zip(square) {
                store(row, self.reduce(value));
            }
        }
    }

    /// Does the last six levels of one run of 64 slots.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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

    /// Does one level between registers `D` apart.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn pairs<const D: usize>(&self, x: &mut [__m512i; 8], factors: &[Factors]) {
        for (block, &f) in factors.iter().enumerate().take(4 / D) {
            for i in 0..D {
                let (u, v) = (2 * block * D + i, (2 * block + 1) * D + i);
                [x[u], x[v]] = self.butterfly([x[u], x[v]], f);
            }
        }
    }

    /// Computes `u + v w` and `u - v w`, after Cooley and Tukey.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn butterfly(&self, [u, v]: [__m512i; 2], f: Factors) -> [__m512i; 2] {
        let product = times::<WIDE>(self.c, v, f);
        if LAZY {
            [_mm512_add_epi64(u, product), _mm512_sub_epi64(u, product)]
        } else if WIDE {
            let u = below(u, self.c.four_q);
            [_mm512_add_epi64(u, product), _mm512_sub_epi64(_mm512_add_epi64(u, self.c.four_q), product)]
        } else {
            let u = below(u, self.c.two_q);
            let product = self.c.low_52(product);
            [_mm512_add_epi64(u, product), _mm512_sub_epi64(_mm512_add_epi64(u, self.c.two_q), product)]
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn reduce(&self, x: __m512i) -> __m512i {
        let x = if LAZY && WIDE {
            // The quotient by q, or up to two less: it is small, and so are the omitted bits.
            let quotient = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x), self.c.barrett);
            let quotient = _mm512_srli_epi64::<32>(quotient);
            below(_mm512_sub_epi64(x, _mm512_mullo_epi64(quotient, self.c.q)), self.c.two_q)
        } else if WIDE {
            below(below(x, self.c.four_q), self.c.two_q)
        } else if LAZY {
            // The quotient by q, or one less.
            let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, self.c.barrett);
            self.c.low_52(_mm512_madd52lo_epu64(x, quotient, self.c.minus_q))
        } else {
            below(x, self.c.two_q)
        };
        below(x, self.c.q)
    }
}
