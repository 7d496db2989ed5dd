//! Unmodified BFV, as other implementations have it: any plain modulus under any primes, and every
//! residue as they compute it.
//!
//! In the rest of [`bgv`](super), primes are 1 modulo the plain modulus, which makes products
//! exact. Here they need not be: a message is scaled by rounding ([`encrypt`]), and a product is
//! computed over a base that is large enough for the integers, then divided ([`product`]). Given
//! the same ciphertexts and keys, the result is the same to the last bit of the noise as that of
//! any implementation that follows the same formulas; so two choices are fixed here that are free
//! elsewhere:
//!
//! - digits of a key switch are residues from 0 on, not centered around zero;
//! - an automorphism is applied to the ciphertext first, and keys are switched afterwards
//!   ([`GaloisKey`]).
//!
//! Division by a prime is [`lower`](super::keyswitch::lower), which rounds to the nearest. A
//! coefficient `m` is encoded as `round(q m / t)`, for `q` the product of the primes. Neither
//! [`encrypt`] nor [`decrypt`] takes a time that depends on a message or a secret.

pub mod product;

use super::encrypt::{Ciphertext, SecretKey, body};
use super::keyswitch::{Scratch, SwitchKey, leave};
use super::pow2::{Pow2, Rotation};
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;
use crate::encrypt::ErrorSource;
use sotto_math::modulus::divide;
use zeroize::Zeroizing;

/// Encrypts a plaintext with coefficients in `0..t` under a fresh mask, at the top level. Returns
/// the body, as values.
///
/// # Panics
/// If the mask is not as long as the level requires, or there is not one limb of coefficients.
pub fn encrypt(
    rns: &RnsRing<Pow2>,
    secret: &SecretKey,
    mask: &[u64],
    coefficients: &[u64],
    errors: &mut ErrorSource<'_>,
) -> Vec<u64> {
    body(rns, rns.top(), secret, mask, &scaled(rns, coefficients), errors)
}

/// The values of `floor(q / t) m + floor(((q mod t) m + floor((t + 1) / 2)) / t)`.
fn scaled(rns: &RnsRing<Pow2>, coefficients: &[u64]) -> Zeroizing<Vec<u64>> {
    let (level, t) = (rns.top(), rns.ring().plain());
    assert_eq!(coefficients.len(), rns.ring().words(), "one limb of coefficients");
    let q_mod_t = rns.plans(level).fold(1, |product, plan| product * (plan.modulus().value() % t) % t);
    let mut out = Zeroizing::new(Vec::with_capacity(rns.words(level)));
    for plan in rns.plans(level) {
        let q = plan.modulus();
        // q = 0 modulo this prime, so that floor(q / t) is -(q mod t) / t.
        let floor = q.mul(q.neg(q.reduce(q_mod_t)), q.inv(q.reduce(t)));
        out.extend(coefficients.iter().map(|m| {
            let rounded = divide(q_mod_t * m + t.div_ceil(2), t).0;
            q.add(q.mul(floor, *m), rounded)
        }));
    }
    rns.forward(level, &mut out);
    out
}

/// Decrypts a ciphertext with one prime left, given by two parts as coefficients.
///
/// # Panics
/// If a part is not one limb, or has numbers that are not reduced.
pub fn decrypt(rns: &RnsRing<Pow2>, secret: &SecretKey, parts: [&[u64]; 2]) -> Zeroizing<Vec<u64>> {
    let mut c = Ciphertext::zero(rns, rns.level(1).unwrap_or(rns.top()), 2);
    (0..2).for_each(|part| c.limb_mut(part, 0).copy_from_slice(parts[part]));
    let t = rns.ring().plain();
    let plans = &rns.ring().plans()[..1];
    let mut out = Zeroizing::new(Vec::with_capacity(rns.ring().words()));
    for plan in plans {
        let mut phase = Zeroizing::new(c.limb(1, 0).to_vec());
        plan.forward(&mut phase);
        plan.mul(&mut phase, secret.values(rns, c.level()));
        plan.inverse(&mut phase);
        plan.add(&mut phase, c.limb(0, 0));
        let q = plan.modulus().value();
        // What rounds up to t is zero.
        out.extend(phase.iter().map(|x| divide(divide(x * t + q / 2, q).0, t).1));
    }
    out
}

