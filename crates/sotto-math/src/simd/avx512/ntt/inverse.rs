//! The inverse transform: slots to coefficients.

use super::super::products::{Constants, Factors, below, every, times};
use super::super::registers::{load, store};
use super::{
    Row, Square, every_seven, lanes_seven, load_square, quarters_mut, store_quarters, three, transpose,
};
use crate::simd::args::ntt::{SquareFactors, Tables};
use core::arch::x86_64::*;

/// An inverse transform in progress: the levels in reverse, each with `u + v` and
/// `(u - v) w`, after Gentleman and Sande. Sums double where they are not reduced.
pub(super) struct Inverse<'a, const LAZY: bool, const WIDE: bool> {
    t: &'a Tables,
    c: Constants,
    /// 1/n, and the last factor over n.
    scale: [Factors; 2],
}

impl<'a, const LAZY: bool, const WIDE: bool> Inverse<'a, LAZY, WIDE> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::simd::avx512) fn new(t: &'a Tables) -> Self {
        let scale = [every(t.scale[0]), every(t.scale[1])];
        Inverse { t, c: Constants::new(t), scale }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(in crate::simd::avx512) fn run(&self, x: &mut [u64]) {
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
            if blocks == 1 {
                return self.last_levels(rows, level);
            }
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
        // The transform is so short that the last two levels were not done together.
        for row in rows {
            store(row, self.reduced(load(row), self.scale[0]));
        }
    }

    /// Does the last two levels, with the division by n folded into the last one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn last_levels(&self, rows: &mut [Row], level: u32) {
        let [_, left, right] = three(&self.t.inverse.factors, 1);
        let bias = [self.bias(level), self.bias(level + 1)];
        for [to_a, to_b, to_c, to_d] in quarters_mut(rows) {
            let [a, b] = self.butterfly([load(to_a), load(to_b)], left, bias[0]);
            let [c, d] = self.butterfly([load(to_c), load(to_d)], right, bias[0]);
            for (to_u, to_v, u, v) in [(to_a, to_c, a, c), (to_b, to_d, b, d)] {
                let difference = _mm512_sub_epi64(_mm512_add_epi64(u, bias[1]), v);
                store(to_u, self.reduced(_mm512_add_epi64(u, v), self.scale[0]));
                store(to_v, self.reduced(difference, self.scale[1]));
            }
        }
    }

    /// Computes `x w`, reduced.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn reduced(&self, x: __m512i, f: Factors) -> __m512i {
        let x = times::<WIDE>(self.c, x, f);
        let x = if WIDE { below(x, self.c.two_q) } else { self.c.low_52(x) };
        below(x, self.c.q)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn two_levels(&self, [a, b, c, d]: [__m512i; 4], f: [Factors; 3], bias: [__m512i; 2]) -> [__m512i; 4] {
        let [a, b] = self.butterfly([a, b], f[1], bias[0]);
        let [c, d] = self.butterfly([c, d], f[2], bias[0]);
        let [a, c] = self.butterfly([a, c], f[0], bias[1]);
        let [b, d] = self.butterfly([b, d], f[0], bias[1]);
        [a, b, c, d]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn butterfly(&self, [u, v]: [__m512i; 2], f: Factors, bias: __m512i) -> [__m512i; 2] {
        let sum = _mm512_add_epi64(u, v);
        let difference = _mm512_sub_epi64(_mm512_add_epi64(u, bias), v);
        let product = times::<WIDE>(self.c, difference, f);
        if LAZY {
            [sum, product]
        } else if WIDE {
            [below(sum, self.c.four_q), product]
        } else {
            [below(sum, self.c.two_q), self.c.low_52(product)]
        }
    }

    /// A multiple of q that no value exceeds before this level.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bias(&self, level: u32) -> __m512i {
        let grown = if LAZY { level } else { u32::from(WIDE) };
        _mm512_set1_epi64((self.t.modulus.value() << (grown + 1)) as i64)
    }
}
