//! The client's half: an encrypted unit vector with the keys that pack its products, and reading
//! packed products.
//!
//! No branch, index or allocation depends on the requested index or on a secret.

use crate::lattice::{self, KEY_MASKS, LAW, N, PackingDigits, Q_BITS, SIGMA};
use crate::one_hot::OneHot;
use crate::plain_modulus::PlainModulus;
use sotto_core::{CryptoRng, Result, SumElement};
use sotto_lattice::encrypt::{ErrorSource, truncate};
use sotto_lattice::inspiring::{Inspiring, TracePacking};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::sample::Gaussian;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

/// Bits of the numbers in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageBits {
    /// Bits of a word of the vector.
    pub query: u32,
    /// Bits of a coefficient of a key.
    pub keys: u32,
    /// Bits of a coefficient of a packed ciphertext's mask.
    pub mask: u32,
    /// Bits of a coefficient of a packed ciphertext's body.
    pub body: u32,
}

/// Bodies of the two keys that pack N numbers by two digits.
pub const KEY_BODIES: usize = 2 * PackingDigits::TWO.bodies();

/// Operations for one word of a vector: drawing an error, and the transforms; measured.
pub const WORD_OPS: u64 = 5000;

/// Operations for a vector's [`KEY_BODIES`], measured.
pub const KEYS_OPS: u64 = 140_000_000;

impl MessageBits {
    /// Number of low bits of a vector's word that are not sent.
    pub fn dropped(&self) -> u32 {
        Q_BITS.saturating_sub(self.query)
    }
}

/// The largest value of a residue that is truncated to its `kept_bits` top bits.
pub fn largest(kept_bits: u32) -> u64 {
    (lattice::Q - 1) >> Q_BITS.saturating_sub(kept_bits)
}

/// Encrypts unit vectors: transforms, the sampler, and the public polynomials.
pub struct VectorEncryptor {
    ring: Ring,
    plain: PlainModulus,
    gadget: Gadget,
    gaussian: Gaussian,
    /// For each vector, the polynomials of its blocks.
    vectors: Vec<Vec<Vec<u64>>>,
    /// Records that a block selects.
    block: usize,
}

impl VectorEncryptor {
    /// An encryptor of vectors of `words` words, which select numbers modulo p.
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn new(words: usize, plain: PlainModulus) -> Result<Self> {
        Self::several(&[words], plain)
    }

    /// An encryptor for queries of at most [two vectors](lattice::VECTORS) of these numbers of
    /// words.
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn several(words: &[usize], plain: PlainModulus) -> Result<Self> {
        let ring = lattice::ring()?;
        let vectors = words.iter().zip(lattice::VECTORS);
        let vectors = vectors.map(|(words, vector)| {
            (0..words.div_ceil(N)).map(|k| lattice::block(&ring, vector, k)).collect()
        });
        let (vectors, gadget) = (vectors.collect(), plain.packing().gadget()?);
        Ok(VectorEncryptor { ring, plain, gadget, gaussian: Gaussian::new(SIGMA), vectors, block: N })
    }

    /// The same with blocks of `block` records: a power of two below N for [short
    /// blocks](crate::short_blocks), or N.
    #[must_use]
    pub fn of_blocks(self, block: usize) -> Self {
        VectorEncryptor { block, ..self }
    }

    /// An encryptor of a vector of `words` words for each of some buckets.
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn of_buckets((buckets, words): (usize, usize), plain: PlainModulus) -> Result<Self> {
        let none = Self::several(&[], plain)?;
        let [vector, _] = lattice::VECTORS;
        let blocks = |bucket| lattice::first_block(bucket, words)..lattice::first_block(bucket + 1, words);
        let vector = |bucket| blocks(bucket).map(|k| lattice::block(&none.ring, vector, k)).collect();
        Ok(VectorEncryptor { vectors: (0..buckets).map(vector).collect(), ..none })
    }

    /// The ring of the vectors.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Draws the secret of a query.
    pub fn secret(&self, rng: &mut dyn CryptoRng) -> SecretKey {
        SecretKey::sample(&self.ring, LAW, rng)
    }

