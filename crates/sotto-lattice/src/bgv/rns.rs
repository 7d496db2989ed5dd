//! A ring modulo several primes: polynomials limb by limb, and the conversion from one prime to
//! another.
//!
//! **The scale of messages.** A ciphertext of BGV has the phase `m + t e`. Here every ciphertext is
//! that one divided by `t`: its phase is `m / t + e` modulo the product of the primes, and errors
//! are small as they are. With every prime 1 modulo `t` this is `e - m (Q - 1) / t`, so BFV's
//! operations on its ciphertexts, rounding above all, are correct for these, at every level and
//! without a correction factor (Alperin-Sheriff and Peikert, CRYPTO 2013, section 2.2, on the
//! equivalence of both encodings). Written without the division it is BGV's own rounding, which
//! divides by a prime and keeps the message: `t u / q` subtracted from `c / q` for `u` the residue
//! of `c / t`. So keys, switching and rotation do not depend on `t`; encryption, decryption and
//! products of ciphertexts do.

use super::ring::{Level, SlotRing};
use crate::buffer_pool::AlignedWords;
use crate::encrypt::StreamWords;
use crate::security::{SecretDistribution, gate};
use sotto_core::{ParamsError, Security};
use sotto_math::modulus_pair::ModulusPair;
use sotto_math::ntt::NttPlan;
use sotto_prg::PublicSeed;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A ring and the arithmetic between its primes. Clones share their tables.
#[derive(Clone)]
pub struct RnsRing<R: SlotRing> {
    inner: Arc<Inner<R>>,
}

struct Inner<R> {
    ring: R,
    /// `pairs[to][from]`: residues modulo one prime as residues modulo another, and division by the former.
    pairs: Vec<Vec<Option<ModulusPair>>>,
    /// The plain modulus in every word, one limb for each prime.
    plain: Vec<AlignedWords>,
}

impl<R: SlotRing> RnsRing<R> {
    /// Makes the arithmetic of a ring; `None` unless its primes are distinct, all but the special
    /// one are 1 modulo the plain modulus, they have plans of one length, at least the degree, and
    /// there are at least two of them.
    pub fn new(ring: R) -> Option<Self> {
        let t = ring.plain();
        // No message is ever modulo the special prime: key switching divides by it only what a key
        // multiplied.
        let carries = |plan: &NttPlan| t > 1 && plan.modulus().value() % t == 1;
        let main = ring.plans().split_last().is_some_and(|(_, main)| main.iter().all(carries));
        if main { Self::of_any_primes(ring) } else { None }
    }

    /// Makes the arithmetic for primes that need not be 1 modulo the plain modulus: those of
    /// [unmodified BFV](super::bfv), whose encryption, decryption and products differ.
    pub fn of_any_primes(ring: R) -> Option<Self> {
        let plans = ring.plans();
        let (words, t) = (ring.words(), ring.plain());
        if plans.len() < 2 || ring.degree() > words || plans.iter().any(|plan| plan.n() != words) {
            return None;
        }
        let mut pairs = vec![vec![None; plans.len()]; plans.len()];
        for (to, row) in pairs.iter_mut().enumerate() {
            for (from, pair) in row.iter_mut().enumerate().filter(|(from, _)| *from != to) {
                *pair = Some(ModulusPair::new(*plans[to].modulus(), *plans[from].modulus())?);
            }
        }
        let constant = || {
            let mut limb = AlignedWords::zero(words);
            limb.fill(t);
            limb
        };
        let plain = plans.iter().map(|_| constant()).collect();
        Some(RnsRing { inner: Arc::new(Inner { ring, pairs, plain }) })
    }

    /// Estimates the security of the ring with keys modulo all primes, including the special one,
    /// for errors of standard deviation `sigma`.
    ///
    /// # Errors
    /// The errors of [`gate`]: [`ParamsError::Insecure`] below the required bits.
    pub fn security(&self, sigma: f64) -> Result<Security, ParamsError> {
        gate(self.ring().degree(), self.log2_q(self.full()), &SecretDistribution::Ternary, sigma)
    }

    /// The ring.
    pub fn ring(&self) -> &R {
        &self.inner.ring
    }

    /// The level of fresh ciphertexts: all primes but the special one.
    pub fn top(&self) -> Level {
        Level::new(self.ring().primes())
    }

