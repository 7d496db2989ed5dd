//! Making a query from a hint: its partitions without the requested one, and the others next to
//! them.
//!
//! The loops cover all partitions for every hint, and choose by masks. The one address that depends
//! on the hint is where the next offset is written: the list grows by one for a real partition and
//! by none for another.

use crate::HalfSets;
use crate::hints::OUTSIDE;
use crate::message::Query;
use crate::prf::{RANK, TIE, joined};
use sotto_core::{PeerMisbehaved, Result};
use sotto_hints::one_server::request::{CHUNK_PARTITIONS, RequestScratch as Offsets};
use sotto_hints::one_server::row_order::{below, equal, pick};
use sotto_hints::one_server::{Hint, NOWHERE, PartitionPlace, Prf};
use zeroize::{Zeroize, Zeroizing};

/// The set to request: that of a hint without one partition, or the half of a pair.
pub(crate) struct RealSet {
    /// The id of the set.
    id: u32,
    cut: u32,
    /// 1 if the partitions are those outside the half.
    outside: u32,
    /// Partition of the extra entry, or [`NOWHERE`].
    with: u32,
    /// Offset of the extra entry.
    offset: u16,
    /// The partition to leave out, or [`NOWHERE`].
    without: u32,
}

impl RealSet {
    /// The set of `chosen` without `partition`; or, if `found` is 0, the half of `pair`: a set of
    /// the same kind that no other query uses.
    pub(crate) fn choose(
        found: u32,
        chosen: (u32, Hint<u32>),
        pair: (u32, Hint<u32>),
        partition: u16,
    ) -> Self {
        let extra = PartitionPlace::of(chosen.1.entry);
        RealSet {
            id: pick(found, chosen.0, pair.0),
            cut: pick(found, chosen.1.set, pair.1.set),
            outside: pick(found, u32::from(chosen.1.mark & OUTSIDE != 0), 0),
            with: pick(found, extra.partition.into(), NOWHERE),
            offset: extra.offset,
            without: pick(found, partition.into(), NOWHERE),
        }
    }

    /// The query for a real set. With `coin` 0 it is set 1 of the query, with 1 it is set 0.
    ///
    /// # Errors
    /// If the set does not have c/2 partitions. Only a damaged state has such hints, and the query
    /// could reveal which set is real.
    pub(crate) fn build(
        &self,
        prf: &Prf<HalfSets>,
        coin: u8,
        scratch: &mut PartitionScratch,
    ) -> Result<Query> {
        let c = prf.partitions();
        let mut ones = vec![0; c.div_ceil(8)];
        // One more place: values that are not real, after the last real one, are written there.
        let mut offsets = vec![0; c / 2 + 1];
        let mut count = 0;
        for first in (0..c).step_by(CHUNK_PARTITIONS) {
            let len = CHUNK_PARTITIONS.min(c - first);
            scratch.fill(prf, self, first, len);
            for (is, offset) in scratch.real.iter().zip(&scratch.offsets).take(len) {
                if let Some(at) = offsets.get_mut(count) {
                    *at = *offset;
                }
                count += usize::from(*is);
            }
            for (byte, real) in ones.iter_mut().skip(first / 8).zip(scratch.real.chunks(8)) {
                *byte = real.iter().rev().fold(0, |bits, is| bits << 1 | (is ^ coin));
            }
        }
        if count != c / 2 {
            let why = "a hint does not have half of the partitions".into();
            return Err(PeerMisbehaved::Malformed { what: "client state", why }.into());
        }
        offsets.truncate(c / 2);
        if let Some(last) = ones.last_mut().filter(|_| !c.is_multiple_of(8)) {
            *last &= (1 << (c % 8)) - 1;
        }
        Ok(Query { ones, offsets })
    }
}

/// The data of one run of [`CHUNK_PARTITIONS`] partitions. It is reused from one query to the next, and
/// wiped on drop.
pub struct PartitionScratch {
    ranks: Zeroizing<Vec<[u8; 16]>>,
    lanes: Offsets,
    /// 1 for the real partitions.
    real: [u8; CHUNK_PARTITIONS],
    offsets: [u16; CHUNK_PARTITIONS],
}

impl Default for PartitionScratch {
    fn default() -> Self {
        let ranks = Zeroizing::new(vec![[0; 16]; CHUNK_PARTITIONS / 16 + CHUNK_PARTITIONS / 4]);
        PartitionScratch {
            ranks,
            lanes: Offsets::default(),
            real: [0; CHUNK_PARTITIONS],
            offsets: [0; CHUNK_PARTITIONS],
        }
    }
}

impl PartitionScratch {
    fn fill(&mut self, prf: &Prf<HalfSets>, real: &RealSet, first: usize, len: usize) {
        let offsets = self.offsets.get_mut(..len).unwrap_or_default();
        self.lanes.offsets(prf, real.id, first, offsets, |k, offset| {
            pick(equal(k, real.with), real.offset.into(), offset.into()) as u16
        });
        let (j, k) = (u64::from(real.id), first as u64);
        let (high, low) = self.ranks.split_at_mut(CHUNK_PARTITIONS / 16);
        // `first` is a multiple of the run's length, so blocks begin where it does.
        prf.aes().grid(RANK + k / 16, high.len(), j, 1, high);
        prf.aes().grid(TIE + k / 4, low.len(), j, 1, low);
        let ranks = high.as_flattened().iter().zip(low.as_flattened().as_chunks().0);
        for ((out, (v, u)), k) in self.real.iter_mut().zip(ranks).zip(first as u32..) {
            let inside = below(joined(*v, u32::from_le_bytes(*u)), real.cut) ^ real.outside;
            *out = ((inside | equal(k, real.with)) & (1 ^ equal(k, real.without))) as u8;
        }
    }
}

impl Drop for PartitionScratch {
    fn drop(&mut self) {
        self.real.zeroize();
        self.offsets.zeroize();
    }
}
