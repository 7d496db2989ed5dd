//! What keys add to the bodies of samples, as a product of integers: by transforms for many
//! samples ([`WeightColumns`]), and by additions for few ([`PackWeights`]).
//!
//! **Many samples.** All switches but the one that joins two lists, which has a key of its own, add
//! up to a linear function of the coefficients of the key of `X -> X^5`. The weight of `X^m` of its
//! body `y_l` is the polynomial
//!
//! ```text
//! B_lm(X) = sum_h X^(m h) d_hl(X)
//! ```
//!
//! over the images `h` of that key. Its coefficients are sums of digits: three bytes each, where a
//! digit in slots takes 6.4. In the slot of `psi^e` it is `sum_f psi^(m f) d_(f/e)l(psi^e)` over
//! the odd exponents `f`: a transform for each slot gives it there for all `m`, and one for each
//! `m` gives its coefficients. For fewer than `n` samples the projection onto powers of `Y` is
//! needed, which has in each of its slots the mean of `B_lm` in some slots; these have different
//! `f`, and one transform takes them together.
//!
//! **Few samples.** The body at `Y^j` is `b_j` plus a sum over switches of the coefficient of
//! `tau_i(y_l) d_il` there, which is a linear function of the coefficients of `y_l`: all switches
//! together are one row of integers for each sample and digit. In the terms of [`super`], with `D =
//! n / 2g`, the weight of `X^m` of a key at `Y^j` is
//!
//! ```text
//! T_jl[m] = sum_i what d_il(X) X^(m 5^i) has at X^(j D) = sum_i what tau_-i(d_il) X^m has at X^(j D / 5^i)
//! ```
//!
//! a sum of rotated images of the digits. It has the `g l n` numbers of as many digits in slots,
//! but they are sums of fewer than `g` digits, three bytes instead of 6.4; and the product gives
//! the bodies themselves, without any transform.
//!
//! Half a list further, `5^(g/2) = 1 + 2g` modulo `4g`. So an image is rotated by the same number
//! there where j is even, and by `n` more, which changes its sign, where it is odd. For odd `j`
//! differences of two images are added, and for even ones the same applies again to sums of two:
//! `g^2 / 3` images are added instead of `g^2`. That is still a square, so for many samples
//! [`WeightColumns`] computes the same numbers by transforms.

use super::{Inspiring, MaskReduction, PackStep};
use crate::ring::ModulusLevel;
use sotto_pages::HugeWords;

/// Switches of a list whose digits are placed together: a cache line of each row.
const TOGETHER: usize = 8;

/// Padding words between columns: columns of a power of two would all fall into the same few sets
/// of a cache.
const GAP: usize = 8;

/// The weights of one packed ciphertext, column by column.
#[derive(Debug)]
pub struct WeightColumns<'a> {
    packing: &'a Inspiring,
    /// Values digit by digit: a row for each slot of the transform along samples, and in it a word
    /// for each `m`.
    values: HugeWords<u64>,
    /// Digits of the switch that joins two lists, in slots; none where there is one list.
    pub last: Vec<Vec<u64>>,
    /// Mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
}

impl<'a> WeightColumns<'a> {
    /// Computes the weights from the masks of samples, in slots, concatenated.
    ///
    /// # Panics
    /// Unless these are `n` reduced slots of each sample, or if fewer than 32 samples are packed.
    pub fn new(packing: &'a Inspiring, samples: &[u64]) -> Self {
        let (n, l, rows) = (packing.ring.n(), packing.digits(), packing.along.n());
        assert!(rows == n || rows == 2 * packing.samples, "samples for which there are transforms");
        let mut descent = MaskReduction::new(packing, samples);
        let mut values = HugeWords::zeroed(l * rows * n);
        let mut digits = vec![0; l * n];
        let mut ahead = vec![vec![[0; TOGETHER]; l * n]; 2];
        let row_of = packing.along.cycles();
        let mut last = Vec::new();
        for step in 0..packing.steps() {
            descent.next(&mut digits);
            match PackStep::of(n, packing.samples, step) {
                PackStep::Fold { swapped, to } => {
                    let ahead = &mut ahead[usize::from(swapped)];
                    ahead.iter_mut().zip(&digits).for_each(|(eight, x)| eight[to % TOGETHER] = *x);
                    if to.is_multiple_of(TOGETHER) {
                        place(n, &row_of, (swapped, to), ahead, &mut values);
                    }
                }
                PackStep::Join => last = digits.chunks_exact(n).map(|digit| packing.slots(digit)).collect(),
            }
        }
        let plan = packing.ring.plan();
        // A transform divides by n, and a sum over all slots, or a mean over some, is needed.
        let scale = vec![plan.modulus().reduce(rows as u64); n];
        let mut slots = vec![0; n];
        for row in values.chunks_exact_mut(n) {
            packing.cycles.iter().zip(&*row).for_each(|(slot, x)| slots[*slot] = *x);
            plan.mul(&mut slots, &scale);
            plan.inverse(&mut slots);
            row.copy_from_slice(&slots);
        }
        WeightColumns { packing, values, last, mask: descent.finish() }
    }

