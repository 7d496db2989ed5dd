//! Packing of polynomials by the trace onto a subring: where each sample carries several messages,
//! so that fewer switches are needed.
//!
//! With `Y = X^g`, for a power of two `g` up to `n / 2`, the automorphisms `X -> X^h` for
//! `h = 1 mod 2n / g` are those that leave `Z[Y]` as it is. There are `g` of them, the powers of
//! `X -> X^k` for `k = 5^(n / 2g)`, and the sum of an element's images under them, its *trace*, is
//! `g` times its coefficients at powers of `Y`. Let `b_c = a_c s + e_c + m_c`, for `c < g`, be ring-LWE
//! samples whose messages are those coefficients of `m_c`, and `b'_c` what `b_c` has at powers of
//! `Y`. Then
//!
//! ```text
//! sum_c X^c m_c(Y) = sum_c X^c b'_c - sum_h A_h tau_h(s)     A_h = g^-1 sum_c X^c tau_h(a_c)
//! ```
//!
//! up to the errors: `n` messages in one ciphertext, by `g - 1` switches with one key, where
//! [`super`] takes `n - 1` for samples of one message each. In the slot of `psi^e`, `A_h` is
//! `g^-1 sum_c a_c(psi^r) psi^(e c)` for `r = e h`, and `e - r` is a multiple of `2n / g`: so all
//! `A_h` are one cyclic transform of length `g` of the polynomials `X^c a_c`, slot by slot.

use crate::automorphism::AutomorphismKey;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::ring::{ModulusLevel, Ring};
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::ntt::Automorphism;

/// Packing of `g` polynomials, each with messages at powers of `X^g`.
#[derive(Debug, Clone)]
pub struct TracePacking {
    ring: Ring,
    gadget: Gadget,
    polynomials: usize,
    /// Masks of the key in slots, digit by digit.
    masks: Vec<Vec<u64>>,
    /// The automorphism of the key.
    automorphism: Automorphism,
    /// The inverse of that automorphism.
    inverse: Automorphism,
}

/// The digits of all switches of one packed ciphertext.
#[derive(Debug)]
pub struct TraceDigits {
    /// Polynomials in slots: of each switch, from that to `s` itself on, digit by digit.
    pub digits: Vec<Vec<u64>>,
    /// Mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
}

impl TracePacking {
    /// Makes the packing of `polynomials` polynomials in a ring, level `Main`, with a key of these
    /// masks.
    ///
    /// `None` if the gadget does not reach the modulus, or `polynomials` is no power of two up to
    /// `n / 2`.
    pub fn new(ring: &Ring, gadget: &Gadget, masks: MaskSource<'_>, polynomials: usize) -> Option<Self> {
        let n = ring.n();
        let is_supported = polynomials.is_power_of_two() && polynomials <= n / 2;
        (is_supported && gadget.fits(ring.q().bits())).then_some(())?;
        let k = automorphism(n, polynomials);
        // The inverse is the power that is one less than the number of automorphisms.
        let inverse = (1..polynomials).fold(1, |power, _| power * k % (2 * n));
        Some(TracePacking {
            masks: (0..u64::from(gadget.digits())).map(|j| masks.mask(ring, ModulusLevel::Main, j)).collect(),
            automorphism: ring.plan().automorphism(k)?,
            inverse: ring.plan().automorphism(inverse)?,
            ring: ring.clone(),
            gadget: *gadget,
            polynomials,
        })
    }

