//! Messages: words of fixed numbers of bits, packed without gaps, least significant bit first. Unused
//! bits of a field's last byte must be zero, so every message has exactly one encoding.
//!
//! A scheme states the [`Format`] of a message; its size, its encoding and a total decoder follow.

use crate::unit_vector::{MessageBits, largest};
use sotto_math::bits;

/// Bytes of `words` words of `bits` bits each.
pub fn packed_bytes(words: u64, bits: u8) -> u64 {
    (words * u64::from(bits)).div_ceil(8)
}

/// Words of one width in a message. A word of more than 64 bits is two in memory, the lower one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    count: u64,
    bits: u32,
    /// The largest valid word.
    largest: u128,
}

impl Field {
    /// Words of this width, all of which are valid.
    pub fn words(count: u64, bits: u32) -> Self {
        Field { count, bits, largest: (1 << bits.min(u64::BITS)) - 1 }
    }

    /// The top bits of residues modulo the [modulus](crate::lattice::Q) of silent schemes.
    pub fn residues(count: u64, bits: u32) -> Self {
        Field { count, bits, largest: largest(bits).into() }
    }

    /// Residues modulo another modulus.
    pub fn below(count: u64, modulus: impl Into<u128>) -> Self {
        let largest = modulus.into().saturating_sub(1);
        Field { count, bits: u128::BITS - largest.leading_zeros(), largest }
    }

    /// Residues modulo a modulus of at most 63 bits, in 64 bits each.
    pub fn wide(count: u64, modulus: impl Into<u128>) -> Self {
        Field { bits: u64::BITS, ..Self::below(count, modulus) }
    }

    /// Number of words in memory.
    pub fn count(&self) -> usize {
        self.count as usize * self.bits.div_ceil(u64::BITS) as usize
    }

    /// Bytes of the field.
    pub fn bytes(&self) -> u64 {
        (self.count * u64::from(self.bits)).div_ceil(8)
    }

    /// Appends the words.
    pub fn put(&self, words: &[u64], out: &mut Vec<u8>) {
        match self.bits {
            ..=u64::BITS => bits::pack_words(words, self.bits, out),
            _ => bits::pack(&whole_words(words, self.bits), self.bits, out),
        }
    }

    /// Takes the words off the front; `None` if a word is not valid.
    pub fn take(&self, bytes: &mut &[u8]) -> Option<Vec<u64>> {
        let count = self.count as usize;
        let (field, rest) = bytes.split_at_checked(bits::packed_len(self.bits, count)?)?;
        *bytes = rest;
        if self.bits > u64::BITS {
            let words = bits::unpack(field, self.bits, count)?;
            let valid = words.iter().fold(true, |valid, word| valid & (*word <= self.largest));
            return valid
                .then(|| words.iter().flat_map(|word| [*word as u64, (*word >> 64) as u64]).collect());
        }
        let words = bits::unpack_words(field, self.bits, count)?;
        // Words of at most 64 bits have a largest one of as many.
        let largest = self.largest as u64;
        words.iter().fold(true, |valid, word| valid & (*word <= largest)).then_some(words)
    }
}

/// Words of `bits` bits, of which those of more than 64 are two in memory.
pub fn whole_words(words: &[u64], bits: u32) -> Vec<u128> {
    if bits <= u64::BITS {
        return words.iter().map(|word| u128::from(*word)).collect();
    }
    words.as_chunks().0.iter().map(|[low, high]| u128::from(*high) << 64 | u128::from(*low)).collect()
}

/// The fields of a message, in the order of the wire.
#[derive(Debug, Clone, Default)]
pub struct Format(Vec<Run>);

/// A field that occurs several times, or a pair of fields.
#[derive(Debug, Clone, Copy)]
struct Run {
    times: u64,
    first: Field,
    second: Option<Field>,
}

impl Format {
    /// A message of one field.
    pub fn of(field: Field) -> Self {
        Format::default().and(1, field)
    }

    /// Appends `times` fields that are alike.
    #[must_use]
    pub fn and(mut self, times: u64, field: Field) -> Self {
        self.0.push(Run { times, first: field, second: None });
        self
    }

    /// Appends `times` packed ciphertexts: a field for the mask, and one for the body.
    #[must_use]
    pub fn and_ciphers(mut self, times: u64, [mask, body]: [Field; 2]) -> Self {
        self.0.push(Run { times, first: mask, second: Some(body) });
        self
    }

    /// Appends `times` packed ciphertexts of `numbers` numbers each, in the bits of an answer.
    #[must_use]
    pub fn and_packed(self, times: u64, numbers: u64, bits: MessageBits) -> Self {
        let mask = Field::words(crate::lattice::N as u64, bits.mask);
        self.and_ciphers(times, [mask, Field::words(numbers, bits.body)])
    }

    /// The fields, one after the other.
    pub fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        let all = |run: &Run| std::iter::repeat_n(*run, run.times as usize);
        self.0.iter().flat_map(all).flat_map(|run| std::iter::once(run.first).chain(run.second))
    }

    /// Bytes of the message.
    pub fn bytes(&self) -> u64 {
        let one = |run: &Run| run.first.bytes() + run.second.map_or(0, |field| field.bytes());
        self.0.iter().map(|run| run.times * one(run)).sum()
    }

    /// Whether a message has the fields of this format.
    pub fn fits(&self, message: &[Vec<u64>]) -> bool {
        self.fields().map(|field| field.count()).eq(message.iter().map(Vec::len))
    }

    /// Appends a message.
    pub fn put(&self, message: &[Vec<u64>], out: &mut Vec<u8>) {
        self.fields().zip(message).for_each(|(field, words)| field.put(words, out));
    }

    /// Takes a message off the front; `None` if it is not one.
    pub fn take(&self, bytes: &mut &[u8]) -> Option<Vec<Vec<u64>>> {
        self.fields().map(|field| field.take(bytes)).collect()
    }
}

