//! What BGV asks of a ring: primes with transforms, and plaintexts that fall into slots.
//!
//! A polynomial is a flat slice of words, limb by limb: [`words`](SlotRing::words) words a prime. Unless something else
//! is said they are *values*, of which products are taken word by word. A ring of a degree that is no power of two fills
//! up: the words of a limb from [`degree`](SlotRing::degree) on are zero, among coefficients and among values, and every
//! method here keeps them so.
//!
//! The last prime is the *special* one, which only keys have: key switching divides by it. The others are dropped from
//! the last but one downward as a ciphertext loses levels.

use sotto_math::modulus_pair::{ModulusPair, ResidueLift};
use sotto_math::ntt::NttPlan;
use std::fmt::Debug;

/// A ring of integers of a cyclotomic field modulo some primes, whose plaintexts are vectors of slots.
pub trait SlotRing: Clone + Debug + Send + Sync + 'static {
    /// One rotation, made once and then applied to any number of polynomials, of any prime.
    type Rotation: Clone + Debug + Send + Sync;

    /// How many coefficients a polynomial has.
    fn degree(&self) -> usize;

    /// The plain modulus: messages are polynomials modulo it. Every prime but the special one is 1 modulo it.
    fn plain(&self) -> u64;

    /// One plan a prime, the special prime's last, at least two. They serve sums and products word by word; only where
    /// the ring says so are they its transforms.
    fn plans(&self) -> &[NttPlan];

    /// Turns reduced coefficients into reduced values, in place.
    ///
    /// # Panics
    /// If there is no such prime, or `x` is not one limb.
    fn forward(&self, prime: usize, x: &mut [u64]);

    /// Turns reduced values into reduced coefficients, in place.
    ///
    /// # Panics
    /// If there is no such prime, or `x` is not one limb.
    fn inverse(&self, prime: usize, x: &mut [u64]);

    /// Turns residues modulo another prime, taken as numbers, into reduced values: `pair` goes from that prime to this one.
    ///
    /// # Panics
    /// If there is no such prime, the pair is not of it, or `x` or `out` is not one limb.
    fn forward_from(&self, prime: usize, pair: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
        match carry {
            ResidueLift::Unsigned => pair.carried(x, out),
            ResidueLift::Centered => pair.centered(x, out),
        }
        self.forward(prime, out);
    }

    /// Turns reduced values into reduced coefficients elsewhere.
    ///
    /// # Panics
    /// If there is no such prime, or `x` or `out` is not one limb.
    fn inverse_to(&self, prime: usize, x: &[u64], out: &mut [u64]) {
        out.copy_from_slice(x);
        self.inverse(prime, out);
    }

    /// The rotation that brings slot `i + by` of each cycle to slot `i`: to the left, around the cycle.
    fn turn(&self, by: usize) -> Self::Rotation;

    /// Rotates one limb of values.
    ///
    /// # Panics
    /// If `x` or `out` is not one limb.
    fn rotate(&self, turn: &Self::Rotation, x: &[u64], out: &mut [u64]);

    /// Rotates small signed coefficients, a limb of them: secrets, so in time that does not depend on them.
    ///
    /// # Panics
    /// If `x` is not one limb long.
    fn rotate_small(&self, turn: &Self::Rotation, x: &[i32]) -> Vec<i32>;

    /// How many slots a cycle has.
    fn slots(&self) -> usize;

    /// How many cycles there are; they turn together.
    fn cycles(&self) -> usize;

    /// The coefficients modulo [`plain`](Self::plain) of the plaintext with these slots, cycle after cycle, in time that
    /// does not depend on them.
    ///
    /// # Panics
    /// If there are not `cycles * slots` slots, or `coefficients` is not one limb.
    fn encode(&self, slots: &[u64], coefficients: &mut [u64]);

    /// The slots of a plaintext, in time that does not depend on them.
    ///
    /// # Panics
    /// If `coefficients` is not one limb of numbers modulo [`plain`](Self::plain), or there are not `cycles * slots` slots.
    fn decode(&self, coefficients: &[u64], slots: &mut [u64]);

    /// The sum and the product of two slots: what sums and products of plaintexts are in each. Not for secrets.
    fn slot_arithmetic(&self, a: u64, b: u64) -> [u64; 2];

    /// The variance of reduced coefficients, where those of the cyclic representation have variance 1.
    ///
    /// Noise is counted in a representation that products and rotations do not spread: modulo `X^n + 1` that is the
    /// coefficients themselves, and this is 1. Modulo the polynomial of a prime `m` it is `m` coefficients of
    /// which only differences matter; reduced, the last is taken off all others, and this is 2.
    fn spread(&self) -> f64;

    /// Words of a limb: a power of two, no less than the degree.
    fn words(&self) -> usize {
        self.plans().first().map_or(0, NttPlan::n)
    }

    /// The number of primes without the special one.
    fn primes(&self) -> usize {
        self.plans().len().saturating_sub(1)
    }
}
