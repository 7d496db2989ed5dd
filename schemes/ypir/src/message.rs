//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit
//! first; unused bits of a part's last byte are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::lattice::N;
use sotto_silent::message;
use sotto_silent::unit_vector::{EncryptedVector, KEY_BODIES};
use std::ops::Range;

/// A query: the encrypted unit vectors of the column, and of the block of rows, which comes with
/// packing keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) columns: Vec<u32>,
    pub(crate) blocks: EncryptedVector,
}

/// A mask, and bodies that belong to its first coefficients.
pub(crate) type PackedPart = [Vec<u64>; 2];

/// The answer to the second unit vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For each group of numbers of the second matrix a packed ciphertext, without unused
    /// coefficients.
    pub(crate) packed: Vec<PackedPart>,
    /// For each of a record's bytes a sample of its fresh number.
    pub(crate) fresh: Vec<PackedPart>,
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let columns: Vec<u64> = self.columns.iter().map(|word| u64::from(*word)).collect();
        bits::pack_words(&columns, params.first_bits(), out);
        let widths = params.bits();
        bits::pack_words(&self.blocks.words, widths.query, out);
        message::put_bodies(&self.blocks.keys, widths.keys, out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (cut, width) = (params.cut(), params.first_bits());
        let query = || {
            let count = cut.columns() as usize;
            let (columns, mut rest) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
            let widths = params.bits();
            let columns = bits::unpack_words(columns, width, count)?.into_iter().map(|word| word as u32);
            let words = message::take_words(&mut rest, widths.query, cut.blocks as usize)?;
            let keys = message::take_bodies(&mut rest, widths.keys, KEY_BODIES)?;
            Some(Query { columns: columns.collect(), blocks: EncryptedVector { words, keys } })
        };
        Ok(query().ok_or(PeerMisbehaved::NotCanonical("query"))?)
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put_parts(self.packed.iter().chain(&self.fresh), params, out);
    }

    fn take(params: &Params, mut bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let mut answer = || {
            let packed = take_groups(&mut bytes, params, 0..params.groups())?;
            let fresh = (0..params.literal().record_bytes).map(|_| 1);
            Some(Answer { packed, fresh: take_parts(&mut bytes, params, fresh)? })
        };
        Ok(answer().ok_or(PeerMisbehaved::NotCanonical("answer"))?)
    }
}

/// Appends masks and their bodies.
pub(crate) fn put_parts<'a>(
    parts: impl IntoIterator<Item = &'a PackedPart>,
    params: &Params,
    out: &mut Vec<u8>,
) {
    let widths = params.bits();
    for [mask, body] in parts {
        bits::pack_words(mask, widths.mask, out);
        bits::pack_words(body, widths.body, out);
    }
}

/// Takes some groups' packed ciphertexts off the front.
pub(crate) fn take_groups(
    bytes: &mut &[u8],
    params: &Params,
    groups: Range<usize>,
) -> Option<Vec<PackedPart>> {
    take_parts(bytes, params, groups.map(|group| params.in_use(group)))
}

/// Takes masks off the front, each with its number of bodies.
fn take_parts(
    bytes: &mut &[u8],
    params: &Params,
    bodies: impl Iterator<Item = usize>,
) -> Option<Vec<PackedPart>> {
    let widths = params.bits();
    let mut words = |width, count| {
        let (words, rest) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
        *bytes = rest;
        bits::unpack_words(words, width, count)
    };
    bodies.map(|bodies| Some([words(widths.mask, N)?, words(widths.body, bodies)?])).collect()
}
