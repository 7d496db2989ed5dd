//! The variance that each step adds, one function for each step, as averages or as bounds.
//!
//! A figure is the variance of a coefficient of the error `e` where the phase is `m / t + e`, in
//! units of the last place, in the representation in which products and rotations do not spread
//! noise ([`SlotRing::spread`]). Letters: `n` the degree, `h` the squared norm of the secret, `mu`
//! the mean square of a coefficient of `m / t`, which is multiplied along.
//!
//! **Averages** are comparable with measurements. **Bounds** are variance proxies
//! ([`noise`](crate::noise)). A product of two polynomials is linear in either, so for a fixed one
//! the proxy of a coefficient is the other's times the squared norm of the fixed one, and that norm
//! exceeds `n V` by more than the factor [`slack`] with the probability that the slack is made for
//! (Hsu, Kakade and Zhang, 2012). The squared norm of a secret is the number of its nonzero
//! coefficients, two in three on average, which Hoeffding's inequality bounds. Messages are assumed
//! to have their largest coefficients. As everywhere in this crate, digits of uniform masks count
//! as uniform and independent, and so do errors that rotations of one ciphertext have in common.
//!
//! **Rows** are plaintexts of uniform coefficients. A table is whatever its publisher says, so a
//! scheme makes this true by whitening its rows, as `sotto-cube` does; a sum of products with rows
//! is then linear in independent numbers.
//!
//! **Chosen rows** are made by somebody who knows the whitening stream. Nothing is independent in
//! them: a bound on a coefficient is the sum of bounds on all its parts, including messages, which
//! are public except for the requested record. It is not a variance, and is subtracted from the
//! margin.

use super::answer::AnswerBits;
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::noise::{alignment, failure_log2, uniform};

/// The values that noise depends on, for averages or for bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    n: f64,
    t: f64,
    spread: f64,
    /// The primes as numbers, the special one last.
    primes: Vec<f64>,
    error: f64,
    h: f64,
    mu: f64,
    slack: f64,
    /// `-ln` of the probability that the slack is made for; 0 for averages.
    x: f64,
}

/// The factor by which the squared norm of `n` independent coefficients may exceed its mean, except
/// with probability 2^`failure_log2`: `1 + 2 sqrt(x / n) + 2 x / n` with `x = -ln` of that
/// probability.
pub fn slack(n: usize, failure_log2: f64) -> f64 {
    let x = -failure_log2 * std::f64::consts::LN_2 / n as f64;
    1.0 + 2.0 * x.sqrt() + 2.0 * x
}

impl Noise {
    /// Makes a model of averages, for errors of standard deviation `sigma`.
    pub fn average<R: SlotRing>(rns: &RnsRing<R>, sigma: f64) -> Self {
        let (n, t) = (rns.ring().degree() as f64, rns.ring().plain() as f64);
        let primes = rns.plans(rns.full()).map(|plan| plan.modulus().value() as f64).collect();
        let mu = row(t) / (t * t);
        Noise {
            n,
            t,
            spread: rns.ring().spread(),
            primes,
            error: sigma * sigma,
            h: n * 2.0 / 3.0,
            mu,
            slack: 1.0,
            x: 0.0,
        }
    }

    /// Makes a model of bounds, each of which fails with a probability of at most 2^`failure_log2`
    /// for each polynomial whose norm it uses.
    pub fn bound<R: SlotRing>(rns: &RnsRing<R>, sigma: f64, failure_log2: f64) -> Self {
        let degree = rns.ring().degree();
        let n = degree as f64;
        // exp(-2 d^2 / n) for d more than the mean.
        let more = (-failure_log2 * std::f64::consts::LN_2 * n / 2.0).sqrt();
        let h = (n * 2.0 / 3.0 + more).min(n);
        let x = -failure_log2 * std::f64::consts::LN_2;
        Noise { h, mu: 0.25, slack: slack(degree, failure_log2), x, ..Self::average(rns, sigma) }
    }

    /// Variance of a fresh ciphertext.
    pub fn fresh(&self) -> f64 {
        self.error
    }

