//! A query: a row of each partition, made from the offsets of a hint except for the requested row,
//! and its bytes on the wire.
#![deny(clippy::indexing_slicing)]

use crate::hints::PROMOTED;
use crate::{FullSets, Params};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_hints::one_server::query::{CHUNK_PARTITIONS, RequestScratch, put_offsets, take_offsets};
use sotto_hints::one_server::row_order::{equal, pick};
use sotto_hints::one_server::{Hint, NOWHERE, PartitionPlace, Prf};
use zeroize::Zeroize;

/// The offsets to request.
#[derive(Zeroize)]
#[zeroize(drop)]
pub(crate) struct RealOffsets {
    /// The id that the offsets belong to.
    id: u32,
    /// Partition of the hint's own entry, or [`NOWHERE`]; and the entry's offset.
    home: u32,
    own: u16,
    /// The partition of the requested row, or [`NOWHERE`]; and the offset of the row that replaces
    /// it.
    partition: u32,
    instead: u16,
}

impl RealOffsets {
    /// The offsets of `chosen` with `instead` in the partition of the row; or, if `found` is 0,
    /// those of the id `unused`, which no other query uses.
    pub(crate) fn choose(found: u32, chosen: (u32, Hint<()>), unused: u32, instead: PartitionPlace) -> Self {
        let own = PartitionPlace::of(chosen.1.entry);
        let has_own = found & u32::from(chosen.1.mark & PROMOTED != 0);
        RealOffsets {
            id: pick(found, chosen.0, unused),
            home: pick(has_own, own.partition.into(), NOWHERE),
            own: own.offset,
            partition: pick(found, instead.partition.into(), NOWHERE),
            instead: instead.offset,
        }
    }

    /// The query for these offsets.
    pub(crate) fn build(&self, prf: &Prf<FullSets>, scratch: &mut RequestScratch) -> Query {
        let mut offsets = vec![0; prf.partitions()];
        for (first, out) in (0..).step_by(CHUNK_PARTITIONS).zip(offsets.chunks_mut(CHUNK_PARTITIONS)) {
            scratch.offsets(prf, self.id, first, out, |k, offset| {
                let offset = pick(equal(k, self.home), self.own.into(), offset.into());
                pick(equal(k, self.partition), self.instead.into(), offset) as u16
            });
        }
        Query { offsets }
    }
}

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
