//! Words of any width, packed without gaps: the lowest bit first, bytes in order. [`highest`] has the other order.
#![deny(clippy::indexing_slicing)]

pub mod highest;

/// Appends words of `width` bits. Bits of a word above its width are dropped. The rest of the last
/// byte is zero.
///
/// # Panics
/// If `width` is not in 1..=128.
pub fn pack(words: &[u128], width: u32, out: &mut Vec<u8>) {
    assert!((1..=128).contains(&width), "a width from 1 to 128");
    let mut writer = Writer::new(out, words.len(), width);
    for &word in words {
        writer.push(word as u64, width.min(64));
        if width > 64 {
            writer.push((word >> 64) as u64, width - 64);
        }
    }
    writer.finish();
}

/// Appends words of `width` bits like [`pack`], for words of at most 64 bits.
///
/// ```
/// use sotto_math::bits::{pack_words, packed_len, unpack_words};
///
/// let words = [5, 1023, 0, 700];
/// let mut bytes = Vec::new();
/// pack_words(&words, 10, &mut bytes);
/// assert_eq!(Some(bytes.len()), packed_len(10, words.len()));
/// assert_eq!(unpack_words(&bytes, 10, 4).as_deref(), Some(&words[..]));
/// assert_eq!(unpack_words(&bytes[1..], 10, 4), None);
/// ```
///
/// # Panics
/// If `width` is not in 1..=64.
pub fn pack_words(words: &[u64], width: u32, out: &mut Vec<u8>) {
    assert!((1..=64).contains(&width), "a width from 1 to 64");
    // The width of tables: see `unpack_windows`.
    if width == 16 {
        let start = out.len();
        out.resize(start + 2 * words.len(), 0);
        let pairs = out.get_mut(start..).unwrap_or_default().as_chunks_mut().0;
        pairs.iter_mut().zip(words).for_each(|(pair, word)| *pair = (*word as u16).to_le_bytes());
        return;
    }
    let mut writer = Writer::new(out, words.len(), width);
    for &word in words {
        writer.push(word, width);
    }
    writer.finish();
}

