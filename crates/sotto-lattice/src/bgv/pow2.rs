//! `Z[X]/(X^n + 1)` for a power of two, with a plain prime that splits it: two cycles of `n / 2`
//! slots.
//!
//! With `t = 1 mod 2n` a plaintext has a value modulo `t` at each of the `n` primitive roots of
//! order `2n`. The odd numbers modulo `2n`, which number the roots, are the powers of 5 and their
//! negatives: slot `i` of the first cycle is the value at `psi^(5^i)`, slot `i` of the second the
//! value at `psi^(-5^i)` (Smart and Vercauteren, 2011; Gentry, Halevi and Smart, EUROCRYPT 2012).
//! Under `X -> X^(5^k)` slot `i` receives the value of slot `i + k`, in both cycles.
//!
//! The transform modulo `t` is the one modulo any prime, so slots are that transform in another
//! order.
//!
//! A ring whose plain modulus splits nothing has [no slots](Pow2::of_coefficients): its plaintexts
//! are their coefficients, and any modulus will do.

use super::ring::SlotRing;
use sotto_math::modulus::Modulus;
use sotto_math::modulus_pair::{ModulusPair, ResidueLift};
use sotto_math::ntt::{Automorphism, NttPlan, substitute};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The number whose powers are the exponents of rotations.
const GENERATOR: usize = 5;

/// A power-of-two cyclotomic ring with its plain modulus and primes. Clones share its tables.
#[derive(Debug, Clone)]
pub struct Pow2 {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    n: usize,
    t: u64,
    plans: Vec<NttPlan>,
    /// The transform modulo `t`, and the index in it of each slot, cycle after cycle; `None` in a
    /// ring without slots.
    slots: Option<(NttPlan, Vec<usize>)>,
    identity: Rotation,
}

/// An automorphism of the ring that moves slots.
#[derive(Debug, Clone)]
pub struct Rotation(Arc<Automorphism>);

impl Pow2 {
    /// Primes below 2^50 that are 1 modulo `65537 * 2^15`, from the top: as many as the certified
    /// security allows at degree 8192.
    pub const PRIMES: [u64; 4] = [1125889168998401, 1125874136383489, 1125818300956673, 1125809710891009];

    /// Makes the ring of degree `n` with plain modulus `t`, ciphertexts modulo all of `primes` but
    /// the last, and keys modulo all. `None` unless `n` is a power of two in 64..=16384, all are
    /// distinct primes that are 1 modulo `2n`, and there are at least two besides `t`.
    pub fn new(n: usize, t: Modulus, primes: &[Modulus]) -> Option<Self> {
        if primes.contains(&t) || t.factors().is_some() {
            return None;
        }
        let plain = NttPlan::new(n, t)?;
        let places = plain.cycles();
        Self::with(n, t.value(), primes, Some((plain, places)))
    }

    /// Makes a ring without slots, whose plaintexts are coefficients modulo any `t` from 2 on.
    pub fn of_coefficients(n: usize, t: u64, primes: &[Modulus]) -> Option<Self> {
        if t < 2 { None } else { Self::with(n, t, primes, None) }
    }

    fn with(n: usize, t: u64, primes: &[Modulus], slots: Option<(NttPlan, Vec<usize>)>) -> Option<Self> {
        let values: Vec<u64> = primes.iter().map(Modulus::value).collect();
        let distinct = values.iter().enumerate().all(|(i, q)| !values[..i].contains(q));
        if !distinct || primes.len() < 2 || primes.iter().any(|q| q.factors().is_some()) {
            return None;
        }
        let plans = primes.iter().map(|q| NttPlan::new(n, *q)).collect::<Option<Vec<_>>>()?;
        let identity = Rotation(Arc::new(plans.first()?.automorphism(1)?));
        Some(Pow2 { inner: Arc::new(Inner { n, t, plans, slots, identity }) })
    }

    /// Makes the ring of degree 8192 with slots modulo 65537 and `primes` primes, including the
    /// special one: 2, 3 or 4.
    pub fn standard(primes: usize) -> Option<Self> {
        let moduli: Option<Vec<Modulus>> =
            Self::PRIMES.get(..primes)?.iter().map(|q| Modulus::new(*q)).collect();
        Self::new(8192, Modulus::new(65537)?, &moduli?)
    }

    /// The automorphism `X -> X^-1`, which swaps the two cycles.
    pub fn swap(&self) -> Rotation {
        self.power(2 * self.degree() - 1)
    }

