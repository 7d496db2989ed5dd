//! The plain modulus p of a table's numbers. One or two signed bytes of the matrix are one number.

use crate::lattice::{P_LOG2, PackingDigits, Q};
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// Most bits of the highest scale: numbers of the matrix stay below 2^48.
pub const MAX_SCALE: u32 = 40;

/// A plain modulus, and the range of the matrix's numbers.
///
/// A number x of the matrix may be made of one number of each of several records, at *scales* that are
/// 2^b apart: `x = sum_k 2^(b k) x_k`. A query's word selects `x_k` as q / (2^(b k) p): then the
/// numbers at higher scales are multiples of q, if p divides 2^b, and those at lower scales add less
/// than one unit, which bounds of noise count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainModulus {
    modulus: u64,
    most: u64,
    bytes: usize,
    scales: usize,
    scale_bits: u32,
}

impl PlainModulus {
    /// The modulus 2^16: any two signed bytes are a number.
    pub const PAIR: PlainModulus =
        PlainModulus { modulus: 1 << P_LOG2, most: (1 << 15) + (1 << 7), bytes: 2, scales: 1, scale_bits: 0 };

    /// The modulus 2^8: any signed byte is a number.
    pub const BYTE: PlainModulus = Self::at_scales(8, 1, 0);

    /// The modulus 2^`number_bits`, of at most eight bits, for one signed number of each of `scales`
    /// records, at scales of `scale_bits` bits more for each: more than a number has, and at most
    /// [`MAX_SCALE`] in all.
    pub const fn at_scales(number_bits: u32, scales: usize, scale_bits: u32) -> Self {
        let (mut most, mut scale) = (0, 0);
        while scale < scales {
            most = (most << scale_bits) + (1 << (number_bits - 1));
            scale += 1;
        }
        PlainModulus { modulus: 1 << number_bits, most, bytes: 1, scales, scale_bits }
    }

    /// An odd modulus p. The matrix has the number nearest to zero of each residue, which is two
    /// signed bytes.
    pub const fn odd(modulus: u16) -> Self {
        assert!(modulus % 2 == 1, "an odd modulus");
        PlainModulus { modulus: modulus as u64, most: modulus as u64 / 2, bytes: 2, scales: 1, scale_bits: 0 }
    }

    /// The modulus p.
    pub const fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Number of records with a number in one number of the matrix.
    pub const fn scales(&self) -> usize {
        self.scales
    }

    /// Bits from one scale to the next.
    pub const fn scale_bits(&self) -> u32 {
        self.scale_bits
    }

    /// Bytes of a number of one record in the matrix.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The digits by which products of these numbers are packed.
    pub const fn packing(&self) -> PackingDigits {
        if self.bytes == 1 { PackingDigits::ONE } else { PackingDigits::TWO }
    }

    /// Maximum absolute value of the matrix's numbers.
    pub fn most(&self) -> f64 {
        self.most as f64
    }

    /// The value of one unit of a number at a scale: q / (2^(b k) p), to the nearest integer.
    pub(crate) fn step(&self, scale: usize) -> u64 {
        let units = self.modulus << (self.scale_bits as usize * scale);
        (Q + units / 2) / units
    }

    /// The largest sum of the numbers at all lower scales, for one record that is selected, as a share
    /// of a unit.
    pub(crate) fn lower_scales(&self) -> f64 {
        let share = |scale: usize| (-f64::from(self.scale_bits) * scale as f64).exp2();
        self.modulus as f64 / 2.0 * (1..self.scales).map(share).sum::<f64>()
    }

    /// The residue nearest to p times a phase, whose unit is 2^-`bits`. The time does not depend on
    /// the phase.
    pub(crate) fn nearest(&self, phase: u64, bits: u32) -> u16 {
        let whole = 1u64 << bits;
        let x = ((phase & (whole - 1)) * self.modulus + whole / 2) >> bits;
        u64::conditional_select(&x, &0, x.ct_eq(&self.modulus)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_share_of_the_modulus() {
        for plain in [PlainModulus::PAIR, PlainModulus::BYTE, PlainModulus::odd(32769), PlainModulus::odd(3)]
        {
            let p = plain.modulus() as f64;
            assert!((plain.step(0) as f64 * p - Q as f64).abs() <= p / 2.0);
        }
    }

    /// What a word for one record makes of a number of the matrix: that record's number, those at higher
    /// scales no more than rounding, and those at lower scales at most what the bound has for them.
    #[test]
    fn a_step_at_a_scale_selects_that_record() {
        for (bits, scales, scale_bits) in [(8, 3, 10), (8, 2, 9), (4, 6, 5), (4, 5, 6)] {
            let plain = PlainModulus::at_scales(bits, scales, scale_bits);
            let (least, most) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
            for numbers in
                [[least; 6], [most; 6], [5, least, most, 5, least, most], [most, -1, least, 0, 1, 2]]
            {
                let at = |scale: usize| numbers[scale] << (scale_bits as usize * scale);
                let of_matrix: i128 = (0..scales).map(at).sum();
                assert!(of_matrix.unsigned_abs() <= u128::from(plain.most));
                for (scale, x) in (0..scales).zip(numbers) {
                    let (q, p) = (i128::from(Q), i128::from(plain.modulus()));
                    let off = of_matrix * i128::from(plain.step(scale)) * p - x * q;
                    let off = (off + p * q / 2).rem_euclid(p * q) - p * q / 2;
                    let rounding = plain.most() * p as f64 / 2.0;
                    assert!(
                        off.abs() as f64 <= plain.lower_scales() * Q as f64 + rounding,
                        "{numbers:?} {scale}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_nearest_residue_is_found_from_both_sides() {
        for plain in [PlainModulus::PAIR, PlainModulus::BYTE, PlainModulus::odd(32769), PlainModulus::odd(5)]
        {
            let unit = (1u64 << 37) as f64 / plain.modulus() as f64;
            for number in [0, 1, 2, plain.modulus() / 2, plain.modulus() - 1] {
                for off in [-0.49, 0.0, 0.49] {
                    let phase = ((number as f64 + off) * unit).round() as i64 as u64;
                    assert_eq!(u64::from(plain.nearest(phase, 37)), number, "{plain:?} {off}");
                }
            }
        }
    }
}