    /// The level of keys: all primes, including the special one.
    pub fn full(&self) -> Level {
        self.top().raised()
    }

    /// The level of the first `primes` primes, if the ring has as many.
    pub fn level(&self, primes: usize) -> Option<Level> {
        (1..=self.ring().primes()).contains(&primes).then(|| Level::new(primes))
    }

    /// The special prime's index.
    pub(super) fn special(&self) -> usize {
        self.ring().primes()
    }

    /// The index of each limb's prime.
    pub(super) fn primes(&self, level: Level) -> impl Iterator<Item = usize> + use<R> {
        let special = (level.limbs() > level.primes()).then_some(self.special());
        (0..level.primes()).chain(special)
    }

    /// The plan of each limb.
    pub fn plans(&self, level: Level) -> impl Iterator<Item = &NttPlan> {
        self.primes(level).map(|prime| &self.ring().plans()[prime])
    }

    /// Number of words of a polynomial.
    pub fn words(&self, level: Level) -> usize {
        level.limbs() * self.ring().words()
    }

    /// log2 of the product of the primes.
    pub fn log2_q(&self, level: Level) -> f64 {
        self.plans(level).map(|plan| (plan.modulus().value() as f64).log2()).sum()
    }

    /// The arithmetic between two primes; `None` between a prime and itself.
    pub(super) fn pair(&self, to: usize, from: usize) -> Option<&ModulusPair> {
        self.inner.pairs[to][from].as_ref()
    }

    /// Transforms coefficients to values, in place.
    pub fn forward(&self, level: Level, x: &mut [u64]) {
        let limbs = x.chunks_exact_mut(self.ring().words());
        self.primes(level).zip(limbs).for_each(|(prime, x)| self.ring().forward(prime, x));
    }

    /// Transforms values to coefficients, in place.
    pub fn inverse(&self, level: Level, x: &mut [u64]) {
        let limbs = x.chunks_exact_mut(self.ring().words());
        self.primes(level).zip(limbs).for_each(|(prime, x)| self.ring().inverse(prime, x));
    }

    /// Computes `x += y`.
    pub fn add(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.add(x, y));
    }

    /// Computes `x -= y`.
    pub fn sub(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.sub(x, y));
    }

    /// Computes `x *= y`, of values.
    pub fn mul(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.mul(x, y));
    }

    /// Computes `x *= t`.
    pub fn mul_plain_modulus(&self, level: Level, x: &mut [u64]) {
        let words = self.ring().words();
        for (prime, x) in self.primes(level).zip(x.chunks_exact_mut(words)) {
            self.ring().plans()[prime].mul(x, &self.inner.plain[prime]);
        }
    }

    /// Computes `x /= t`, from a message to its form in ciphertexts.
    pub fn div_plain_modulus(&self, level: Level, x: &mut [u64]) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.ring().words())) {
            let q = plan.modulus();
            let inverse = q.inv(q.reduce(self.ring().plain()));
            x.iter_mut().for_each(|x| *x = q.mul(*x, inverse));
        }
    }

    /// Computes `x /= 2^halvings` exactly, modulo odd primes.
    pub(super) fn halve(&self, level: Level, x: &mut [u64], halvings: u32) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.ring().words())) {
            let q = plan.modulus();
            let inverse = (0..halvings).fold(1, |product, _| q.mul(product, q.inv(2)));
            x.iter_mut().for_each(|x| *x = q.mul(*x, inverse));
        }
    }

    /// Computes `x *= P` in the limb of one prime, for the special prime `P`.
    pub(super) fn mul_special(&self, prime: usize, x: &mut [u64]) {
        let q = self.ring().plans()[prime].modulus();
        let special = q.reduce(self.ring().plans()[self.special()].modulus().value());
        x.iter_mut().for_each(|x| *x = q.mul(*x, special));
    }

    /// Transforms small signed coefficients to values, in time that does not depend on them.
    ///
    /// Small means smaller than each prime in absolute value.
    ///
    /// # Panics
    /// If there is not one limb of coefficients.
    pub fn from_small(&self, level: Level, coefficients: &[i64]) -> Zeroizing<Vec<u64>> {
        assert_eq!(coefficients.len(), self.ring().words(), "one limb of coefficients");
        let mut out = Zeroizing::new(Vec::with_capacity(self.words(level)));
        for plan in self.plans(level) {
            let q = plan.modulus().value();
            // Adds q to negative numbers: the sign, spread over the word, is a mask.
            out.extend(coefficients.iter().map(|x| (*x as u64).wrapping_add(q & (x >> 63) as u64)));
        }
        self.forward(level, &mut out);
        out
    }

    /// Transforms a plaintext with coefficients in `0..t`, each centered around zero, to values, in
    /// time that does not depend on them.
    ///
    /// # Panics
    /// If there is not one limb of coefficients.
    pub fn from_plain(&self, level: Level, coefficients: &[u64]) -> Zeroizing<Vec<u64>> {
        let t = self.ring().plain() as i64;
        let centered = |x: &u64| *x as i64 - t * i64::from(*x as i64 > t / 2);
        let small = Zeroizing::new(coefficients.iter().map(centered).collect::<Vec<i64>>());
        self.from_small(level, &small)
    }

    /// Derives a uniform polynomial from a public seed, as values, which both ends can do.
    ///
    /// Each limb takes words of the stream as [`mask`](crate::encrypt::mask) does, as many as the
    /// degree.
    pub fn mask(&self, level: Level, seed: &PublicSeed, label: &'static str, index: u64) -> Vec<u64> {
        let mut stream = StreamWords::new(seed.stream(label, index));
        let mut out = Vec::with_capacity(self.words(level));
        for (limb, plan) in self.plans(level).enumerate() {
            out.extend((0..self.ring().degree()).map(|_| stream.below(plan.modulus())));
            out.resize((limb + 1) * self.ring().words(), 0);
        }
        out
    }

    fn each(&self, level: Level, x: &mut [u64], y: &[u64], f: impl Fn(&NttPlan, &mut [u64], &[u64])) {
        let words = self.ring().words();
        for ((plan, x), y) in self.plans(level).zip(x.chunks_exact_mut(words)).zip(y.chunks_exact(words)) {
            f(plan, x, y);
        }
    }
}

