//! `Z[X]/Phi(X)` for the cyclotomic polynomial of 8191 and messages modulo 2: one cycle of 630
//! slots of 13 bits.
//!
//! This is the ring of Dong and Chen's BGV-PIR. Its slots are elements of the field of 2^13
//! elements, and `X -> X^(17^13)` is exactly their rotation by one (Gentry, Halevi and Smart,
//! EUROCRYPT 2012): 8191 is prime, and 13, the order of 2 modulo it, has no common divisor
//! with 630. The values are in [Rader's order](sotto_math::rader), in which that is a rotation of
//! values by 13.
//!
//! **The field** of 2^13 elements is that of polynomials over the bits modulo
//! `x^13 + x^4 + x^3 + x + 1`. An element is a number below 2^13, its lowest bit the constant term.
//! The order of the units is 8191, a prime, so that `x` generates them.
//!
//! **Slots.** `Phi` falls into 630 factors of degree 13 modulo 2. With `z` a root of the field's
//! polynomial, slot `i` is the value at `z^(g^i)` for `g = 17^13`, and the polynomial with the
//! slots `a_i` has the coefficients
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

use super::ring::SlotRing;
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::rader::{self, Circulant, DEGREE, GENERATOR, ORDER, RaderPlan, WORDS};
use std::hint::black_box;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The ring of 8191. Clones share its tables.
#[derive(Debug, Clone)]
pub struct M8191 {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Plans for products and sums: they are not this ring's transforms.
    plans: Vec<NttPlan>,
    transforms: Vec<RaderPlan>,
    slots: Slots,
}

/// An automorphism of the ring that rotates slots.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    /// Number of values to rotate by.
    by: usize,
}

impl M8191 {
    /// Primes below 2^50 that are 1 modulo `2^15 * 4095 * 8191`, from the top: as many as the
    /// certified security allows.
    pub const PRIMES: [u64; 4] = [1115595642470401, 1110100097433601, 1107901879418881, 1104604552396801];

    /// Makes the ring with ciphertexts modulo all primes but the last, and keys modulo all. `None`
    /// unless they are at least two distinct primes that are 1 modulo `2^14 * 4095 * 8191`.
    pub fn new(primes: &[Modulus]) -> Option<Self> {
        let distinct = primes.iter().enumerate().all(|(i, q)| !primes[..i].contains(q));
        let first = *primes.first()?;
        if !distinct || primes.len() < 2 {
            return None;
        }
        let plans = primes.iter().map(|q| NttPlan::new(WORDS, *q)).collect::<Option<_>>()?;
        let transforms = primes.iter().map(|q| RaderPlan::new(*q)).collect::<Option<_>>()?;
        Some(M8191 { inner: Arc::new(Inner { plans, transforms, slots: Slots::new(first)? }) })
    }

    /// Makes the ring with `primes` of the [`PRIMES`](Self::PRIMES), including the special one: 2,
    /// 3 or 4.
    pub fn standard(primes: usize) -> Option<Self> {
        let moduli: Option<Vec<Modulus>> =
            Self::PRIMES.get(..primes)?.iter().map(|q| Modulus::new(*q)).collect();
        Self::new(&moduli?)
    }
}

impl SlotRing for M8191 {
    type Rotation = Rotation;

    fn degree(&self) -> usize {
        DEGREE
    }

    fn plain(&self) -> u64 {
        2
    }

    fn plans(&self) -> &[NttPlan] {
        &self.inner.plans
    }

    fn forward(&self, prime: usize, x: &mut [u64]) {
        self.inner.transforms[prime].forward(x);
    }

    fn inverse(&self, prime: usize, x: &mut [u64]) {
        self.inner.transforms[prime].inverse(x);
    }

    fn rotation(&self, by: usize) -> Rotation {
        Rotation { by: BITS * (by % SLOTS) }
    }

    fn rotate(&self, rotation: &Rotation, x: &[u64], out: &mut [u64]) {
        rader::rotate(rotation.by, x, out);
    }

    fn rotate_small(&self, rotation: &Rotation, x: &[i32]) -> Vec<i32> {
        rader::substitute(rotation.by, x)
    }

    fn slots(&self) -> usize {
        SLOTS
    }

    fn cycles(&self) -> usize {
        1
    }

    fn encode(&self, slots: &[u64], coefficients: &mut [u64]) {
        self.inner.slots.encode(slots, coefficients);
    }

    fn decode(&self, coefficients: &[u64], slots: &mut [u64]) {
        self.inner.slots.decode(coefficients, slots);
    }

    fn slot_arithmetic(&self, a: u64, b: u64) -> [u64; 2] {
        [a ^ b, u64::from(mul(a as u16, b as u16))]
    }

    fn spread(&self) -> f64 {
        2.0
    }
}

const BITS: usize = 13;

const MODULUS: u16 = 0x201B;

/// Computes the product `a b`, in time that does not depend on the factors.
fn mul(a: u16, b: u16) -> u16 {
    let step = |product: u16, i: usize| {
        let doubled = product << 1;
        let reduced = doubled ^ (MODULUS & mask(doubled >> BITS));
        reduced ^ (a & mask(b >> i & 1))
    };
    (0..BITS).rev().fold(0, step)
}

/// All ones for 1, zero for 0. The compiler cannot see that these are the only values, and makes no
/// branch of it.
fn mask(bit: u16) -> u16 {
    black_box(0u16.wrapping_sub(bit))
}

/// The trace of an element, the sum of all its conjugates: 0 or 1.
fn trace(a: u16) -> u16 {
    conjugates(a).into_iter().fold(0, |sum, conjugate| sum ^ conjugate)
}

/// The conjugates of an element: `a`, its square, and so on.
fn conjugates(a: u16) -> [u16; BITS] {
    let mut out = [a; BITS];
    for i in 1..BITS {
        out[i] = mul(out[i - 1], out[i - 1]);
    }
    out
}

/// Finds an element whose conjugates are a self-dual basis: the trace of a product of two
/// conjugates is 1 if they are the same and 0 if not. Every extension of the binary field of odd
/// degree has one (Lempel and Weinberger, 1988).
fn self_dual() -> u16 {
    let dual = |&a: &u16| {
        let others = conjugates(a).map(|conjugate| trace(mul(a, conjugate)));
        others[0] == 1 && others[1..].iter().all(|trace| *trace == 0)
    };
    (1..1 << BITS).find(dual).unwrap_or(1)
}

/// Number of slots of a plaintext.
const SLOTS: usize = DEGREE / BITS;

/// The precomputed tables for converting slots to coefficients and back.
#[derive(Debug)]
struct Slots {
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
    fn new(q: Modulus) -> Option<Self> {
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
    fn encode(&self, slots: &[u64], coefficients: &mut [u64]) {
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
    fn decode(&self, coefficients: &[u64], slots: &mut [u64]) {
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

#[cfg(test)]
mod tests;
