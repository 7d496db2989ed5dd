//! Reduction of the samples' masks to digits and one mask: all work that depends on no query.
//!
//! The masks `A_h = n^-1 sum_j X^j tau_h(a_j)` are computed all at once. In the slot of `psi^e` the
//! mask is `sum_j a_j(psi^(e h)) psi^(e j)` over `n`. For each exponent `r`, the numbers
//! `a_j(psi^r)` are the coefficients of a polynomial, whose transform has at `psi^e` the value of
//! `A_h` there for `h = r / e`. So the matrix of the samples' slots is transposed, and each row of
//! the result is transformed. For fewer than `n` samples, `X` is `Y` and there are as many points
//! as powers of `Y`: a row has the samples and zeros, and half of its transform, that at powers of
//! one sign, is used.

use super::{Inspiring, PackStep, put_rotated};
use crate::ring::ModulusLevel;
use sotto_pages::HugeWords;

/// Slots that are transposed together: eight cache lines of each row.
const TOGETHER: usize = 64;

/// Masks that are collected together, and the side of the squares in which values are stored: a
/// mask is a diagonal, and eight adjacent masks cross two squares at a time.
const AHEAD: usize = 8;

/// Padding words between rows: rows of a power of two would all fall into the same few sets of a
/// cache.
const GAP: usize = 8;

/// The reduction of the masks of one packed ciphertext's samples. The digits of a switch depend on
/// those before.
#[derive(Debug)]
pub(super) struct MaskReduction<'a> {
    packing: &'a Inspiring,
    /// Values with a row for each position of a mask's slot, and a column for each position in the
    /// transform of that row; see [`square`].
    values: HugeWords<u64>,
    /// Next masks of each list, in the order of cycles.
    ahead: [Vec<u64>; 2],
    /// Input of the next switch of each list, in the order of cycles.
    masks: [Vec<u64>; 2],
    step: usize,
    /// Scratch for a rotated key mask, and for a polynomial in the order of its transform.
    rotated: Vec<u64>,
    slots: Vec<u64>,
}

impl<'a> MaskReduction<'a> {
    /// Transforms the masks of samples, in slots, concatenated.
    ///
    /// # Panics
    /// Unless these are as many polynomials as are packed, of `n` reduced slots.
    pub(super) fn new(packing: &'a Inspiring, samples: &[u64]) -> Self {
        let (n, along) = (packing.ring.n(), &packing.along);
        assert_eq!(samples.len(), packing.samples * n, "the samples of one packed ciphertext");
        let mut place_of = vec![0; n];
        packing.cycles.iter().zip(0..).for_each(|(slot, place)| place_of[*slot] = place);
        let points = along.cycles();
        let inverse = vec![along.modulus().inv(packing.samples as u64); along.n()];
        // With fewer samples than half the positions, powers of Y are powers of the root that the
        // positions count.
        let apart = (along.n() / 2 / packing.samples).max(1);
        let mut values = HugeWords::zeroed(n * along.n());
        let mut rows = vec![0; TOGETHER * (along.n() + GAP)];
        for first in (0..n).step_by(TOGETHER) {
            rows.fill(0);
            for (j, sample) in samples.chunks_exact(n).enumerate() {
                for (row, x) in rows.chunks_exact_mut(along.n() + GAP).zip(&sample[first..first + TOGETHER]) {
                    row[j * apart] = *x;
                }
            }
            for (row, place) in rows.chunks_exact_mut(along.n() + GAP).zip(&place_of[first..]) {
                let row = &mut row[..along.n()];
                along.forward(row);
                along.mul(row, &inverse);
                for (col, slots) in points.chunks_exact(AHEAD).enumerate() {
                    let out = &mut values[square(along.n(), *place, AHEAD * col)..][..AHEAD];
                    out.iter_mut().zip(slots).for_each(|(out, slot)| *out = row[*slot]);
                }
            }
        }
        let zero = || vec![0; n];
        let ahead = [vec![0; AHEAD * n], vec![0; AHEAD * n]];
        let mut descent = MaskReduction {
            packing,
            values,
            ahead,
            masks: [zero(), zero()],
            step: 0,
            rotated: zero(),
            slots: zero(),
        };
        let full = packing.samples == n;
        let last = if full { n / 2 } else { packing.samples } - 1;
        for swapped in [false, true].into_iter().take(1 + usize::from(full)) {
            descent.collect(swapped, last / AHEAD * AHEAD);
            descent.masks[usize::from(swapped)] = descent.mask(swapped, last);
        }
        descent
    }

    /// Returns the mask of `h = 5^i`, or of `-5^i` where cycles are swapped. Those of one list are
    /// requested from the last on.
    fn mask(&mut self, swapped: bool, i: usize) -> Vec<u64> {
        let n = self.packing.ring.n();
        let (list, within) = (usize::from(swapped), i % AHEAD);
        if within == AHEAD - 1 {
            self.collect(swapped, i - within);
        }
        self.ahead[list][within * n..][..n].to_vec()
    }

