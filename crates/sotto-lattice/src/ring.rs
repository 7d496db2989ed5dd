//! The ring everything here lives in: `R = Z[X]/(X^n + 1)` modulo `q`, or modulo `Q = q q'`.
//!
//! Ciphertexts start out modulo `Q`, where keys are large and their noise is small against the modulus, and
//! are switched down to the main modulus `q` once expanded (the idea of FSpiral, which spends a special modulus
//! `q'` on that). Without a special modulus both levels are the same one.
//!
//! A polynomial is a flat slice of words, limb by limb: `n` words modulo `q`, then `n` words modulo `q'`. So
//! the first limb of a polynomial modulo `Q` is that polynomial modulo `q`. Unless something else is said,
//! words are slots of the number-theoretic transform.

use sotto_math::basis::Pair;
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use std::sync::Arc;

/// Which modulus a polynomial is taken modulo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Modulo `Q = q q'`; the same as `Main` in a ring without a special modulus.
    Full,
    /// Modulo `q`.
    Main,
}

/// One ring with its transforms. Clones share them.
#[derive(Debug, Clone)]
pub struct Ring {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    main: NttPlan,
    special: Option<(NttPlan, Pair)>,
}

impl Ring {
    /// The ring of dimension `n`, or `None` if a modulus has no transform of that length, the two are not
    /// coprime, or their product is too large.
    pub fn new(n: usize, q: Modulus, special: Option<Modulus>) -> Option<Self> {
        let main = NttPlan::new(n, q)?;
        let special = match special {
            None => None,
            Some(special) => Some((NttPlan::new(n, special)?, Pair::new(q, special)?)),
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
    pub fn pair(&self) -> Option<&Pair> {
        self.inner.special.as_ref().map(|(_, pair)| pair)
    }

    /// The transform of each limb.
    pub fn plans(&self, level: Level) -> impl Iterator<Item = &NttPlan> {
        let special = match level {
            Level::Full => self.special_plan(),
            Level::Main => None,
        };
        std::iter::once(self.plan()).chain(special)
    }

    /// How many limbs a polynomial has.
    pub fn limbs(&self, level: Level) -> usize {
        self.plans(level).count()
    }

    /// How many words a polynomial has.
    pub fn words(&self, level: Level) -> usize {
        self.limbs(level) * self.n()
    }

    /// The modulus, `q` or `Q`.
    pub fn modulus(&self, level: Level) -> u128 {
        self.plans(level).map(|plan| u128::from(plan.modulus().value())).product()
    }

    /// How many bits the modulus has.
    pub fn bits(&self, level: Level) -> u32 {
        128 - self.modulus(level).leading_zeros()
    }

    /// The logarithm of the modulus.
    pub fn log2_q(&self, level: Level) -> f64 {
        self.plans(level).map(|plan| (plan.modulus().value() as f64).log2()).sum()
    }

    /// Turns coefficients into slots, in place.
    pub fn forward(&self, level: Level, x: &mut [u64]) {
        self.plans(level).zip(x.chunks_exact_mut(self.n())).for_each(|(plan, x)| plan.forward(x));
    }

    /// Turns slots into coefficients, in place.
    pub fn inverse(&self, level: Level, x: &mut [u64]) {
        self.plans(level).zip(x.chunks_exact_mut(self.n())).for_each(|(plan, x)| plan.inverse(x));
    }

    /// `x += y`, slot by slot.
    pub fn add(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.add(x, y));
    }

    /// `x -= y`, slot by slot.
    pub fn sub(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.sub(x, y));
    }

    /// `x *= y`, slot by slot.
    pub fn mul(&self, level: Level, x: &mut [u64], y: &[u64]) {
        self.each(level, x, y, |plan, x, y| plan.mul(x, y));
    }

    /// `x *= constant`, for a constant below the modulus.
    pub fn scale(&self, level: Level, x: &mut [u64], constant: u128) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.n())) {
            let (q, constant) = (plan.modulus(), plan.modulus().reduce_u128(constant));
            x.iter_mut().for_each(|x| *x = q.mul(*x, constant));
        }
    }

    /// `x = -x`.
    pub fn negate(&self, level: Level, x: &mut [u64]) {
        for (plan, x) in self.plans(level).zip(x.chunks_exact_mut(self.n())) {
            x.iter_mut().for_each(|x| *x = plan.modulus().neg(*x));
        }
    }

    /// Slots of a polynomial with small signed coefficients, in time that does not depend on them.
    ///
    /// Small means smaller than each modulus in absolute value.
    pub fn from_small(&self, level: Level, coefficients: &[i32]) -> Vec<u64> {
        let mut out = Vec::with_capacity(self.words(level));
        for plan in self.plans(level) {
            let q = plan.modulus().value();
            // Adds q to what is negative: the sign, spread over the word, is a mask.
            out.extend(coefficients.iter().map(|x| {
                let x = i64::from(*x);
                (x as u64).wrapping_add(q & (x >> 63) as u64)
            }));
        }
        self.forward(level, &mut out);
        out
    }

    /// Slots of a polynomial with coefficients in `0..modulus`.
    pub fn from_integers(&self, level: Level, coefficients: &[u128]) -> Vec<u64> {
        let mut out = Vec::with_capacity(self.words(level));
        for plan in self.plans(level) {
            out.extend(coefficients.iter().map(|x| plan.modulus().reduce_u128(*x)));
        }
        self.forward(level, &mut out);
        out
    }

    /// The coefficients in `0..modulus` of a polynomial in slots, which are overwritten.
    pub fn to_integers(&self, level: Level, slots: &mut [u64]) -> Vec<u128> {
        self.inverse(level, slots);
        match (level, self.pair()) {
            (Level::Full, Some(pair)) => {
                let (main, special) = slots.split_at(self.n());
                main.iter().zip(special).map(|(x, y)| pair.lift(*x, *y)).collect()
            }
            _ => slots.iter().map(|x| u128::from(*x)).collect(),
        }
    }

    fn each(&self, level: Level, x: &mut [u64], y: &[u64], f: impl Fn(&NttPlan, &mut [u64], &[u64])) {
        let n = self.n();
        for ((plan, x), y) in self.plans(level).zip(x.chunks_exact_mut(n)).zip(y.chunks_exact(n)) {
            f(plan, x, y);
        }
    }
}
