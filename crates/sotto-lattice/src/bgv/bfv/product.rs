//! Products of ciphertexts over an extended base, after Bajard, Eynard, Hasan and Zucca (SAC 2016).
//!
//! A product of two polynomials with coefficients up to `q` needs some `n q^2`, and is then
//! multiplied by `t / q` and rounded. So polynomials are extended to more primes, multiplied modulo
//! all of them, divided by `q`, and converted back:
//!
//! - *Extension* (section 4.2, "small Montgomery reduction"): the residues, times `2^16`, are
//!   converted without knowing which multiple of `q` to subtract, and that multiple is found modulo
//!   `2^16`.
//! - *Division*: `(t x - [t x]_q) / q` modulo the extra primes, with a conversion of `[t x]_q` that
//!   may be a few `q` too large, which is noise.
//! - *Conversion back*, exactly, by the last extra prime (Shenoy and Kumaresan, 1989).
//!
//! A sum of products is divided once. The extra primes are the smallest of 29 bits that have a
//! transform, one more than a ciphertext has: so a number below every prime of a ciphertext is
//! below each of them, and every sum here is of reduced numbers.

use super::super::pow2::Pow2;
use super::super::ring::SlotRing;
use super::super::rns::RnsRing;
use crate::bgv::encrypt::Ciphertext;
use crate::buffer_pool::AlignedWords;
use crate::scratch::sum_of_products;
use sotto_math::modulus::Modulus;
use sotto_math::modulus_pair::ModulusPair;
use sotto_math::ntt::NttPlan;

/// Bits of the power of two modulo which the multiple of `q` is found.
const MONTGOMERY_BITS: u32 = 16;
const HALF: u64 = 1 << MONTGOMERY_BITS >> 1;
const MASK: u64 = (1 << MONTGOMERY_BITS) - 1;

/// Largest number of bits of a ciphertext's prime.
const MAX_BITS: u32 = 28;

/// Constants, each repeated in every word of a limb, so that they are factors of slot-wise
/// products.
type Constants = Vec<AlignedWords>;

/// A ring's extra primes, and the constants for conversion to them and back. For ciphertexts of the
/// top level.
#[derive(Debug)]
pub struct BaseExtension {
    /// Transforms of the extra primes; the last prime is that of the exact conversion back.
    plans: Vec<NttPlan>,
    /// `2^16 (q / q_i)^-1` modulo each prime of a ciphertext.
    montgomery: Constants,
    /// `(q / q_i) mod 2^16` for each prime, and `-q^-1 mod 2^16`.
    low: (Vec<u64>, u64),
    /// For each extra prime, the factors of the residues, of the corrections, and of one: `(q / q_i) 2^-16`, `q 2^-16` and
    /// `-2^15 q 2^-16`.
    raise: Vec<Constants>,
    ones: AlignedWords,
    /// `t (q / q_i)^-1` modulo each prime of a ciphertext.
    scale: Constants,
    /// For each extra prime, the factors of the product and of the residues: `t / q` and `-(q / q_i) / q`.
    divide: Vec<Constants>,
    /// `(B / b_k)^-1` modulo each extra prime but the last, for their product `B`.
    back: Constants,
    /// Modulo the last extra prime: `(B / b_k) / B`, and `-1 / B`.
    excess: Constants,
    /// For each prime of a ciphertext: `(B / b_k)`, and `-B`.
    down: Vec<Constants>,
    /// The arithmetic from each extra prime to each prime of a ciphertext.
    pairs: Vec<Vec<ModulusPair>>,
}

/// A ciphertext of the top level with its values modulo the extra primes.
#[derive(Debug)]
pub struct ExtendedCiphertext {
    c: Ciphertext,
    extra: Vec<AlignedWords>,
}

/// A sum of products before its division: three parts, modulo all primes and the extra ones.
#[derive(Debug)]
pub struct ExtendedSum {
    c: Ciphertext,
    extra: Vec<AlignedWords>,
}