    /// Writes columns of one digit, from `first` on, as many as fit `out`: the weights of
    /// coefficients `first..` of a key in the body of each sample.
    ///
    /// # Panics
    /// If there are no such columns, or `out` does not fit whole ones.
    pub fn put(&self, digit: usize, first: usize, out: &mut [i64]) {
        let (n, along, samples) = (self.packing.ring.n(), &self.packing.along, self.packing.samples);
        let (rows, count) = (along.n(), out.len() / samples);
        assert!(out.len() == count * samples && first + count <= n, "columns of a key");
        let mut columns = vec![0; count * (rows + GAP)];
        let values = &self.values[digit * rows * n..][..rows * n];
        // Eight rows at a time are a cache line of each column.
        for (place, eight) in (0..rows).step_by(TOGETHER).zip(values.chunks_exact(TOGETHER * n)) {
            let lines: [&[u64]; TOGETHER] = std::array::from_fn(|i| &eight[i * n + first..][..count]);
            for (i, column) in columns.chunks_exact_mut(rows + GAP).enumerate() {
                let cells = &mut column[place..place + TOGETHER];
                cells.iter_mut().zip(&lines).for_each(|(cell, line)| *cell = line[i]);
            }
        }
        for (column, out) in columns.chunks_exact_mut(rows + GAP).zip(out.chunks_exact_mut(samples)) {
            let column = &mut column[..rows];
            along.inverse(column);
            out.iter_mut().zip(&*column).for_each(|(out, x)| *out = along.modulus().centered(*x));
        }
    }
}

impl Inspiring {
    /// Computes what the switch that joins two lists adds to bodies, coefficient by coefficient,
    /// from its digits and the key of `X -> X^-1`, both in slots.
    ///
    /// # Panics
    /// If these are not `n` slots each.
    pub fn last(&self, digits: &[Vec<u64>], key: &[Vec<u64>]) -> Vec<u64> {
        let plan = self.ring.plan();
        let (mut sums, mut out) = (plan.accumulator(), vec![0; self.ring.n()]);
        for (digit, key) in digits.iter().zip(key) {
            plan.mul_acc_wide(&mut sums, digit, key);
        }
        plan.take(&mut sums, &mut out);
        self.ring.inverse(ModulusLevel::Main, &mut out);
        out
    }
}

/// Places the digits of some switches of a list, from number `to` on: in the row of the slot of
/// `psi^e`, those of `h` are at `-e h`, since the transform that follows uses powers of the
/// inverse. No two digits are at the same place. `row_of` has the row of each position in the order
/// of cycles.
fn place(
    n: usize,
    row_of: &[usize],
    (swapped, to): (bool, usize),
    ahead: &[[u64; TOGETHER]],
    values: &mut [u64],
) {
    let (half, rows) = (n / 2, row_of.len());
    for (values, ahead) in values.chunks_exact_mut(rows * n).zip(ahead.chunks_exact(n)) {
        let cycles = ahead.chunks_exact(half).zip(row_of.chunks_exact(rows / 2)).enumerate();
        for (cycle, (ahead, row_of)) in cycles {
            let onto = (cycle + usize::from(!swapped)) % 2 * half;
            for ((k, eight), row) in ahead.iter().enumerate().zip(row_of.iter().cycle()) {
                let row = &mut values[row * n + onto..][..half];
                let start = (k + to) & (half - 1);
                if let Some(cells) = row[start..].first_chunk_mut::<TOGETHER>() {
                    cells.copy_from_slice(eight);
                } else {
                    // The last few of a cycle go on at its start.
                    let cells = (start..start + TOGETHER).map(|cell| cell & (half - 1));
                    cells.zip(eight).for_each(|(cell, x)| row[cell] = *x);
                }
            }
        }
    }
}

/// Switches whose digits are added together: they fit the second-level cache, and a row fits the
/// first.
const SWITCHES: usize = 4;

/// Number of samples from which on transforms take less time than additions: at 256 less than half,
/// at 128 the same.
const BY_TRANSFORMS: usize = 256;

/// Columns that are transposed into rows together, and rows at once: a cache line of each.
const TURNED: [usize; 2] = [64, 16];

/// The weights of one packed ciphertext, row by row.
#[derive(Debug)]
pub struct PackWeights {
    /// Weights of each coefficient of a key, for each sample, digit by digit.
    pub rows: Vec<i32>,
    /// Mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
}

