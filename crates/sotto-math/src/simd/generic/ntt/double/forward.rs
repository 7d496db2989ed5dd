//! The forward transform: coefficients to slots.

use super::{Constants, Doubles, Eight, Factors, Four, Plan, Row, Square, quarters, turn};

impl<R: Doubles> Plan<'_, R> {
    /// Does all levels. Blocks are done when the squares at their beginning are, the longest first.
    #[inline(always)]
    pub(super) fn forward(&self, x: &mut [u64]) {
        let (n, end) = (x.len(), Self::end(x.len()));
        for start in (0..n).step_by(end) {
            let mut len = n;
            while len > end {
                if start % len == 0 {
                    let (x, k) = (&mut x[start..start + len], (n + start) / len);
                    if len == n {
                        self.forward_level::<true>(x, k)
                    } else {
                        self.forward_level::<false>(x, k)
                    }
                }
                len /= 4;
            }
            let (x, k) = (&mut x[start..start + end], (n + start) / end);
            if end == n { self.forward_end::<true>(x, k) } else { self.forward_end::<false>(x, k) }
        }
    }

    /// Loads doubles, or the first time integers, which are centered if there are eight levels
    /// before the next reduction.
    #[inline(always)]
    fn take<const FIRST: bool>(&self, row: &Row) -> R::Doubles {
        if !FIRST {
            return self.c.kept(row);
        }
        let x = self.c.take(row);
        if 64 * self.squares > 8192 { self.c.reduced(x) } else { x }
    }

    /// Does two levels of block `k`.
    #[inline(always)]
    fn forward_level<const FIRST: bool>(&self, x: &mut [u64], k: usize) {
        let c = self.c;
        let [f, g, h] = [self.factor(k), self.factor(2 * k), self.factor(2 * k + 1)];
        for [a, b, d, e] in quarters(x) {
            let [w, x, y, z] =
                [self.take::<FIRST>(a), self.take::<FIRST>(b), self.take::<FIRST>(d), self.take::<FIRST>(e)];
            let [w, y] = forward_pair(c, [w, y], f);
            let [x, z] = forward_pair(c, [x, z], f);
            let [w, x] = forward_pair(c, [w, x], g);
            let [y, z] = forward_pair(c, [y, z], h);
            c.keep(a, w);
            c.keep(b, x);
            c.keep(d, y);
            c.keep(e, z);
        }
    }

    /// Does the remaining levels of block `k`, down to squares and in them.
    #[inline(always)]
    fn forward_end<const FIRST: bool>(&self, x: &mut [u64], k: usize) {
        let c = self.c;
        let squares = x.as_chunks_mut::<64>().0;
        match squares {
            [square] => return self.forward_square::<FIRST>(square, k),
            [left, right] => {
                let f = self.factor(k);
                for (a, b) in left.as_chunks_mut::<4>().0.iter_mut().zip(right.as_chunks_mut::<4>().0) {
                    let [x, y] = forward_pair(c, [self.take::<FIRST>(a), self.take::<FIRST>(b)], f);
                    c.keep(a, x);
                    c.keep(b, y);
                }
            }
            _ => {
                let f = self.seven(k);
                for j in 0..16 {
                    let mut v = [c.q; 8];
                    for (v, square) in v.iter_mut().zip(&*squares) {
                        *v = self.take::<FIRST>(&square.as_chunks::<4>().0[j]);
                    }
                    forward_eight(c, &mut v, &f);
                    for (v, square) in v.iter().zip(&mut *squares) {
                        c.keep(&mut square.as_chunks_mut::<4>().0[j], *v);
                    }
                }
            }
        }
        let first = squares.len() * k;
        for (i, square) in squares.iter_mut().enumerate() {
            self.forward_square::<false>(square, first + i);
        }
    }

    /// Does the last six levels: three that pair rows, and after a transposition three that would
    /// pair lanes.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn forward_square<const FIRST: bool>(&self, x: &mut Square, k: usize) {
        let (c, f) = (self.c, &self.f.squares[k - self.squares]);
        let rows = self.every_seven(&f.rows);
        let (mut left, mut right) = ([c.q; 8], [c.q; 8]);
        for ((left, right), row) in left.iter_mut().zip(&mut right).zip(x.as_chunks::<8>().0) {
            let row = row.as_chunks::<4>().0;
            (*left, *right) =
                (c.reduced(self.take::<FIRST>(&row[0])), c.reduced(self.take::<FIRST>(&row[1])));
        }
        forward_eight(c, &mut left, &rows);
        forward_eight(c, &mut right, &rows);
        for (half, mut v) in turn(c.r, left, right).into_iter().enumerate() {
            forward_eight(c, &mut v, &self.lanes_seven(&f.lanes, half));
            for (v, row) in v.iter().zip(x.as_chunks_mut::<8>().0) {
                c.put(&mut row.as_chunks_mut::<4>().0[half], c.reduced(*v));
            }
        }
    }
}

/// Does three levels of eight blocks.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn forward_eight<R: Doubles>(c: Constants<R>, v: &mut Eight<R>, f: &[Factors<R>; 7]) {
    let [a, b, d, e, g, h, i, j] = *v;
    let ([a, b, d, e], [g, h, i, j]) = forward_four(c, [a, b, d, e], [g, h, i, j], [f[0], f[0], f[0], f[0]]);
    let ([a, b, g, h], [d, e, i, j]) = forward_four(c, [a, b, g, h], [d, e, i, j], [f[1], f[1], f[2], f[2]]);
    let ([a, d, g, i], [b, e, h, j]) = forward_four(c, [a, d, g, i], [b, e, h, j], [f[3], f[4], f[5], f[6]]);
    *v = [a, b, d, e, g, h, i, j];
}

/// Does four butterflies, interleaved step by step to hide latencies.
#[inline(always)]
fn forward_four<R: Doubles>(
    c: Constants<R>,
    mut a: Four<R>,
    mut b: Four<R>,
    f: [Factors<R>; 4],
) -> (Four<R>, Four<R>) {
    let r = c.r;
    let mut quotients = b;
    for i in 0..4 {
        quotients[i] = r.nearest(r.product(b[i], f[i].over_q));
    }
    for i in 0..4 {
        let product = r.remainder(b[i], f[i].w, quotients[i], c.q);
        (a[i], b[i]) = (r.plus(a[i], product), r.minus(a[i], product));
    }
    (a, b)
}

#[inline(always)]
fn forward_pair<R: Doubles>(c: Constants<R>, [a, b]: [R::Doubles; 2], f: Factors<R>) -> [R::Doubles; 2] {
    let product = c.times(b, f);
    [c.r.plus(a, product), c.r.minus(a, product)]
}