    /// Variance that one key switch adds: a digit for each prime times as many key errors, over the
    /// special prime, and two roundings.
    pub fn key_switch(&self, level: Level) -> f64 {
        let special = self.primes.last().copied().unwrap_or(1.0);
        let digits = self.primes.iter().take(level.primes()).map(|q| uniform(q / special)).sum::<f64>();
        self.n * digits * self.error * self.slack + self.rounding()
    }

    /// Variance after `times` successive rotations.
    pub fn rotated(&self, before: f64, times: u32, level: Level) -> f64 {
        before + f64::from(times) * self.key_switch(level)
    }

    /// Variance of a leaf after `rounds` rounds of expansion: a mean over its coefficients, for
    /// norms.
    ///
    /// A round sums an error and its image, and adds a key switch. The sum doubles the variance on
    /// average: of the coefficients that the automorphism keeps in place half are doubled, which is
    /// four times the variance, and half cancel; the others are sums of two. So a few coefficients
    /// have most of the early noise, and a norm is further from its mean than that of independent
    /// equal ones: by Hsu, Kakade and Zhang (2012) with the largest variance, 4^rounds times the
    /// first.
    pub fn expanded(&self, before: f64, rounds: u32, level: Level) -> f64 {
        let switch = self.key_switch(level);
        let (mut mean, mut largest) = (before, before);
        for _ in 0..rounds {
            (mean, largest) = (2.0 * mean + switch, 4.0 * largest + switch);
        }
        let weight = self.x * largest / (self.n * mean);
        mean * (1.0 + 2.0 * weight.sqrt() + 2.0 * weight) / self.slack
    }

    /// Variance after division by the last prime of a level.
    pub fn lowered(&self, before: f64, level: Level) -> f64 {
        let q = self.primes.get(level.primes() - 1).copied().unwrap_or(1.0);
        before / (q * q) + self.rounding()
    }

    /// Variance of the sum of `count` ciphertexts, each times a row.
    pub fn rows(&self, before: f64, count: f64) -> f64 {
        count * self.n * row(self.t) * (before + self.mu) * self.slack
    }

    /// Variance of the sum of `count` products of ciphertexts, before relinearization.
    pub fn tensor(&self, a: f64, b: f64, count: f64) -> f64 {
        count * self.n * self.t * self.t * (a + self.mu) * (b + self.mu) * self.slack
    }

    /// Bounds a coefficient of the sum of `count` ciphertexts, each times a chosen row; exceeded
    /// with a probability of at most 2^`failure_log2` for each polynomial.
    pub fn chosen_rows(&self, before: f64, count: f64, failure_log2: f64) -> f64 {
        count * self.t / 2.0 * self.worst(before, failure_log2)
    }

    /// Bounds what errors of at most `bound` in a coefficient add to a coefficient of `count`
    /// products of ciphertexts.
    pub fn chosen_tensor(&self, a: f64, bound: f64, count: f64, failure_log2: f64) -> f64 {
        count * self.t * bound * self.worst(a, failure_log2)
    }

    /// Bounds the coefficients of a ciphertext, message and error, times a polynomial of
    /// coefficients of at most 1 that may be chosen to line up with it.
    fn worst(&self, variance: f64, failure_log2: f64) -> f64 {
        // The representation may have one coefficient more than the degree.
        let n = self.n + 1.0;
        let x = (n.log2() + 2.0 - failure_log2) * std::f64::consts::LN_2;
        n * self.mu.sqrt() + (2.0 * x * n * variance * alignment(x)).sqrt()
    }

    /// Bounds a coefficient after division by the last prime of a level. Rounding is in
    /// [`Noise::lowered`].
    pub fn chosen_lowered(&self, bound: f64, level: Level) -> f64 {
        bound / self.primes.get(level.primes() - 1).copied().unwrap_or(1.0)
    }

    /// Variance of an answer, in units of the last place of its mask.
    pub fn answer(&self, before: f64, bits: AnswerBits) -> f64 {
        let scale = f64::from(bits.mask()).exp2() / self.primes.first().copied().unwrap_or(1.0);
        let body = uniform(f64::from(bits.mask() - bits.body()).exp2());
        before * scale * scale + uniform(1.0) * self.h + body
    }

    /// log2 of the probability that any coefficient of a ciphertext decrypts wrongly, where chosen
    /// rows add up to `chosen` to it.
    pub fn failure_log2(&self, variance: f64, chosen: f64, level: Level) -> f64 {
        let q: f64 = self.primes.iter().take(level.primes()).product();
        self.beyond(q, variance, chosen)
    }

