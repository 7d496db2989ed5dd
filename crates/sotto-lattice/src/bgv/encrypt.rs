//! Secret keys, ciphertexts, encryption with the uniform half from a seed, and decryption.
//!
//! A ciphertext is two polynomials, or three before a product is relinearized. The phase `c0 + c1 s
//! + c2 s^2` is the message over `t` plus the error: see [`rns`](super::rns).
//!
//! Secret keys are dense ternary polynomials, and nothing else. Sparse secrets would make less
//! noise, but hybrid attacks on them are outside what the security estimate covers.

use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;
use crate::encrypt::ErrorSource;
use crate::secret::ternary;
use rand_core::CryptoRng;
use sotto_math::modulus::divide;
use zeroize::Zeroizing;

/// Computes the body `c0 = m - c1 s + e` of a ciphertext with the mask `c1`, all as values; `m` is
/// a message over `t`, or a key's.
///
/// A mask must be fresh for each call: two bodies under one mask differ by their messages.
///
/// # Panics
/// If the mask or the message is not as long as the level requires.
pub(super) fn body<R: SlotRing>(
    rns: &RnsRing<R>,
    level: Level,
    secret: &SecretKey,
    mask: &[u64],
    message: &[u64],
    errors: &mut ErrorSource<'_>,
) -> Vec<u64> {
    assert!(mask.len() == rns.words(level) && message.len() == mask.len(), "polynomials of this level");
    let mut small = Zeroizing::new(vec![0; rns.ring().words()]);
    errors.law.fill(errors.rng, &mut small[..rns.ring().degree()]);
    let wide = Zeroizing::new(small.iter().map(|x| i64::from(*x)).collect::<Vec<i64>>());
    let mut out = rns.from_small(level, &wide);
    rns.add(level, &mut out, message);
    let mut product = Zeroizing::new(mask.to_vec());
    rns.mul(level, &mut product, secret.values(rns, level));
    rns.sub(level, &mut out, &product);
    out.to_vec()
}

/// Encrypts a plaintext with coefficients in `0..t` under a fresh mask, and returns the body.
///
/// # Panics
/// If the mask is not as long as the level requires, or there is not one limb of coefficients.
pub fn encrypt<R: SlotRing>(
    rns: &RnsRing<R>,
    level: Level,
    secret: &SecretKey,
    mask: &[u64],
    coefficients: &[u64],
    errors: &mut ErrorSource<'_>,
) -> Vec<u64> {
    let mut message = rns.from_plain(level, coefficients);
    rns.div_plain_modulus(level, &mut message);
    body(rns, level, secret, mask, &message, errors)
}

/// Encrypts a plaintext over `2^halvings`, which that many doublings restore: those of
/// [`expand`](super::expand).
///
/// # Panics
/// As [`encrypt`].
pub fn encrypt_divided<R: SlotRing>(
    rns: &RnsRing<R>,
    level: Level,
    secret: &SecretKey,
    mask: &[u64],
    coefficients: &[u64],
    halvings: u32,
    errors: &mut ErrorSource<'_>,
) -> Vec<u64> {
    let mut message = rns.from_plain(level, coefficients);
    rns.div_plain_modulus(level, &mut message);
    rns.halve(level, &mut message, halvings);
    body(rns, level, secret, mask, &message, errors)
}

/// Decrypts a ciphertext of any level and with two or three parts, in time that does not depend on
/// its plaintext.
pub fn decrypt<R: SlotRing>(rns: &RnsRing<R>, secret: &SecretKey, c: &Ciphertext) -> Zeroizing<Vec<u64>> {
    let (words, t) = (rns.ring().words(), rns.ring().plain());
    let digits = digits(rns, secret, c);
    // Every prime is 1 modulo t, so a number is congruent to the sum of its digits. Each is below
    // 2^49 in absolute value, and the level has few: the added multiple of t makes their sum
    // positive and below 2^61.
    let positive = (1u64 << 60) / t * t;
    let mut out = Zeroizing::new(vec![positive; words]);
    for (limb, plan) in digits.chunks_exact(words).zip(rns.plans(c.level())) {
        let centered = limb.iter().map(|x| plan.modulus().centered(*x));
        out.iter_mut().zip(centered).for_each(|(out, x)| *out = out.wrapping_add_signed(x));
    }
    out.iter_mut().for_each(|x| *x = divide(*x, t).1);
    out
}

