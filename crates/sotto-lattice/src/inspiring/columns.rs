//! What keys add to the bodies of samples, as a product of integers: like
//! [`PackWeights`](super::PackWeights), but by transforms, for many samples.
//!
//! All switches but the one that joins two lists, which has a key of its own, add up to a linear
//! function of the coefficients of the key of `X -> X^5`. The weight of `X^m` of its body `y_l` is
//! the polynomial
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

use super::{Inspiring, MaskReduction, PackStep};
use crate::ring::ModulusLevel;

/// Switches of a list whose digits are placed together: a cache line of each row.
const TOGETHER: usize = 8;

/// Padding words between columns: columns of a power of two would all fall into the same few sets
/// of a cache.
const GAP: usize = 8;

/// The weights of one packed ciphertext, column by column.
#[derive(Debug)]
pub struct WeightColumns<'a> {
    packing: &'a Inspiring,
    /// Values digit by digit: a row for each slot of bodies, in the order of cycles, and in it a
    /// word for each `m`.
    values: Vec<u64>,
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
        let mut values = vec![0; l * rows * n];
        let mut digits = vec![0; l * n];
        let mut ahead = vec![vec![0; TOGETHER * l * n]; 2];
        let mut last = Vec::new();
        for step in 0..packing.steps() {
            descent.next(&mut digits);
            match PackStep::of(n, packing.samples, step) {
                PackStep::Fold { swapped, to } => {
                    let ahead = &mut ahead[usize::from(swapped)];
                    ahead[to % TOGETHER * l * n..][..l * n].copy_from_slice(&digits);
                    if to.is_multiple_of(TOGETHER) {
                        place([n, rows], (swapped, to), ahead, &mut values);
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
    pub fn put(&self, digit: usize, first: usize, out: &mut [i32]) {
        let (n, along, samples) = (self.packing.ring.n(), &self.packing.along, self.packing.samples);
        let (rows, count) = (along.n(), out.len() / samples);
        assert!(out.len() == count * samples && first + count <= n, "columns of a key");
        let mut columns = vec![0; count * (rows + GAP)];
        let values = self.values[digit * rows * n..].chunks_exact(n);
        for (row, slot) in values.zip(along.cycles()) {
            for (column, x) in columns.chunks_exact_mut(rows + GAP).zip(&row[first..]) {
                column[slot] = *x;
            }
        }
        for (column, out) in columns.chunks_exact_mut(rows + GAP).zip(out.chunks_exact_mut(samples)) {
            let column = &mut column[..rows];
            along.inverse(column);
            out.iter_mut().zip(&*column).for_each(|(out, x)| *out = along.modulus().centered(*x) as i32);
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
/// inverse.
fn place([n, rows]: [usize; 2], (swapped, to): (bool, usize), ahead: &[u64], values: &mut [u64]) {
    let half = n / 2;
    for (digit, values) in values.chunks_exact_mut(rows * n).enumerate() {
        for place in 0..n {
            let (cycle, k) = (place / half, place & (half - 1));
            let row = &mut values[(cycle * rows / 2 + (k & (rows / 2 - 1))) * n..][..n];
            let onto = (cycle + usize::from(!swapped)) % 2 * half;
            for (i, ahead) in ahead.chunks_exact(ahead.len() / TOGETHER).enumerate() {
                row[onto + ((k + to + i) & (half - 1))] += ahead[digit * n + place];
            }
        }
    }
}
