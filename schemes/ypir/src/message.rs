//! Query and answer: words of fixed numbers of bits, packed without gaps, least significant bit first; bits that fill up the
//! last byte of a part are zero.

use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;
use sotto_silent::lattice::N;
use sotto_silent::vector::Encrypted;

/// Both encrypted unit vectors: of the column, and of the block of rows, which comes with packing keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) columns: Vec<u32>,
    pub(crate) blocks: Encrypted,
}

/// A mask, and bodies that belong to its first coefficients.
pub(crate) type Part = [Vec<u64>; 2];

/// What the second query gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For each group of numbers of the second matrix a packed ciphertext, as far as its coefficients are in use.
    pub(crate) packed: Vec<Part>,
    /// For each of a record's bytes a sample of its fresh number.
    pub(crate) fresh: Vec<Part>,
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let columns: Vec<u64> = self.columns.iter().map(|word| u64::from(*word)).collect();
        bits::pack_words(&columns, params.first_bits(), out);
        self.blocks.put(params.bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (cut, width) = (params.cut(), params.first_bits());
        let query = || {
            let count = cut.columns() as usize;
            let (columns, blocks) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
            let columns = bits::unpack_words(columns, width, count)?.into_iter().map(|word| word as u32);
            let blocks = Encrypted::take(blocks, cut.blocks as usize, params.bits())?;
            Some(Query { columns: columns.collect(), blocks })
        };
        Ok(query().ok_or(PeerMisbehaved::NotCanonical("query"))?)
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let widths = params.bits();
        for [mask, body] in self.packed.iter().chain(&self.fresh) {
            bits::pack_words(mask, widths.mask, out);
            bits::pack_words(body, widths.body, out);
        }
    }

    fn take(params: &Params, mut bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let widths = params.bits();
        let mut words = |width, count| {
            let (words, rest) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
            bytes = rest;
            bits::unpack_words(words, width, count)
        };
        let mut part = |bodies| Some([words(widths.mask, N)?, words(widths.body, bodies)?]);
        let packed: Option<Vec<Part>> =
            (0..params.groups()).map(|group| part(params.in_use(group))).collect();
        let fresh: Option<Vec<Part>> = (0..params.literal().record_bytes).map(|_| part(1)).collect();
        let answer = packed.zip(fresh).map(|(packed, fresh)| Answer { packed, fresh });
        Ok(answer.ok_or(PeerMisbehaved::NotCanonical("answer"))?)
    }
}