    /// The automorphism `X -> X^k`, for an odd `k` below `2n`.
    pub fn power(&self, k: usize) -> Rotation {
        // There is an automorphism for every odd number below 2n, and no other is requested. Values
        // modulo all primes are in one order, so the first prime's automorphism serves each.
        let found = self.inner.plans.first().and_then(|plan| plan.automorphism(k));
        found.map_or_else(|| self.inner.identity.clone(), |a| Rotation(Arc::new(a)))
    }
}

impl SlotRing for Pow2 {
    type Rotation = Rotation;

    fn degree(&self) -> usize {
        self.inner.n
    }

    fn plain(&self) -> u64 {
        self.inner.t
    }

    fn plans(&self) -> &[NttPlan] {
        &self.inner.plans
    }

    fn forward(&self, prime: usize, x: &mut [u64]) {
        self.inner.plans[prime].forward(x);
    }

    fn inverse(&self, prime: usize, x: &mut [u64]) {
        self.inner.plans[prime].inverse(x);
    }

    fn forward_from(&self, prime: usize, pair: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
        self.inner.plans[prime].forward_from(pair, carry, x, out);
    }

    fn inverse_to(&self, prime: usize, x: &[u64], out: &mut [u64]) {
        self.inner.plans[prime].inverse_to(x, out);
    }

    fn rotation(&self, by: usize) -> Rotation {
        let order = 2 * self.degree();
        // The power of the generator, by squares: its exponent counts modulo the length of a cycle.
        let (mut power, mut base, mut by) = (1, GENERATOR, by % self.slots());
        while by > 0 {
            if by % 2 == 1 {
                power = power * base % order;
            }
            (base, by) = (base * base % order, by / 2);
        }
        self.power(power)
    }

    fn rotate(&self, rotation: &Rotation, x: &[u64], out: &mut [u64]) {
        rotation.0.apply(x, out);
    }

    fn rotate_small(&self, rotation: &Rotation, x: &[i32]) -> Vec<i32> {
        assert_eq!(x.len(), self.degree(), "one limb of coefficients");
        substitute(rotation.0.k(), x)
    }

    fn slots(&self) -> usize {
        self.degree() / 2
    }

    fn cycles(&self) -> usize {
        2
    }

    fn encode(&self, slots: &[u64], coefficients: &mut [u64]) {
        assert_eq!(slots.len(), self.degree(), "as many slots as coefficients");
        let Some((plain, places)) = &self.inner.slots else { return coefficients.copy_from_slice(slots) };
        places.iter().zip(slots).for_each(|(place, slot)| coefficients[*place] = *slot);
        plain.inverse(coefficients);
    }

    fn decode(&self, coefficients: &[u64], slots: &mut [u64]) {
        assert_eq!(slots.len(), self.degree(), "as many slots as coefficients");
        let Some((plain, places)) = &self.inner.slots else { return slots.copy_from_slice(coefficients) };
        let mut values = Zeroizing::new(coefficients.to_vec());
        plain.forward(&mut values);
        places.iter().zip(slots).for_each(|(place, slot)| *slot = values[*place]);
    }

    fn slot_arithmetic(&self, a: u64, b: u64) -> [u64; 2] {
        let (a, b, t) = (u128::from(a), u128::from(b), u128::from(self.inner.t));
        [a + b, a * b].map(|x| (x % t) as u64)
    }

