//! Pairs of moduli, with the constants of conversions between them.

use super::ntt::Factor;
use crate::modulus::{Modulus, gcd};

/// The number that stands for a residue when it is converted to another modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResidueLift {
    /// The residue itself, from 0 on.
    Unsigned,
    /// The representative nearest to zero.
    Centered,
}

/// Two coprime moduli whose product is below 2^110.
#[derive(Debug, Clone, Copy)]
pub struct ModulusPair {
    q: Modulus,
    special: Modulus,
    /// The first multiple of the special modulus that is not below q.
    pub(crate) positive: u64,
    /// 1/q modulo the special modulus, with a quotient of 64 bits.
    pub(crate) inverse: Factor,
    /// 1 over the special modulus, modulo q, with a quotient of 64 bits.
    pub(crate) special_inverse: Factor,
}

impl ModulusPair {
    /// Makes a pair; `None` unless the moduli are coprime and their product is below 2^110.
    pub fn new(q: Modulus, special: Modulus) -> Option<Self> {
        if u128::from(q.value()) * u128::from(special.value()) >= 1 << 110
            || gcd(q.value(), special.value()) != 1
        {
            return None;
        }
        let inverse_of = |a: &Modulus, modulo: &Modulus| {
            let inverse = modulo.inv(modulo.reduce(a.value()));
            Factor::new(inverse, modulo.value(), true)
        };
        Some(ModulusPair {
            q,
            special,
            positive: q.value().div_ceil(special.value()) * special.value(),
            inverse: inverse_of(&q, &special),
            special_inverse: inverse_of(&special, &q),
        })
    }

    /// The modulus that remains after a division.
    pub fn modulus(&self) -> &Modulus {
        &self.q
    }

    /// The special modulus, which is divided by.
    pub fn special(&self) -> &Modulus {
        &self.special
    }

    /// The product of both.
    pub fn product(&self) -> u128 {
        u128::from(self.q.value()) * u128::from(self.special.value())
    }

    /// Computes the number in `0..Q` with these reduced residues.
    pub fn lift(&self, x: u64, x_special: u64) -> u128 {
        // Garner's formula: x + q ((x' - x) / q mod q').
        let difference = x_special + self.positive - x;
        let v = self.inverse.times(difference, self.special.value());
        u128::from(x) + u128::from(self.q.value()) * u128::from(v)
    }

    /// Computes the residues of any number, modulo `q` and modulo the special modulus.
    pub fn residues(&self, x: u128) -> [u64; 2] {
        [self.q.reduce_u128(x), self.special.reduce_u128(x)]
    }
}
