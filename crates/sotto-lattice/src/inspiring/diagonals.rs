//! The matrix of values that samples and weights are transformed through, and its diagonals.
//!
//! A mask of a packed ciphertext's samples has in the slot of `psi^e` a number that depends on `e`
//! and on `r = e h` (see [`mask_reduction`](super::mask_reduction)). So all masks are one matrix with
//! a row for each `r` and a column for each `e`, and the digits of a switch depend on the same two
//! numbers. In the order of cycles both are diagonals: `e = 5^k` and `h = 5^i` meet in row `k + i`
//! and column `k`. Digits take the places of the masks that they came from.
//!
//! Rows are transformed before and after. For fewer than `n` samples, `X` is `Y`, and `h = 1` modulo
//! 4: a row has values at those `e` only that are `r` modulo 4. With a factor for each sample these
//! are the points of a transform of half the length, and a matrix of `n` samples has `n` columns
//! where one of `g` samples has `g`.

use super::SHORTEST;
use crate::buffer_pool::BufferPool;
use crate::ring::Ring;
use sotto_math::ntt::NttPlan;
use sotto_pages::HugeWords;
use std::sync::Arc;

/// The side of the squares in which values are stored, and diagonals that are read or written
/// together: eight adjacent diagonals cross two squares at a time.
pub(super) const SIDE: usize = 8;

/// Values of a square.
const AREA: usize = SIDE * SIDE;

/// Padding words between rows: rows of a power of two would all fall into the same few sets of a
/// cache.
const GAP: usize = 8;

/// Matrices that are kept for the next packed ciphertext: fresh memory would have to be cleared and
/// mapped.
const POOLED: usize = 4;

/// The transform of a row along the samples of a packed ciphertext.
#[derive(Debug, Clone)]
pub(super) struct RowTransform {
    plan: NttPlan,
    /// Distance of samples in the transform: more than 1 where they are fewer than its points.
    stride: usize,
    /// The points of a row in each of the two cycles.
    cycles: [RowPoints; 2],
    pool: Arc<BufferPool<HugeWords<u64>>>,
}

/// The points of a row, and factors for its coefficients.
#[derive(Debug, Clone)]
struct RowPoints {
    /// The slot of each column.
    slots: Vec<u32>,
    /// What a coefficient is multiplied by before the transform, and after the inverse transform.
    factors: [Vec<u64>; 2],
}

impl RowTransform {
    /// Makes the transform; `None` unless there are `n` samples, or fewer by a power of two, and the
    /// ring has the points.
    pub(super) fn new(ring: &Ring, samples: usize) -> Option<Self> {
        let (n, q) = (ring.n(), ring.q());
        let full = samples == n;
        (full || samples.is_power_of_two() && samples.max(SHORTEST) <= n / 2).then_some(())?;
        let plan = NttPlan::new(samples.max(SHORTEST), *q)?;
        let points = plan.n();
        // Its root is the power of the ring's root that columns are counted in.
        (q.pow(ring.plan().root(), (n / points) as u64) == plan.root()).then_some(())?;
        let stride = points / samples;
        let mut slot_of = vec![0; 2 * points];
        (0..points).for_each(|slot| slot_of[plan.exponent(slot)] = slot as u32);
        // The points of few samples are powers e of a root of order 4 g, whose square is that of the
        // transform: e = 2 (2 k + 1) - 1 in the first cycle, and e = 2 (2 k + 1) + 1 in the second.
        let root = q.pow(ring.plan().root(), (n / 2 / samples) as u64);
        let of_cycle = |second: bool| {
            let powers = std::iter::successors(Some(1), |power| Some(power * 5 % (4 * points)));
            let slot = |power: usize| {
                let exponent = if second { (4 * points - power - 1) / 2 } else { power.div_ceil(2) };
                slot_of[exponent]
            };
            let slots = powers.take(points).map(slot).collect();
            let twist = if second { root } else { q.inv(root) };
            let of = |scale, twist| {
                let mut factors = vec![0; points];
                let powers = std::iter::successors(Some(scale), |x| Some(q.mul(*x, twist)));
                factors.iter_mut().step_by(stride).zip(powers).for_each(|(factor, x)| *factor = x);
                factors
            };
            // The masks are means over samples. An inverse transform divides by its points, and a sum
            // over them is needed.
            let factors = [of(q.inv(samples as u64), twist), of(q.reduce(points as u64), q.inv(twist))];
            RowPoints { slots, factors }
        };
        let of_all = || RowPoints {
            slots: plan.cycles().into_iter().map(|slot| slot as u32).collect(),
            factors: [q.inv(n as u64), q.reduce(n as u64)].map(|scale| vec![scale; n]),
        };
        let cycles = if full { [of_all(), of_all()] } else { [false, true].map(of_cycle) };
        Some(RowTransform { plan, stride, cycles, pool: Arc::new(BufferPool::new(POOLED)) })
    }