/// The phase times `t`, which is small, in mixed radix: `x = d0 + q0 (d1 + q1 (d2 + ...))` with
/// each digit centered around zero, limb by limb (Garner's algorithm, with the division between
/// moduli).
fn digits<R: SlotRing>(rns: &RnsRing<R>, secret: &SecretKey, c: &Ciphertext) -> Zeroizing<Vec<u64>> {
    let (level, words) = (c.level(), rns.ring().words());
    let s = secret.values(rns, level);
    // Horner's rule.
    let mut x = Zeroizing::new(c.part(c.parts() - 1).to_vec());
    for i in (0..c.parts() - 1).rev() {
        rns.mul(level, &mut x, s);
        rns.add(level, &mut x, c.part(i));
    }
    rns.mul_plain_modulus(level, &mut x);
    rns.inverse(level, &mut x);
    let mut correction = Zeroizing::new(vec![0; words]);
    for to in 1..level.primes() {
        let (lower, limb) = x.split_at_mut(to * words);
        for (from, digit) in lower.chunks_exact(words).enumerate() {
            if let Some(pair) = rns.pair(to, from) {
                pair.centered(digit, &mut correction);
                pair.lower(&mut limb[..words], &correction);
            }
        }
    }
    x
}

/// The error of every coefficient, in units of the last place.
///
/// For measurements only. Anyone who learns the errors learns the key.
pub fn errors<R: SlotRing>(rns: &RnsRing<R>, secret: &SecretKey, c: &Ciphertext) -> Zeroizing<Vec<f64>> {
    let (words, t) = (rns.ring().words(), rns.ring().plain());
    let message = decrypt(rns, secret, c);
    let mut out = Zeroizing::new(vec![0.0; words]);
    let digits = digits(rns, secret, c);
    let plans = &rns.ring().plans()[..c.level().primes()];
    for (limb, plan) in digits.chunks_exact(words).zip(plans).rev() {
        let q = plan.modulus();
        out.iter_mut().zip(limb).for_each(|(x, d)| *x = *x * q.value() as f64 + q.centered(*d) as f64);
    }
    out.truncate(rns.ring().degree());
    // Rounding to 53 bits is far finer than the errors.
    let centered = |m: u64| m as f64 - if m > t / 2 { t as f64 } else { 0.0 };
    out.iter_mut().zip(message.iter()).for_each(|(x, m)| *x = (*x - centered(*m)) / t as f64);
    out
}

/// A ciphertext of two or three polynomials, as values.
#[derive(Debug, Clone)]
pub struct Ciphertext {
    level: Level,
    /// Words of one limb, and words of one part.
    limb: usize,
    stride: usize,
    words: AlignedWords,
}

impl Ciphertext {
    /// Makes the ciphertext of zeros.
    pub fn zero<R: SlotRing>(rns: &RnsRing<R>, level: Level, parts: usize) -> Self {
        let stride = rns.words(level);
        Ciphertext { level, limb: rns.ring().words(), stride, words: AlignedWords::zero(parts * stride) }
    }

    /// Makes a ciphertext for a caller that sets every part of it: it has arbitrary contents.
    pub fn unfilled<R: SlotRing>(rns: &RnsRing<R>, level: Level, parts: usize) -> Self {
        let stride = rns.words(level);
        Ciphertext { level, limb: rns.ring().words(), stride, words: AlignedWords::unfilled(parts * stride) }
    }