impl BaseExtension {
    /// Finds the extra primes of a ring; `None` if a prime of a ciphertext or the plain modulus has
    /// more than 28 bits.
    pub fn new(rns: &RnsRing<Pow2>) -> Option<Self> {
        let (n, t) = (rns.ring().degree(), rns.ring().plain());
        let q: Vec<Modulus> = rns.plans(rns.top()).map(|plan| *plan.modulus()).collect();
        if t >> MAX_BITS > 0 || q.iter().any(|q| q.bits() > MAX_BITS) {
            return None;
        }
        let candidates = ((1u64 << MAX_BITS) + 1..1 << (MAX_BITS + 1)).step_by(2 * n);
        let b: Vec<Modulus> = candidates.filter_map(Modulus::new).take(q.len() + 1).collect();
        let plans = b.iter().map(|b| NttPlan::new(n, *b)).collect::<Option<Vec<_>>>()?;
        let (last, base) = b.split_last()?;
        if base.len() != q.len() {
            return None;
        }
        let constant = |x: u64| {
            let mut words = AlignedWords::unfilled(n);
            words.fill(x);
            words
        };
        // The product of some moduli, all or all but one, modulo another.
        let product = |of: &[Modulus], without: Option<usize>, m: &Modulus| {
            let all = of.iter().enumerate().filter(|(i, _)| Some(*i) != without);
            all.fold(1, |product, (_, of)| m.mul(product, m.reduce(of.value())))
        };
        let low = |without| {
            let all = q.iter().enumerate().filter(|(i, _)| Some(*i) != without);
            all.fold(1u64, |product, (_, q)| product.wrapping_mul(q.value()) & MASK)
        };
        // Newton's iteration: each step doubles the correct bits of the inverse.
        let all = low(None);
        let inverse = (0..4).fold(all, |x, _| x.wrapping_mul(2u64.wrapping_sub(all.wrapping_mul(x))));
        let shift = |m: &Modulus| m.inv(1 << MONTGOMERY_BITS);
        let each_q = || q.iter().enumerate();
        let each_b = || base.iter().enumerate();
        let raise = |b: &Modulus| {
            let by = |x| b.mul(x, shift(b));
            let all = by(product(&q, None, b));
            let residues = each_q().map(|(i, _)| by(product(&q, Some(i), b)));
            residues.chain([all, b.neg(b.mul(HALF, all))]).map(constant).collect()
        };
        let divide = |b: &Modulus| {
            let by = b.inv(product(&q, None, b));
            let residues = each_q().map(|(i, _)| b.neg(b.mul(product(&q, Some(i), b), by)));
            std::iter::once(b.mul(t, by)).chain(residues).map(constant).collect()
        };
        let down = |q: &Modulus| {
            let residues = each_b().map(|(k, _)| product(base, Some(k), q));
            residues.chain([q.neg(product(base, None, q))]).map(constant).collect()
        };
        let by = last.inv(product(base, None, last));
        let excess = each_b().map(|(k, _)| last.mul(product(base, Some(k), last), by));
        let pairs = |q: &Modulus| b.iter().map(|b| ModulusPair::new(*q, *b)).collect::<Option<Vec<_>>>();
        let hat = |of: &[Modulus], i: usize, m: &Modulus| m.inv(product(of, Some(i), m));
        Some(BaseExtension {
            montgomery: each_q()
                .map(|(i, m)| constant(m.mul(m.reduce(1 << MONTGOMERY_BITS), hat(&q, i, m))))
                .collect(),
            low: (each_q().map(|(i, _)| low(Some(i))).collect(), inverse.wrapping_neg() & MASK),
            raise: b.iter().map(raise).collect(),
            ones: constant(1),
            scale: each_q().map(|(i, m)| constant(m.mul(m.reduce(t), hat(&q, i, m)))).collect(),
            divide: b.iter().map(divide).collect(),
            back: each_b().map(|(k, m)| constant(hat(base, k, m))).collect(),
            excess: excess.chain([last.neg(by)]).map(constant).collect(),
            down: q.iter().map(down).collect(),
            pairs: q.iter().map(pairs).collect::<Option<Vec<_>>>()?,
            plans,
        })
    }

    /// Extends a ciphertext of two parts to the extra primes.
    ///
    /// # Panics
    /// If it is not of the top level.
    pub fn raise(&self, rns: &RnsRing<Pow2>, c: Ciphertext) -> ExtendedCiphertext {
        assert_eq!(c.level(), rns.top(), "a ciphertext of the top level");
        let extra = (0..c.parts()).map(|part| self.raise_part(rns, c.part(part))).collect();
        ExtendedCiphertext { c, extra }
    }

    fn raise_part(&self, rns: &RnsRing<Pow2>, x: &[u64]) -> AlignedWords {
        let n = rns.ring().words();
        let mut residues = AlignedWords::unfilled(x.len());
        let limbs = x.chunks_exact(n).zip(residues.chunks_exact_mut(n));
        for ((plan, (x, residues)), factor) in rns.plans(rns.top()).zip(limbs).zip(&self.montgomery) {
            plan.inverse_to(x, residues);
            plan.mul(residues, factor);
        }
        let mut corrections = AlignedWords::zero(n);
        for (residues, factor) in residues.chunks_exact(n).zip(&self.low.0) {
            for (sum, x) in corrections.iter_mut().zip(residues) {
                *sum = sum.wrapping_add((x & MASK) * factor);
            }
        }
        // From -2^15 to 2^15 - 1, and 2^15 more so that it is not negative.
        corrections.iter_mut().for_each(|x| *x = ((*x & MASK) * self.low.1 + HALF) & MASK);
        let mut out = AlignedWords::unfilled(self.plans.len() * n);
        for ((plan, factors), out) in self.plans.iter().zip(&self.raise).zip(out.chunks_exact_mut(n)) {
            let terms = residues.chunks_exact(n).chain([&*corrections, &*self.ones]);
            sum_of_products(plan, terms.zip(factors.iter().map(|factor| &**factor)), out, false);
            plan.forward(out);
        }
        out
    }

