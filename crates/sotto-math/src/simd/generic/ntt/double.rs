//! The transform of moduli from 2^31 to 2^50, in [floating point](super::super::doubles), four
//! slots per register.
//!
//! Between levels, slots are doubles, integers of either sign.
//!
//! **Bounds**, in multiples of q below 2^50. Factors are at most 1/2, and rounding makes the
//! quotient of `x w` wrong by up to `x / 8`, so a product is at most `1/2 + x / 8`. All sums are
//! below 8, so below 2^53, and exact. Forward, a level leaves at most `x + 1/2 + x / 8`: seven
//! levels begin at 1 and end below 7.5, or eight at 1/2 below 7.6. Then everything is reduced to
//! 1/2, and the last six levels end below 5.2. Inverse, sums double: every second level, or both of
//! two, reduces them, and all is at most 1 again.
//!
//! **Order.** Polynomials are transformed block by block as the levels split them, so that data
//! that does not fit the first-level cache leaves it once. Two or three levels are done in
//! registers at a time.

mod forward;
mod inverse;

use super::super::doubles::{Constants, Doubles, Factors};
use crate::simd::args::ntt::{Doubles as Table, Tables};

type Row = [u64; 4];
type Square = [u64; 64];
type Four<R> = [<R as Doubles>::Doubles; 4];
type Eight<R> = [<R as Doubles>::Doubles; 8];

#[inline(always)]
pub(super) fn forward<R: Doubles>(r: R, t: &Tables, x: &mut [u64]) {
    let c = Constants::new(r, t);
    Plan { c, f: &t.forward.doubles, squares: t.n / 64, scale: None }.forward(x);
}

#[inline(always)]
pub(super) fn inverse<R: Doubles>(r: R, t: &Tables, x: &mut [u64]) {
    let c = Constants::new(r, t);
    let [sum, difference] = t.scale.map(|f| t.modulus.centered(f.w) as f64);
    let scale = [c.factors_of(sum), c.factors_of(difference)];
    let plan = Plan { c, f: &t.inverse.doubles, squares: t.n / 64, scale: Some(scale) };
    plan.inverse(x);
    if t.n == 64 {
        // There are no levels but those of the square, so none has applied the scale.
        for row in x.as_chunks_mut::<4>().0 {
            c.put(row, c.times(c.reduced(c.take(row)), scale[0]));
        }
    }
}

/// One direction of a transform.
struct Plan<'a, R: Doubles> {
    c: Constants<R>,
    f: &'a Table,
    squares: usize,
    /// Factors of sums and differences of the very last inverse level.
    scale: Option<[Factors<R>; 2]>,
}

impl<R: Doubles> Plan<'_, R> {
    /// The factor of a block: its two halves have the numbers `2 k` and `2 k + 1`.
    #[inline(always)]
    fn factor(&self, k: usize) -> Factors<R> {
        let [w, over_q] = self.f.factors[k];
        Factors::every(self.c.r, w, over_q)
    }

    /// The factors of a block, of its halves and of its quarters.
    #[inline(always)]
    fn seven(&self, k: usize) -> [Factors<R>; 7] {
        let [a, b, c, d, e, f, g] = [k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3];
        [
            self.factor(a),
            self.factor(b),
            self.factor(c),
            self.factor(d),
            self.factor(e),
            self.factor(f),
            self.factor(g),
        ]
    }

    /// Seven factors, each in every lane.
    #[inline(always)]
    fn every_seven(&self, f: &[[f64; 2]; 7]) -> [Factors<R>; 7] {
        let mut seven = [Factors { w: self.c.q, over_q: self.c.q }; 7];
        for (factors, [w, over_q]) in seven.iter_mut().zip(f) {
            *factors = Factors::every(self.c.r, *w, *over_q);
        }
        seven
    }

    /// The lane factors of the left or the right half of a square.
    #[inline(always)]
    fn lanes_seven(&self, lanes: &[[f64; 8]; 7], half: usize) -> [Factors<R>; 7] {
        let (c, r) = (self.c, self.c.r);
        let mut seven = [Factors { w: c.q, over_q: c.q }; 7];
        for (factors, lanes) in seven.iter_mut().zip(lanes) {
            *factors = c.factors(r.doubles(r.load(&lanes.as_chunks::<4>().0[half])));
        }
        seven
    }

    /// Length of the blocks that are done in registers: three levels of eight squares, one of two,
    /// or a square. Longer ones are split into quarters.
    #[inline(always)]
    fn end(n: usize) -> usize {
        match (n, n.trailing_zeros() % 2) {
            (_, 0) => 64,
            (128, _) => 128,
            _ => 512,
        }
    }
}

/// Transposes a square, given as the rows of its left and of its right half.
#[inline(always)]
fn turn<R: Doubles>(
    r: R,
    [a, b, c, d, e, f, g, h]: Eight<R>,
    [i, j, k, l, m, n, o, p]: Eight<R>,
) -> [Eight<R>; 2] {
    let [a, b, c, d] = r.transpose([a, b, c, d]);
    let [e, f, g, h] = r.transpose([e, f, g, h]);
    let [i, j, k, l] = r.transpose([i, j, k, l]);
    let [m, n, o, p] = r.transpose([m, n, o, p]);
    [[a, b, c, d, i, j, k, l], [e, f, g, h, m, n, o, p]]
}

/// The rows of all four quarters, side by side.
fn quarters(x: &mut [u64]) -> impl Iterator<Item = [&mut Row; 4]> {
    let rows = x.as_chunks_mut::<4>().0;
    let (left, right) = rows.split_at_mut(rows.len() / 2);
    let ((a, b), (c, d)) = (left.split_at_mut(left.len() / 2), right.split_at_mut(right.len() / 2));
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}
