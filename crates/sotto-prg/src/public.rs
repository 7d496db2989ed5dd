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
mod tests {
    //! The streams are part of the table format: these bytes may never change.

    use super::*;

    fn first(label: &'static str, index: u64) -> [u8; 16] {
        let seed = PublicSeed(std::array::from_fn(|i| i as u8));
        let mut out = [0; 16];
        seed.stream(label, index).fill(&mut out);
        out
    }

    /// Recorded from the first run of this crate; the module's documentation has the derivation.
    #[test]
    fn known_answers() {
        let hex = |label, index| format!("{:032x}", u128::from_be_bytes(first(label, index)));
        assert_eq!(hex("matrix", 0), "b53138727c6bbabc33235ba74077294b");
        assert_eq!(hex("matrix", 1), "3ae8e878c04c1f6d7b1df27305c5c575");
        assert_eq!(hex("", u64::MAX), "17756a65e350dbc7232e714c6eacd6d1");
    }

    #[test]
    fn a_stream_is_chacha20_under_the_derived_key() {
        let mut input = [9u8; 32].to_vec();
        input.extend([4, 0, 0, 0, 0, 0, 0, 0]);
        input.extend(b"mask");
        input.extend([5, 1, 0, 0, 0, 0, 0, 0]);
        let mut expected = [0; 333];
        ChaCha20Rng::from_seed(blake3::derive_key(CONTEXT, &input)).fill_bytes(&mut expected);
        let mut got = [0; 333];
        PublicSeed([9; 32]).stream("mask", 0x105).fill(&mut got);
        assert_eq!(got, expected);
    }

    #[test]
    fn seed_label_and_index_all_matter() {
        let mut seen = std::collections::HashSet::new();
        for seed in [PublicSeed([0; 32]), PublicSeed([1; 32])] {
            for label in ["a", "b", "ab", ""] {
                for index in [0, 1, 97, u64::MAX] {
                    let mut out = [0; 16];
                    seed.stream(label, index).fill(&mut out);
                    assert!(seen.insert(out), "{seed} {label} {index}");
                }
            }
        }
    }

    #[test]
    fn words_are_the_bytes_in_little_endian() {
        for n in [0, 1, 63, 1023, 1024, 1025, 5000] {
            let mut bytes = vec![0; n * 4];
            let mut words = vec![0; n];
            PublicSeed([3; 32]).stream("matrix", 7).fill(&mut bytes);
            PublicSeed([3; 32]).stream("matrix", 7).fill_u32(&mut words);
            let from_bytes: Vec<u32> =
                bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
            assert_eq!(words, from_bytes, "{n} words");
        }
    }

    #[test]
    fn fresh_seeds_differ() {
        let mut rng = crate::system_rng().unwrap();
        assert_ne!(PublicSeed::fresh(&mut rng), PublicSeed::fresh(&mut rng));
    }

    #[test]
    fn text_and_back() {
        let seed = PublicSeed(std::array::from_fn(|i| (i * 7) as u8));
        let json = serde_json::to_string(&seed).unwrap();
        assert_eq!(json, format!("\"{seed}\""));
        assert_eq!(json.len(), 66);
        assert_eq!(serde_json::from_str::<PublicSeed>(&json).unwrap(), seed);
    }

    #[test]
    fn only_one_text_per_seed() {
        let good = "0a".repeat(32);
        assert_eq!(good.parse(), Ok(PublicSeed([10; 32])));
        for bad in
            ["", "0a", &good[1..], &format!("{good}0"), &good.to_uppercase(), &good.replacen('0', "é", 1)]
        {
            assert_eq!(bad.parse::<PublicSeed>(), Err(ParseSeedError), "{bad}");
        }
    }

    #[test]
    fn a_call_consumes_whole_words() {
        let mut stream = PublicSeed([3; 32]).stream("matrix", 7);
        let (mut three, mut next) = ([0; 3], [0; 4]);
        stream.fill(&mut three);
        stream.fill(&mut next);
        let mut whole = [0; 8];
        PublicSeed([3; 32]).stream("matrix", 7).fill(&mut whole);
        assert_eq!((&three[..], &next[..]), (&whole[..3], &whole[4..]));
    }

    #[test]
    fn combining_is_exclusive_or_with_what_is_filled() {
        let seed = PublicSeed([5; 32]);
        let mut filled = vec![0; 10_001];
        seed.stream("combine", 3).fill(&mut filled);
        let mut combined: Vec<u8> = (0..10_001).map(|i| i as u8).collect();
        seed.stream("combine", 3).combine(&mut combined);
        assert!(combined.iter().zip(&filled).enumerate().all(|(i, (got, mask))| *got == i as u8 ^ mask));
    }
}
