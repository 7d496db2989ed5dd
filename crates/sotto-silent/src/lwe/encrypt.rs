//! Encrypted unit vectors, and the masks that answers are read with: what clients of SimplePIR and
//! similar schemes send and hold.
//!
//! No branch, index or allocation depends on the requested index or on a secret.

use super::ring::{self, N, Ring, SIGMA, STEP};
use crate::one_hot::OneHot;
use sotto_core::CryptoRng;
use sotto_math::matrix::dot_rows;
use sotto_math::sample::Gaussian;
use subtle::ConditionallySelectable;
use zeroize::Zeroizing;

/// Encrypts unit vectors: transforms, the sampler, and the public blocks.
pub struct LweVectorEncryptor {
    ring: Ring,
    gaussian: Gaussian,
    /// Values of a_k(X), block by block.
    blocks: Vec<Vec<u64>>,
}

impl LweVectorEncryptor {
    /// An encryptor of vectors that `blocks` ring blocks cover.
    pub fn new(ring: Ring, blocks: usize) -> Self {
        // At most 4 MiB, next to a hint that is usually larger; it saves a sampling and a transform
        // per block and query.
        let blocks = (0..blocks).map(|k| ring.block(k)).collect();
        LweVectorEncryptor { ring, gaussian: Gaussian::new(SIGMA), blocks }
    }

    /// Draws a fresh secret s.
    pub fn secret(&self, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<i32>> {
        self.sample(N, rng)
    }

    fn sample(&self, len: usize, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<i32>> {
        let mut out = Zeroizing::new(vec![0; len]);
        self.gaussian.fill(rng, &mut out);
        out
    }

    /// Encrypts a unit vector: `A s + e` plus [`STEP`] times the vector modulo Q, m words, each
    /// mapped by `to`.
    pub fn unit(
        &self,
        m: usize,
        index: u32,
        s: &[i32],
        rng: &mut dyn CryptoRng,
        to: impl Fn(u64) -> u64,
    ) -> Vec<u64> {
        self.sum(m, OneHot::new(index, 1), s, rng, to)
    }

    /// Encrypts any [`OneHot`] vector: the answer is the sum of the selected records' bytes modulo
    /// 256.
    ///
    /// The ones are added before any switch to another modulus, because Q is no multiple of 2^b:
    /// words modulo Q are not uniform after the switch, and at 32 bits 2^32 - Q words never occur.
    /// A step added after the switch would shift those gaps at the selected places, which must not
    /// differ from the others.
    pub fn sum(
        &self,
        m: usize,
        mut ones: OneHot,
        s: &[i32],
        rng: &mut dyn CryptoRng,
        to: impl Fn(u64) -> u64,
    ) -> Vec<u64> {
        let mut s_hat = ring::lift(s);
        self.ring.plan().forward(&mut s_hat);
        let e = self.sample(m, rng);
        let mut words = Vec::with_capacity(m);
        let mut c = Zeroizing::new(vec![0; N]);
        let mut places = 0u32..;
        for (a_hat, e) in self.blocks.iter().zip(e.chunks(N)) {
            c.fill(0);
            self.ring.plan().mul_acc(&mut c, a_hat, &s_hat);
            self.ring.plan().inverse(&mut c);
            words.extend(c.iter().zip(e).zip(places.by_ref()).map(|((c, e), place)| {
                let unit = u32::conditional_select(&0, &STEP, ones.is_one(place));
                to(ring::reduce(*c as i64 + i64::from(*e) + i64::from(unit)))
            }));
        }
        words
    }
}

/// `H s` modulo Q for every row of a hint, each mapped by `to`, independent of which rows are
/// requested.
pub fn mask(hint: &[u32], s: &[i32], to: impl Fn(u64) -> u32) -> Zeroizing<Vec<u32>> {
    let mut sums = Zeroizing::new(vec![0i64; hint.len() / N]);
    dot_rows(hint, N, s, &mut sums);
    Zeroizing::new(sums.iter().map(|sum| to(ring::reduce(*sum))).collect())
}

/// The bytes that words of `bits` bits stand for after subtracting these masks modulo 2^32, rounded
/// to the nearest.
pub fn read<'a>(words: &'a [u64], masks: &'a [u32], bits: u32) -> impl Iterator<Item = u8> + 'a {
    words.iter().zip(masks).map(move |(word, mask)| {
        let phase = ((*word as u32) << (32 - bits)).wrapping_sub(*mask);
        (phase.wrapping_add(1 << 23) >> 24) as u8
    })
}

/// The product of s with a row of a hint that was rounded to `bits` bits, modulo 2^32.
pub fn rounded_mask(row: &[u64], bits: u32, s: &[i32]) -> u32 {
    let sum =
        row.iter().zip(s).fold(0u32, |sum, (h, s)| sum.wrapping_add((*h as u32).wrapping_mul(*s as u32)));
    sum << (32 - bits)
}
