//! Plaintexts modulo 2 and their slots.
//!
//! `Phi` falls into 630 factors of degree 13 modulo 2. With `z` a root of the field's polynomial, slot `i` is the value at
//! `z^(g^i)` for `g = 17^13`, and the polynomial with the slots `a_i` has the coefficients
//!
//! ```text
//! c_j = sum over i of Tr(a_i z^(-j g^i)),   j = 0..8190, then reduced modulo Phi
//! ```
//!
//! since a slot is the sum of `c_j z^(j g^i)` over `j`. Both become one sum of 8190 bits for each
//! bit: in a self-dual normal basis, `v` and its squares, bit `b` of `a` is `Tr(v^(2^b) a)`, and
//! `Tr(x^2) = Tr(x)` moves the square to the exponent. With 2 in turn a power of 17, slot and bit
//! are one number `k`, and
//!
//! ```text
//! bit k = sum over j of c_j Tr(v z^(j 17^k)),   c_j = sum over k of (bit k) Tr(v z^(-j 17^k))
//! ```
//!
//! These are products with circulant matrices of zeros and ones. They are computed in integers,
//! modulo a prime that is greater than their sums, by the kernel of this ring's
//! [transform](sotto_math::rader), and reduced modulo 2: the same sequence of instructions for all
//! slots.

use super::field::{BITS, conjugates, mask, mul, self_dual, trace};
use sotto_math::modulus::Modulus;
use sotto_math::rader::{Circulant, DEGREE, GENERATOR, ORDER, WORDS};
use zeroize::Zeroizing;

/// Number of slots of a plaintext.
pub(super) const SLOTS: usize = DEGREE / BITS;

/// The precomputed tables for converting slots to coefficients and back.
#[derive(Debug)]
pub(super) struct Slots {
    /// `Tr(v z^e)` and `Tr(v z^-e)` for `e = 17^k j`.
    to_values: Circulant,
    to_coefficients: Circulant,
    /// For each of the values of one slot, the basis element whose coordinate it is.
    basis: [u16; BITS],
    /// The coordinates of the powers of `z`, one bit each.
    coordinates: [u16; BITS],
}

impl Slots {
    /// Precomputes the tables; `None` unless `q` is a prime and 1 modulo 8190.
    pub(super) fn new(q: Modulus) -> Option<Self> {
        let normal = self_dual();
        // Tr(v z^e) for all e: a sequence of maximal period.
        let mut power = normal;
        let mut traces = Vec::with_capacity(ORDER);
        for _ in 0..ORDER {
            traces.push(u64::from(trace(power)));
            power = mul(power, 2);
        }
        // 17^630 generates the powers of 2: with 17^(630 b) = 2^s, the trace of v x^(2^s) is that of v^(2^-s) x.
        let conjugates = conjugates(normal);
        let step = (0..SLOTS).fold(1, |power, _| power * GENERATOR % ORDER);
        let squarings = |power: usize| (0..BITS).find(|s| 1 << s == power).unwrap_or(0);
        let mut basis = [0; BITS];
        let mut power = 1;
        for element in &mut basis {
            *element = conjugates[(BITS - squarings(power)) % BITS];
            power = power * step % ORDER;
        }
        let coordinate = |bit: usize| {
            basis.iter().enumerate().fold(0, |all, (b, element)| all | trace(mul(1 << bit, *element)) << b)
        };
        Some(Slots {
            to_values: Circulant::new(q, |e| traces[e])?,
            to_coefficients: Circulant::new(q, |e| traces[ORDER - e])?,
            coordinates: std::array::from_fn(coordinate),
            basis,
        })
    }

    /// Encodes slots of 13 bits as the coefficients of a plaintext, in time that does not depend on
    /// them.
    pub(super) fn encode(&self, slots: &[u64], coefficients: &mut [u64]) {
        assert_eq!(slots.len(), SLOTS, "630 slots");
        assert_eq!(coefficients.len(), WORDS, "one limb of coefficients");
        coefficients.fill(0);
        for (i, slot) in slots.iter().enumerate() {
            let slot = *slot as u16;
            let bits = self.coordinates.iter().enumerate();
            let bits = bits.fold(0, |sum, (bit, coordinates)| sum ^ (coordinates & mask(slot >> bit & 1)));
            (0..BITS).for_each(|b| coefficients[place(i, b)] = u64::from(bits >> b & 1));
        }
        self.to_coefficients.to_coefficients(coefficients);
        coefficients.iter_mut().for_each(|c| *c &= 1);
        // The value at 1 is zero, so all coefficients add up to zero: the first one is the sum of
        // the rest.
        coefficients[0] = coefficients[1..ORDER].iter().fold(0, |sum, c| sum ^ c);
        let top = std::mem::take(&mut coefficients[DEGREE]);
        coefficients[..DEGREE].iter_mut().for_each(|c| *c ^= top);
    }

    /// Decodes a plaintext with coefficients of 0 and 1 to its slots, in time that does not depend
    /// on them.
    pub(super) fn decode(&self, coefficients: &[u64], slots: &mut [u64]) {
        assert_eq!(slots.len(), SLOTS, "630 slots");
        assert_eq!(coefficients.len(), WORDS, "one limb of coefficients");
        let mut values = Zeroizing::new(coefficients.to_vec());
        self.to_values.to_values(&mut values);
        // The trace of v itself is 1.
        let constant = coefficients[0];
        for (i, slot) in slots.iter_mut().enumerate() {
            let bit = |b: usize| (values[place(i, b)] ^ constant) as u16 & 1;
            let sum =
                self.basis.iter().enumerate().fold(0, |sum, (b, element)| sum ^ (element & mask(bit(b))));
            *slot = u64::from(sum);
        }
    }
}

/// The index of a slot's bit: modulo 13 it is that of the bit times 630, modulo 630 that of the
/// slot times 13.
fn place(slot: usize, bit: usize) -> usize {
    (BITS * slot + SLOTS * bit) % DEGREE
}
