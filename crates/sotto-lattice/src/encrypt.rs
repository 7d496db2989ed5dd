//! Encryption, the masks that are derived from seeds, and decryption.
//!
//! **Truncated bodies.** On the wire, bodies have the top bits of each coefficient.
//! The dropped bits are one more error, uniform and of variance `4^d / 12` for `d` dropped bits.
//! Keys and queries modulo `Q` can afford it, since the switch down to `q` divides it by `q'`
//! again.
//!
//! The middle of `2^d` integers is not an integer: to whichever neighbor a coefficient is restored,
//! the error has the mean 1/2 or -1/2. Balanced digits have the mean -1/2 too, and both in all
//! coefficients would add up in a key switch, to `l n / 7` for `l` digits: sixteen times the noise
//! of a key with one-bit digits. So coefficients with odd index use the lower neighbor and the
//! others the upper one, and the means cancel.

use crate::ring::{ModulusLevel, Ring};
use crate::secret::SecretKey;
use rand_core::CryptoRng;
use sotto_core::cooperative;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::{PublicSeed, PublicStream};
use zeroize::Zeroizing;

/// The mask of one index: a uniform polynomial that both ends derive from a public seed.
///
/// The transform is a bijection, so uniform slots are drawn and nothing is transformed. Each limb
/// takes words of eight bytes (little-endian) from the stream, in slot order, keeps as many low
/// bits as its modulus has, and skips values that are not below the modulus; the second limb
/// continues where the first one stopped.
pub fn mask(
    ring: &Ring,
    level: ModulusLevel,
    seed: &PublicSeed,
    label: &'static str,
    index: u64,
) -> Vec<u64> {
    let mut words = StreamWords::new(seed.stream(label, index));
    let mut out = Vec::with_capacity(ring.words(level));
    for plan in ring.plans(level) {
        for _ in 0..ring.n() {
            out.push(words.below(plan.modulus()));
        }
    }
    out
}

/// The source of the masks of a key: row `j` has the mask of index `first + j`.
#[derive(Debug, Clone, Copy)]
pub struct MaskSource<'a> {
    /// The seed, public and fresh for each client.
    pub seed: &'a PublicSeed,
    /// Label of the masks' stream.
    pub label: &'static str,
    /// Index of the first mask.
    pub first: u64,
}

impl MaskSource<'_> {
    /// Derives the mask of row `j`. It is a [yield point](sotto_core::cooperative::yield_point) for
    /// making and assembling keys.
    pub fn mask(&self, ring: &Ring, level: ModulusLevel, j: u64) -> Vec<u64> {
        cooperative::yield_point();
        mask(ring, level, self.seed, self.label, self.first + j)
    }
}

/// The source of errors for making a key.
pub struct ErrorSource<'a> {
    /// Distribution of the errors.
    pub law: &'a Gaussian,
    /// Source of secret randomness.
    pub rng: &'a mut dyn CryptoRng,
}

/// The words of a public stream, fetched in batches.
pub(crate) struct StreamWords {
    stream: PublicStream,
    bytes: [u8; 4096],
    used: usize,
}

impl StreamWords {
    pub(crate) fn new(stream: PublicStream) -> Self {
        StreamWords { stream, bytes: [0; 4096], used: 4096 / 8 }
    }

    pub(crate) fn below(&mut self, q: &Modulus) -> u64 {
        loop {
            let word = self.word() & (u64::MAX >> (64 - q.bits()));
            if word < q.value() {
                return word;
            }
        }
    }

    fn word(&mut self) -> u64 {
        if self.used == self.bytes.len() / 8 {
            self.stream.fill(&mut self.bytes);
            self.used = 0;
        }
        self.used += 1;
        u64::from_le_bytes(self.bytes.as_chunks().0[self.used - 1])
    }
}

