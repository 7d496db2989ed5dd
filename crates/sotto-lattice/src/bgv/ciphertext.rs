//! Ciphertexts: two polynomials, or three before a product is relinearized.
//!
//! The phase `c0 + c1 s + c2 s^2` is the message over `t` plus the error: see [`rns`](super::rns).

use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use crate::buffer_pool::AlignedWords;

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