    /// log2 of the probability that any coefficient of an answer decrypts wrongly, where chosen
    /// rows add up to `chosen` units of the modulus it was rounded from.
    pub fn answer_failure_log2(&self, variance: f64, chosen: f64, bits: AnswerBits) -> f64 {
        let modulus = f64::from(bits.mask()).exp2();
        self.beyond(modulus, variance, chosen * modulus / self.primes.first().copied().unwrap_or(1.0))
    }

    /// log2 of the probability of an error of half a step or more, less the message of at most half
    /// a unit.
    fn beyond(&self, modulus: f64, variance: f64, chosen: f64) -> f64 {
        let margin = modulus / self.t / 2.0 - 0.5 - chosen * self.spread;
        failure_log2(margin, variance * self.spread, self.n)
    }

    /// Variance of rounding: both parts are off by a uniform number in [-1/2, 1/2), one of them
    /// times s.
    fn rounding(&self) -> f64 {
        uniform(1.0) * (1.0 + self.h)
    }
}

/// Variance of the coefficients of a row, uniform among `t` consecutive numbers.
fn row(t: f64) -> f64 {
    (t * t - 1.0) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture;
    use crate::bgv::pow2::Pow2;

    const SIGMA: f64 = 3.2;

    /// log2 of the probability that an answer is wrong, for leaves only, as in a tree of selectors
    /// of one level: `each` on either side, made by rotations of one ciphertext with one key, and
    /// an answer of a few bits.
    fn leaves_failure<R: SlotRing>(rns: &RnsRing<R>, model: &Noise, each: u32, bits: AnswerBits) -> f64 {
        let level = rns.level(2).unwrap();
        let leaf = model.rotated(model.fresh(), 2 * each - 1, level);
        let sums = model.rows(leaf, f64::from(each));
        let product = model.tensor(leaf, sums, f64::from(each)) + model.key_switch(level);
        let answer = model.answer(model.lowered(product, level), bits);
        model.failure_log2(product, 0.0, level).max(model.answer_failure_log2(answer, 0.0, bits))
    }

    /// Two primes and a special one, 150 bits, with no prime dropped before the end, are enough up
    /// to 2^35 bits of rows.
    #[test]
    fn two_primes_are_enough_for_leaves() {
        let rns = RnsRing::new(Pow2::standard(3).unwrap()).unwrap();
        assert!(rns.security(SIGMA).unwrap().bits > 160.0);
        let bits = AnswerBits::new(&rns, 19, 26).unwrap();
        let model = Noise::bound(&rns, SIGMA, -80.0);
        for each in [16, 96, 512] {
            let failure = leaves_failure(&rns, &model, each, bits);
            println!("{each} leaves on a side: 2^{failure:.1}");
            assert!(failure < -60.0, "{each}: {failure}");
        }
        // 2^14 on a side are 2^45 bits of rows.
        assert!(leaves_failure(&rns, &model, 1 << 14, bits) > -40.0);
        // Widths that are enough for that many leaves, and widths that are not.
        for (body, mask, enough) in [(19, 25, true), (18, 25, false), (24, 24, false)] {
            let failure = leaves_failure(&rns, &model, 96, AnswerBits::new(&rns, body, mask).unwrap());
            assert_eq!(failure < -40.0, enough, "{body}, {mask}: {failure}");
        }
    }

    #[test]
    fn bounds_are_above_averages() {
        let rns = fixture::pow2();
        let [average, bound] = [Noise::average(&rns, SIGMA), Noise::bound(&rns, SIGMA, -100.0)];
        let level = rns.top();
        let bits = AnswerBits::new(&rns, 20, 24).unwrap();
        let steps = |model: &Noise| {
            [
                model.key_switch(level),
                model.lowered(1e30, level),
                model.rows(5.0, 3.0),
                model.tensor(5.0, 6.0, 3.0),
                model.answer(7.0, bits),
            ]
        };
        assert!(steps(&average).iter().zip(steps(&bound)).all(|(average, bound)| bound > *average));
        assert_eq!(average.fresh(), bound.fresh());
        assert!((slack(8192, -128.0) - 1.2298).abs() < 1e-3);
    }
}
