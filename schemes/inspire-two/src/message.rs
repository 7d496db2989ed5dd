//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit
//! first; unused bits of a part's last byte are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::lattice::{KEY_WORDS, N};
use sotto_silent::message::take_words;
use sotto_silent::unit_vector::MessageBits;

/// A query: two encrypted unit vectors, and the bodies of the key that packs their products,
/// coefficient by coefficient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) vectors: [Vec<u64>; 2],
    pub(crate) key: Vec<u64>,
}

/// An answer: the mask and the body of each packed ciphertext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<[Vec<u64>; 2]>);

/// Takes words of a packed ciphertext off the front of bytes. Any words are valid.
pub(crate) fn words(bytes: &mut &[u8], width: u32, count: usize) -> Option<Vec<u64>> {
    let (words, rest) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
    *bytes = rest;
    bits::unpack_words(words, width, count)
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let widths = params.bits();
        self.vectors.iter().zip(widths).for_each(|(words, bits)| bits::pack_words(words, bits.query, out));
        bits::pack_words(&self.key, widths[0].keys, out);
    }

    fn take(params: &Params, mut bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let [first, second] = params.bits();
        let mut query = || {
            let vectors = [
                take_words(&mut bytes, first.query, params.columns())?,
                take_words(&mut bytes, second.query, params.picks())?,
            ];
            Some(Query { vectors, key: take_words(&mut bytes, first.keys, KEY_WORDS)? })
        };
        Ok(query().ok_or(PeerMisbehaved::NotCanonical("query"))?)
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        for ([mask, body], (_, widths)) in self.0.iter().zip(params.literal().parts()) {
            bits::pack_words(mask, widths.mask, out);
            bits::pack_words(body, widths.body, out);
        }
    }

    fn take(params: &Params, mut bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let mut part = |(numbers, widths): (usize, MessageBits)| {
            Some([words(&mut bytes, widths.mask, N)?, words(&mut bytes, widths.body, numbers)?])
        };
        let parts: Option<Vec<_>> = params.literal().parts().into_iter().map(&mut part).collect();
        Ok(Answer(parts.ok_or(PeerMisbehaved::NotCanonical("answer"))?))
    }
}