/// Encrypts one message for each secret under one mask, and returns the bodies
/// `b_i = a s_i + e_i + m_i`.
///
/// A mask must be fresh for each call: two bodies under one mask and one secret differ by their
/// messages.
///
/// # Panics
/// If the mask or a message is not as long as the level requires.
pub fn encrypt(
    ring: &Ring,
    level: ModulusLevel,
    secrets: &[&SecretKey],
    a: &[u64],
    messages: &[&[u64]],
    error: &Gaussian,
    rng: &mut dyn CryptoRng,
) -> Vec<Vec<u64>> {
    assert_eq!(secrets.len(), messages.len(), "one message per secret");
    let mut small = Zeroizing::new(vec![0; ring.n()]);
    let mut body = |(secret, message): (&&SecretKey, &&[u64])| {
        let mut b = secret.slots(ring, level).to_vec();
        ring.mul(level, &mut b, a);
        error.fill(rng, &mut small);
        ring.add(level, &mut b, &Zeroizing::new(ring.from_small(level, &small)));
        ring.add(level, &mut b, message);
        b
    };
    secrets.iter().zip(messages).map(&mut body).collect()
}

/// Computes the coefficients of `b - a s`: message plus error, centered around zero.
///
/// # Panics
/// If `a` or `b` is not as long as the level requires.
pub fn phase(
    ring: &Ring,
    level: ModulusLevel,
    secret: &SecretKey,
    a: &[u64],
    b: &[u64],
) -> Zeroizing<Vec<i128>> {
    let mut product = Zeroizing::new(secret.slots(ring, level).to_vec());
    ring.mul(level, &mut product, a);
    let mut phase = Zeroizing::new(b.to_vec());
    ring.sub(level, &mut phase, &product);
    let phase = Zeroizing::new(ring.to_integers(level, &mut phase));
    let modulus = ring.modulus(level) as i128;
    let centered = |x: &u128| {
        let x = *x as i128;
        // All ones if x is above half the modulus.
        let above = (modulus / 2 - x) >> 127;
        x - (modulus & above)
    };
    Zeroizing::new(phase.iter().map(centered).collect())
}

/// Truncates the coefficients of a body to their top `kept_bits` bits, out of as many as the
/// modulus has.
///
/// # Panics
/// If `b` is not as long as the level requires.
pub fn truncate(ring: &Ring, level: ModulusLevel, b: &[u64], kept_bits: u32) -> Vec<u128> {
    let dropped = ring.bits(level).saturating_sub(kept_bits);
    let mut integers = ring.to_integers(level, &mut b.to_vec());
    integers.iter_mut().for_each(|x| *x >>= dropped);
    integers
}

