//! The field of 2^13 elements: polynomials over the bits modulo `x^13 + x^4 + x^3 + x + 1`.
//!
//! An element is a number below 2^13, its lowest bit the constant term. The order of the units is 8191, a prime, so that `x`
//! generates them.

use std::hint::black_box;

pub(super) const BITS: usize = 13;

const MODULUS: u16 = 0x201B;

/// Computes the product `a b`, in time that does not depend on the factors.
pub(super) fn mul(a: u16, b: u16) -> u16 {
    let step = |product: u16, i: usize| {
        let doubled = product << 1;
        let reduced = doubled ^ (MODULUS & mask(doubled >> BITS));
        reduced ^ (a & mask(b >> i & 1))
    };
    (0..BITS).rev().fold(0, step)
}

/// All ones for 1, zero for 0. The compiler cannot see that these are the only values, and makes no
/// branch of it.
pub(super) fn mask(bit: u16) -> u16 {
    black_box(0u16.wrapping_sub(bit))
}

/// The trace of an element, the sum of all its conjugates: 0 or 1.
pub(super) fn trace(a: u16) -> u16 {
    conjugates(a).into_iter().fold(0, |sum, conjugate| sum ^ conjugate)
}

/// The conjugates of an element: `a`, its square, and so on.
pub(super) fn conjugates(a: u16) -> [u16; BITS] {
    let mut out = [a; BITS];
    for i in 1..BITS {
        out[i] = mul(out[i - 1], out[i - 1]);
    }
    out
}

/// Finds an element whose conjugates are a self-dual basis: the trace of a product of two
/// conjugates is 1 if they are the same and 0 if not. Every extension of the binary field of odd
/// degree has one (Lempel and Weinberger, 1988).
pub(super) fn self_dual() -> u16 {
    let dual = |&a: &u16| {
        let others = conjugates(a).map(|conjugate| trace(mul(a, conjugate)));
        others[0] == 1 && others[1..].iter().all(|trace| *trace == 0)
    };
    (1..1 << BITS).find(dual).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by its definition: the product of polynomials, then the remainder.
    fn product(a: u16, b: u16) -> u16 {
        let mut product = (0..BITS).filter(|i| b >> i & 1 == 1).fold(0u32, |sum, i| sum ^ u32::from(a) << i);
        for i in (BITS..2 * BITS).rev() {
            if product >> i & 1 == 1 {
                product ^= u32::from(MODULUS) << (i - BITS);
            }
        }
        product as u16
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for a in (0..1 << BITS).step_by(7) {
            for b in (0..1 << BITS).step_by(61).chain([1, 2, 8191]) {
                assert_eq!(mul(a, b), product(a, b), "{a} times {b}");
            }
        }
    }

    #[test]
    fn x_generates_the_units() {
        let (mut power, mut order) = (2, 1);
        while power != 1 {
            (power, order) = (mul(power, 2), order + 1);
        }
        assert_eq!(order, 8191);
    }

    #[test]
    fn the_conjugates_are_a_basis_and_its_dual() {
        let basis = conjugates(self_dual());
        for (i, a) in basis.iter().enumerate() {
            for (j, b) in basis.iter().enumerate() {
                assert_eq!(trace(mul(*a, *b)), u16::from(i == j));
            }
        }
        // Coordinates are traces.
        for a in (0..1 << BITS).step_by(13) {
            let sum = basis.iter().fold(0, |sum, b| sum ^ (b * trace(mul(a, *b))));
            assert_eq!(sum, a);
        }
    }
}