/// Decodes `count` words of `width` bits; `None` unless `bytes` are an output of [`pack`]: exactly
/// as many as needed, with zeros after the last word.
pub fn unpack(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u128>> {
    let mut reader = Reader::new(bytes, width, 128, count)?;
    let words = (0..count).map(|_| {
        let low = reader.take(width.min(64));
        let high = if width > 64 { reader.take(width - 64) } else { 0 };
        u128::from(high) << 64 | u128::from(low)
    });
    let words = words.collect();
    reader.ends_in_zeros().then_some(words)
}

/// Decodes words like [`unpack`], for words of at most 64 bits.
pub fn unpack_words(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u64>> {
    if (1..=WINDOW).contains(&width) {
        return unpack_windows(bytes, width, count);
    }
    let mut reader = Reader::new(bytes, width, 64, count)?;
    let words = (0..count).map(|_| reader.take(width)).collect();
    reader.ends_in_zeros().then_some(words)
}

/// The widest word that is always contained in eight bytes from the one it starts in.
const WINDOW: u32 = 57;

/// Reads each word from the eight bytes it starts in, so that no word waits for the one before.
fn unpack_windows(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u64>> {
    if bytes.len() != packed_len(width, count)? {
        return None;
    }
    // A word of sixteen bits is two bytes; tables are read this way, by the gigabyte.
    if width == 16 {
        return Some(bytes.as_chunks().0.iter().map(|pair| u64::from(u16::from_le_bytes(*pair))).collect());
    }
    let window = |at: usize| match bytes.get(at..at + 8).and_then(|window| window.first_chunk()) {
        Some(window) => u64::from_le_bytes(*window),
        None => bytes.iter().skip(at).rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let width = width as usize;
    let word = |i: usize| window(i * width / 8) >> (i * width % 8) & mask(width as u32);
    let padding = bytes.len() * 8 - count * width;
    let clean = bytes.last().is_none_or(|last| u32::from(*last) >> (8 - padding) == 0);
    clean.then(|| (0..count).map(word).collect())
}

/// Appends words like [`pack`], for words of at most 16 bits, eight at a time, which are whole
/// bytes.
///
/// # Panics
/// If `width` is not in 1..=16.
pub fn pack16(words: &[u16], width: u32, out: &mut Vec<u8>) {
    assert!((1..=16).contains(&width), "a width from 1 to 16");
    let (eights, rest) = words.as_chunks::<8>();
    let (start, bytes) = (out.len(), eights.len() * width as usize);
    // Each eight words are written as sixteen bytes, which the next eight words overwrite in part.
    out.resize(start + bytes + 16, 0);
    let mask = mask(width);
    let join = |four: &[u16]| four.iter().rev().fold(0, |bits, word| bits << width | u64::from(*word) & mask);
    for (eight, at) in eights.iter().zip((start..).step_by(width as usize)) {
        let (lower, upper) = eight.split_at(4);
        let bits = u128::from(join(upper)) << (4 * width) | u128::from(join(lower));
        if let Some(to) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) {
            *to = bits.to_le_bytes();
        }
    }
    out.truncate(start + bytes);
    let rest: Vec<u64> = rest.iter().map(|word| u64::from(*word)).collect();
    pack_words(&rest, width, out);
}

/// Decodes words like [`unpack`], for words of at most 16 bits, eight at a time.
pub fn unpack16(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u16>> {
    if !(1..=16).contains(&width) || bytes.len() != packed_len(width, count)? {
        return None;
    }
    let rest = unpack_words(bytes.get(count / 8 * width as usize..)?, width, count % 8)?;
    let mut words = vec![0; count];
    let mask = mask(width);
    let (eights, last) = words.as_chunks_mut::<8>();
    for (eight, at) in eights.iter_mut().zip((0..).step_by(width as usize)) {
        let bytes = bytes.get(at..).unwrap_or_default();
        let bits = match bytes.first_chunk() {
            Some(sixteen) => u128::from_le_bytes(*sixteen),
            None => bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte)),
        };
        let fours = [bits as u64, (bits >> (4 * width)) as u64];
        for (words, four) in eight.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
            words.iter_mut().zip(0..).for_each(|(word, i)| *word = (four >> (i * width) & mask) as u16);
        }
    }
    // Each has at most 16 bits.
    last.iter_mut().zip(rest).for_each(|(last, word)| *last = word as u16);
    Some(words)
}

/// Bytes that `count` words take, or `None` if no memory holds them.
pub fn packed_len(width: u32, count: usize) -> Option<usize> {
    Some(count.checked_mul(usize::try_from(width).ok()?)?.div_ceil(8))
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that are not written yet, fewer than 64 between words.
    bits: u128,
    filled: u32,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut Vec<u8>, count: usize, width: u32) -> Self {
        out.reserve(packed_len(width, count).unwrap_or(0));
        Writer { out, bits: 0, filled: 0 }
    }

    #[inline]
    fn push(&mut self, word: u64, width: u32) {
        self.bits |= u128::from(word & mask(width)) << self.filled;
        self.filled += width;
        if self.filled >= 64 {
            self.out.extend_from_slice(&(self.bits as u64).to_le_bytes());
            self.bits >>= 64;
            self.filled -= 64;
        }
    }

    fn finish(self) {
        self.out.extend(self.bits.to_le_bytes().iter().take(self.filled.div_ceil(8) as usize));
    }
}

struct Reader<'a> {
    words: std::slice::Iter<'a, [u8; 8]>,
    /// The bytes after the last whole word.
    tail: &'a [u8],
    bits: u128,
    filled: u32,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], width: u32, limit: u32, count: usize) -> Option<Self> {
        if width == 0 || width > limit || bytes.len() != packed_len(width, count)? {
            return None;
        }
        let (words, tail) = bytes.as_chunks();
        Some(Reader { words: words.iter(), tail, bits: 0, filled: 0 })
    }

    #[inline]
    fn take(&mut self, width: u32) -> u64 {
        if self.filled < width {
            let word = match self.words.next() {
                Some(word) => u64::from_le_bytes(*word),
                None => self.last(),
            };
            self.bits |= u128::from(word) << self.filled;
            self.filled += 64;
        }
        let word = self.bits as u64 & mask(width);
        self.bits >>= width;
        self.filled -= width;
        word
    }

    /// Returns the tail as a word, once.
    fn last(&mut self) -> u64 {
        let tail = std::mem::take(&mut self.tail);
        tail.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// Whether only zeros are left.
    fn ends_in_zeros(mut self) -> bool {
        self.bits == 0 && self.words.next().is_none() && self.last() == 0
    }
}