/// A switching key whose primes are so short that both numbers of a row share a word: the body's in
/// the lower half, the mask's in the upper half. So half as many bytes are read, which is much of
/// the time of a key switch.
#[derive(Debug, Clone)]
pub struct PackedSwitchKey {
    /// Rows of as many words as a polynomial modulo all primes has.
    rows: Vec<AlignedWords>,
}

impl PackedSwitchKey {
    /// Makes a key of its rows; `None` unless there is one for each prime, each of two parts modulo
    /// all primes, and all primes are below 2^30.
    pub fn of_rows(rns: &RnsRing<Pow2>, rows: &[Ciphertext]) -> Option<Self> {
        let fits = |row: &Ciphertext| (row.level(), row.parts()) == (rns.full(), 2);
        let short = rns.plans(rns.full()).all(|plan| plan.modulus().bits() <= 30);
        if rows.len() != rns.top().primes() || !rows.iter().all(fits) || !short {
            return None;
        }
        let paired = |row: &Ciphertext| {
            let mut words = AlignedWords::unfilled(rns.words(rns.full()));
            let numbers = row.part(0).iter().zip(row.part(1));
            words.iter_mut().zip(numbers).for_each(|(word, (body, mask))| *word = body | mask << 32);
            words
        };
        Some(PackedSwitchKey { rows: rows.iter().map(paired).collect() })
    }

    /// Writes both parts of an encryption of `x` times the source to the scratch memory, which
    /// already holds the digits of `x`.
    fn sum(&self, rns: &RnsRing<Pow2>, level: Level, x: &[u64], scratch: &mut Scratch) {
        let words = rns.ring().words();
        let Scratch { digits, parts, limbs } = scratch;
        for (limb, (prime, plan)) in rns.primes(level.raised()).zip(rns.plans(level.raised())).enumerate() {
            let digits: Vec<&[u64]> = digits.of_limb(x, level, limb).collect();
            let rows: Vec<&[u64]> =
                self.rows.iter().take(digits.len()).map(|row| &row[prime * words..][..words]).collect();
            let out = parts.each_mut().map(|part| &mut part[limb * words..][..words]);
            plan.sum_of_paired_products(&digits, &rows, out);
        }
        for x in parts {
            let (main, special) = x.split_at_mut(rns.words(level));
            leave(rns, level, rns.special(), main, &special[..words], limbs);
        }
    }
}

/// The switching key of one automorphism.
#[derive(Debug, Clone)]
pub struct GaloisKey {
    element: usize,
    rotation: Rotation,
    key: PackedSwitchKey,
}

impl GaloisKey {
    /// Makes the key of `X -> X^element` of its rows; `None` unless the element is odd and below
    /// `2n`, and the rows are those of a [`PackedSwitchKey`].
    pub fn of_rows(rns: &RnsRing<Pow2>, element: usize, rows: &[Ciphertext]) -> Option<Self> {
        if element.is_multiple_of(2) || element >= 2 * rns.ring().degree() {
            return None;
        }
        let key = PackedSwitchKey::of_rows(rns, rows)?;
        Some(GaloisKey { element, rotation: rns.ring().power(element), key })
    }

    /// Makes the bodies of an automorphism's key under these masks, one for each prime and each
    /// modulo all primes.
    ///
    /// # Panics
    /// If there are fewer masks than primes, or one is not as long as all primes require.
    pub fn generate(
        rns: &RnsRing<Pow2>,
        element: usize,
        secret: &SecretKey,
        masks: &[Vec<u64>],
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let rotated = secret.rotated(rns, &rns.ring().power(element));
        rows(rns, rotated.values(rns, rns.top()), secret, masks, errors)
    }