    /// A fresh secret s, a vector of `words` words with the given [`OneHot`] ones, and the keys that
    /// pack its products, `samples` together: the top bits of the vector's words, and of the bodies of
    /// each key. The answer is the sum of the selected records' numbers modulo p.
    pub fn sum(
        &self,
        (words, samples): (usize, usize),
        mut ones: OneHot,
        bits: MessageBits,
        rng: &mut dyn CryptoRng,
    ) -> (Vec<Vec<u64>>, SecretKey) {
        self.vectors(
            (words, samples),
            |vector, place| ones.is_one((vector * words) as u32 + place),
            bits,
            rng,
        )
    }

    /// A fresh secret s, a vector of `words` words for each bucket with a one at its place, and the
    /// keys that pack the products of all of them: [`sum`](Self::sum) for each bucket by itself.
    pub fn one_each(
        &self,
        (words, samples): (usize, usize),
        places: &[u64],
        bits: MessageBits,
        rng: &mut dyn CryptoRng,
    ) -> (Vec<Vec<u64>>, SecretKey) {
        let mut ones: Vec<OneHot> = places.iter().map(|place| OneHot::new(*place as u32, 1)).collect();
        let none = Choice::from(0);
        let is_one = |bucket: usize, place| ones.get_mut(bucket).map_or(none, |ones| ones.is_one(place));
        self.vectors((words, samples), is_one, bits, rng)
    }

    /// All vectors of a fresh secret, of `words` words each, and the keys for `samples` together.
    /// `is_one` is called for each place of each vector, in order.
    fn vectors(
        &self,
        (words, samples): (usize, usize),
        mut is_one: impl FnMut(usize, u32) -> Choice,
        bits: MessageBits,
        rng: &mut dyn CryptoRng,
    ) -> (Vec<Vec<u64>>, SecretKey) {
        let secret = self.secret(rng);
        let vectors = 0..self.vectors.len();
        let mut fields: Vec<Vec<u64>> = vectors
            .map(|vector| self.vector(vector, words, |place| is_one(vector, place), bits, &secret, rng))
            .collect();
        let mut errors = ErrorSource { law: &self.gaussian, rng };
        let (ring, gadget, block) = (&self.ring, &self.gadget, self.block);
        let keys = if block < N {
            TracePacking::generate(ring, gadget, &secret, KEY_MASKS, &mut errors, block)
        } else {
            Inspiring::generate(ring, gadget, &secret, KEY_MASKS, &mut errors, samples)
        };
        fields.extend(keys.iter().map(|body| truncated(&self.ring, body, bits.keys)));
        (fields, secret)
    }

    /// Encrypts one of a query's vectors: the top bits of the words of `A s + e` plus q/p times a
    /// vector of ones, which are where `is_one` says so. A word has as many places as there are scales.
    ///
    /// Words are rounded to the nearest modulo q after the ones were added, so every word is as
    /// uniform as the others.
    pub fn vector(
        &self,
        which: usize,
        words: usize,
        mut is_one: impl FnMut(u32) -> Choice,
        bits: MessageBits,
        secret: &SecretKey,
        rng: &mut dyn CryptoRng,
    ) -> Vec<u64> {
        let (ring, q) = (&self.ring, self.ring.q());
        let dropped = bits.dropped();
        let steps: Vec<u64> = (0..self.plain.scales()).map(|scale| self.plain.step(scale)).collect();
        let half = (1 << dropped) >> 1;
        let mut out = Vec::with_capacity(words);
        let mut c = Zeroizing::new(vec![0; N]);
        let mut small = Zeroizing::new(vec![0; N]);
        let mut places = (0u32..).step_by(steps.len());
        for a in self.vectors.get(which).into_iter().flatten() {
            c.copy_from_slice(a);
            ring.mul(ModulusLevel::Main, &mut c, secret.slots(ring, ModulusLevel::Main));
            ring.inverse(ModulusLevel::Main, &mut c);
            self.gaussian.fill(rng, &mut small);
            // After the records of a short block nothing is selected.
            let places = places.by_ref().take(self.block).map(Some).chain(std::iter::repeat(None));
            let block = c.iter().zip(small.iter()).zip(places).map(|((c, e), place)| {
                let unit = steps.iter().zip(0..).fold(0, |unit, (step, scale)| {
                    let is_one = place.map_or(Choice::from(0), |place| is_one(place + scale));
                    q.add(unit, u64::conditional_select(&0, step, is_one))
                });
                // The sign, spread over the word, adds q to a negative error.
                let e = i64::from(*e);
                let e = (e as u64).wrapping_add(q.value() & (e >> 63) as u64);
                q.add(q.add(q.add(*c, e), unit), half) >> dropped
            });
            out.extend(block.take(words - out.len()));
        }
        out
    }

