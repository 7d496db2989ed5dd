//! Messages scaled by rounding: a coefficient `m` is encoded as `round(q m / t)`, for `q` the
//! product of the primes.
//!
//! No function takes a time that depends on a message or a secret.

use super::super::ciphertext::Ciphertext;
use super::super::encrypt::body;
use super::super::pow2::Pow2;
use super::super::ring::SlotRing;
use super::super::rns::RnsRing;
use super::super::secret::SecretKey;
use crate::encrypt::ErrorSource;
use sotto_math::divide::divide;
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
