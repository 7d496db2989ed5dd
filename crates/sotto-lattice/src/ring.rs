//! The ring of this crate: `R = Z[X]/(X^n + 1)` modulo `q`, or modulo `Q = q q'`.
//!
//! Ciphertexts are first modulo `Q`, where keys are large and their noise is small against the
//! modulus, and are switched to the main modulus `q` once expanded (the idea of FSpiral, which
//! spends a special modulus `q'` on that). Without a special modulus both levels are the same.
//!
//! A polynomial is a flat slice of words, limb by limb: `n` words modulo `q`, then `n` words modulo
//! `q'`. So the first limb of a polynomial modulo `Q` is that polynomial modulo `q`. Unless stated
//! otherwise, words are slots of the number-theoretic transform.

use sotto_math::modulus::Modulus;
use sotto_math::modulus_pair::ModulusPair;
use sotto_math::ntt::NttPlan;
use std::sync::Arc;

/// The modulus of a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModulusLevel {
    /// Modulo `Q = q q'`; the same as `Main` in a ring without a special modulus.
    Full,
    /// Modulo `q`.
    Main,
}

/// A ring with its transforms. Clones share them.
///
/// ```
/// use sotto_lattice::ring::{ModulusLevel, Ring};
/// use sotto_math::modulus::Modulus;
///
/// let prime = |q| Modulus::new(q).ok_or("not a prime");
/// let ring = Ring::new(64, prime(1_125_899_904_679_937)?, Some(prime(1_125_899_903_991_809)?))
///     .ok_or("no such ring")?;
/// assert_eq!((ring.bits(ModulusLevel::Main), ring.bits(ModulusLevel::Full)), (50, 100));
///
/// // (1 + X) (1 - X) = 1 - X^2, modulo q q'.
/// let level = ModulusLevel::Full;
/// let polynomial = |low: &[i32]| {
///     let mut all = [0; 64];
///     all[..low.len()].copy_from_slice(low);
///     ring.from_small(level, &all)
/// };
/// let mut product = polynomial(&[1, 1]);
/// ring.mul(level, &mut product, &polynomial(&[1, -1]));
/// assert_eq!(product, polynomial(&[1, 0, -1]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ring {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    main: NttPlan,
    special: Option<(NttPlan, ModulusPair)>,
}

impl Ring {
    /// Makes the ring of dimension `n`; `None` if a modulus has no transform of that length, the
    /// two are not coprime, or their product is too large.
    pub fn new(n: usize, q: Modulus, special: Option<Modulus>) -> Option<Self> {
        let main = NttPlan::new(n, q)?;
        let special = match special {
            None => None,
            Some(special) => Some((NttPlan::new(n, special)?, ModulusPair::new(q, special)?)),
        };
        Some(Ring { inner: Arc::new(Inner { main, special }) })
    }

    /// The dimension.
    pub fn n(&self) -> usize {
        self.inner.main.n()
    }

    /// The main modulus.
    pub fn q(&self) -> &Modulus {
        self.inner.main.modulus()
    }

    /// The transform modulo `q`.
    pub fn plan(&self) -> &NttPlan {
        &self.inner.main
    }

    /// The transform modulo `q'`, if there is one.
    pub fn special_plan(&self) -> Option<&NttPlan> {
        self.inner.special.as_ref().map(|(plan, _)| plan)
    }

    /// The arithmetic between the two moduli, if there are two.
    pub fn pair(&self) -> Option<&ModulusPair> {
        self.inner.special.as_ref().map(|(_, pair)| pair)
    }

    /// The transform of each limb.
    pub fn plans(&self, level: ModulusLevel) -> impl Iterator<Item = &NttPlan> {
        let special = match level {
            ModulusLevel::Full => self.special_plan(),
            ModulusLevel::Main => None,
        };
        std::iter::once(self.plan()).chain(special)
    }

    /// Number of limbs of a polynomial.
    pub fn limbs(&self, level: ModulusLevel) -> usize {
        self.plans(level).count()
    }

    /// Number of words of a polynomial.
    pub fn words(&self, level: ModulusLevel) -> usize {
        self.limbs(level) * self.n()
    }

    /// The modulus, `q` or `Q`.
    pub fn modulus(&self, level: ModulusLevel) -> u128 {
        self.plans(level).map(|plan| u128::from(plan.modulus().value())).product()
    }

    /// Number of bits of the modulus.
    pub fn bits(&self, level: ModulusLevel) -> u32 {
        128 - self.modulus(level).leading_zeros()
    }

    /// log2 of the modulus.
    pub fn log2_q(&self, level: ModulusLevel) -> f64 {
        self.plans(level).map(|plan| (plan.modulus().value() as f64).log2()).sum()
    }

    /// Transforms coefficients to slots, in place.
    pub fn forward(&self, level: ModulusLevel, x: &mut [u64]) {
        self.plans(level).zip(x.chunks_exact_mut(self.n())).for_each(|(plan, x)| plan.forward(x));
    }

    /// Transforms slots to coefficients, in place.
    pub fn inverse(&self, level: ModulusLevel, x: &mut [u64]) {
        self.plans(level).zip(x.chunks_exact_mut(self.n())).for_each(|(plan, x)| plan.inverse(x));
    }

