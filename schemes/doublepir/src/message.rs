//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit
//! first; unused bits of a part's last byte are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::lwe::ring::N;

/// A query: the encrypted unit vectors of the column, and of the block of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(pub(crate) [Vec<u32>; 2]);

/// The answer to the second unit vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The products of the second matrix, then those of the fresh rows: the lower bytes of all words, then the upper ones.
    pub(crate) words: Vec<u32>,
    /// The mask of each fresh row, n words.
    pub(crate) masks: Vec<u32>,
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.0.iter().zip(params.query_bits()).for_each(|(words, width)| put(words, width, out));
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        let cut = params.cut();
        let [columns, blocks] = [cut.columns(), cut.blocks].map(|words| words as usize);
        let [first, second] = params.query_bits();
        wire::exact("query", bytes, Self::size(params))?;
        let words = two_parts(bytes, [(first, columns), (second, blocks)]);
        Ok(Query(words.ok_or(PeerMisbehaved::NotCanonical("query"))?))
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put(&self.words, params.answer_bits(), out);
        put(&self.masks, params.mask_bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        let literal = params.literal();
        let masks = literal.fresh_rows() as usize * N;
        wire::exact("answer", bytes, Self::size(params))?;
        let parts = [(params.answer_bits(), literal.answer_words() as usize), (params.mask_bits(), masks)];
        let [words, masks] = two_parts(bytes, parts).ok_or(PeerMisbehaved::NotCanonical("answer"))?;
        Ok(Answer { words, masks })
    }
}

/// Appends words of `width` bits.
pub(crate) fn put(words: &[u32], width: u32, out: &mut Vec<u8>) {
    let words: Vec<u64> = words.iter().map(|word| u64::from(*word)).collect();
    bits::pack_words(&words, width, out);
}

/// Splits bytes into two parts of words, each with its bits and its number of words.
pub(crate) fn two_parts(bytes: &[u8], [first, second]: [(u32, usize); 2]) -> Option<[Vec<u32>; 2]> {
    let part = |bytes: &[u8], (width, count)| {
        let words = bits::unpack_words(bytes, width, count)?;
        Some(words.into_iter().map(|word| word as u32).collect())
    };
    let (head, tail) = bytes.split_at_checked(bits::packed_len(first.0, first.1)?)?;
    Some([part(head, first)?, part(tail, second)?])
}
