//! The inverse transform: slots to coefficients.

use super::{Constants, Doubles, Eight, Factors, Plan, Row, Square, quarters, turn};

impl<R: Doubles> Plan<'_, R> {
    /// Does all levels, of integers. Blocks are done when the squares at their end are, the
    /// shortest first.
    #[inline(always)]
    pub(super) fn inverse(&self, x: &mut [u64]) {
        let (n, end) = (x.len(), Self::end(x.len()));
        for start in (0..n).step_by(end) {
            let last = start + end;
            self.inverse_end(&mut x[start..last], (n + start) / end);
            let mut len = 4 * end;
            while len <= n && last % len == 0 {
                self.inverse_level(&mut x[last - len..last], (n + last - len) / len);
                len *= 4;
            }
        }
    }

    /// The scale of the last level of all, whose results are so small that they need no reduction.
    #[inline(always)]
    fn scale(&self, k: usize) -> Option<[Factors<R>; 2]> {
        if k == 1 { self.scale } else { None }
    }

    /// Does two levels of block `k`.
    #[inline(always)]
    fn inverse_level(&self, x: &mut [u64], k: usize) {
        let (c, scale) = (self.c, self.scale(k));
        let [f, g, h] = [self.factor(k), self.factor(2 * k), self.factor(2 * k + 1)];
        for [a, b, d, e] in quarters(x) {
            let [mut w, mut x, mut y, mut z] = [c.kept(a), c.kept(b), c.kept(d), c.kept(e)];
            inverse_pair(c, &mut w, &mut x, g);
            inverse_pair(c, &mut y, &mut z, h);
            last_pair(c, scale, [a, d], [&mut w, &mut y], f);
            last_pair(c, scale, [b, e], [&mut x, &mut z], f);
        }
    }

    /// Does the first levels of block `k`: those in squares, and those of up to eight squares. The
    /// results are doubles, except for the block of everything.
    #[inline(always)]
    fn inverse_end(&self, x: &mut [u64], k: usize) {
        let (c, scale) = (self.c, self.scale(k));
        let squares = x.as_chunks_mut::<64>().0;
        let first = squares.len() * k;
        for (i, square) in squares.iter_mut().enumerate() {
            self.inverse_square(square, first + i);
        }
        match squares {
            [_] => {}
            [left, right] => {
                let f = self.factor(k);
                for (a, b) in left.as_chunks_mut::<4>().0.iter_mut().zip(right.as_chunks_mut::<4>().0) {
                    let (mut x, mut y) = (c.kept(a), c.kept(b));
                    last_pair(c, scale, [a, b], [&mut x, &mut y], f);
                }
            }
            _ => {
                let f = self.seven(k);
                for j in 0..16 {
                    let mut v = [c.q; 8];
                    for (v, square) in v.iter_mut().zip(&*squares) {
                        *v = c.kept(&square.as_chunks::<4>().0[j]);
                    }
                    inverse_four(c, &mut v, &f);
                    let (left, right) = squares.split_at_mut(4);
                    for i in 0..4 {
                        let rows = [&mut left[i], &mut right[i]];
                        let rows = rows.map(|square| &mut square.as_chunks_mut::<4>().0[j]);
                        let (mut x, mut y) = (v[i], v[i + 4]);
                        last_pair(c, scale, rows, [&mut x, &mut y], f[0]);
                    }
                }
            }
        }
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn inverse_square(&self, x: &mut Square, k: usize) {
        let (c, f) = (self.c, &self.f.squares[k - self.squares]);
        let (mut left, mut right) = ([c.q; 8], [c.q; 8]);
        for ((left, right), row) in left.iter_mut().zip(&mut right).zip(x.as_chunks::<8>().0) {
            let row = row.as_chunks::<4>().0;
            (*left, *right) = (c.take(&row[0]), c.take(&row[1]));
        }
        inverse_eight(c, &mut left, &self.lanes_seven(&f.lanes, 0));
        inverse_eight(c, &mut right, &self.lanes_seven(&f.lanes, 1));
        let rows = self.every_seven(&f.rows);
        for (half, mut v) in turn(c.r, left, right).into_iter().enumerate() {
            inverse_eight(c, &mut v, &rows);
            for (v, row) in v.iter().zip(x.as_chunks_mut::<8>().0) {
                let row = &mut row.as_chunks_mut::<4>().0[half];
                if self.squares == 1 { c.put(row, *v) } else { c.keep(row, *v) }
            }
        }
    }
}

/// Does the first two of three levels of eight blocks; sums of the second are reduced.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn inverse_four<R: Doubles>(c: Constants<R>, v: &mut Eight<R>, f: &[Factors<R>; 7]) {
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

/// Does three levels of eight blocks; sums of the last two are reduced.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn inverse_eight<R: Doubles>(c: Constants<R>, v: &mut Eight<R>, f: &[Factors<R>; 7]) {
    inverse_four(c, v, f);
    let (left, right) = v.split_at_mut(4);
    for (a, b) in left.iter_mut().zip(right) {
        inverse_pair(c, a, b, f[0]);
        *a = c.reduced(*a);
    }
}

#[inline(always)]
fn inverse_pair<R: Doubles>(c: Constants<R>, a: &mut R::Doubles, b: &mut R::Doubles, f: Factors<R>) {
    (*a, *b) = (c.r.plus(*a, *b), c.times(c.r.minus(*a, *b), f));
}

/// Does the last level of a block: with a reduced sum, or for the last of all, scaled and as
/// integers.
#[inline(always)]
fn last_pair<R: Doubles>(
    c: Constants<R>,
    scale: Option<[Factors<R>; 2]>,
    to: [&mut Row; 2],
    [a, b]: [&mut R::Doubles; 2],
    f: Factors<R>,
) {
    let [low, high] = to;
    if let Some([sum, difference]) = scale {
        c.put(low, c.times(c.r.plus(*a, *b), sum));
        c.put(high, c.times(c.r.minus(*a, *b), difference));
    } else {
        inverse_pair(c, a, b, f);
        c.keep(low, c.reduced(*a));
        c.keep(high, *b);
    }
}