    /// Makes a ciphertext of its parts.
    ///
    /// # Panics
    /// If a part is not as long as the level requires.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>, level: Level, parts: &[&[u64]]) -> Self {
        let mut out = Ciphertext::unfilled(rns, level, parts.len());
        out.words.chunks_exact_mut(out.stride).zip(parts).for_each(|(out, part)| out.copy_from_slice(part));
        out
    }

    /// The level of the ciphertext.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.words.len() / self.stride
    }

    /// The factor of the secret's power `i`.
    pub fn part(&self, i: usize) -> &[u64] {
        &self.words[i * self.stride..][..self.stride]
    }

    /// Mutable access to [`part`](Self::part).
    pub fn part_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.words[i * self.stride..][..self.stride]
    }

    /// One limb of a part.
    pub fn limb(&self, part: usize, limb: usize) -> &[u64] {
        &self.part(part)[limb * self.limb..][..self.limb]
    }

    /// Mutable access to [`limb`](Self::limb).
    pub fn limb_mut(&mut self, part: usize, limb: usize) -> &mut [u64] {
        let words = self.limb;
        &mut self.part_mut(part)[limb * words..][..words]
    }

    /// Mutable access to one limb of every part.
    pub(super) fn limbs_mut(&mut self, limb: usize) -> impl Iterator<Item = &mut [u64]> {
        let words = self.limb;
        self.words.chunks_exact_mut(self.stride).map(move |part| &mut part[limb * words..][..words])
    }

    /// Adds a ciphertext of the same level and number of parts: the messages add.
    ///
    /// # Panics
    /// If they differ.
    pub fn add<R: SlotRing>(&mut self, rns: &RnsRing<R>, other: &Ciphertext) {
        self.check(other);
        (0..self.parts()).for_each(|i| rns.add(self.level, self.part_mut(i), other.part(i)));
    }

    /// Subtracts a ciphertext of the same level and number of parts.
    ///
    /// # Panics
    /// If they differ.
    pub fn sub<R: SlotRing>(&mut self, rns: &RnsRing<R>, other: &Ciphertext) {
        self.check(other);
        (0..self.parts()).for_each(|i| rns.sub(self.level, self.part_mut(i), other.part(i)));
    }

    /// Multiplies by a plaintext, as values of this level at least.
    pub fn mul<R: SlotRing>(&mut self, rns: &RnsRing<R>, plain: &[u64]) {
        (0..self.parts()).for_each(|i| rns.mul(self.level, self.part_mut(i), plain));
    }

    fn check(&self, other: &Ciphertext) {
        assert_eq!((self.level, self.parts()), (other.level, other.parts()), "ciphertexts of one shape");
    }
}

