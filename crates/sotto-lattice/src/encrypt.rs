//! Encryption, the masks that are derived from seeds, and decryption.

mod truncate;

use crate::ring::{ModulusLevel, Ring};
use crate::secret::SecretKey;
use rand_core::CryptoRng;
use sotto_core::cooperative;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::{PublicSeed, PublicStream};
pub use truncate::{restore, truncate};
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

#[cfg(test)]
mod tests;