    /// Computes `x += y`, slot by slot.
    pub fn add(&self, level: ModulusLevel, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.add(x, y));
    }

    /// Computes `x -= y`, slot by slot.
    pub fn sub(&self, level: ModulusLevel, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.sub(x, y));
    }

    /// Computes `x *= y`, slot by slot.
    pub fn mul(&self, level: ModulusLevel, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.mul(x, y));
    }

    /// Computes `x *= constant`, for a constant below the modulus.
    pub fn scale(&self, level: ModulusLevel, x: &mut [u64], constant: u128) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.n())) {
            let (q, constant) = (plan.modulus(), plan.modulus().reduce_u128(constant));
            x.iter_mut().for_each(|x| *x = q.mul(*x, constant));
        }
    }

    /// Computes `x = -x`.
    pub fn negate(&self, level: ModulusLevel, x: &mut [u64]) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.n())) {
            x.iter_mut().for_each(|x| *x = plan.modulus().neg(*x));
        }
    }

    /// Transforms small signed coefficients to slots, in time that does not depend on them.
    ///
    /// Small means smaller than each modulus in absolute value.
    pub fn from_small(&self, level: ModulusLevel, coefficients: &[i32]) -> Vec<u64> {
        let mut out = Vec::with_capacity(self.words(level));
        for plan in self.plans(level) {
            let q = plan.modulus().value();
            // Adds q to negative numbers: the sign, spread over the word, is a mask.
            out.extend(coefficients.iter().map(|x| {
                let x = i64::from(*x);
                (x as u64).wrapping_add(q & (x >> 63) as u64)
            }));
        }
        self.forward(level, &mut out);
        out
    }

    /// Transforms coefficients in `0..modulus` to slots, in time that does not depend on them.
    pub fn from_integers(&self, level: ModulusLevel, coefficients: &[u128]) -> Vec<u64> {
        let mut out = Vec::with_capacity(self.words(level));
        for plan in self.plans(level) {
            out.extend(coefficients.iter().map(|x| reduce(plan.modulus(), *x)));
        }
        self.forward(level, &mut out);
        out
    }

    /// Transforms slots, which are overwritten, to coefficients in `0..modulus`.
    pub fn to_integers(&self, level: ModulusLevel, slots: &mut [u64]) -> Vec<u128> {
        self.inverse(level, slots);
        match (level, self.pair()) {
            (ModulusLevel::Full, Some(pair)) => {
                let (main, special) = slots.split_at(self.n());
                main.iter().zip(special).map(|(x, y)| pair.lift(*x, *y)).collect()
            }
            _ => slots.iter().map(|x| u128::from(*x)).collect(),
        }
    }

    fn each(&self, level: ModulusLevel, x: &mut [u64], y: &[u64], f: impl Fn(&NttPlan, &mut [u64], &[u64])) {
        let n = self.n();
        for ((plan, x), y) in self.plans(level).zip(x.chunks_exact_mut(n)).zip(y.chunks_exact(n)) {
            f(plan, x, y);
        }
    }
}

/// Reduces a number modulo `q`. The time of a division depends on the numbers, and queries are
/// secret: this is Horner's rule, with as many bits at a time as are always below `q`.
fn reduce(q: &Modulus, x: u128) -> u64 {
    let bits = q.bits() - 1;
    let digits = u128::BITS.div_ceil(bits);
    let (base, mask) = (1 << bits, (1u128 << bits) - 1);
    let digit = |i: u32| (x >> (i * bits) & mask) as u64;
    (0..digits).rev().fold(0, |sum, i| q.add(q.mul(sum, base), digit(i)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::rings;

    #[test]
    fn numbers_are_reduced_without_division() {
        for ring in rings(64) {
            for plan in ring.plans(ModulusLevel::Full) {
                let q = plan.modulus();
                let value = u128::from(q.value());
                let numbers = (0..128).map(|i| 1u128 << i).chain([0, value - 1, value, value + 1, u128::MAX]);
                for x in numbers.flat_map(|x| [x, x.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)])
                {
                    assert_eq!(u128::from(reduce(q, x)), x % value, "{x} modulo {value}");
                }
            }
        }
    }

    #[test]
    fn rings_that_cannot_be_are_refused() {
        let [p, q] = [1125899904679937, 1125899903991809].map(|q| Modulus::new(q).unwrap());
        assert!(Ring::new(4096, p, Some(q)).is_some());
        assert!(Ring::new(4096, p, Some(p)).is_none());
        assert!(Ring::new(100, p, None).is_none());
        assert!(Ring::new(64, Modulus::new(127).unwrap(), None).is_none());
        assert!(Ring::new(64, p, Modulus::new(127)).is_none());
        let ring = Ring::new(4096, p, Some(q)).unwrap();
        assert_eq!((ring.limbs(ModulusLevel::Full), ring.limbs(ModulusLevel::Main)), (2, 1));
        assert_eq!((ring.words(ModulusLevel::Full), ring.bits(ModulusLevel::Full)), (8192, 100));
        assert_eq!(ring.modulus(ModulusLevel::Full), 1125899904679937 * 1125899903991809);
    }
}
