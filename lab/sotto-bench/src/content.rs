//! The rows of a generated table. No file is needed, and every answer can be checked against the generator.

use crate::definition::{Case, Content};
use sotto_prg::PublicSeed;

/// Seed of every generated table: the same rows on every machine, so that digests can be written down.
const SEED: PublicSeed = PublicSeed(*b"sotto bench: rows of every table");

/// The golden ratio in 64 bits: SplitMix64's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generated table: its rows, concatenated to one string of bytes.
///
/// Word `k` of the string is SplitMix64's output function (Steele, Lea, Flood: Fast splittable
/// pseudorandom number generators, OOPSLA 2014) of `key + k * STEP`. Any word costs a few
/// instructions, wherever it is, so that generating rows does not dominate the encoding that is
/// measured. It is no cryptography and need not be: the rows are public.
pub(crate) struct GeneratedRows {
    key: u64,
    content: Content,
    rows: u64,
    row_bytes: u64,
}

impl GeneratedRows {
    pub(crate) fn new(case: &Case) -> Self {
        let mut key = [0; 8];
        SEED.stream("bench rows", 0).fill(&mut key);
        GeneratedRows {
            key: u64::from_le_bytes(key),
            content: case.content,
            rows: case.stored_rows(),
            row_bytes: case.stored_row_bytes(),
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    /// The bytes of one row.
    pub(crate) fn row(&self, row: u64) -> Vec<u8> {
        let mut out = vec![0; self.row_bytes as usize];
        self.fill(row * self.row_bytes, &mut out);
        out
    }

    /// Reads the bytes from `at` on; zeroes past the end.
    pub(crate) fn fill(&self, at: u64, out: &mut [u8]) {
        let inside = self.bytes().saturating_sub(at).min(out.len() as u64) as usize;
        let (inside, beyond) = out.split_at_mut(inside);
        beyond.fill(0);
        match self.content {
            Content::Zero => inside.fill(0),
            Content::Ones => inside.fill(255),
            Content::Random => self.random(at, inside),
        }
    }

    fn random(&self, at: u64, out: &mut [u8]) {
        // The first word may be entered in its middle; after it, words are whole.
        let skip = (at % 8) as usize;
        let head = if skip == 0 { 0 } else { (8 - skip).min(out.len()) };
        let (first, rest) = out.split_at_mut(head);
        for (byte, from) in first.iter_mut().zip(self.word(at / 8).to_le_bytes().iter().skip(skip)) {
            *byte = *from;
        }
        let mut k = at.div_ceil(8);
        let (words, tail) = rest.as_chunks_mut::<8>();
        for word in words {
            *word = self.word(k).to_le_bytes();
            k += 1;
        }
        for (byte, from) in tail.iter_mut().zip(self.word(k).to_le_bytes()) {
            *byte = from;
        }
    }

    fn word(&self, k: u64) -> u64 {
        let mut z = self.key.wrapping_add(k.wrapping_mul(STEP));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// BLAKE3 of all rows, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut block = vec![0; 1 << 20];
        let mut at = 0;
        while at < self.bytes() {
            let take = (self.bytes() - at).min(block.len() as u64) as usize;
            let (block, _) = block.split_at_mut(take);
            self.fill(at, block);
            hasher.update(block);
            at += take as u64;
        }
        hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;

    fn source(content: &str) -> GeneratedRows {
        let text = format!(
            "name = \"n\"\nabout = \"a\"\n[[case]]\nscheme = \"s\"\nrows = 100\nrow_bytes = 7\ncontent = \"{content}\""
        );
        GeneratedRows::new(&Definition::parse("t", &text).unwrap().cases[0])
    }

    #[test]
    fn a_row_is_the_same_however_it_is_read() {
        let source = source("random");
        let mut whole = vec![0; 700];
        source.fill(0, &mut whole);
        for row in 0..100 {
            assert_eq!(source.row(row), whole[row as usize * 7..][..7]);
        }
        for (at, len) in [(0, 1), (3, 2), (5, 3), (5, 30), (8, 8), (9, 691), (13, 16)] {
            let mut part = vec![0; len];
            source.fill(at as u64, &mut part);
            assert_eq!(part, whole[at..at + len], "at {at}, {len} bytes");
        }
    }

    #[test]
    fn past_the_end_are_zeroes() {
        let mut out = vec![9; 20];
        source("ones").fill(690, &mut out);
        assert_eq!(out, [[255; 10], [0; 10]].concat());
        source("random").fill(5000, &mut out);
        assert_eq!(out, [0; 20]);
    }

    #[test]
    fn random_bytes_use_every_value_and_bit() {
        let source = source("random");
        let mut whole = vec![0; 700];
        source.fill(0, &mut whole);
        let ones: u32 = whole.iter().map(|b| b.count_ones()).sum();
        assert!((2600..3000).contains(&ones), "{ones} of 5600 bits are set");
        assert_ne!(source.digest(), blake3::hash(&[0; 700]).to_hex().to_string());
        assert_eq!(source.digest(), blake3::hash(&whole).to_hex().to_string());
    }
}
