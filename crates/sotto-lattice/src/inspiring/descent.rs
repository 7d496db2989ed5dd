//! From the masks of samples to digits and one mask: all that depends on no query.
//!
//! The masks `A_h = n^-1 sum_j X^j tau_h(a_j)` come all at once. In the slot of `psi^e` the mask is
//! `sum_j a_j(psi^(e h)) psi^(e j)` over `n`. For each exponent `r`, the numbers `a_j(psi^r)` are the coefficients of a
//! polynomial, whose transform has at `psi^e` what `A_h` has there for `h = r / e`. So the matrix of the samples' slots is
//! transposed, and each row of that is transformed.

use super::{Inspiring, Step, ordered};
use crate::ring::Level;

/// Slots that are transposed together: eight lines of each row.
const TOGETHER: usize = 64;

/// The way down of the `n` samples of one packed ciphertext. The digits of one switch follow from those before.
#[derive(Debug)]
pub struct Descent<'a> {
    packing: &'a Inspiring,
    /// A row for each place of a mask's slot, a column for each place in the transform of that row.
    values: Vec<u64>,
    /// What the next switch of each list takes, in the order of cycles.
    masks: [Vec<u64>; 2],
    step: usize,
    /// A turned key mask.
    turned: Vec<u64>,
}

impl<'a> Descent<'a> {
    /// From the masks of samples, in slots, one after the other.
    ///
    /// # Panics
    /// Unless these are `n` polynomials of `n` reduced slots.
    pub fn new(packing: &'a Inspiring, samples: &[u64]) -> Self {
        let n = packing.ring.n();
        assert_eq!(samples.len(), n * n, "a sample for each coefficient");
        let mut place_of = vec![0; n];
        packing.cycles.iter().zip(0..).for_each(|(slot, place)| place_of[*slot] = place);
        let plan = packing.ring.plan();
        let inverse = vec![plan.modulus().inv(n as u64); n];
        let mut values = vec![0; n * n];
        let mut rows = vec![0; TOGETHER * n];
        for first in (0..n).step_by(TOGETHER) {
            for (j, sample) in samples.chunks_exact(n).enumerate() {
                for (i, x) in sample[first..first + TOGETHER].iter().enumerate() {
                    rows[i * n + j] = *x;
                }
            }
            for (row, place) in rows.chunks_exact_mut(n).zip(&place_of[first..]) {
                plan.forward(row);
                plan.mul(row, &inverse);
                let out = &mut values[place * n..][..n];
                out.iter_mut().zip(&packing.cycles).for_each(|(out, slot)| *out = row[*slot]);
            }
        }
        let mut descent =
            Descent { packing, values, masks: [vec![0; n], vec![0; n]], step: 0, turned: vec![0; n] };
        for swapped in [false, true] {
            descent.masks[usize::from(swapped)] = descent.mask(swapped, n / 2 - 1);
        }
        descent
    }

    /// The mask of `h = 5^i`, or of `-5^i` where cycles are swapped.
    fn mask(&self, swapped: bool, i: usize) -> Vec<u64> {
        let n = self.packing.ring.n();
        let half = n / 2;
        let value = |place: usize| {
            let row = (place / half ^ usize::from(swapped)) * half + (place + i) % half;
            self.values[row * n + place]
        };
        (0..n).map(value).collect()
    }

    /// Puts the digits of the next switch, in the order of cycles, one after the other; false once there is none left.
    ///
    /// # Panics
    /// If there is not room for exactly these digits.
    pub fn next(&mut self, digits: &mut [u64]) -> bool {
        let (packing, n) = (self.packing, self.packing.ring.n());
        assert_eq!(digits.len(), n * packing.digits(), "room for the digits of a switch");
        if self.step == packing.steps() {
            return false;
        }
        match Step::of(n, self.step) {
            Step::Fold { swapped, to } => {
                let list = usize::from(swapped);
                packing.split(&self.masks[list], digits);
                let mut next = self.mask(swapped, to);
                for (digit, mask) in digits.chunks_exact(n).zip(&packing.masks[0]) {
                    let (first, second) = mask.split_at(n);
                    let [first, second] = if swapped { [second, first] } else { [first, second] };
                    self.turned[..n / 2].copy_from_slice(&first[to..to + n / 2]);
                    self.turned[n / 2..].copy_from_slice(&second[to..to + n / 2]);
                    packing.ring.plan().mul_acc(&mut next, digit, &self.turned);
                }
                self.masks[list] = next;
            }
            Step::Join => {
                let [joined, last] = &mut self.masks;
                packing.split(last, digits);
                for (digit, mask) in digits.chunks_exact(n).zip(&packing.masks[1]) {
                    packing.ring.plan().mul_acc(joined, digit, mask);
                }
            }
        }
        self.step += 1;
        true
    }

    /// The mask of the packed ciphertext, in slots.
    ///
    /// # Panics
    /// If a switch is left.
    pub fn finish(self) -> Vec<u64> {
        assert_eq!(self.step, self.packing.steps(), "the end of the way");
        self.packing.slots(&self.masks[0])
    }
}

impl Inspiring {
    /// The digits of a mask, both in the order of cycles.
    fn split(&self, mask: &[u64], digits: &mut [u64]) {
        let mut poly = self.slots(mask);
        self.ring.inverse(Level::Main, &mut poly);
        self.gadget.decompose(self.ring.q(), &poly, digits);
        for digit in digits.chunks_exact_mut(poly.len()) {
            self.ring.forward(Level::Main, digit);
            digit.copy_from_slice(&ordered(&self.cycles, digit));
        }
    }
}
