//! What keys add to the bodies of samples, as a product of integers.
//!
//! All switches but the one that joins two lists, which has a key of its own, add up to a linear
//! function of the coefficients of the key of `X -> X^5`. The weight of `X^m` of its body `y_l` is the
//! polynomial
//!
//! ```text
//! B_lm(X) = sum_h X^(m h) d_hl(X)
//! ```
//!
//! over the images `h` of that key. Its coefficients are sums of digits: three or four bytes each,
//! where a digit in slots takes 6.4. In the slot of `psi^e` it is `sum_f psi^(m f) d_(f/e)l(psi^e)`
//! over the odd exponents `f`. So the coefficient of `X^j` of all `B_lm` is one row of weights: a
//! transform over `e` for each `f` gives a value for each `j`, and one over `f` the row of each `j`.
//! For fewer than `n` samples the projection onto powers of `Y` is needed, whose values are means of
//! those of `B_lm` over slots with the same value of `Y`: these have different `f`, so that the same
//! transforms take them together.
//!
//! **Joint digits.** A weight is a sum of one digit for each switch, whatever these are. Where sums of
//! all digits fit the modulus side by side, digits are joined by a factor before they are transformed,
//! and their sums separated afterwards.

use super::diagonals::{Diagonals, SIDE};
use super::{Inspiring, MaskReduction, PackStep};
use crate::ring::ModulusLevel;
use std::ops::Range;

/// The digits of weights that are transformed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JointDigits {
    pub(super) count: usize,
    /// Bits of a sum of digits and its sign.
    pub(super) bits: u32,
}

impl JointDigits {
    /// All digits of a packing, if their sums fit the modulus together, or one.
    ///
    /// # Panics
    /// If a sum of digits does not fit the modulus.
    pub(super) fn of(packing: &Inspiring) -> Self {
        // A digit is at most half the base, in absolute value.
        let most = (packing.steps() as u128) << (packing.gadget.base_log2() - 1);
        let bits = u128::BITS - most.leading_zeros() + 1;
        let count = packing.digits();
        let side_by_side = |sum: u128, i| sum.checked_add(most.checked_mul(1u128.checked_shl(bits * i)?)?);
        let fits = |count| {
            let sum = (0..count as u32).try_fold(0, side_by_side);
            sum.is_some_and(|sum| sum < u128::from(packing.ring.q().value() / 2))
        };
        assert!(fits(1), "sums of digits that fit the modulus");
        JointDigits { count: if fits(count) { count } else { 1 }, bits }
    }

    /// Half of the range of each sum: added to joint sums, it makes all of them positive.
    pub(super) fn bias(self) -> u64 {
        (0..self.count as u32).map(|i| 1 << (self.bits * (i + 1) - 1)).sum()
    }

    /// Takes the lowest sum out of joint ones with their bias.
    pub(super) fn next(self, joint: &mut u64) -> i64 {
        let range = 1 << self.bits;
        let lowest = (*joint & (range - 1)) as i64 - (range / 2) as i64;
        *joint >>= self.bits;
        lowest
    }
}

/// The weights of one packed ciphertext.
#[derive(Debug)]
pub struct PackWeights<'a> {
    packing: &'a Inspiring,
    joint: JointDigits,
    /// A column of values for each sample, digits after joint digits.
    layers: Vec<Diagonals<'a>>,
    /// Digits of the switch that joins two lists, in slots; none where there is one list.
    pub last: Vec<Vec<u64>>,
    /// Mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
}

