//! Request and answer.
#![deny(clippy::indexing_slicing)]

use crate::params::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;

/// A row of each partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Offsets below w, one for each partition.
    pub(crate) offsets: Vec<u16>,
}

/// The parity of these rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<u8>);

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.request_bytes()
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        let offsets: Vec<u64> = self.offsets.iter().map(|offset| u64::from(*offset)).collect();
        bits::pack_words(&offsets, params.offset_bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let offsets = bits::unpack_words(bytes, params.offset_bits(), params.partitions());
        let offsets = offsets.ok_or(PeerMisbehaved::NotCanonical("query"))?;
        // At most 16 bits each.
        Ok(Query { offsets: offsets.into_iter().map(|offset| offset as u16).collect() })
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.row_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        Ok(Answer(bytes.to_vec()))
    }
}