    /// Number of columns.
    pub(super) fn points(&self) -> usize {
        self.plan.n()
    }

    /// Makes a buffer of rows.
    pub(super) fn buffer(&self, rows: usize) -> Vec<u64> {
        vec![0; rows * (self.points() + GAP)]
    }

    /// The rows of a buffer.
    pub(super) fn rows<'a>(&self, buffer: &'a mut [u64]) -> impl Iterator<Item = &'a mut [u64]> + use<'a> {
        let points = self.points();
        buffer.chunks_exact_mut(points + GAP).map(move |row| &mut row[..points])
    }

    /// Transposes the slots of all samples from number `first` on into the rows of a buffer.
    pub(super) fn transpose(&self, samples: &[u64], n: usize, first: usize, buffer: &mut [u64]) {
        buffer.fill(0);
        let width = self.points() + GAP;
        // Eight samples are a cache line of each row.
        for (j, eight) in (0..).step_by(SIDE).zip(samples.chunks(SIDE * n)) {
            let slots: [&[u64]; SIDE] =
                std::array::from_fn(|i| eight.get(i * n + first..).unwrap_or_default());
            let lines = self.stride == 1 && eight.len() == SIDE * n;
            for (t, row) in buffer.chunks_exact_mut(width).enumerate() {
                if let (true, Some(line)) = (lines, row[j..].first_chunk_mut::<SIDE>()) {
                    line.iter_mut().zip(slots).for_each(|(x, slots)| *x = slots[t]);
                } else {
                    let places = row[j * self.stride..].iter_mut().step_by(self.stride);
                    places.zip(slots).for_each(|(x, slots)| *x = slots.get(t).copied().unwrap_or_default());
                }
            }
        }
    }
}

/// A matrix of values: the rows are all positions in the order of cycles, and the columns those of
/// both cycles for `n` samples, or of one for fewer.
#[derive(Debug)]
pub(super) struct Diagonals<'a> {
    along: &'a RowTransform,
    /// Positions of a cycle.
    half: usize,
    /// Values in squares, and these in order of rows of squares.
    values: HugeWords<u64>,
}

impl Drop for Diagonals<'_> {
    fn drop(&mut self) {
        self.along.pool.keep(std::mem::take(&mut self.values));
    }
}

impl<'a> Diagonals<'a> {
    /// Makes a matrix of arbitrary values for a ring of degree `n`.
    pub(super) fn unfilled(along: &'a RowTransform, n: usize) -> Self {
        let values = along.pool.take().unwrap_or_else(|| HugeWords::zeroed(n * along.points()));
        Diagonals { along, half: n / 2, values }
    }

    /// Number of squares of a row.
    fn squares(&self) -> usize {
        self.along.points() / SIDE
    }

    /// Sets a row to the values at all points of the polynomial with these coefficients, which are
    /// overwritten.
    pub(super) fn set_row(&mut self, position: usize, row: &mut [u64]) {
        let points = &self.along.cycles[position / self.half];
        self.along.plan.mul(row, &points.factors[0]);
        self.along.plan.forward(row);
        let width = self.squares() * AREA;
        let band = &mut self.values[position / SIDE * width..][..width];
        let lines = band.as_chunks_mut::<SIDE>().0.iter_mut().skip(position % SIDE).step_by(SIDE);
        for (line, slots) in lines.zip(points.slots.as_chunks::<SIDE>().0) {
            line.iter_mut().zip(slots).for_each(|(x, slot)| *x = row[*slot as usize]);
        }
    }

