//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit
//! first; unused bits of a part's last byte are zero.

use crate::params::Params;
use crate::selector::{BODY_DIGITS, MASK_DIGITS};
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::message;
use sotto_silent::unit_vector::KEY_BODIES;

/// A query: an encrypted unit vector, the bodies of the keys that pack its products, and those of
/// the selector of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) words: Vec<u64>,
    pub(crate) keys: Vec<Vec<u128>>,
    /// Bodies of the selector's rows for masks and for bodies.
    pub(crate) selector: [Vec<Vec<u128>>; 2],
}

/// An answer: the mask and the body of a ciphertext for each group of a record's numbers.
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
        for (rows, width) in self.selector.iter().zip(params.selector_bits()) {
            message::put_bodies(rows, width, out);
        }
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (widths, selector, rest) = (params.bits(), params.selector_bits(), &mut &*bytes);
        let mut query = || {
            let words = message::take_words(rest, widths.query, params.m())?;
            let keys = message::take_bodies(rest, widths.keys, KEY_BODIES)?;
            let masks = message::take_bodies(rest, selector[0], MASK_DIGITS.count as usize)?;
            let bodies = message::take_bodies(rest, selector[1], BODY_DIGITS.count as usize)?;
            Some(Query { words, keys, selector: [masks, bodies] })
        };
        Ok(query().ok_or(PeerMisbehaved::NotCanonical("query"))?)
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