    /// The empty sum of products.
    pub fn zero(&self, rns: &RnsRing<Pow2>) -> ExtendedSum {
        let extra = (0..3).map(|_| AlignedWords::zero(self.plans.len() * rns.ring().words())).collect();
        ExtendedSum { c: Ciphertext::zero(rns, rns.top(), 3), extra }
    }

    /// Adds the product of two ciphertexts of two parts to a sum.
    pub fn add_product(
        &self,
        rns: &RnsRing<Pow2>,
        a: &ExtendedCiphertext,
        b: &ExtendedCiphertext,
        sum: &mut ExtendedSum,
    ) {
        let n = rns.ring().words();
        let of: [&[(usize, usize)]; 3] = [&[(0, 0)], &[(0, 1), (1, 0)], &[(1, 1)]];
        for (part, of) in of.into_iter().enumerate() {
            for (limb, plan) in rns.plans(rns.top()).enumerate() {
                let terms = of.iter().map(|(i, j)| (a.c.limb(*i, limb), b.c.limb(*j, limb)));
                sum_of_products(plan, terms, sum.c.limb_mut(part, limb), true);
            }
            for ((limb, plan), sum) in self.plans.iter().enumerate().zip(sum.extra[part].chunks_exact_mut(n))
            {
                let words = limb * n..(limb + 1) * n;
                let terms =
                    of.iter().map(|(i, j)| (&a.extra[*i][words.clone()], &b.extra[*j][words.clone()]));
                sum_of_products(plan, terms, sum, true);
            }
        }
    }

    /// Multiplies the sum by `t / q` and rounds it, up to noise, to a ciphertext of three parts.
    pub fn divided(&self, rns: &RnsRing<Pow2>, sum: ExtendedSum) -> Ciphertext {
        let ExtendedSum { mut c, mut extra } = sum;
        (0..3).for_each(|part| self.divide_part(rns, c.part_mut(part), &mut extra[part]));
        c
    }

    fn divide_part(&self, rns: &RnsRing<Pow2>, x: &mut [u64], extra: &mut [u64]) {
        let n = rns.ring().words();
        for ((plan, x), factor) in rns.plans(rns.top()).zip(x.chunks_exact_mut(n)).zip(&self.scale) {
            plan.inverse(x);
            plan.mul(x, factor);
        }
        let mut quotient = AlignedWords::unfilled(extra.len());
        for (((plan, factors), extra), out) in self
            .plans
            .iter()
            .zip(&self.divide)
            .zip(extra.chunks_exact_mut(n))
            .zip(quotient.chunks_exact_mut(n))
        {
            plan.inverse(extra);
            let terms = std::iter::once(&*extra).chain(x.chunks_exact(n));
            sum_of_products(plan, terms.zip(factors.iter().map(|factor| &**factor)), out, false);
        }
        let (base, last) = quotient.split_at_mut(n * self.back.len());
        for ((plan, base), factor) in self.plans.iter().zip(base.chunks_exact_mut(n)).zip(&self.back) {
            plan.mul(base, factor);
        }
        let mut excess = AlignedWords::unfilled(n);
        if let Some(plan) = self.plans.last() {
            let terms = base.chunks_exact(n).chain([&*last]);
            let factors = self.excess.iter().map(|factor| &**factor);
            sum_of_products(plan, terms.zip(factors), &mut excess, false);
        }
        let mut carried = AlignedWords::unfilled(quotient.len());
        for (((plan, factors), pairs), out) in
            rns.plans(rns.top()).zip(&self.down).zip(&self.pairs).zip(x.chunks_exact_mut(n))
        {
            let limbs = quotient.chunks_exact(n).zip(carried.chunks_exact_mut(n)).zip(pairs);
            for (i, ((from, to), pair)) in limbs.enumerate() {
                if i < self.back.len() { pair.carried(from, to) } else { pair.centered(&excess, to) }
            }
            let terms = carried.chunks_exact(n).zip(factors.iter().map(|factor| &**factor));
            sum_of_products(plan, terms, out, false);
            plan.forward(out);
        }
    }
}
