//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit first; bits that fill up the
//! last byte of a part are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::lattice::N;
use sotto_silent::vector::Encrypted;

/// An encrypted unit vector, and the bodies of the keys that pack what comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(pub(crate) Encrypted);

/// For each group of a record's numbers, mask and body of a packed ciphertext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<[Vec<u64>; 2]>);

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.0.put(params.bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let encrypted = Encrypted::take(bytes, params.m(), params.bits());
        Ok(Query(encrypted.ok_or(PeerMisbehaved::NotCanonical("query"))?))
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let widths = params.bits();
        for [mask, body] in &self.0 {
            bits::pack_words(mask, widths.mask, out);
            bits::pack_words(body, widths.body, out);
        }
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let widths = params.bits();
        let bad = || PeerMisbehaved::NotCanonical("answer");
        let group = |bytes: &[u8]| {
            let (mask, body) = bytes.split_at_checked(bits::packed_len(widths.mask, N)?)?;
            Some([bits::unpack_words(mask, widths.mask, N)?, bits::unpack_words(body, widths.body, N)?])
        };
        let groups: Option<Vec<_>> = bytes.chunks(bytes.len() / params.groups()).map(group).collect();
        Ok(Answer(groups.ok_or_else(bad)?))
    }
}
