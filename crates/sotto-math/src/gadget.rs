//! Gadget decomposition of numbers into a few small signed digits.
//!
//! The gadget is `g = A (1, B, ..., B^(l-1))` with `A = 2^drop` and `B = 2^base`. A number `x`,
//! centered, is decomposed into digits `d_j` in `[-B/2, B/2]` with `|x - sum g_j d_j| <= A/2`. The
//! decomposition is exact if `A = 1`, and leaves the lowest bits of `x` to the noise otherwise
//! (Chen, Chillotti and Song, 2019; FSpiral's approximate gadget).
//!
//! No carry runs from digit to digit: `u = x + A/2 + A sum (B/2) B^j` is positive, its bits are
//! split at multiples of `base`, and `B/2` is subtracted from each piece. The highest piece keeps
//! all bits above it, so that its digit may reach `B/2` where all others are below.

use crate::modulus::Modulus;
use crate::modulus_pair::ModulusPair;
use crate::simd::{self, Kernels};

/// A gadget: a base, a number of digits, and a number of dropped low bits.
///
/// ```
/// use sotto_math::gadget::Gadget;
/// use sotto_math::modulus::Modulus;
///
/// // Numbers modulo a prime of 28 bits, as four signed digits of 7 bits.
/// let q = Modulus::new(268_369_921).ok_or("not a prime")?;
/// let gadget = Gadget::new(4, 7, 0).ok_or("no such gadget")?;
/// assert!(gadget.fits(q.bits()));
///
/// let (x, mut digits) = ([123_456_789; 8], [0; 4 * 8]);
/// gadget.decompose(&q, &x, &mut digits);
/// let powers = gadget.powers();
/// let terms = (0..4).map(|j| q.mul(digits[8 * j], powers[j] as u64));
/// assert_eq!(terms.fold(0, |sum, term| q.add(sum, term)), x[0]);
/// assert!(digits.iter().all(|digit| q.centered(*digit).abs() <= 64));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gadget {
    digits: u32,
    base_log2: u32,
    drop_log2: u32,
}

/// The constants with which a kernel decomposes numbers modulo one modulus.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GadgetDigits {
    pub(crate) gadget: Gadget,
    pub(crate) modulus: Modulus,
    /// The offset from `x + floor(q/2) mod q` to the `u` of this module's documentation.
    pub(crate) offset: u128,
}

/// The constants with which a kernel decomposes numbers modulo a pair of moduli.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairDigits {
    pub(crate) gadget: Gadget,
    pub(crate) pair: ModulusPair,
    /// The offset as in [`GadgetDigits`], for `floor(Q/2)`.
    pub(crate) offset: u128,
}

impl GadgetDigits {
    /// Whether numbers with their offset fit 64 bits, and digits are residues except for their
    /// sign.
    pub(crate) fn fits_64(&self) -> bool {
        self.gadget.bits() <= 62 && self.gadget.is_small(&self.modulus)
    }
}

impl Gadget {
    /// Makes a gadget; `None` unless digits have 1 to 62 bits, and all together at most 126.
    pub fn new(digits: u32, base_log2: u32, drop_log2: u32) -> Option<Self> {
        let bits = digits.checked_mul(base_log2)?.checked_add(drop_log2)?;
        if digits == 0 || !(1..=62).contains(&base_log2) || bits > 126 {
            return None;
        }
        Some(Gadget { digits, base_log2, drop_log2 })
    }

    /// Number of digits, `l`.
    pub fn digits(&self) -> u32 {
        self.digits
    }

    /// Bits of the base, `log2 B`.
    pub fn base_log2(&self) -> u32 {
        self.base_log2
    }

    /// Number of dropped bits, `log2 A`.
    pub fn drop_log2(&self) -> u32 {
        self.drop_log2
    }

    /// The weight of each digit: `A B^j`.
    pub fn powers(&self) -> Vec<u128> {
        (0..self.digits).map(|j| 1 << (self.drop_log2 + j * self.base_log2)).collect()
    }

    /// Whether the digits cover numbers modulo a modulus of `modulus_bits` bits.
    pub fn fits(&self, modulus_bits: u32) -> bool {
        self.bits() >= modulus_bits
    }

    /// Bits of a number, dropped ones and those of all digits.
    pub(crate) fn bits(&self) -> u32 {
        self.drop_log2 + self.digits * self.base_log2
    }

    /// Whether half the base is below a modulus: then a negative digit is a residue once the
    /// modulus is added.
    pub(crate) fn is_small(&self, q: &Modulus) -> bool {
        1 << (self.base_log2 - 1) < q.value()
    }

    /// Decomposes reduced `x` into digits, as residues, all first digits before all second ones.
    ///
    /// # Panics
    /// If the gadget does not fit the modulus, or `out` is not as long as all digits of `x`.
    pub fn decompose(&self, q: &Modulus, x: &[u64], out: &mut [u64]) {
        self.decompose_with(simd::kernels(), q, x, out);
    }

    /// Decomposes numbers modulo the product of two moduli, given by their residues, into digits,
    /// as residues modulo each.
    ///
    /// # Panics
    /// If the gadget does not fit the product, the slices of `x` differ in length, or those of
    /// `out` are not as long as all digits of `x`.
    pub fn decompose_pair(&self, pair: &ModulusPair, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
        self.decompose_pair_with(simd::kernels(), pair, x, out);
    }

    pub(crate) fn decompose_with(&self, kernels: &dyn Kernels, q: &Modulus, x: &[u64], out: &mut [u64]) {
        assert!(self.fits(q.bits()), "a gadget that reaches the modulus");
        assert_eq!(out.len(), x.len() * self.digits as usize, "room for all digits");
        let offset = self.constant() - u128::from(q.value() / 2);
        kernels.decompose(&GadgetDigits { gadget: *self, modulus: *q, offset }, x, out);
    }

    pub(crate) fn decompose_pair_with(
        &self,
        kernels: &dyn Kernels,
        pair: &ModulusPair,
        x: [&[u64]; 2],
        out: [&mut [u64]; 2],
    ) {
        let product = pair.product();
        assert!(self.fits(u128::BITS - product.leading_zeros()), "a gadget that reaches the product");
        assert_eq!(x[0].len(), x[1].len(), "slices of one length");
        let expected = x[0].len() * self.digits as usize;
        assert_eq!([out[0].len(), out[1].len()], [expected; 2], "room for all digits");
        let offset = self.constant() - product / 2;
        kernels.decompose_pair(&PairDigits { gadget: *self, pair: *pair, offset }, x, out);
    }

    /// Computes `A/2 + A sum (B/2) B^j`. If the gadget fits `q`, it is more than `q/2`.
    fn constant(&self) -> u128 {
        let halves: u128 = self.powers().iter().map(|power| power << (self.base_log2 - 1)).sum();
        halves + (1 << self.drop_log2 >> 1)
    }
}

#[cfg(test)]
mod tests;
