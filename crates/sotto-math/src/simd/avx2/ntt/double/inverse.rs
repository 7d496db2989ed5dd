//! Slots to coefficients.

use super::super::{Row, load, store};
use super::{Constants, Eight, Factors, Plan, Square, doubles, every_seven, from_integers, put, quarters};
use super::{to_integers, turn};
use core::arch::x86_64::*;

impl Plan<'_> {
    /// All levels of block `k`, of integers. They are doubles afterwards, but for the block of everything.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn inverse(&self, x: &mut [u64], k: usize) {
        let c = self.c;
        // The last level of all scales; its results are so small that they need no reduction.
        let scale = if k == 1 { self.scale } else { None };
        match x.len() {
            64 => {
                if let Some(square) = x.first_chunk_mut() {
                    self.inverse_square(square, k);
                }
            }
            128 => {
                for (i, x) in x.chunks_exact_mut(64).enumerate() {
                    self.inverse(x, 2 * k + i);
                }
                let f = self.factor(k);
                let (left, right) = x.as_chunks_mut::<4>().0.split_at_mut(16);
                for (a, b) in left.iter_mut().zip(right) {
                    let (mut x, mut y) = (doubles(a), doubles(b));
                    last_pair(c, scale, [a, b], [&mut x, &mut y], f);
                }
            }
            512 => {
                for (i, x) in x.chunks_exact_mut(64).enumerate() {
                    self.inverse(x, 8 * k + i);
                }
                let f = self.seven(k);
                if let Some(blocks) = x.as_chunks_mut::<64>().0.first_chunk_mut::<8>() {
                    for j in 0..16 {
                        let mut v = [_mm256_setzero_pd(); 8];
                        for (v, block) in v.iter_mut().zip(&*blocks) {
                            *v = doubles(&block.as_chunks::<4>().0[j]);
                        }
                        inverse_four(c, &mut v, &f);
                        let (left, right) = blocks.split_at_mut(4);
                        for i in 0..4 {
                            let rows = [&mut left[i], &mut right[i]];
                            let rows = rows.map(|block| &mut block.as_chunks_mut::<4>().0[j]);
                            let (mut x, mut y) = (v[i], v[i + 4]);
                            last_pair(c, scale, rows, [&mut x, &mut y], f[0]);
                        }
                    }
                }
            }
            len => {
                for (i, x) in x.chunks_exact_mut(len / 4).enumerate() {
                    self.inverse(x, 4 * k + i);
                }
                let [f, g, h] = [self.factor(k), self.factor(2 * k), self.factor(2 * k + 1)];
                for [a, b, d, e] in quarters(x) {
                    let [mut w, mut x, mut y, mut z] = [doubles(a), doubles(b), doubles(d), doubles(e)];
                    inverse_pair(c, &mut w, &mut x, g);
                    inverse_pair(c, &mut y, &mut z, h);
                    last_pair(c, scale, [a, d], [&mut w, &mut y], f);
                    last_pair(c, scale, [b, e], [&mut x, &mut z], f);
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn inverse_square(&self, x: &mut Square, k: usize) {
        let (c, f) = (self.c, &self.f.squares[k - self.squares]);
        let take = |row: usize, half: usize| {
            let row = &x[8 * row + 4 * half..][..4];
            from_integers(load(row.first_chunk().unwrap_or(&[0; 4])))
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
        let [mut left, mut right] = [columns(0), columns(1)];
        inverse_eight(c, &mut left, &c.lanes_seven(&f.lanes, 0));
        inverse_eight(c, &mut right, &c.lanes_seven(&f.lanes, 1));
        let rows = every_seven(&f.rows);
        for (half, mut v) in turn(left, right).into_iter().enumerate() {
            inverse_eight(c, &mut v, &rows);
            for (v, row) in v.iter().zip(x.as_chunks_mut::<8>().0) {
                let row = &mut row.as_chunks_mut::<4>().0[half];
                if self.squares == 1 { store(row, to_integers(c, *v)) } else { put(row, *v) }
            }
        }
    }
}

/// The first two of three levels of eight blocks; sums of the second are reduced.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_four(c: Constants, v: &mut Eight, f: &[Factors; 7]) {
    let [a, b, d, e, g, h, i, j] = v;
    inverse_pair(c, a, b, f[3]);
    inverse_pair(c, d, e, f[4]);
    inverse_pair(c, g, h, f[5]);
    inverse_pair(c, i, j, f[6]);
    inverse_pair(c, a, d, f[1]);
    inverse_pair(c, b, e, f[1]);
    inverse_pair(c, g, i, f[2]);
    inverse_pair(c, h, j, f[2]);
    for sum in [a, b, g, h] {
        *sum = c.reduced(*sum);
    }
}

/// Three levels of eight blocks; sums of the last two are reduced.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_eight(c: Constants, v: &mut Eight, f: &[Factors; 7]) {
    inverse_four(c, v, f);
    let (left, right) = v.split_at_mut(4);
    for (a, b) in left.iter_mut().zip(right) {
        inverse_pair(c, a, b, f[0]);
        *a = c.reduced(*a);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_pair(c: Constants, a: &mut __m256d, b: &mut __m256d, f: Factors) {
    (*a, *b) = (_mm256_add_pd(*a, *b), c.times(_mm256_sub_pd(*a, *b), f));
}

/// The last level of a block: with a reduced sum, or of all, scaled and as integers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn last_pair(
    c: Constants,
    scale: Option<[Factors; 2]>,
    to: [&mut Row; 2],
    [a, b]: [&mut __m256d; 2],
    f: Factors,
) {
    let [low, high] = to;
    if let Some([sum, difference]) = scale {
        store(low, to_integers(c, c.times(_mm256_add_pd(*a, *b), sum)));
        store(high, to_integers(c, c.times(_mm256_sub_pd(*a, *b), difference)));
    } else {
        inverse_pair(c, a, b, f);
        put(low, c.reduced(*a));
        put(high, *b);
    }
}