/// A secret key, overwritten when dropped.
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i32>>,
    /// Values modulo all primes, the special one last.
    values: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// Draws a secret with coefficients uniform in {-1, 0, 1}, in time that does not depend on it.
    pub fn sample<R: SlotRing>(rns: &RnsRing<R>, rng: &mut dyn CryptoRng) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; rns.ring().words()]);
        ternary(rng, &mut coefficients[..rns.ring().degree()]);
        Self::from_coefficients(rns, coefficients)
    }

    /// Restores a secret that was drawn before; `None` unless there is one limb of coefficients,
    /// all in {-1, 0, 1}. The time does not depend on coefficients in that range.
    pub fn again<R: SlotRing>(rns: &RnsRing<R>, coefficients: Zeroizing<Vec<i32>>) -> Option<Self> {
        let strays = coefficients.iter().fold(0, |strays, x| strays | ((x + 1) as u32 > 2) as u32);
        if strays > 0 || coefficients.len() != rns.ring().words() {
            return None;
        }
        Some(Self::from_coefficients(rns, coefficients))
    }

    /// Returns the secret under a rotation.
    pub(super) fn rotated<R: SlotRing>(&self, rns: &RnsRing<R>, rotation: &R::Rotation) -> Self {
        Self::from_coefficients(rns, Zeroizing::new(rns.ring().rotate_small(rotation, &self.coefficients)))
    }

    fn from_coefficients<R: SlotRing>(rns: &RnsRing<R>, coefficients: Zeroizing<Vec<i32>>) -> Self {
        let wide = Zeroizing::new(coefficients.iter().map(|x| i64::from(*x)).collect::<Vec<i64>>());
        let values = rns.from_small(rns.full(), &wide);
        SecretKey { coefficients, values }
    }

    /// The coefficients of the secret, one limb.
    pub fn coefficients(&self) -> &[i32] {
        &self.coefficients
    }

    /// The values of the secret, at the top level with or without the special prime, or at a lower
    /// one.
    pub(super) fn values<R: SlotRing>(&self, rns: &RnsRing<R>, level: Level) -> &[u64] {
        &self.values[..rns.words(level)]
    }

    /// The square of the secret, as values.
    pub(super) fn square<R: SlotRing>(&self, rns: &RnsRing<R>, level: Level) -> Zeroizing<Vec<u64>> {
        let mut out = Zeroizing::new(self.values(rns, level).to_vec());
        rns.mul(level, &mut out, self.values(rns, level));
        out
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{
        SEED, checksum, encrypted, levels, masks, on_every_ring, opened, plaintexts, pow2, secret, slots,
        slotwise,
    };
    use crate::bgv::keyswitch::SwitchKey;
    use crate::bgv::wire::put_body;
    use crate::fixture::{SIGMA, with_errors};

    on_every_ring!(plaintexts_come_back, plaintexts_add_and_multiply, errors_are_those_that_were_drawn);

    fn plaintexts_come_back<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        for level in levels(rns) {
            for (index, plaintext) in (0..).zip(plaintexts(rns)) {
                let c = encrypted(rns, level, &secret, &plaintext, index);
                assert_eq!(*decrypt(rns, &secret, &c), plaintext, "{index} at {level:?}");
            }
        }
    }

    fn plaintexts_add_and_multiply<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let all = plaintexts(rns);
        for level in levels(rns) {
            for (a, b) in all.iter().zip(all.iter().cycle().skip(1)) {
                let (x, y) = (slots(rns, a), slots(rns, b));
                let c = encrypted(rns, level, &secret, a, 0);
                let mut sum = c.clone();
                sum.add(rns, &encrypted(rns, level, &secret, b, 1));
                assert_eq!(opened(rns, &secret, &sum), slotwise(rns, 0, &x, &y));
                sum.sub(rns, &encrypted(rns, level, &secret, b, 2));
                assert_eq!(opened(rns, &secret, &sum), x);
                let mut product = c;
                product.mul(rns, &rns.from_plain(level, b));
                assert_eq!(opened(rns, &secret, &product), slotwise(rns, 1, &x, &y));
            }
        }
    }

    fn errors_are_those_that_were_drawn<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        for level in levels(rns) {
            let plaintext = &plaintexts(rns)[0];
            let found = errors(rns, &secret, &encrypted(rns, level, &secret, plaintext, 7));
            let mut drawn = vec![0; rns.ring().degree()];
            with_errors(57, |errors| errors.law.fill(errors.rng, &mut drawn));
            assert!(found.iter().zip(&drawn).all(|(found, drawn)| *found == f64::from(*drawn)));
            let square = found.iter().map(|x| x * x).sum::<f64>() / found.len() as f64;
            assert!((square.sqrt() / SIGMA - 1.0).abs() < 0.2, "{square}");
        }
    }

    /// A change of one of these values changes what clients send, or derives their keys from other
    /// randomness.
    #[test]
    fn known_bytes() {
        let rns = pow2();
        let secret = secret(&rns);
        let plaintext = &plaintexts(&rns)[0];
        let level = rns.top();
        let mask = rns.mask(level, &SEED, "ciphertext", 0);
        let body = with_errors(50, |errors| encrypt(&rns, level, &secret, &mask, plaintext, errors));
        let mut query = Vec::new();
        put_body(&rns, level, &body, &mut query);
        let bodies =
            with_errors(2, |errors| SwitchKey::generate_square(&rns, &secret, masks("square"), errors));
        let mut key = Vec::new();
        bodies.iter().for_each(|body| put_body(&rns, rns.full(), body, &mut key));
        let known = [&query, &key].map(|bytes| (bytes.len(), checksum(bytes)));
        assert_eq!(known, [(4800, 1890277578836888802), (19200, 4115333278663238039)]);
    }
}
