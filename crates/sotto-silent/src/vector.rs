//! The client's half: an encrypted unit vector with the keys that pack its products, and how packed products are read.
//!
//! Nothing here branches, indexes or allocates by the index asked for or by a secret.

use crate::lattice::{self, KEY_MASKS, LAW, N, P_LOG2, Q_BITS, SIGMA};
use crate::ones::Ones;
use sotto_core::{CryptoRng, Result, Unit};
use sotto_lattice::encrypt::{Errors, truncate};
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::ring::{Level, Ring};
use sotto_lattice::secret::Secret;
use sotto_math::gadget::Gadget;
use sotto_math::sample::Gaussian;
use subtle::ConditionallySelectable;
use zeroize::Zeroizing;

/// Bits of a message's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Of a word of the vector.
    pub query: u32,
    /// Of a coefficient of a key.
    pub keys: u32,
    /// Of a coefficient of a packed ciphertext's mask.
    pub mask: u32,
    /// Of its body.
    pub body: u32,
}

impl Bits {
    /// How many low bits of a vector's word are not sent.
    pub fn dropped(&self) -> u32 {
        Q_BITS.saturating_sub(self.query)
    }
}

/// The largest number that a residue is cut to when its low bits are dropped.
pub fn largest(kept_bits: u32) -> u64 {
    (lattice::Q - 1) >> Q_BITS.saturating_sub(kept_bits)
}

/// An encrypted unit vector.
pub struct Encrypted {
    /// The top bits of its words.
    pub words: Vec<u64>,
    /// Those of the packing keys' bodies.
    pub keys: Vec<Vec<u128>>,
}

/// What encrypts: transforms, the sampler, and the public polynomials.
pub struct Encryption {
    ring: Ring,
    gadget: Gadget,
    gaussian: Gaussian,
    blocks: Vec<Vec<u64>>,
}

impl Encryption {
    /// For vectors of so many words.
    ///
    /// # Errors
    /// None, as [`lattice::ring`].
    pub fn new(words: usize) -> Result<Self> {
        let ring = lattice::ring()?;
        let blocks = (0..words.div_ceil(N)).map(|k| lattice::block(&ring, k)).collect();
        Ok(Encryption { ring, gadget: lattice::gadget()?, gaussian: Gaussian::new(SIGMA), blocks })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// A fresh secret s, `A s + e` plus q/p times a unit vector in the top bits of `words` words, and the keys that go with it.
    pub fn unit(&self, words: usize, index: u32, bits: Bits, rng: &mut dyn CryptoRng) -> (Encrypted, Secret) {
        self.sum(words, Ones::new(index, 1), bits, rng)
    }

    /// The same with any [`Ones`] in place of a unit vector: what comes back is the sum of their records' numbers modulo p.
    ///
    /// Words are rounded to nearest modulo q, after the ones went in: so every one of them is as uniform as the others.
    pub fn sum(
        &self,
        words: usize,
        mut ones: Ones,
        bits: Bits,
        rng: &mut dyn CryptoRng,
    ) -> (Encrypted, Secret) {
        let (ring, q) = (&self.ring, self.ring.q());
        let secret = Secret::sample(ring, LAW, rng);
        let (step, dropped) = (step(), bits.dropped());
        let half = (1 << dropped) >> 1;
        let mut out = Vec::with_capacity(words);
        let mut c = Zeroizing::new(vec![0; N]);
        let mut small = Zeroizing::new(vec![0; N]);
        let mut places = 0u32..;
        for a in &self.blocks {
            c.copy_from_slice(a);
            ring.mul(Level::Main, &mut c, secret.slots(ring, Level::Main));
            ring.inverse(Level::Main, &mut c);
            self.gaussian.fill(rng, &mut small);
            let block = c.iter().zip(small.iter()).zip(places.by_ref()).map(|((c, e), place)| {
                let unit = u64::conditional_select(&0, &step, ones.is_one(place));
                // The sign, spread over the word, adds q to an error below zero.
                let e = i64::from(*e);
                let e = (e as u64).wrapping_add(q.value() & (e >> 63) as u64);
                q.add(q.add(q.add(*c, e), unit), half) >> dropped
            });
            out.extend(block.take(words - out.len()));
        }
        let mut errors = Errors { law: &self.gaussian, rng };
        let keys = Inspiring::generate(ring, &self.gadget, &secret, KEY_MASKS, &mut errors);
        let keys = keys.iter().map(|body| truncate(ring, Level::Main, body, bits.keys)).collect();
        (Encrypted { words: out, keys }, secret)
    }

    /// The numbers of one packed ciphertext, 16 bits each: `p (b / 2^body - a s / 2^mask)` to the nearest integer.
    ///
    /// The product is exact: its coefficients are below `N 2^mask`, which is below q / 2 for a mask of at most 37 bits.
    ///
    /// # Panics
    /// If either polynomial is not `N` long.
    pub fn numbers(&self, secret: &Secret, bits: Bits, mask: &[u64], body: &[u64]) -> Zeroizing<Vec<u16>> {
        let ring = &self.ring;
        let mut product = Zeroizing::new(mask.to_vec());
        ring.forward(Level::Main, &mut product);
        ring.mul(Level::Main, &mut product, secret.slots(ring, Level::Main));
        ring.inverse(Level::Main, &mut product);
        let half = 1u64 << (bits.mask - P_LOG2 - 1);
        let numbers = body.iter().zip(product.iter()).map(|(body, product)| {
            let phase = (body << (bits.mask - bits.body)).wrapping_sub(ring.q().centred(*product) as u64);
            (phase.wrapping_add(half) >> (bits.mask - P_LOG2)) as u16
        });
        Zeroizing::new(numbers.collect())
    }
}

/// q / p, to the nearest integer.
pub(crate) fn step() -> u64 {
    (lattice::Q + (1 << (P_LOG2 - 1))) >> P_LOG2
}

/// The two bytes that a number stands for: the matrix has signed bytes, and a number is the first plus 256 times the second.
pub fn bytes_of(number: u16) -> [u8; 2] {
    Unit::Pair.bytes_of(number)
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
                assert_eq!(Unit::Pair.number(&[first, second]), number as u16);
            }
        }
    }

    #[test]
    fn a_step_is_a_65536th_of_the_modulus() {
        assert!((step() as f64 * 65536.0 - lattice::Q as f64).abs() <= 32768.0);
        assert_eq!(largest(Q_BITS), lattice::Q - 1);
        assert_eq!(largest(40), (lattice::Q - 1) >> 10);
    }
}
