//! Query and answer: words of a fixed number of bits, packed without gaps, least significant bit
//! first; the unused bits of the last byte are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_silent::message::packed_bytes;

/// A query: an encrypted unit vector, m words modulo 2^b.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(pub(crate) Vec<u32>);

/// An answer: the top bits of an encrypted record, l words of t bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<u32>);

/// Implements a message of words, whose number and bits follow from the parameters.
macro_rules! words {
    ($name:ident, $called:literal, $count:ident, $bits:ident) => {
        impl Wire<Params> for $name {
            fn size(params: &Params) -> usize {
                bytes(params.$count(), params.literal().$bits)
            }
            fn put(&self, params: &Params, out: &mut Vec<u8>) {
                pack(&self.0, params.$bits(), out);
            }
            fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
                wire::exact($called, bytes, Self::size(params))?;
                unpack($called, bytes, params.$count(), params.$bits()).map($name)
            }
        }
    };
}

words!(Query, "query", m, query_bits);
words!(Answer, "answer", l, answer_bits);

/// Bytes of packed words: at most 2^20 words of 32 bits, so the number fits any address space.
pub(crate) fn bytes(words: usize, bits: u8) -> usize {
    packed_bytes(words as u64, bits) as usize
}

pub(crate) fn pack(words: &[u32], bits: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0u64, 0);
    for &word in words {
        held |= u64::from(word) << count;
        count += bits;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

/// Unpacks words; `bytes` has exactly the length that `words` words need.
pub(crate) fn unpack(what: &'static str, bytes: &[u8], words: usize, bits: u32) -> Result<Vec<u32>> {
    let mask = u64::MAX >> (64 - bits);
    let mut out = Vec::with_capacity(words);
    let (mut held, mut count) = (0u64, 0);
    for &byte in bytes {
        held |= u64::from(byte) << count;
        count += 8;
        if count >= bits {
            out.push((held & mask) as u32);
            held >>= bits;
            count -= bits;
        }
    }
    if held != 0 {
        return Err(PeerMisbehaved::NotCanonical(what).into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_survive_and_padding_is_checked(bits in 9u32..=32, words in prop::collection::vec(any::<u32>(), 1..70)) {
            let words: Vec<u32> = words.into_iter().map(|word| word >> (32 - bits)).collect();
            let mut packed = Vec::new();
            pack(&words, bits, &mut packed);
            prop_assert_eq!(packed.len(), bytes(words.len(), bits as u8));
            prop_assert_eq!(&unpack("x", &packed, words.len(), bits).unwrap(), &words);
            for free in words.len() * bits as usize..packed.len() * 8 {
                let mut bad = packed.clone();
                bad[free / 8] |= 1 << (free % 8);
                prop_assert!(unpack("x", &bad, words.len(), bits).is_err());
            }
        }
    }

    #[test]
    fn the_first_word_is_at_the_low_end() {
        let mut packed = Vec::new();
        pack(&[0x123, 0x456, 0x789], 12, &mut packed);
        assert_eq!(packed, [0x23, 0x61, 0x45, 0x89, 0x07]);
    }
}
