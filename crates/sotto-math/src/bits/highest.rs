//! Words of any width, packed with the highest bit first: the words, their bits, and the bytes.

use super::{mask, packed_len};

/// Appends words of `width` bits, the highest bit first. Bits of a word above its width are
/// dropped. The rest of the last byte is zero.
///
/// # Panics
/// If `width` is not in 1..=64.
pub fn pack(words: impl ExactSizeIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    assert!((1..=64).contains(&width), "a width from 1 to 64");
    out.reserve(packed_len(width, words.len()).unwrap_or(0));
    // Fewer than 32 bits are pending between words, the oldest highest.
    let (mut bits, mut filled) = (0u128, 0);
    for word in words {
        bits = bits << width | u128::from(word & mask(width));
        filled += width;
        while filled >= 32 {
            filled -= 32;
            out.extend_from_slice(&((bits >> filled) as u32).to_be_bytes());
        }
    }
    while filled > 0 {
        let byte = if filled >= 8 { bits >> (filled - 8) } else { bits << (8 - filled) };
        out.push(byte as u8);
        filled = filled.saturating_sub(8);
    }
}

/// Decodes `out.len()` words of `width` bits; `None` unless there are exactly as many bytes as
/// needed, with zeros after the last word, and the width is in 1..=57.
#[must_use]
pub fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) -> Option<()> {
    if !(1..=57).contains(&width) || bytes.len() != packed_len(width, out.len())? {
        return None;
    }
    let padding = bytes.len() * 8 - out.len() * width as usize;
    if bytes.last().is_some_and(|last| u64::from(*last) & ((1 << padding) - 1) > 0) {
        return None;
    }
    // Each word is read from the eight bytes from the one it starts in.
    let window = |at: usize| match bytes.get(at..at + 8).and_then(|window| window.first_chunk()) {
        Some(window) => u64::from_be_bytes(*window),
        None => (at..at + 8).fold(0, |word, i| word << 8 | u64::from(bytes.get(i).copied().unwrap_or(0))),
    };
    for (i, out) in out.iter_mut().enumerate() {
        let start = i * width as usize;
        *out = window(start / 8) << (start % 8) >> (64 - width);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;

    #[test]
    fn words_round_trip() {
        for width in 1..=57 {
            for count in [0, 1, 2, 7, 8, 9, 63, 200] {
                let words: Vec<u64> =
                    (0..count).map(|i| mix(i << 8 | u64::from(width)) & mask(width)).collect();
                let mut bytes = vec![0xAB];
                pack(words.iter().copied(), width, &mut bytes);
                assert_eq!(bytes.len() - 1, packed_len(width, words.len()).unwrap());
                let bit = |i: usize| bytes[1 + i / 8] >> (7 - i % 8) & 1;
                for (i, word) in words.iter().enumerate() {
                    let bits =
                        (0..width as usize).fold(0, |x, j| x << 1 | u64::from(bit(i * width as usize + j)));
                    assert_eq!(bits, *word, "{width} bits, word {i}");
                }
                let mut back = vec![7; words.len()];
                assert_eq!(unpack(&bytes[1..], width, &mut back), Some(()));
                assert_eq!(back, words);
            }
        }
    }

    #[test]
    fn bytes_that_no_words_pack_to_are_refused() {
        let mut out = [0; 2];
        assert_eq!(unpack(&[0xFF, 0xC0], 5, &mut out), Some(()));
        assert_eq!(out, [31, 31]);
        assert_eq!(unpack(&[0xFF, 0xE0], 5, &mut out), None);
        assert_eq!(unpack(&[0xFF], 5, &mut out), None);
        assert_eq!(unpack(&[0xFF, 0, 0], 5, &mut out), None);
        assert_eq!(unpack(&[], 0, &mut []), None);
        assert_eq!(unpack(&[0; 16], 64, &mut out), None);
    }
}