impl<R: SlotRing> std::fmt::Debug for RnsRing<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let q: Vec<u64> = self.ring().plans().iter().map(|plan| plan.modulus().value()).collect();
        f.debug_struct("Rns").field("degree", &self.ring().degree()).field("primes", &q).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::pow2::Pow2;
    use sotto_math::modulus::Modulus;

    fn pow2(n: usize, primes: &[u64]) -> Pow2 {
        let prime = |q: &u64| Modulus::new(*q).unwrap();
        Pow2::new(n, prime(&65537), &primes.iter().map(prime).collect::<Vec<_>>()).unwrap()
    }

    /// 200 bits are certified at this degree and 250 are too many; without the special prime those
    /// would be 200 too.
    #[test]
    fn security_counts_the_special_prime() {
        let four = RnsRing::new(Pow2::standard(4).unwrap()).unwrap();
        assert!(four.security(3.2).unwrap().bits >= 128.0);
        let [a, b, c, d] = Pow2::PRIMES;
        let five = RnsRing::new(pow2(8192, &[a, b, c, d, 1125798973308929])).unwrap();
        assert!(five.log2_q(five.top()) < 200.0);
        assert!(matches!(five.security(3.2), Err(ParamsError::Insecure { .. })));
    }

    #[test]
    fn primes_are_one_modulo_the_plain_modulus() {
        assert!(RnsRing::new(pow2(64, &Pow2::PRIMES)).is_some());
        assert!(RnsRing::new(pow2(64, &[1125899904679937, 1125899903991809])).is_none());
    }

    #[test]
    fn only_levels_of_the_ring_exist() {
        let rns = RnsRing::new(pow2(64, &Pow2::PRIMES)).unwrap();
        assert_eq!([0, 1, 3, 4].map(|primes| rns.level(primes).is_some()), [false, true, true, false]);
        assert_eq!((rns.top().primes(), rns.top().limbs(), rns.full().limbs()), (3, 3, 4));
        assert_eq!(rns.level(1).and_then(Level::below), None);
        assert_eq!(rns.primes(rns.level(2).unwrap().raised()).collect::<Vec<_>>(), [0, 1, 3]);
    }
}
