//! Answers: the last modulus switch, from one prime to a few bits.
//!
//! Each coefficient of a ciphertext at the last level is scaled to a power of two and rounded.
//! Messages are in the top bits (their scale is a `t`-th of the modulus), so any modulus works that
//! has space for rounding errors, and the body needs fewer bits than the mask: its rounding error
//! is not multiplied by the secret (as in Spiral's answers).

use super::encrypt::{Ciphertext, SecretKey};
use super::ring::SlotRing;
use super::rns::RnsRing;
use sotto_math::bits::{pack_words, packed_len, unpack_words};
use sotto_math::modulus_pair::round_to_bits;
use zeroize::Zeroizing;

/// The number of bits of each coefficient of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerBits {
    body: u32,
    mask: u32,
}

impl AnswerBits {
    /// Makes the widths of body and mask; `None` unless both are positive, the mask has no fewer
    /// bits than the body, and so few that the product of a mask and a secret stays below half of
    /// the last prime.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>, body: u32, mask: u32) -> Option<Self> {
        let q = rns.ring().plans().first()?.modulus().value();
        let sum = (rns.ring().degree() as u64).checked_mul(1u64.checked_shl(mask)?)?;
        let fits = sum < q / 2 && rns.ring().plain().checked_mul(1 << mask)? < 1 << 63;
        (1 <= body && body <= mask && fits).then_some(AnswerBits { body, mask })
    }

    /// Bits of a body's coefficients.
    pub fn body(&self) -> u32 {
        self.body
    }

    /// Bits of a mask's coefficients: log2 of the last modulus.
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// Bytes of an answer.
    pub fn bytes<R: SlotRing>(&self, rns: &RnsRing<R>) -> usize {
        [self.body, self.mask].map(|bits| packed_len(bits, rns.ring().degree()).unwrap_or(0)).iter().sum()
    }
}

/// An answer: the coefficients of a body and of a mask, each with their own number of bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    body: Vec<u64>,
    mask: Vec<u64>,
}

impl Answer {
    /// Rounds a ciphertext of two parts at the last level.
    ///
    /// # Panics
    /// If it is of another level or has other parts.
    pub fn new<R: SlotRing>(rns: &RnsRing<R>, bits: AnswerBits, c: &Ciphertext) -> Self {
        assert_eq!((c.level().primes(), c.parts()), (1, 2), "two parts at the last level");
        let degree = rns.ring().degree();
        let [body, mask] = [(0, bits.body), (1, bits.mask)].map(|(part, bits)| {
            let mut x = c.part(part).to_vec();
            rns.inverse(c.level(), &mut x);
            let mut out = vec![0; degree];
            rns.plans(c.level()).for_each(|plan| round_to_bits(plan.modulus(), &x[..degree], bits, &mut out));
            out
        });
        Answer { body, mask }
    }

    /// Appends the encoded answer to `out`.
    pub fn put(&self, bits: AnswerBits, out: &mut Vec<u8>) {
        pack_words(&self.body, bits.body, out);
        pack_words(&self.mask, bits.mask, out);
    }

    /// Decodes an answer; `None` unless it has exactly the required bytes, with zeros in the
    /// padding bits.
    pub fn take<R: SlotRing>(rns: &RnsRing<R>, bits: AnswerBits, bytes: &[u8]) -> Option<Self> {
        let degree = rns.ring().degree();
        let (body, mask) = bytes.split_at_checked(packed_len(bits.body, degree)?)?;
        let words = |bytes, bits| unpack_words(bytes, bits, degree);
        Some(Answer { body: words(body, bits.body)?, mask: words(mask, bits.mask)? })
    }

