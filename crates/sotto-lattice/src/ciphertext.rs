//! Ciphertexts: one mask `a`, and one body `b_i` for each secret.
//!
//! Under secrets `s_1, ..., s_k` a ciphertext of rank `k` is `(a, b_1, ..., b_k)` with
//! `b_i = a s_i + e_i + m_i`; its *phase* `b_i - a s_i` is the message plus the error. Rank 1 is
//! ordinary ring-LWE. Higher ranks share one mask among several messages, which makes answers
//! shorter (the matrix Regev encryption of Spiral, one column of it).

use crate::buffer_pool::AlignedWords;
use crate::encrypt::MaskSource;
use crate::ring::{ModulusLevel, Ring};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// A ring-LWE ciphertext, in slots.
#[derive(Debug, Clone)]
pub struct Ciphertext {
    level: ModulusLevel,
    rank: usize,
    /// Words of one component.
    stride: usize,
    words: AlignedWords,
}

impl Ciphertext {
    /// Makes the ciphertext of zeros.
    pub fn zero(ring: &Ring, level: ModulusLevel, rank: usize) -> Self {
        let stride = ring.words(level);
        Ciphertext { level, rank, stride, words: AlignedWords::zero((rank + 1) * stride) }
    }

    /// Makes a ciphertext for a caller that sets all of it: it has arbitrary contents.
    pub fn unfilled(ring: &Ring, level: ModulusLevel, rank: usize) -> Self {
        let stride = ring.words(level);
        Ciphertext { level, rank, stride, words: AlignedWords::unfilled((rank + 1) * stride) }
    }

    /// Makes a ciphertext of its mask and bodies.
    ///
    /// # Panics
    /// If a component is not as long as the level requires.
    pub fn new<'a>(
        ring: &Ring,
        level: ModulusLevel,
        mask: &'a [u64],
        bodies: impl ExactSizeIterator<Item = &'a [u64]>,
    ) -> Self {
        let mut out = Ciphertext::unfilled(ring, level, bodies.len());
        let components = std::iter::once(mask).chain(bodies);
        out.components_mut().zip(components).for_each(|(out, x)| out.copy_from_slice(x));
        out
    }

    /// Makes the rows of a gadget ciphertext, from `rank` bodies each and the seed of their masks.
    pub(crate) fn rows(
        ring: &Ring,
        level: ModulusLevel,
        rank: usize,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Vec<Self> {
        let row = |(j, bodies): (u64, &[Vec<u64>])| {
            Ciphertext::new(ring, level, &masks.mask(ring, level, j), bodies.iter().map(Vec::as_slice))
        };
        (0..).zip(bodies.chunks_exact(rank)).map(row).collect()
    }

    /// Bytes of an encoded ciphertext of this rank, in the form in which servers send it to each
    /// other.
    pub fn sent_bytes(ring: &Ring, level: ModulusLevel, rank: usize) -> usize {
        (rank + 1) * ring.words(level) * WORD
    }

    /// Appends all words to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.components().flatten().flat_map(|word| word.to_le_bytes()));
    }

    /// Decodes a ciphertext modulo q of this rank; `None` unless all words are present and reduced.
    pub fn take(ring: &Ring, rank: usize, bytes: &[u8]) -> Option<Self> {
        let mut out = Ciphertext::unfilled(ring, ModulusLevel::Main, rank);
        let (words, rest) = bytes.as_chunks::<WORD>();
        if !rest.is_empty() || bytes.len() != Self::sent_bytes(ring, ModulusLevel::Main, rank) {
            return None;
        }
        for (place, word) in out.components_mut().flatten().zip(words) {
            *place = u64::from_le_bytes(*word);
        }
        let q = ring.q().value();
        let reduced = out.components().flatten().all(|word| *word < q);
        reduced.then_some(out)
    }

    /// The level of the ciphertext.
    pub fn level(&self) -> ModulusLevel {
        self.level
    }

    /// Number of messages that the ciphertext holds.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The mask for `i = 0`, the body under secret `i` otherwise.
    pub fn comp(&self, i: usize) -> &[u64] {
        &self.words[i * self.stride..][..self.stride]
    }

    /// Mutable access to [`comp`](Self::comp).
    pub fn comp_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.words[i * self.stride..][..self.stride]
    }

    /// All components, the mask first.
    pub fn components(&self) -> impl Iterator<Item = &[u64]> {
        self.words.chunks_exact(self.stride)
    }

    /// Mutable access to [`components`](Self::components).
    pub fn components_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.words.chunks_exact_mut(self.stride)
    }

    /// Adds a ciphertext of the same level and rank: the messages add.
    pub fn add(&mut self, ring: &Ring, other: &Ciphertext) {
        let level = self.level;
        self.components_mut().zip(other.components()).for_each(|(x, y)| ring.add(level, x, y));
    }

    /// Subtracts a ciphertext of the same level and rank.
    pub fn sub(&mut self, ring: &Ring, other: &Ciphertext) {
        let level = self.level;
        self.components_mut().zip(other.components()).for_each(|(x, y)| ring.sub(level, x, y));
    }

    /// Multiplies by a polynomial in slots.
    pub fn mul(&mut self, ring: &Ring, polynomial: &[u64]) {
        let level = self.level;
        self.components_mut().for_each(|x| ring.mul(level, x, polynomial));
    }
}