/// Restores a body from the top bits of its coefficients, each to the middle of its possible
/// values: for `d` dropped bits `t` stands for `t 2^d + 2^(d-1)` at even indices and one less at
/// odd ones, but never for more than the largest coefficient.
///
/// `None` if there are not `n` words, or a word is not the truncation of any coefficient.
pub fn restore(ring: &Ring, level: ModulusLevel, words: &[u128], kept_bits: u32) -> Option<Vec<u64>> {
    let dropped = ring.bits(level).saturating_sub(kept_bits);
    let last = ring.modulus(level) - 1;
    if words.len() != ring.n() || words.iter().any(|word| *word > last >> dropped) {
        return None;
    }
    let half = (1u128 << dropped) >> 1;
    // Below 2^110 and a little, so nothing is shifted out. Without dropped bits, half is zero and
    // nothing is subtracted.
    let middles = [half, half.saturating_sub(1)].into_iter().cycle();
    let restored = words.iter().zip(middles).map(|(word, middle)| ((word << dropped) + middle).min(last));
    let integers: Vec<u128> = restored.collect();
    Some(ring.from_integers(level, &integers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SIGMA, encrypted, message, noise_log2, phases, rings, rng, secret};
    use rand_core::Rng;

    #[test]
    fn masks_are_reduced_and_follow_from_the_seed() {
        let seed = PublicSeed([5; 32]);
        for ring in rings(64) {
            let full = mask(&ring, ModulusLevel::Full, &seed, "mask", 7);
            assert_eq!(full.len(), ring.words(ModulusLevel::Full));
            assert_eq!(full[..64], mask(&ring, ModulusLevel::Main, &seed, "mask", 7));
            assert_ne!(full, mask(&ring, ModulusLevel::Full, &seed, "mask", 8));
            for (plan, limb) in ring.plans(ModulusLevel::Full).zip(full.chunks(64)) {
                let q = plan.modulus().value();
                assert!(limb.iter().all(|x| *x < q));
                let mean = limb.iter().map(|x| *x as f64 / q as f64).sum::<f64>() / 64.0;
                assert!((mean - 0.5).abs() < 0.15, "{mean}");
            }
        }
        // The first words of the stream, by hand.
        let ring = &rings(64)[2];
        let mut bytes = [0; 8 * 200];
        seed.stream("mask", 7).fill(&mut bytes);
        let words = bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) & ((1 << 50) - 1));
        let expected: Vec<u64> = words.filter(|word| *word < ring.q().value()).take(64).collect();
        assert_eq!(mask(ring, ModulusLevel::Main, &seed, "mask", 7), expected);
    }

    #[test]
    fn phases_are_messages_and_small_errors() {
        for ring in rings(256) {
            for level in [ModulusLevel::Full, ModulusLevel::Main] {
                let s = secret(&ring, 1);
                let (expected, slots) = message(&ring, level, 1, ring.modulus(level) / 1000);
                let c = encrypted(&ring, level, &s, &slots, 0);
                let noise = noise_log2(&ring, level, &phases(&ring, &[&s], &c)[0], &expected);
                assert!((noise - SIGMA.log2()).abs() < 0.3, "{noise}");
            }
        }
    }

    #[test]
    fn integers_go_to_slots_and_back() {
        let mut random = rng(4);
        for ring in rings(64) {
            for level in [ModulusLevel::Full, ModulusLevel::Main] {
                let modulus = ring.modulus(level);
                let mut integers: Vec<u128> = (0..64)
                    .map(|_| (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())) % modulus)
                    .collect();
                integers[..4].copy_from_slice(&[0, 1, modulus / 2, modulus - 1]);
                let mut slots = ring.from_integers(level, &integers);
                assert_eq!(ring.to_integers(level, &mut slots), integers);
                // Multiplying by a constant is the same in both worlds.
                let mut slots = ring.from_integers(level, &integers);
                ring.scale(level, &mut slots, modulus - 3);
                let product = |x: &u128| (modulus - x * 3 % modulus) % modulus;
                assert_eq!(
                    ring.to_integers(level, &mut slots),
                    integers.iter().map(product).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn truncated_bodies_come_back_within_half_a_step() {
        for ring in rings(64) {
            for level in [ModulusLevel::Full, ModulusLevel::Main] {
                let (bits, modulus) = (ring.bits(level), ring.modulus(level));
                let b = mask(&ring, level, &PublicSeed([1; 32]), "body", 0);
                let exact = ring.to_integers(level, &mut b.clone());
                for kept in [1, 20, bits - 17, bits - 1, bits, 200] {
                    let words = truncate(&ring, level, &b, kept);
                    let mut back = restore(&ring, level, &words, kept).unwrap();
                    let half = (1u128 << bits.saturating_sub(kept)) / 2;
                    let back = ring.to_integers(level, &mut back);
                    assert!(back.iter().zip(&exact).all(|(x, y)| x.abs_diff(*y) <= half), "{kept} of {bits}");
                    if kept >= bits {
                        assert_eq!(back, exact);
                    }
                    // The last word some coefficient has, and the next one.
                    let last = (modulus - 1) >> bits.saturating_sub(kept);
                    let mut words = words;
                    words[63] = last;
                    assert!(restore(&ring, level, &words, kept).is_some());
                    words[63] = last + 1;
                    assert!(restore(&ring, level, &words, kept).is_none());
                    words[63] = u128::MAX;
                    assert!(restore(&ring, level, &words, kept).is_none());
                    assert!(restore(&ring, level, &words[1..], kept).is_none());
                }
            }
        }
    }
}