/// The keys that a client registers: the fields of
/// [`MatrixLiteral::keys`](crate::method::MatrixLiteral::keys).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(pub Vec<Vec<u64>>);

/// A query: the fields of [`MatrixLiteral::query`](crate::method::MatrixLiteral::query).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(pub Vec<Vec<u64>>);

/// An answer: the fields of [`MatrixLiteral::answer`](crate::method::MatrixLiteral::answer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Vec<Vec<u64>>);

/// The result of a part for one query, or that of all parts together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partial {
    /// Words for the rows of each matrix; parts have some rows.
    pub words: Vec<Vec<u64>>,
    /// Masks and bodies of packed ciphertexts; parts have some ciphertexts.
    pub ciphers: Vec<Vec<u64>>,
}

/// The format of a part's result.
#[derive(Debug, Clone, Default)]
pub struct PartialFormat {
    /// The part's words for each matrix.
    pub words: Vec<Field>,
    /// The part's ciphertexts.
    pub ciphers: Format,
}

impl PartialFormat {
    /// Bytes of the result.
    pub fn bytes(&self) -> u64 {
        self.words.iter().map(Field::bytes).sum::<u64>() + self.ciphers.bytes()
    }

    /// Appends a result.
    pub fn put(&self, partial: &Partial, out: &mut Vec<u8>) {
        self.words.iter().zip(&partial.words).for_each(|(field, words)| field.put(words, out));
        self.ciphers.put(&partial.ciphers, out);
    }

    /// Decodes the result of the next part, and appends it to those of the parts before; `None` if it
    /// is not one.
    pub fn join(&self, mut bytes: &[u8], joined: &mut Partial) -> Option<()> {
        joined.words.resize_with(self.words.len(), Vec::new);
        for (field, words) in self.words.iter().zip(&mut joined.words) {
            words.extend(field.take(&mut bytes)?);
        }
        joined.ciphers.extend(self.ciphers.take(&mut bytes)?);
        bytes.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_come_back_and_padding_is_checked(
            bits in 9u32..=57, words in prop::collection::vec(any::<u64>(), 1..70), modulus in 2u64..1 << 50,
        ) {
            let cut: Vec<u64> = words.iter().map(|word| word >> (64 - bits)).collect();
            let residues: Vec<u64> = words.iter().map(|word| word % modulus).collect();
            let count = words.len() as u64;
            let format = Format::of(Field::words(count, bits)).and_ciphers(2, [Field::below(count, modulus); 2]);
            let message = vec![cut, residues.clone(), residues.clone(), residues.clone(), residues];
            let mut sent = Vec::new();
            format.put(&message, &mut sent);
            prop_assert!(format.fits(&message) && sent.len() as u64 == format.bytes());
            prop_assert_eq!(format.take(&mut &sent[..]), Some(message.clone()));
            prop_assert!(format.take(&mut &sent[1..]).is_none());
            for free in words.len() * bits as usize..Field::words(count, bits).bytes() as usize * 8 {
                let mut bad = sent.clone();
                bad[free / 8] |= 1 << (free % 8);
                prop_assert!(format.take(&mut &bad[..]).is_none());
            }
        }
    }

    #[test]
    fn words_past_the_largest_are_refused() {
        let largest = |field: Field| {
            let mut bytes = Vec::new();
            let taken = |word: u64, bytes: &mut Vec<u8>| {
                bytes.clear();
                field.put(&[word], bytes);
                field.take(&mut &bytes[..])
            };
            let largest = field.largest as u64;
            (taken(largest, &mut bytes).is_some(), taken(largest + 1, &mut bytes).is_some())
        };
        for bits in [40, 49, 50] {
            assert_eq!(largest(Field::residues(1, bits)), (true, false), "{bits}");
        }
        for modulus in [3u64, 65_537, 4_294_957_057] {
            assert_eq!(largest(Field::below(1, modulus)), (true, false), "{modulus}");
        }
    }

    #[test]
    fn the_first_word_is_at_the_low_end() {
        let mut packed = Vec::new();
        Field::words(3, 12).put(&[0x123, 0x456, 0x789], &mut packed);
        assert_eq!(packed, [0x23, 0x61, 0x45, 0x89, 0x07]);
    }

    #[test]
    fn parts_are_joined_in_order() {
        let format = |rows, ciphers| PartialFormat {
            words: vec![Field::words(rows, 16), Field::words(2 * rows, 24)],
            ciphers: Format::default().and_ciphers(ciphers, [Field::words(3, 20), Field::words(1, 18)]),
        };
        let mut joined = Partial::default();
        for part in 0..3u64 {
            let format = format(part + 1, part);
            let words = vec![vec![part; part as usize + 1], vec![part + 7; 2 * part as usize + 2]];
            let ciphers = (0..part).flat_map(|i| [vec![i; 3], vec![part]]).collect();
            let mut bytes = Vec::new();
            format.put(&Partial { words, ciphers }, &mut bytes);
            assert_eq!(bytes.len() as u64, format.bytes());
            format.join(&bytes, &mut joined).unwrap();
            bytes.push(0);
            assert!(format.join(&bytes, &mut Partial::default()).is_none());
        }
        assert_eq!(joined.words, [vec![0, 1, 1, 2, 2, 2], vec![7, 7, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9]]);
        assert_eq!(joined.ciphers, [vec![0; 3], vec![1], vec![0; 3], vec![2], vec![1; 3], vec![2]]);
    }
}