impl<'a> PackWeights<'a> {
    /// Computes the weights from the masks of samples, in slots, concatenated; masks that are
    /// missing are zero.
    ///
    /// # Panics
    /// Unless these are `n` reduced slots of at most as many samples as are packed, or if a sum of as
    /// many digits as there are switches does not fit the modulus.
    pub fn new(packing: &'a Inspiring, samples: &[u64]) -> Self {
        let (n, l, joint) = (packing.ring.n(), packing.digits(), JointDigits::of(packing));
        let (plan, q) = (packing.ring.plan(), packing.ring.q());
        let factors: Vec<Vec<u64>> =
            (1..joint.count as u32).map(|i| vec![q.reduce(1 << (joint.bits * i)); n]).collect();
        let mut descent = MaskReduction::new(packing, samples);
        let mut others: Vec<Diagonals<'a>> =
            (joint.count..l).step_by(joint.count).map(|_| Diagonals::unfilled(&packing.along, n)).collect();
        // Diagonals of each list and layer, eight together. The last of a list has no digits.
        let mut eights = vec![vec![vec![0; SIDE * n]; 1 + others.len()]; packing.lists()];
        let mut place = |descent: &mut MaskReduction<'a>, list, first, eights: &[Vec<u64>]| {
            if let Some((own, eights)) = eights.split_first() {
                descent.place(list, first, own);
                others.iter_mut().zip(eights).for_each(|(layer, eight)| layer.write(list == 1, first, eight));
            }
        };
        // Places without a switch, where the transform has more points than there are samples.
        let switched = if packing.steps() == 0 { 0 } else { packing.samples };
        for first in (switched.next_multiple_of(SIDE)..packing.along.points().min(n / 2)).step_by(SIDE) {
            place(&mut descent, 0, first, &eights[0]);
        }
        let (mut digits, mut last) = (vec![0; l * n], Vec::new());
        for step in 0..packing.steps() {
            descent.next(&mut digits);
            match PackStep::of(n, packing.samples, step) {
                PackStep::Fold { swapped, to } => {
                    let list = usize::from(swapped);
                    for (eight, digits) in eights[list].iter_mut().zip(digits.chunks_exact(joint.count * n)) {
                        let diagonal = &mut eight[to % SIDE * n..][..n];
                        let (first, digits) = digits.split_at(n);
                        diagonal.copy_from_slice(first);
                        for (digit, factor) in digits.chunks_exact(n).zip(&factors) {
                            plan.mul_acc(diagonal, digit, factor);
                        }
                    }
                    if to.is_multiple_of(SIDE) {
                        place(&mut descent, list, to, &eights[list]);
                    }
                }
                PackStep::Join => last = digits.chunks_exact(n).map(|digit| packing.slots(digit)).collect(),
            }
        }
        let (mask, values) = descent.finish();
        let mut layers: Vec<Diagonals<'a>> = std::iter::once(values).chain(others).collect();
        layers.iter_mut().for_each(Diagonals::invert_rows);
        PackWeights { packing, joint, layers, last, mask }
    }

    /// Calls `each` with the number of a sample, a digit, and the weights that the coefficients of the
    /// key of this digit have in the body of the sample, for some samples.
    ///
    /// # Panics
    /// If there are no such samples.
    pub fn rows(&self, samples: Range<usize>, mut each: impl FnMut(usize, usize, &[i64])) {
        let (n, plan) = (self.packing.ring.n(), self.packing.ring.plan());
        let (q, bias) = (plan.modulus().value(), self.joint.bias());
        assert!(samples.end <= self.packing.samples, "samples of a packed ciphertext");
        let mut columns = vec![0; SIDE * n];
        let (mut slots, mut joint, mut weights) = (vec![0; n], vec![0; n], vec![0; n]);
        for first in (samples.start / SIDE * SIDE..samples.end).step_by(SIDE) {
            for (layer, digits) in self.layers.iter().zip((0..).step_by(self.joint.count)) {
                layer.columns(first, &mut columns);
                let columns = (first..).zip(columns.chunks_exact(n));
                for (sample, column) in columns.filter(|(sample, _)| samples.contains(sample)) {
                    // The transform is by powers of the inverse: cycles are swapped.
                    let cycles = self.packing.cycles.chunks_exact(n / 2).rev();
                    for (cycle, values) in cycles.zip(column.chunks_exact(n / 2)) {
                        cycle.iter().zip(values).for_each(|(slot, x)| slots[*slot as usize] = *x);
                    }
                    plan.inverse(&mut slots);
                    // Centered by a shift: registers of 128 bits compare no words of 64.
                    joint.iter_mut().zip(&slots).for_each(|(sum, x)| {
                        let above = (q / 2).wrapping_sub(*x).cast_signed() >> 63;
                        *sum = x.wrapping_add(bias).wrapping_sub(q & above.cast_unsigned());
                    });
                    for digit in digits..digits + self.joint.count {
                        let sums = weights.iter_mut().zip(&mut joint);
                        sums.for_each(|(weight, sum)| *weight = self.joint.next(sum));
                        each(sample, digit, &weights);
                    }
                }
            }
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