    /// Collects the masks from number `first` on.
    fn collect(&mut self, swapped: bool, first: usize) {
        let (n, points) = (self.packing.ring.n(), self.packing.along.n());
        let half = n / 2;
        let ahead = &mut self.ahead[usize::from(swapped)];
        let squares = self.values.as_chunks::<{ AHEAD * AHEAD }>().0;
        for (cycle, point) in [(0, 0), (half, points / 2)] {
            let other = if swapped { half - cycle } else { cycle };
            for k in (0..half).step_by(AHEAD) {
                // The length of a cycle is a power of two, and a bit mask avoids a division.
                let col = point + (k & (points / 2 - 1));
                let of_row =
                    |row: usize| &squares[square(points, other + (row & (half - 1)), col) / (AHEAD * AHEAD)];
                let mut two = [0; 2 * AHEAD * AHEAD];
                let (upper, lower) = two.split_at_mut(AHEAD * AHEAD);
                upper.copy_from_slice(of_row(k + first));
                lower.copy_from_slice(of_row(k + first + AHEAD));
                for (i, mask) in ahead.chunks_exact_mut(n).enumerate() {
                    let out = mask[cycle + k..].first_chunk_mut::<AHEAD>();
                    // Position j of mask i is in row i + j and column j of both squares.
                    let diagonal = two[AHEAD * i..].iter().step_by(AHEAD + 1);
                    out.into_iter().flatten().zip(diagonal).for_each(|(out, x)| *out = *x);
                }
            }
        }
    }

    /// Writes the digits of the next switch, in the order of cycles, concatenated; false once there
    /// is none left.
    ///
    /// # Panics
    /// If `digits` does not fit exactly these digits.
    pub(super) fn next(&mut self, digits: &mut [u64]) -> bool {
        self.next_with(digits, |_, _| ())
    }

    /// Does the work of [`next`](Self::next), and calls `inspect` with the digits before they are
    /// transformed, as residues, and with the rotation of the key for them.
    pub(super) fn next_with(&mut self, digits: &mut [u64], inspect: impl FnOnce(usize, &[u64])) -> bool {
        let (packing, n) = (self.packing, self.packing.ring.n());
        assert_eq!(digits.len(), n * packing.digits(), "an output for the digits of a switch");
        if self.step == packing.steps() {
            return false;
        }
        let step = PackStep::of(n, packing.samples, self.step);
        let (from, onto, mut next) = match step {
            PackStep::Fold { swapped, to } => {
                (usize::from(swapped), usize::from(swapped), self.mask(swapped, to))
            }
            PackStep::Join => (1, 0, std::mem::take(&mut self.masks[0])),
        };
        let rotation = |digit| step.digit_rotation(packing.digits(), digit);
        packing.split(&self.masks[from], &mut self.slots, digits, |digits| inspect(rotation(0).by, digits));
        for (i, digit) in digits.chunks_exact(n).enumerate() {
            put_rotated(&packing.masks, rotation(i), &mut self.rotated);
            packing.ring.plan().mul_acc(&mut next, digit, &self.rotated);
        }
        self.masks[onto] = next;
        self.step += 1;
        true
    }

    /// Returns the mask of the packed ciphertext, in slots.
    ///
    /// # Panics
    /// If a switch is left.
    pub(super) fn finish(self) -> Vec<u64> {
        assert_eq!(self.step, self.packing.steps(), "no switch left");
        self.packing.slots(&self.masks[0])
    }
}

/// The index of a value: values are stored in squares of eight rows and columns, and these in order
/// of rows of squares.
fn square(cols: usize, row: usize, col: usize) -> usize {
    ((row / AHEAD) * (cols / AHEAD) + col / AHEAD) * (AHEAD * AHEAD) + row % AHEAD * AHEAD + col % AHEAD
}

impl Inspiring {
    /// Splits a mask into digits, both in the order of cycles. `slots` is scratch for one
    /// polynomial, and `inspect` receives the digits as residues.
    fn split(&self, mask: &[u64], slots: &mut [u64], digits: &mut [u64], inspect: impl FnOnce(&[u64])) {
        self.cycles.iter().zip(mask).for_each(|(slot, x)| slots[*slot] = *x);
        self.ring.inverse(ModulusLevel::Main, slots);
        self.gadget.decompose(self.ring.q(), slots, digits);
        inspect(digits);
        for digit in digits.chunks_exact_mut(slots.len()) {
            slots.copy_from_slice(digit);
            self.ring.forward(ModulusLevel::Main, slots);
            digit.iter_mut().zip(&self.cycles).for_each(|(x, slot)| *x = slots[*slot]);
        }
    }
}
