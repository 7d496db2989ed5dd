//! Reduction of the samples' masks to digits and one mask: all work that depends on no query.
//!
//! The masks `A_h = n^-1 sum_j X^j tau_h(a_j)` are computed all at once. In the slot of `psi^e` the
//! mask is `sum_j a_j(psi^(e h)) psi^(e j)` over `n`. For each exponent `r`, the numbers
//! `a_j(psi^r)` are the coefficients of a polynomial, whose transform has at `psi^e` the value of
//! `A_h` there for `h = r / e`. So the matrix of the samples' slots is transposed, and each row of
//! the result is transformed: [`Diagonals`].

use super::diagonals::{Diagonals, SIDE};
use super::{Inspiring, PackStep, put_rotated};
use crate::ring::ModulusLevel;

/// Slots that are transposed together: eight cache lines of each sample.
const TOGETHER: usize = 64;

/// The reduction of the masks of one packed ciphertext's samples. The digits of a switch depend on
/// those before.
#[derive(Debug)]
pub(super) struct MaskReduction<'a> {
    packing: &'a Inspiring,
    /// All masks, and space for [placed](Self::place) numbers.
    values: Diagonals<'a>,
    /// Next masks of each list, in the order of cycles.
    ahead: Vec<Vec<u64>>,
    /// Input of the next switch of each list, in the order of cycles.
    masks: Vec<Vec<u64>>,
    step: usize,
    /// Scratch for a rotated key mask, and for digits in the order of their transform.
    rotated: Vec<u64>,
    slots: Vec<u64>,
}

impl<'a> MaskReduction<'a> {
    /// Transforms the masks of samples, in slots, concatenated; masks that are missing are zero.
    ///
    /// # Panics
    /// Unless these are at most as many polynomials as are packed, of `n` reduced slots.
    pub(super) fn new(packing: &'a Inspiring, samples: &[u64]) -> Self {
        let (n, along) = (packing.ring.n(), &packing.along);
        assert!(samples.len() <= packing.samples * n, "the samples of one packed ciphertext");
        let mut position_of = vec![0; n];
        packing.cycles.iter().zip(0..).for_each(|(slot, position)| position_of[*slot as usize] = position);
        let mut values = Diagonals::unfilled(along, n);
        let mut buffer = along.buffer(TOGETHER);
        for first in (0..n).step_by(TOGETHER) {
            along.transpose(samples, n, first, &mut buffer);
            for (position, row) in position_of[first..].iter().zip(along.rows(&mut buffer)) {
                values.set_row(*position, row);
            }
        }
        let zeros = |count| vec![0; count * n];
        let lists = packing.lists();
        let mut descent = MaskReduction {
            packing,
            values,
            ahead: vec![zeros(SIDE); lists],
            masks: vec![zeros(1); lists],
            step: 0,
            rotated: zeros(1),
            slots: zeros(packing.digits()),
        };
        for list in 0..lists {
            let last = packing.samples / lists - 1;
            descent.collect(list, last);
            let mask = row(&descent.ahead[list], n, last);
            descent.masks[list].copy_from_slice(mask);
        }
        descent
    }

    /// Collects the masks of a list, of which number `i` is one, eight together.
    fn collect(&mut self, list: usize, i: usize) {
        self.values.read(list == 1, i / SIDE * SIDE, &mut self.ahead[list]);
    }

    /// Writes the digits of the next switch, in the order of cycles, concatenated.
    ///
    /// # Panics
    /// If no switch is left, or `digits` does not fit exactly these digits.
    pub(super) fn next(&mut self, digits: &mut [u64]) {
        let (packing, n) = (self.packing, self.packing.ring.n());
        assert_eq!(digits.len(), n * packing.digits(), "an output for the digits of a switch");
        assert!(self.step < packing.steps(), "a switch that is left");
        let step = PackStep::of(n, packing.samples, self.step);
        self.step += 1;
        let (from, onto) = match step {
            PackStep::Fold { swapped, .. } => (usize::from(swapped), usize::from(swapped)),
            PackStep::Join => (1, 0),
        };
        packing.split(&self.masks[from], &mut self.rotated, &mut self.slots, digits);
        if let PackStep::Fold { to, .. } = step {
            // The masks of a list are requested from the last on.
            if to % SIDE == SIDE - 1 {
                self.collect(onto, to);
            }
            self.masks[onto].copy_from_slice(row(&self.ahead[onto], n, to));
        }
        for (i, digit) in digits.chunks_exact(n).enumerate() {
            put_rotated(&packing.masks, step.digit_rotation(packing.digits(), i), &mut self.rotated);
            packing.ring.plan().mul_acc(&mut self.masks[onto], digit, &self.rotated);
        }
    }

    /// Stores diagonals of a list in the place of masks that were collected, from number `first` on,
    /// a multiple of eight.
    pub(super) fn place(&mut self, list: usize, first: usize, eight: &[u64]) {
        self.values.write(list == 1, first, eight);
    }

    /// Returns the mask of the packed ciphertext, in slots, and what was [placed](Self::place).
    ///
    /// # Panics
    /// If a switch is left.
    pub(super) fn finish(self) -> (Vec<u64>, Diagonals<'a>) {
        assert_eq!(self.step, self.packing.steps(), "no switch left");
        (self.packing.slots(&self.masks[0]), self.values)
    }
}

/// The place of a list's number `i` among eight that are together.
pub(super) fn row(eight: &[u64], n: usize, i: usize) -> &[u64] {
    &eight[i % SIDE * n..][..n]
}

impl Inspiring {
    /// Splits a mask into digits, both in the order of cycles. `slots` is scratch for one polynomial,
    /// and `split` for the digits.
    fn split(&self, mask: &[u64], slots: &mut [u64], split: &mut [u64], digits: &mut [u64]) {
        self.cycles.iter().zip(mask).for_each(|(slot, x)| slots[*slot as usize] = *x);
        self.ring.inverse(ModulusLevel::Main, slots);
        self.gadget.decompose(self.ring.q(), slots, split);
        let n = slots.len();
        for (digit, split) in digits.chunks_exact_mut(n).zip(split.chunks_exact_mut(n)) {
            self.ring.forward(ModulusLevel::Main, split);
            digit.iter_mut().zip(&self.cycles).for_each(|(x, slot)| *x = split[*slot as usize]);
        }
    }
}
