//! What keys add to the bodies of few samples, as a product of integers.
//!
//! The body at `Y^j` is `b_j` plus a sum over switches of the coefficient of `tau_i(y_l) d_il`
//! there, which is a linear function of the coefficients of `y_l`: all switches together are one
//! row of integers for each sample and digit. In the terms of [`super`], with `D = n / 2g`, the
//! weight of `X^m` of a key at `Y^j` is
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

use super::{Inspiring, MaskReduction, WeightColumns};

/// Switches whose digits are added together: they fit the second-level cache, and a row fits the
/// first.
const TOGETHER: usize = 4;

/// Number of samples from which on transforms take less time than additions. At 256 they take the
/// same time, at 128 more.
const BY_TRANSFORMS: usize = 512;

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
            for (differences, powers) in differences.chunks(TOGETHER * l * n).zip(powers.chunks(TOGETHER)) {
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
                        .for_each(|(x, y)| *x = *y);
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
