//! `Z[X]/Phi(X)` for the cyclotomic polynomial of 8191 and messages modulo 2: one cycle of 630
//! slots of 13 bits.
//!
//! This is the ring of Dong and Chen's BGV-PIR. Its slots are elements of the field of 2^13
//! elements, and `X -> X^(17^13)` is exactly their rotation by one (Gentry, Halevi and Smart,
//! EUROCRYPT 2012): 8191 is prime, and 13, the order of 2 modulo it, has no common divisor
//! with 630. The values are in [Rader's order](sotto_math::rader), in which that is a rotation of
//! values by 13.
//!
//! | module | contents |
//! |---|---|
//! | `field` | the field of 2^13 elements |
//! | `slots` | plaintexts and their slots |

mod field;
mod slots;

use super::ring::SlotRing;
use field::BITS;
use slots::{SLOTS, Slots};
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::rader::{self, DEGREE, RaderPlan, WORDS};
use std::sync::Arc;

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
        [a ^ b, u64::from(field::mul(a as u16, b as u16))]
    }

    fn spread(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests;
