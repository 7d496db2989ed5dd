//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit
//! first; unused bits of a part's last byte are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::message;
use sotto_silent::unit_vector::KEY_BODIES;

/// A query: an encrypted unit vector, and the bodies of the keys that pack its products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) words: Vec<u64>,
    pub(crate) keys: Vec<Vec<u128>>,
}

/// An answer: the mask and the body of a packed ciphertext for each group of a record's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<[Vec<u64>; 2]>);

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let widths = params.bits();
        bits::pack_words(&self.words, widths.query, out);
        message::put_bodies(&self.keys, widths.keys, out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (widths, rest) = (params.bits(), &mut &*bytes);
        let words = message::take_words(rest, widths.query, params.m());
        let keys = message::take_bodies(rest, widths.keys, KEY_BODIES);
        let query = words.zip(keys).map(|(words, keys)| Query { words, keys });
        Ok(query.ok_or(PeerMisbehaved::NotCanonical("query"))?)
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        message::put_groups(&self.0, params.bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let groups = message::take_groups(&mut &*bytes, params.bits(), params.groups());
        Ok(Answer(groups.ok_or(PeerMisbehaved::NotCanonical("answer"))?))
    }
}