    /// Makes a client's key for packing: its bodies, in slots; none for one polynomial, which
    /// nothing is switched for.
    pub fn generate(
        ring: &Ring,
        gadget: &Gadget,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
        polynomials: usize,
    ) -> Vec<Vec<u64>> {
        if polynomials == 1 {
            return Vec::new();
        }
        let k = automorphism(ring.n(), polynomials);
        AutomorphismKey::generate(ring, ModulusLevel::Main, gadget, k, secret, masks, errors)
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Computes the digits of all switches from the masks of samples, in slots, concatenated.
    ///
    /// # Panics
    /// Unless these are `n` reduced slots of each polynomial.
    pub fn digits(&self, samples: &[u64]) -> TraceDigits {
        let (n, plan, g) = (self.ring.n(), self.ring.plan(), self.polynomials);
        assert_eq!(samples.len(), g * n, "the samples of one packed ciphertext");
        let all = self.transform(samples);
        let mut slot_of = vec![0; 2 * n];
        (0..n).for_each(|slot| slot_of[plan.exponent(slot)] = slot);
        // The mask of h: in the slot of psi^e, what number (e - e h) g / 2n has in that of psi^(e h).
        let mask = |h: usize| -> Vec<u64> {
            let at = |slot| {
                let e = plan.exponent(slot);
                let r = e * h % (2 * n);
                all[(e + 2 * n - r) % (2 * n) / (2 * n / g) * n + slot_of[r]]
            };
            (0..n).map(at).collect()
        };
        let k = automorphism(n, g);
        let powers: Vec<usize> =
            std::iter::successors(Some(1), |power| Some(power * k % (2 * n))).take(g).collect();
        // The keys' masks under the automorphism of each switch, from the last on.
        let mut key = self.masks.clone();
        for polynomial in &mut key {
            let power = powers.len().checked_sub(2).map_or(1, |last| powers[last]);
            let image = self.ring.plan().automorphism(power);
            apply(image.as_ref().unwrap_or(&self.inverse), polynomial);
        }
        let mut sum = mask(powers[g - 1]);
        let mut digits = Vec::with_capacity((g - 1) * self.masks.len());
        let mut split = vec![0; n * self.masks.len()];
        for power in powers[..g - 1].iter().rev() {
            self.ring.inverse(ModulusLevel::Main, &mut sum);
            self.gadget.decompose(self.ring.q(), &sum, &mut split);
            sum = mask(*power);
            for (digit, key) in split.chunks_exact_mut(n).zip(&mut key) {
                self.ring.forward(ModulusLevel::Main, digit);
                plan.mul_acc(&mut sum, digit, key);
                apply(&self.inverse, key);
            }
            // In the end the digits of the last switch made come first.
            digits.extend(split.chunks_exact(n).rev().map(<[u64]>::to_vec));
        }
        digits.reverse();
        TraceDigits { digits, mask: sum }
    }

    /// `sum_c g^-1 a_c X^c w^(c t)` for all `t`, with `w` of order `g`: the number `psi^(2n / g)`.
    fn transform(&self, samples: &[u64]) -> Vec<u64> {
        let (n, plan, g) = (self.ring.n(), self.ring.plan(), self.polynomials);
        let q = plan.modulus();
        let inverse = vec![q.inv(g as u64); n];
        let log = g.ilog2();
        let reversed = |i: usize| i.reverse_bits().checked_shr(usize::BITS - log).unwrap_or(0);
        let mut all = vec![0; g * n];
        for (c, sample) in samples.chunks_exact(n).enumerate() {
            let place = &mut all[reversed(c) * n..][..n];
            place.copy_from_slice(sample);
            plan.mul(place, &inverse);
            plan.mul(place, &plan.monomial(c as i64));
        }
        let (mut factor, mut before) = (vec![0; n], vec![0; n]);
        let mut half = 1;
        while half < g {
            let root = q.pow(plan.root(), (n / half) as u64);
            for i in 0..half {
                factor.fill(q.pow(root, i as u64));
                for pair in all.chunks_exact_mut(2 * half * n) {
                    let (upper, lower) = pair.split_at_mut(half * n);
                    let (upper, lower) = (&mut upper[i * n..][..n], &mut lower[i * n..][..n]);
                    plan.mul(lower, &factor);
                    before.copy_from_slice(upper);
                    plan.add(upper, lower);
                    plan.sub(&mut before, lower);
                    lower.copy_from_slice(&before);
                }
            }
            half *= 2;
        }
        all
    }

    /// Computes what the switches add to the body, coefficient by coefficient, from their digits in
    /// the order of [`TraceDigits::digits`], and the bodies of the key in slots. Digits that are
    /// missing add nothing.
    ///
    /// # Panics
    /// Unless all of these are `n` slots.
    pub fn fold<'d>(&self, digits: impl IntoIterator<Item = &'d [u64]>, key: &[Vec<u64>]) -> Vec<u64> {
        let (plan, mut key) = (self.ring.plan(), key.to_vec());
        let (mut sums, mut out) = (plan.accumulator(), vec![0; self.ring.n()]);
        let mut digits = digits.into_iter().peekable();
        while digits.peek().is_some() && !key.is_empty() {
            for (key, digit) in key.iter_mut().zip(digits.by_ref()) {
                plan.mul_acc_wide(&mut sums, digit, key);
                apply(&self.automorphism, key);
            }
        }
        plan.take(&mut sums, &mut out);
        self.ring.inverse(ModulusLevel::Main, &mut out);
        out
    }
}

/// The power of X that generates the automorphisms of a trace of `polynomials` images.
fn automorphism(n: usize, polynomials: usize) -> usize {
    (0..n / 2 / polynomials).fold(1, |power, _| power * 5 % (2 * n))
}

/// Applies an automorphism to slots in place.
fn apply(automorphism: &Automorphism, slots: &mut Vec<u64>) {
    let mut out = vec![0; slots.len()];
    automorphism.apply(slots, &mut out);
    *slots = out;
}