    /// Decrypts an answer to its plaintext, in time that does not depend on it.
    pub fn decrypt<R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        bits: AnswerBits,
        secret: &SecretKey,
    ) -> Zeroizing<Vec<u64>> {
        let t = rns.ring().plain();
        let mut out = self.phase(rns, bits, secret);
        // The phase is a multiple of -2^bits / t: see `rns`. What rounds up to t is zero.
        let (modulus, half) = (1u64 << bits.mask, 1u64 << bits.mask >> 1);
        for x in out.iter_mut() {
            let rounded = ((modulus - *x) * t + half) >> bits.mask;
            *x = rounded.min(rounded.wrapping_sub(t));
        }
        out
    }

    /// The error of every coefficient, in units of the last place of the mask. For measurements
    /// only.
    pub fn errors<R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        bits: AnswerBits,
        secret: &SecretKey,
    ) -> Zeroizing<Vec<f64>> {
        let t = rns.ring().plain() as f64;
        let modulus = f64::from(bits.mask).exp2();
        let phase = self.phase(rns, bits, secret);
        let steps = phase.iter().take(rns.ring().degree()).map(|x| *x as f64 * t / modulus);
        Zeroizing::new(steps.map(|x| (x - x.round()) * modulus / t).collect())
    }

    /// Computes `body + mask s` modulo a power of two, exactly: as integers, modulo a prime that is
    /// large enough for them.
    fn phase<R: SlotRing>(
        &self,
        rns: &RnsRing<R>,
        bits: AnswerBits,
        secret: &SecretKey,
    ) -> Zeroizing<Vec<u64>> {
        let level = rns.level(1).unwrap_or(rns.top());
        let words = rns.ring().words();
        let mut small = vec![0; words];
        let top = 1i64 << bits.mask >> 1;
        for (out, x) in small.iter_mut().zip(&self.mask) {
            // Centered around zero.
            *out = ((*x as i64 + top) & (2 * top - 1)) - top;
        }
        let mut product = rns.from_small(level, &small);
        rns.mul(level, &mut product, secret.values(rns, level));
        rns.inverse(level, &mut product);
        let scale = bits.mask - bits.body;
        for plan in rns.plans(level) {
            for (i, x) in product.iter_mut().enumerate() {
                let body = self.body.get(i).map_or(0, |x| x << scale);
                // Two's complement: the low bits of a negative number are those of its residue.
                *x = (plan.modulus().centered(*x) as u64).wrapping_add(body) & ((1 << bits.mask) - 1);
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{encrypted, on_every_ring, plaintexts, secret};

    on_every_ring!(answers_hold_the_plaintext, bytes_are_read_whole_or_not_at_all, bits_that_fit);

    /// A width at which rounding errors stay far below half a step.
    fn width<R: SlotRing>(rns: &RnsRing<R>) -> u32 {
        let rounding = (rns.ring().degree() as f64).sqrt() * rns.ring().spread();
        (rns.ring().plain() as f64 * rounding * 8.0).log2().ceil() as u32
    }

    fn answers_hold_the_plaintext<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let last = rns.level(1).unwrap();
        let mask = width(rns);
        for (body, mask) in [(mask, mask), (mask - 3, mask), (mask, mask + 3)] {
            let bits = AnswerBits::new(rns, body, mask).unwrap();
            for plaintext in plaintexts(rns) {
                let c = encrypted(rns, last, &secret, &plaintext, 0);
                let answer = Answer::new(rns, bits, &c);
                let mut bytes = Vec::new();
                answer.put(bits, &mut bytes);
                assert_eq!(bytes.len(), bits.bytes(rns));
                let taken = Answer::take(rns, bits, &bytes).unwrap();
                assert_eq!(taken, answer);
                assert_eq!(*taken.decrypt(rns, bits, &secret), plaintext);
                let half_step = f64::from(mask).exp2() / rns.ring().plain() as f64 / 2.0;
                assert!(taken.errors(rns, bits, &secret).iter().all(|x| x.abs() < half_step));
            }
        }
    }

    fn bytes_are_read_whole_or_not_at_all<R: SlotRing>(rns: &RnsRing<R>) {
        let bits = AnswerBits::new(rns, 3, 9).unwrap();
        let bytes = vec![0xFF; bits.bytes(rns)];
        assert!(Answer::take(rns, bits, &bytes[1..]).is_none());
        assert!(Answer::take(rns, bits, &[&bytes[..], &[0]].concat()).is_none());
        assert!(Answer::take(rns, bits, &[]).is_none());
        let degree = rns.ring().degree();
        let padded = [3, 9].iter().any(|bits| !(bits * degree).is_multiple_of(8));
        assert_eq!(Answer::take(rns, bits, &bytes).is_none(), padded);
    }

    fn bits_that_fit<R: SlotRing>(rns: &RnsRing<R>) {
        assert!(AnswerBits::new(rns, 1, 1).is_some());
        for (body, mask) in [(0, 8), (9, 8), (1, 0), (8, 60), (8, 64), (8, u32::MAX)] {
            assert!(AnswerBits::new(rns, body, mask).is_none(), "{body}, {mask}");
        }
    }
}