    /// Transforms all rows back to a coefficient for each sample. Then the values of a square are in
    /// the order of its columns, which are samples.
    pub(super) fn invert_rows(&mut self) {
        let (along, width) = (self.along, self.squares() * AREA);
        let mut buffer = along.buffer(SIDE);
        for (first, band) in (0..).step_by(SIDE).zip(self.values.chunks_exact_mut(width)) {
            let points = &along.cycles[first / self.half];
            for (i, row) in along.rows(&mut buffer).enumerate() {
                let lines = band.as_chunks::<SIDE>().0.iter().skip(i).step_by(SIDE);
                for (line, slots) in lines.zip(points.slots.as_chunks::<SIDE>().0) {
                    line.iter().zip(slots).for_each(|(x, slot)| row[*slot as usize] = *x);
                }
                along.plan.inverse(row);
                along.plan.mul(row, &points.factors[1]);
            }
            let columns = band.as_chunks_mut::<SIDE>().0.iter_mut();
            for (column, at) in columns.zip((0..along.points()).step_by(along.stride)) {
                *column = std::array::from_fn(|i| buffer[i * (along.points() + GAP) + at]);
            }
        }
    }

    /// Writes eight columns of a matrix whose rows were [inverted](Self::invert_rows), those of
    /// samples `first..`, to `out`, one after the other.
    pub(super) fn columns(&self, first: usize, out: &mut [u64]) {
        let width = self.squares() * AREA;
        for (i, band) in self.values.chunks_exact(width).enumerate() {
            let square = band[first * SIDE..][..AREA].as_chunks::<SIDE>().0;
            for (column, out) in square.iter().zip(out.chunks_exact_mut(2 * self.half)) {
                out[i * SIDE..][..SIDE].copy_from_slice(column);
            }
        }
    }

    /// Reads the diagonals of `h = 5^i`, or of `-5^i` where cycles are swapped, for eight `i` from a
    /// multiple of eight on, in the order of cycles.
    pub(super) fn read(&self, swapped: bool, first: usize, out: &mut [u64]) {
        let squares = self.values.as_chunks::<AREA>().0;
        for (at, [upper, lower]) in self.crossed(swapped, first) {
            // Position j of diagonal i is in row i + j and column j of both squares.
            let (upper, lower) = (&squares[upper], &squares[lower]);
            for (i, out) in out.chunks_exact_mut(2 * self.half).enumerate() {
                let (left, right) = out[at..][..SIDE].split_at_mut(SIDE - i);
                left.iter_mut()
                    .zip(upper[SIDE * i..].iter().step_by(SIDE + 1))
                    .for_each(|(out, x)| *out = *x);
                right
                    .iter_mut()
                    .zip(lower[SIDE - i..].iter().step_by(SIDE + 1))
                    .for_each(|(out, x)| *out = *x);
            }
        }
    }

    /// Sets the diagonals that [`read`](Self::read) reads.
    pub(super) fn write(&mut self, swapped: bool, first: usize, diagonals: &[u64]) {
        let crossed = self.crossed(swapped, first);
        let squares = self.values.as_chunks_mut::<AREA>().0;
        for (at, [upper, lower]) in crossed {
            for (i, diagonal) in diagonals.chunks_exact(2 * self.half).enumerate() {
                let (left, right) = diagonal[at..][..SIDE].split_at(SIDE - i);
                let upper = squares[upper][SIDE * i..].iter_mut().step_by(SIDE + 1);
                upper.zip(left).for_each(|(cell, x)| *cell = *x);
                let lower = squares[lower][SIDE - i..].iter_mut().step_by(SIDE + 1);
                lower.zip(right).for_each(|(cell, x)| *cell = *x);
            }
        }
    }

    /// The positions in diagonals, eight by eight, and the two squares that these cross.
    fn crossed(&self, swapped: bool, first: usize) -> impl Iterator<Item = (usize, [usize; 2])> + use<> {
        let (half, points) = (self.half, self.along.points());
        // Lengths of cycles are powers of two, and a bit mask avoids a division.
        let period = points.min(half);
        [0, half].into_iter().flat_map(move |cycle| {
            let row = if swapped { half - cycle } else { cycle };
            let column = if period < points { cycle } else { 0 };
            (0..half).step_by(SIDE).map(move |k| {
                let square = |at: usize| {
                    (row + (at & (half - 1))) / SIDE * (points / SIDE) + (column + (k & (period - 1))) / SIDE
                };
                (cycle + k, [square(k + first), square(k + first + SIDE)])
            })
        })
    }
}