/// A word with the lowest `width` bits set, 1 to 64 of them.
fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: bit `i` of the stream is bit `i % width` of word `i / width`.
    fn by_bits(words: &[u128], width: u32) -> Vec<u8> {
        let width = width as usize;
        let bit = |i: usize| words.get(i / width).map_or(0, |word| (word >> (i % width) & 1) as u8);
        (0..(words.len() * width).div_ceil(8))
            .map(|byte| (0..8).map(|i| bit(8 * byte + i) << i).sum())
            .collect()
    }

    proptest! {
        #[test]
        fn packing_round_trips(words in prop::collection::vec(any::<u128>(), 0..40), width in 1u32..=128) {
            let mut bytes = vec![9];
            pack(&words, width, &mut bytes);
            prop_assert_eq!(&bytes[1..], by_bits(&words, width));
            prop_assert_eq!(Some(bytes.len() - 1), packed_len(width, words.len()));
            let masked: Vec<u128> = words.iter().map(|word| word & u128::MAX >> (128 - width)).collect();
            prop_assert_eq!(unpack(&bytes[1..], width, words.len()), Some(masked.clone()));
            if width <= 64 {
                let words: Vec<u64> = words.iter().map(|&word| word as u64).collect();
                let mut same = vec![9];
                pack_words(&words, width, &mut same);
                prop_assert_eq!(&same, &bytes);
                let masked = masked.iter().map(|&word| word as u64).collect();
                prop_assert_eq!(unpack_words(&bytes[1..], width, words.len()), Some(masked));
            }
            if width <= 16 {
                let words: Vec<u16> = words.iter().map(|&word| word as u16).collect();
                let mut same = vec![9];
                pack16(&words, width, &mut same);
                prop_assert_eq!(&same, &bytes);
                let masked = masked.iter().map(|&word| word as u16).collect();
                prop_assert_eq!(unpack16(&bytes[1..], width, words.len()), Some(masked));
            }
        }

        #[test]
        fn unpacking_inverts_packing(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            width in 0u32..140,
            count in 0usize..50,
        ) {
            if let Some(words) = unpack(&bytes, width, count) {
                prop_assert_eq!(by_bits(&words, width), bytes.clone());
            }
            if let Some(words) = unpack_words(&bytes, width, count) {
                let words: Vec<u128> = words.into_iter().map(u128::from).collect();
                prop_assert_eq!(by_bits(&words, width), bytes.clone());
            }
            if let Some(words) = unpack16(&bytes, width, count) {
                let words: Vec<u128> = words.into_iter().map(u128::from).collect();
                prop_assert_eq!(by_bits(&words, width), bytes);
            }
        }
    }

    #[test]
    fn refuses_other_lengths_and_padding() {
        for unpacks in [
            |b: &[u8], w, c| unpack(b, w, c).is_some(),
            |b: &[u8], w, c| unpack_words(b, w, c).is_some(),
            |b: &[u8], w, c| unpack16(b, w, c).is_some(),
        ] {
            assert!(unpacks(&[0xff, 0x03], 5, 2));
            assert!(!unpacks(&[0xff, 0x04], 5, 2));
            assert!(!unpacks(&[0xff, 0x83], 5, 2));
            assert!(!unpacks(&[0xff], 5, 2));
            assert!(!unpacks(&[0xff, 0, 0], 5, 2));
            assert!(!unpacks(&[0xff, 0], 0, 2));
            assert!(!unpacks(&[0xff, 0], 200, 2));
            assert!(!unpacks(&[0xff, 0], 64, usize::MAX));
            assert!(unpacks(&[], 7, 0));
            assert!(!unpacks(&[0], 7, 0));
        }
        assert!(unpack_words(&[0; 9], 65, 1).is_none());
    }
}
