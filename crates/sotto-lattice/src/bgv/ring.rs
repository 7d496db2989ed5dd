//! The trait of rings for BGV: primes with transforms, levels, and plaintexts that consist of slots.
//!
//! A polynomial is a flat slice of words, limb by limb: [`words`](SlotRing::words) words for each
//! prime. Unless stated otherwise they are *values*, which multiply word by word. A ring whose
//! degree is not a power of two pads: the words of a limb from [`degree`](SlotRing::degree) on are
//! zero, among coefficients and among values, and every method here keeps them so.
//!
//! The last prime is the *special* one, which only keys have: key switching divides by it. The
//! others are dropped from the last but one downward as a ciphertext loses levels.

use sotto_math::modulus_pair::{ModulusPair, ResidueLift};
use sotto_math::ntt::NttPlan;
use std::fmt::Debug;

/// A ring of integers of a cyclotomic field modulo some primes, whose plaintexts are vectors of slots.
pub trait SlotRing: Clone + Debug + Send + Sync + 'static {
    /// One rotation, made once and then applied to any number of polynomials, of any prime.
    type Rotation: Clone + Debug + Send + Sync;

    /// Number of coefficients of a polynomial.
    fn degree(&self) -> usize;

    /// The plain modulus: messages are polynomials modulo it. Every prime but the special one is 1
    /// modulo it.
    fn plain(&self) -> u64;

    /// Plans for each prime, the special prime's last, at least two. They serve sums and products
    /// word by word; they are the transforms only of rings that say so.
    fn plans(&self) -> &[NttPlan];

    /// Transforms reduced coefficients to reduced values, in place.
    ///
    /// # Panics
    /// If there is no such prime, or `x` is not one limb.
    fn forward(&self, prime: usize, x: &mut [u64]);

    /// Transforms reduced values to reduced coefficients, in place.
    ///
    /// # Panics
    /// If there is no such prime, or `x` is not one limb.
    fn inverse(&self, prime: usize, x: &mut [u64]);

    /// Transforms residues modulo another prime, taken as numbers, to reduced values: `pair` goes
    /// from that prime to this one.
    ///
    /// # Panics
    /// If there is no such prime, the pair is not for it, or `x` or `out` is not one limb.
    fn forward_from(&self, prime: usize, pair: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
        match carry {
            ResidueLift::Unsigned => pair.carried(x, out),
            ResidueLift::Centered => pair.centered(x, out),
        }
        self.forward(prime, out);
    }

    /// Transforms reduced values to reduced coefficients in another buffer.
    ///
    /// # Panics
    /// If there is no such prime, or `x` or `out` is not one limb.
    fn inverse_to(&self, prime: usize, x: &[u64], out: &mut [u64]) {
        out.copy_from_slice(x);
        self.inverse(prime, out);
    }

    /// Makes the rotation that brings slot `i + by` of each cycle to slot `i`: to the left, around
    /// the cycle.
    fn rotation(&self, by: usize) -> Self::Rotation;

    /// Rotates one limb of values.
    ///
    /// # Panics
    /// If `x` or `out` is not one limb.
    fn rotate(&self, rotation: &Self::Rotation, x: &[u64], out: &mut [u64]);

    /// Rotates one limb of small signed coefficients. They are secrets, so the time does not depend
    /// on them.
    ///
    /// # Panics
    /// If `x` is not one limb long.
    fn rotate_small(&self, rotation: &Self::Rotation, x: &[i32]) -> Vec<i32>;

    /// Number of slots of a cycle.
    fn slots(&self) -> usize;

    /// Number of cycles, which rotate together.
    fn cycles(&self) -> usize;

    /// Encodes slots, cycle after cycle, as the coefficients of a plaintext modulo
    /// [`plain`](Self::plain), in time that does not depend on them.
    ///
    /// # Panics
    /// If there are not `cycles * slots` slots, or `coefficients` is not one limb.
    fn encode(&self, slots: &[u64], coefficients: &mut [u64]);

    /// Decodes a plaintext to its slots, in time that does not depend on them.
    ///
    /// # Panics
    /// If `coefficients` is not one limb of numbers modulo [`plain`](Self::plain), or there are not
    /// `cycles * slots` slots.
    fn decode(&self, coefficients: &[u64], slots: &mut [u64]);

    /// The sum and the product of two slots, as sums and products of plaintexts have them. Not for
    /// secrets.
    fn slot_arithmetic(&self, a: u64, b: u64) -> [u64; 2];

    /// The variance of reduced coefficients, where those of the cyclic representation have variance
    /// 1.
    ///
    /// Noise is counted in a representation that products and rotations do not spread: modulo
    /// `X^n + 1` that is the coefficients themselves, and this is 1. Modulo the polynomial of a
    /// prime `m` it is `m` coefficients of which only differences matter; in the reduced form the
    /// last is subtracted from all others, and this is 2.
    fn spread(&self) -> f64;

    /// Number of words of a limb: a power of two, at least the degree.
    fn words(&self) -> usize {
        self.plans().first().map_or(0, NttPlan::n)
    }

    /// Number of primes, without the special one.
    fn primes(&self) -> usize {
        self.plans().len().saturating_sub(1)
    }
}

/// A level: the first few primes of a ring, followed by the special one for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    primes: usize,
    special: bool,
}

impl Level {
    /// Makes a level. Only [`RnsRing`](super::RnsRing) does, so that its primes exist.
    pub(super) fn new(primes: usize) -> Self {
        Level { primes, special: false }
    }

    /// Number of primes left, without the special one.
    pub fn primes(self) -> usize {
        self.primes
    }

    /// The level with one prime less, if that leaves any.
    pub fn below(self) -> Option<Level> {
        (self.primes > 1).then_some(Level { primes: self.primes - 1, special: self.special })
    }

    /// The level with the same primes and the special one, which is that of keys.
    pub(super) fn raised(self) -> Level {
        Level { special: true, ..self }
    }

    /// Number of limbs of a polynomial.
    pub fn limbs(self) -> usize {
        self.primes + usize::from(self.special)
    }
}
