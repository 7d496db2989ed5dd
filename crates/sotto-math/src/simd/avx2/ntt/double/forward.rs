//! Coefficients to slots.

use super::super::{Row, load, store};
use super::{
    Constants, Eight, Factors, Four, Plan, Square, doubles, every_seven, from_integers, nearest, put,
};
use super::{quarters, to_integers, turn};
use core::arch::x86_64::*;

impl Plan<'_> {
    /// All levels of block `k`; the first time its words are integers.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn forward<const FIRST: bool>(&self, x: &mut [u64], k: usize) {
        let c = self.c;
        let centre = x.len() > 8192;
        let take = |row: &Row| {
            if !FIRST {
                return doubles(row);
            }
            let x = from_integers(load(row));
            if centre { c.reduced(x) } else { x }
        };
        match x.len() {
            64 => {
                if let Some(square) = x.first_chunk_mut() {
                    self.forward_square::<FIRST>(square, k);
                }
            }
            128 => {
                let f = self.factor(k);
                let (left, right) = x.as_chunks_mut::<4>().0.split_at_mut(16);
                for (a, b) in left.iter_mut().zip(right) {
                    let (mut x, mut y) = (take(a), take(b));
                    forward_pair(c, &mut x, &mut y, f);
                    put(a, x);
                    put(b, y);
                }
                for (i, x) in x.chunks_exact_mut(64).enumerate() {
                    self.forward::<false>(x, 2 * k + i);
                }
            }
            512 => {
                let f = self.seven(k);
                if let Some(blocks) = x.as_chunks_mut::<64>().0.first_chunk_mut::<8>() {
                    for j in 0..16 {
                        let mut v = [_mm256_setzero_pd(); 8];
                        for (v, block) in v.iter_mut().zip(&*blocks) {
                            *v = take(&block.as_chunks::<4>().0[j]);
                        }
                        forward_eight(c, &mut v, &f);
                        for (v, block) in v.iter().zip(&mut *blocks) {
                            put(&mut block.as_chunks_mut::<4>().0[j], *v);
                        }
                    }
                }
                for (i, x) in x.chunks_exact_mut(64).enumerate() {
                    self.forward::<false>(x, 8 * k + i);
                }
            }
            len => {
                let [f, g, h] = [self.factor(k), self.factor(2 * k), self.factor(2 * k + 1)];
                for [a, b, d, e] in quarters(x) {
                    let [mut w, mut x, mut y, mut z] = [take(a), take(b), take(d), take(e)];
                    forward_pair(c, &mut w, &mut y, f);
                    forward_pair(c, &mut x, &mut z, f);
                    forward_pair(c, &mut w, &mut x, g);
                    forward_pair(c, &mut y, &mut z, h);
                    put(a, w);
                    put(b, x);
                    put(d, y);
                    put(e, z);
                }
                for (i, x) in x.chunks_exact_mut(len / 4).enumerate() {
                    self.forward::<false>(x, 4 * k + i);
                }
            }
        }
    }

    /// The last six levels: three that pair rows, and after a transposition three that would pair lanes.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn forward_square<const FIRST: bool>(&self, x: &mut Square, k: usize) {
        let (c, f) = (self.c, &self.f.squares[k - self.squares]);
        let take = |row: usize, half: usize| {
            let row = &x[8 * row + 4 * half..][..4];
            let row = row.first_chunk().unwrap_or(&[0; 4]);
            c.reduced(if FIRST { from_integers(load(row)) } else { doubles(row) })
        };
        let columns = |half: usize| {
            [
                take(0, half),
                take(1, half),
                take(2, half),
                take(3, half),
                take(4, half),
                take(5, half),
                take(6, half),
                take(7, half),
            ]
        };
        let rows = every_seven(&f.rows);
        let [mut left, mut right] = [columns(0), columns(1)];
        forward_eight(c, &mut left, &rows);
        forward_eight(c, &mut right, &rows);
        let halves = turn(left, right);
        for (half, mut v) in halves.into_iter().enumerate() {
            forward_eight(c, &mut v, &c.lanes_seven(&f.lanes, half));
            for (v, row) in v.iter().zip(x.as_chunks_mut::<8>().0) {
                store(&mut row.as_chunks_mut::<4>().0[half], to_integers(c, c.reduced(*v)));
            }
        }
    }
}

/// Three levels of eight blocks.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_eight(c: Constants, v: &mut Eight, f: &[Factors; 7]) {
    let [a, b, d, e, g, h, i, j] = *v;
    let ([a, b, d, e], [g, h, i, j]) = forward_four(c, [a, b, d, e], [g, h, i, j], [f[0], f[0], f[0], f[0]]);
    let ([a, b, g, h], [d, e, i, j]) = forward_four(c, [a, b, g, h], [d, e, i, j], [f[1], f[1], f[2], f[2]]);
    let ([a, d, g, i], [b, e, h, j]) = forward_four(c, [a, d, g, i], [b, e, h, j], [f[3], f[4], f[5], f[6]]);
    *v = [a, b, d, e, g, h, i, j];
}

/// Four butterflies, step by step side by side: what one waits for the others fill.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_four(c: Constants, mut a: Four, mut b: Four, f: [Factors; 4]) -> (Four, Four) {
    let (mut quotients, mut uppers) = (b, b);
    for i in 0..4 {
        quotients[i] = _mm256_mul_pd(b[i], f[i].over_q);
        uppers[i] = _mm256_mul_pd(b[i], f[i].w);
    }
    for i in 0..4 {
        quotients[i] = nearest(quotients[i]);
        b[i] = _mm256_fmsub_pd(b[i], f[i].w, uppers[i]);
    }
    for i in 0..4 {
        uppers[i] = _mm256_fnmadd_pd(quotients[i], c.q, uppers[i]);
    }
    for i in 0..4 {
        let product = _mm256_add_pd(uppers[i], b[i]);
        (a[i], b[i]) = (_mm256_add_pd(a[i], product), _mm256_sub_pd(a[i], product));
    }
    (a, b)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_pair(c: Constants, a: &mut __m256d, b: &mut __m256d, f: Factors) {
    let product = c.times(*b, f);
    (*a, *b) = (_mm256_add_pd(*a, product), _mm256_sub_pd(*a, product));
}
