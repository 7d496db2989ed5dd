//! A query on the wire.
#![deny(clippy::indexing_slicing)]

use crate::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_hints::one_server::request::{put_offsets, take_offsets};

/// A query: one row of each partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Offsets below w, one for each partition.
    pub(crate) offsets: Vec<u16>,
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        (params.partitions() * params.offset_bits() as usize).div_ceil(8)
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put_offsets(&self.offsets, params.offset_bits(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let offsets = take_offsets(bytes, params.offset_bits(), params.partitions());
        Ok(Query { offsets: offsets.ok_or(PeerMisbehaved::NotCanonical("query"))? })
    }
}