    /// The bodies of the key that packs [few](Inspiring) numbers, coefficient by coefficient: their
    /// top bits, rounded to the nearest as a vector's words are. So they are factors in a product
    /// of integers.
    pub fn key(&self, secret: &SecretKey, bits: MessageBits, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let (ring, dropped) = (&self.ring, Q_BITS.saturating_sub(bits.keys));
        let half = (1 << dropped) >> 1;
        let mut errors = ErrorSource { law: &self.gaussian, rng };
        let mut bodies = Inspiring::generate(ring, &self.gadget, secret, KEY_MASKS, &mut errors, 1).concat();
        bodies.chunks_exact_mut(N).for_each(|body| ring.inverse(ModulusLevel::Main, body));
        bodies.iter().map(|x| ring.q().add(*x, half) >> dropped).collect()
    }

    /// The numbers of one packed ciphertext, residues modulo p: `p (b / 2^body - a s / 2^mask)` to the nearest integer.
    ///
    /// # Panics
    /// If either polynomial is not `N` long.
    pub fn numbers(
        &self,
        secret: &SecretKey,
        bits: MessageBits,
        mask: &[u64],
        body: &[u64],
    ) -> Zeroizing<Vec<u16>> {
        assert_eq!(body.len(), N, "a number at every place");
        self.few_numbers(secret, bits, N, mask, body)
    }

    /// The first numbers that are packed together, as many as there are bodies; numbers of small
    /// groups are spaced apart.
    ///
    /// The product is exact: its coefficients are below `N 2^mask`, which is below q / 2 for a mask
    /// of at most 37 bits.
    ///
    /// # Panics
    /// If the mask is not `N` long.
    pub fn few_numbers(
        &self,
        secret: &SecretKey,
        bits: MessageBits,
        samples: usize,
        mask: &[u64],
        body: &[u64],
    ) -> Zeroizing<Vec<u16>> {
        let ring = &self.ring;
        let mut product = Zeroizing::new(mask.to_vec());
        ring.forward(ModulusLevel::Main, &mut product);
        ring.mul(ModulusLevel::Main, &mut product, secret.slots(ring, ModulusLevel::Main));
        ring.inverse(ModulusLevel::Main, &mut product);
        let apart = (N / 2 / samples).max(1);
        let numbers = body.iter().zip(product.iter().step_by(apart)).map(|(body, product)| {
            let phase = (body << (bits.mask - bits.body)).wrapping_sub(ring.q().centered(*product) as u64);
            self.plain.nearest(phase, bits.mask)
        });
        Zeroizing::new(numbers.collect())
    }
}

/// The top bits of the coefficients of a body.
pub fn truncated(ring: &Ring, body: &[u64], kept_bits: u32) -> Vec<u64> {
    truncate(ring, ModulusLevel::Main, body, kept_bits).into_iter().map(|word| word as u64).collect()
}

/// The two bytes that a number stands for: the matrix has signed bytes, and a number is the first plus 256 times the second.
#[inline]
pub fn bytes_of(number: u16) -> [u8; 2] {
    SumElement::Pair.bytes_of(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_signed_bytes_comes_back() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let number = i32::from(first as i8) + 256 * i32::from(second as i8);
                assert_eq!(bytes_of(number as u16), [first, second]);
                assert_eq!(SumElement::Pair.number(&[first, second]), number as u16);
            }
        }
    }

    #[test]
    fn the_largest_word_is_what_the_largest_residue_is_cut_to() {
        assert_eq!(largest(Q_BITS), lattice::Q - 1);
        assert_eq!(largest(40), (lattice::Q - 1) >> 10);
    }
}