impl PackWeights {
    /// Computes the weights of the first `count` samples, for packing with one key only.
    ///
    /// # Panics
    /// Unless these are `n` reduced slots of each sample; if there are not `count` samples, or as
    /// many as coefficients.
    pub fn new(packing: &Inspiring, samples: &[u64], count: usize) -> Self {
        let n = packing.ring.n();
        assert!(count <= packing.samples && packing.samples < n, "samples that are packed with one key");
        if packing.samples < BY_TRANSFORMS {
            Self::by_additions(packing, samples, count)
        } else {
            Self::by_transforms(packing, samples, count)
        }
    }

    pub(super) fn by_additions(packing: &Inspiring, samples: &[u64], count: usize) -> Self {
        let (n, l) = (packing.ring.n(), packing.digits());
        let mut descent = MaskReduction::new(packing, samples);
        let mut digits = vec![0; l * n];
        let powers = powers(n, packing.samples);
        let mut images = vec![0; packing.samples * l * n];
        let half = packing.ring.q().value() / 2;
        let centered = |x: u64| if x > half { -((packing.ring.q().value() - x) as i32) } else { x as i32 };
        while descent.next_with(&mut digits, |i, digits| {
            let images = images[i * l * n..][..l * n].chunks_exact_mut(n);
            images.zip(digits.chunks_exact(n)).for_each(|(image, digits)| {
                // A power of two, and a bit mask avoids a division.
                let minus = 2 * n - powers[i];
                for (power, x) in digits.iter().enumerate() {
                    let (at, x) = ((power * minus) & (2 * n - 1), centered(*x));
                    image[at & (n - 1)] = if at < n { x } else { -x };
                }
            });
        }) {}
        let mut rows = vec![0; count * l * n];
        let (mut left, mut apart) = (packing.samples, 1);
        while left > 1 {
            left /= 2;
            let (sums, differences) = images[..2 * left * l * n].split_at_mut(left * l * n);
            sums.iter_mut().zip(differences.iter_mut()).for_each(|(x, y)| (*x, *y) = (*x + *y, *x - *y));
            for (differences, powers) in differences.chunks(SWITCHES * l * n).zip(powers.chunks(SWITCHES)) {
                let over: Vec<i32> = differences.chunks_exact(n).flat_map(thrice).collect();
                for j in (apart..count).step_by(2 * apart) {
                    let row = &mut rows[j * l * n..][..l * n];
                    let by = |power: &usize| j * packing.stride() * power;
                    over.chunks_exact(3 * l * n)
                        .zip(powers)
                        .for_each(|(over, power)| add(n, row, over, by(power)));
                }
            }
            apart *= 2;
        }
        if let Some(first) = rows.get_mut(..l * n) {
            first.copy_from_slice(&images[..l * n]);
        }
        PackWeights { rows, mask: descent.finish() }
    }

    pub(super) fn by_transforms(packing: &Inspiring, samples: &[u64], count: usize) -> Self {
        let (len, [cols, lines]) = (packing.digits() * packing.ring.n(), TURNED);
        let columns = WeightColumns::new(packing, samples);
        let mut rows = vec![0; count * len];
        let mut piece = vec![0; cols * packing.samples];
        // Rows have the length of a power of two, and columns too: the transposition goes through a
        // buffer without gaps.
        let mut turned = vec![0; lines * cols];
        for start in (0..len).step_by(cols) {
            columns.put(start / packing.ring.n(), start % packing.ring.n(), &mut piece);
            for (rows, first) in rows.chunks_mut(lines * len).zip((0..).step_by(lines)) {
                for (col, column) in piece.chunks_exact(packing.samples).enumerate() {
                    turned
                        .iter_mut()
                        .skip(col)
                        .step_by(cols)
                        .zip(&column[first..])
                        .for_each(|(x, y)| *x = *y as i32);
                }
                for (row, line) in rows.chunks_exact_mut(len).zip(turned.chunks_exact(cols)) {
                    row[start..start + cols].copy_from_slice(line);
                }
            }
        }
        PackWeights { rows, mask: columns.mask }
    }
}

/// The powers of the inverse of 5 modulo `2n`, which is 5 to the power of the order of its group,
/// less one.
fn powers(n: usize, count: usize) -> Vec<usize> {
    let inverse = (1..n / 2).fold(1, |power, _| power * 5 % (2 * n));
    std::iter::successors(Some(1), |k| Some(k * inverse % (2 * n))).take(count).collect()
}

/// The value of a polynomial at minus each power of X, over three halves of the powers' period
/// `2n`.
fn thrice(image: &[i32]) -> impl Iterator<Item = i32> {
    image.iter().copied().chain(image.iter().map(|x| -x)).chain(image.iter().copied())
}

/// Adds images of polynomials of `n` coefficients, digit by digit, rotated by a power of X.
fn add(n: usize, row: &mut [i32], over: &[i32], power: usize) {
    let start = power.wrapping_neg() & (2 * n - 1);
    for (row, over) in row.chunks_exact_mut(n).zip(over.chunks_exact(3 * n)) {
        row.iter_mut().zip(&over[start..start + n]).for_each(|(sum, x)| *sum += x);
    }
}