    fn spread(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(n: usize) -> Pow2 {
        let moduli = Pow2::PRIMES.map(|q| Modulus::new(q).unwrap());
        Pow2::new(n, Modulus::new(65537).unwrap(), &moduli[..3]).unwrap()
    }

    fn some_slots(ring: &Pow2, seed: u64) -> Vec<u64> {
        (0..ring.degree() as u64)
            .map(|i| (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32)
            .map(|x| x % 65537)
            .collect()
    }

    fn coefficients(ring: &Pow2, slots: &[u64]) -> Vec<u64> {
        let mut out = vec![0; ring.words()];
        ring.encode(slots, &mut out);
        out
    }

    fn slots(ring: &Pow2, coefficients: &[u64]) -> Vec<u64> {
        let mut out = vec![0; ring.degree()];
        ring.decode(coefficients, &mut out);
        out
    }

    #[test]
    fn products_of_plaintexts_are_products_of_slots() {
        let (ring, t) = (ring(64), 65537);
        let (a, b) = (some_slots(&ring, 1), some_slots(&ring, 2));
        let (x, y) = (coefficients(&ring, &a), coefficients(&ring, &b));
        assert_eq!(slots(&ring, &x), a);
        let mut product = vec![0; 64];
        for i in 0..64 {
            for j in 0..64 {
                let term = x[i] * y[j] % t;
                product[(i + j) % 64] += if i + j < 64 { term } else { t - term };
            }
        }
        product.iter_mut().for_each(|x| *x %= t);
        let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| ring.slot_arithmetic(*a, *b)[1]).collect();
        assert_eq!(slots(&ring, &product), expected);
        assert_eq!(ring.slot_arithmetic(65536, 65536), [65535, 1]);
    }

    /// Compares a rotation of coefficients by values modulo each prime with that of small coefficients.
    #[test]
    fn rotations_turn_both_cycles_to_the_left() {
        for n in [64, 256] {
            let ring = ring(n);
            let half = n / 2;
            let before = some_slots(&ring, 3);
            let plain = coefficients(&ring, &before);
            let rotations =
                [0, 1, 2, 7, half - 1, half, half + 5].map(|by| (ring.rotation(by), by % half, 0));
            for (rotation, by, swap) in rotations.into_iter().chain([(ring.swap(), 0, half)]) {
                let after = |i: usize| before[((i / half * half + (i % half + by) % half) + swap) % n];
                let expected: Vec<u64> = (0..n).map(after).collect();
                let small: Vec<i32> = plain.iter().map(|x| *x as i32).collect();
                let rotated = ring.rotate_small(&rotation, &small);
                let reduced: Vec<u64> = rotated.iter().map(|x| x.rem_euclid(65537) as u64).collect();
                assert_eq!(slots(&ring, &reduced), expected, "by {by}");
                for (prime, plan) in ring.plans().iter().enumerate() {
                    let (mut x, mut out) = (plain.clone(), vec![0; n]);
                    ring.forward(prime, &mut x);
                    ring.rotate(&rotation, &x, &mut out);
                    ring.inverse(prime, &mut out);
                    let residues: Vec<u64> =
                        rotated.iter().map(|x| plan.modulus().reduce_i64(i64::from(*x))).collect();
                    assert_eq!(out, residues, "by {by}, prime {prime}");
                }
            }
        }
    }

    #[test]
    fn the_standard_rings_have_primes_that_are_one_modulo_both() {
        for count in 2..=4 {
            let ring = Pow2::standard(count).unwrap();
            assert_eq!((ring.degree(), ring.plain(), ring.primes()), (8192, 65537, count - 1));
            assert_eq!((ring.slots(), ring.cycles(), ring.words()), (4096, 2, 8192));
            assert!(ring.plans().iter().all(|plan| plan.modulus().value() % (65537 << 15) == 1));
        }
        assert!([0, 1, 5].iter().all(|count| Pow2::standard(*count).is_none()));
    }

    #[test]
    fn rings_that_cannot_be_are_refused() {
        let [p, q] = [Pow2::PRIMES[0], Pow2::PRIMES[1]].map(|q| Modulus::new(q).unwrap());
        let [t, other] = [65537, 12289].map(|q| Modulus::new(q).unwrap());
        assert!(Pow2::new(64, t, &[p, q]).is_some());
        assert!(Pow2::new(64, t, &[p]).is_none());
        assert!(Pow2::new(64, t, &[p, p]).is_none());
        assert!(Pow2::new(64, t, &[p, t]).is_none());
        assert!(Pow2::new(60, t, &[p, q]).is_none());
        assert!(Pow2::new(8192, other, &[p, q]).is_none());
        assert!(Pow2::new(8192, t, &[p, other]).is_none());
        let product =
            Modulus::composite(Modulus::new(268369921).unwrap(), Modulus::new(249561089).unwrap()).unwrap();
        assert!(Pow2::new(64, t, &[p, product]).is_none());
    }

    #[test]
    fn coefficients_need_no_plain_prime() {
        let primes = Pow2::PRIMES.map(|q| Modulus::new(q).unwrap());
        let ring = Pow2::of_coefficients(64, 1024, &primes).unwrap();
        let plain: Vec<u64> = (0..64).map(|i| i * 16 + 3).collect();
        let [mut coefficients, mut back] = [vec![0; 64], vec![0; 64]];
        ring.encode(&plain, &mut coefficients);
        ring.decode(&coefficients, &mut back);
        assert_eq!((&coefficients, &back), (&plain, &plain));
        assert_eq!(ring.slot_arithmetic(1000, 100), [76, 100_000 % 1024]);
        assert!(Pow2::of_coefficients(64, 1, &primes).is_none());
        assert!(Pow2::of_coefficients(64, 16, &[primes[0], primes[0]]).is_none());
    }
}
