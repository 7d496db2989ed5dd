//! Public randomness: seeds that everyone knows, and the streams they expand to.
//!
//! A table's public matrix is megabytes that are derived from 32 bytes. A stream's key is
//!
//! ```text
//! BLAKE3-derive-key("sotto 2026 public stream v1",
//!                   seed (32 B) | length of label (u64 LE) | label | index (u64 LE))
//! ```
//!
//! and the stream is ChaCha20 (64-bit counter from 0, nonce 0) under that key. The label names the
//! purpose of the bytes, and the index distinguishes streams of one purpose, so that no two uses of
//! one seed share bytes.

use crate::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

const CONTEXT: &str = "sotto 2026 public stream v1";

/// A seed that is published with the table that was made from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicSeed(pub [u8; 32]);

impl PublicSeed {
    /// Draws a random seed.
    pub fn fresh(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        PublicSeed(seed)
    }

    /// Returns the stream of this seed for one purpose and one index.
    ///
    /// ```
    /// use sotto_prg::PublicSeed;
    ///
    /// let seed = PublicSeed([7; 32]);
    /// let words = |label, index| {
    ///     let mut words = [0; 4];
    ///     seed.stream(label, index).fill_u32(&mut words);
    ///     words
    /// };
    /// assert_eq!(words("matrix", 3), words("matrix", 3));
    /// assert_ne!(words("matrix", 3), words("matrix", 4));
    /// assert_ne!(words("matrix", 3), words("mask", 3));
    /// ```
    pub fn stream(&self, label: &'static str, index: u64) -> PublicStream {
        let mut h = blake3::Hasher::new_derive_key(CONTEXT);
        h.update(&self.0);
        h.update(&(label.len() as u64).to_le_bytes());
        h.update(label.as_bytes());
        h.update(&index.to_le_bytes());
        PublicStream { rng: ChaCha20Rng::from_seed(*h.finalize().as_bytes()) }
    }
}

impl fmt::Display for PublicSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for PublicSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicSeed({self})")
    }
}

impl FromStr for PublicSeed {
    type Err = ParseSeedError;

    fn from_str(text: &str) -> Result<Self, ParseSeedError> {
        let mut seed = [0u8; 32];
        let mut digits = text.bytes();
        for byte in &mut seed {
            let (high, low) = (digit(digits.next())?, digit(digits.next())?);
            *byte = high << 4 | low;
        }
        if digits.next().is_some() { Err(ParseSeedError) } else { Ok(PublicSeed(seed)) }
    }
}

// Upper case is refused, so that a seed has exactly one text and a signed catalog one meaning.
fn digit(c: Option<u8>) -> Result<u8, ParseSeedError> {
    match c {
        Some(c @ b'0'..=b'9') => Ok(c - b'0'),
        Some(c @ b'a'..=b'f') => Ok(c - b'a' + 10),
        _ => Err(ParseSeedError),
    }
}

/// The error for text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseSeedError;

impl fmt::Display for ParseSeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a public seed is 64 lower-case hex digits")
    }
}

impl std::error::Error for ParseSeedError {}

impl Serialize for PublicSeed {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicSeed {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = PublicSeed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 lower-case hex digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PublicSeed, E> {
                text.parse().map_err(E::custom)
            }
        }
        d.deserialize_str(Text)
    }
}

/// A stream of bytes that a [`PublicSeed`] expands to, for one purpose.
///
/// It is deliberately not a `CryptoRng`, so nothing secret can be sampled from it by mistake.
pub struct PublicStream {
    rng: ChaCha20Rng,
}

impl PublicStream {
    /// Writes the next `out.len()` bytes of the stream.
    ///
    /// A call consumes whole words of four bytes; the unused bytes of the last word are skipped.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.rng.fill_bytes(out);
    }

    /// Xors `bytes` with the next bytes of the stream.
    ///
    /// ```
    /// let seed = sotto_prg::PublicSeed([7; 32]);
    /// let mut row = *b"masked row";
    /// seed.stream("rows", 5).combine(&mut row);
    /// assert_ne!(&row, b"masked row");
    /// seed.stream("rows", 5).combine(&mut row);
    /// assert_eq!(&row, b"masked row");
    /// ```
    pub fn combine(&mut self, bytes: &mut [u8]) {
        let mut mask = [0; 4096];
        for chunk in bytes.chunks_mut(mask.len()) {
            let (mask, _) = mask.split_at_mut(chunk.len());
            self.fill(mask);
            chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= *mask);
        }
    }

    /// Writes the next 32-bit words of the stream, each of four bytes in little-endian order.
    pub fn fill_u32(&mut self, out: &mut [u32]) {
        // Through a small buffer: the generator writes bytes much faster than single words.
        let mut bytes = [0u8; 4096];
        for words in out.chunks_mut(bytes.len() / 4) {
            let (now, _) = bytes.split_at_mut(words.len() * 4);
            self.rng.fill_bytes(now);
            for (word, b) in words.iter_mut().zip(now.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*b);
            }
        }
    }
}

impl fmt::Debug for PublicStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicStream")
    }
}

#[cfg(test)]
mod tests;