    /// The exponent `k` of the automorphism `X -> X^k`.
    pub fn element(&self) -> usize {
        self.element
    }

    /// Applies the automorphism to `c`, and writes the result to `out`.
    ///
    /// # Panics
    /// If `c` does not have two parts, or `out` two of the same level.
    pub fn apply(&self, rns: &RnsRing<Pow2>, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
        let level = c.level();
        assert_eq!((c.parts(), out.parts(), out.level()), (2, 2, level), "ciphertexts of one shape");
        let mut rotated = AlignedWords::unfilled(rns.words(level));
        self.rotate_part(rns, c.part(1), &mut rotated);
        scratch.split_carried(rns, level, &rotated);
        self.key.sum(rns, level, &rotated, scratch);
        self.rotate_part(rns, c.part(0), out.part_mut(0));
        rns.add(level, out.part_mut(0), &scratch.parts[0][..rns.words(level)]);
        out.part_mut(1).copy_from_slice(&scratch.parts[1][..rns.words(level)]);
    }

    fn rotate_part(&self, rns: &RnsRing<Pow2>, x: &[u64], out: &mut [u64]) {
        let words = rns.ring().words();
        let limbs = x.chunks_exact(words).zip(out.chunks_exact_mut(words));
        limbs.for_each(|(x, out)| rns.ring().rotate(&self.rotation, x, out));
    }
}

/// Makes the bodies of the relinearization key under these masks.
///
/// # Panics
/// As [`GaloisKey::generate`].
pub fn generate_square(
    rns: &RnsRing<Pow2>,
    secret: &SecretKey,
    masks: &[Vec<u64>],
    errors: &mut ErrorSource<'_>,
) -> Vec<Vec<u64>> {
    rows(rns, &secret.square(rns, rns.top()), secret, masks, errors)
}

fn rows(
    rns: &RnsRing<Pow2>,
    source: &[u64],
    secret: &SecretKey,
    masks: &[Vec<u64>],
    errors: &mut ErrorSource<'_>,
) -> Vec<Vec<u64>> {
    let row = |prime: usize| SwitchKey::generate_row(rns, prime, source, secret, &masks[prime], &mut *errors);
    (0..rns.top().primes()).map(row).collect()
}

/// Computes `out = (c0, c1) + KS(c2)`, where the key's source is the square of the secret.
///
/// # Panics
/// If `c` does not have three parts, or `out` two of the same level.
pub fn relinearize(
    rns: &RnsRing<Pow2>,
    square: &PackedSwitchKey,
    c: &Ciphertext,
    out: &mut Ciphertext,
    scratch: &mut Scratch,
) {
    let level = c.level();
    assert_eq!((c.parts(), out.parts(), out.level()), (3, 2, level), "three parts in, two parts out");
    scratch.split_carried(rns, level, c.part(2));
    square.sum(rns, level, c.part(2), scratch);
    for part in 0..2 {
        let x = out.part_mut(part);
        x.copy_from_slice(c.part(part));
        rns.add(level, x, &scratch.parts[part][..rns.words(level)]);
    }
}

/// Does one step of an expansion, given the image `t` of `c` under the step's automorphism: the
/// even half `c + t` replaces `c`, and the odd one `X^(-2^round) (c - t)` replaces `odd`.
/// `monomial` has the values of that power of X, modulo every prime.
///
/// # Panics
/// If ciphertexts differ in shape, or the monomial is too short for them.
pub fn split(
    rns: &RnsRing<Pow2>,
    c: &mut Ciphertext,
    image: &Ciphertext,
    monomial: &[u64],
    odd: &mut Ciphertext,
) {
    for part in 0..c.parts() {
        for (limb, (plan, monomial)) in
            rns.plans(c.level()).zip(monomial.chunks_exact(rns.ring().words())).enumerate()
        {
            plan.split(c.limb_mut(part, limb), image.limb(part, limb), monomial, odd.limb_mut(part, limb));
        }
    }
}

#[cfg(test)]
mod tests;
