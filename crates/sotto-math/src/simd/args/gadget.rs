//! Gadgets, and the constants with which kernels decompose numbers.

use super::ModulusPair;
use crate::modulus::Modulus;

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
    /// The offset from `x + floor(q/2) mod q` to the `u` of [`gadget`](crate::gadget)'s documentation.
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

    /// Computes `A/2 + A sum (B/2) B^j`. If the gadget fits `q`, it is more than `q/2`.
    pub(crate) fn constant(&self) -> u128 {
        let halves: u128 = self.powers().iter().map(|power| power << (self.base_log2 - 1)).sum();
        halves + (1 << self.drop_log2 >> 1)
    }
}
