//! The plain modulus p of a table's numbers. One or two signed bytes of the matrix are one number.

use crate::lattice::{P_LOG2, PackingDigits, Q};
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// A plain modulus, and the range of the matrix's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainModulus {
    modulus: u64,
    most: u64,
    bytes: usize,
}

impl PlainModulus {
    /// The modulus 2^16: any two signed bytes are a number.
    pub const PAIR: PlainModulus =
        PlainModulus { modulus: 1 << P_LOG2, most: (1 << 15) + (1 << 7), bytes: 2 };

    /// The modulus 2^8: any signed byte is a number.
    pub const BYTE: PlainModulus = PlainModulus { modulus: 1 << 8, most: 1 << 7, bytes: 1 };

    /// An odd modulus p. The matrix has the number nearest to zero of each residue, which is two
    /// signed bytes.
    pub const fn odd(modulus: u16) -> Self {
        assert!(modulus % 2 == 1, "an odd modulus");
        PlainModulus { modulus: modulus as u64, most: modulus as u64 / 2, bytes: 2 }
    }

    /// The modulus p.
    pub const fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Bytes of a number in the matrix.
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

    /// The value of one unit of a number: q / p, to the nearest integer.
    pub(crate) fn step(&self) -> u64 {
        (Q + self.modulus / 2) / self.modulus
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
            assert!((plain.step() as f64 * p - Q as f64).abs() <= p / 2.0);
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
