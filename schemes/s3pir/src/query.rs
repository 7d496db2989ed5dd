//! A query: two sets of rows, made from a hint, and its bytes on the wire.
//!
//! Making one goes through all partitions for every hint, and chooses by masks. The one address that
//! depends on the hint is where the next offset is written: the list grows by one for a real
//! partition and by none for another.
#![deny(clippy::indexing_slicing)]

use crate::hints::OUTSIDE;
use crate::prf::{RANK, TIE, joined};
use crate::{HalfSets, Params};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_hints::one_server::query::{
    CHUNK_PARTITIONS, RequestScratch as Offsets, put_offsets, take_offsets,
};
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

/// A query: two sets of rows, one row of each partition between them. It has the partitions of set
/// 1, and c/2 offsets that both sets use, each for its partitions in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// A bit for each partition that is set for those of set 1, from the lowest bit of the first
    /// byte on; c/2 ones.
    pub(crate) ones: Vec<u8>,
    /// c/2 offsets below w.
    pub(crate) offsets: Vec<u16>,
}

impl Query {
    /// For each partition the offset of its row.
    #[cfg(feature = "server")]
    pub(crate) fn offsets(&self, params: &Params) -> Vec<u16> {
        let mut ones = 0;
        let offset = |k: usize| {
            let one = usize::from(self.ones.get(k / 8).map_or(0, |byte| byte >> (k % 8) & 1));
            // Of the k partitions so far, `ones` are in set 1. A branch would be mispredicted half
            // of the time.
            let mask = one.wrapping_neg();
            let at = (ones & mask) | ((k - ones) & !mask);
            ones += one;
            // Both sets have c/2 partitions, so no offset is missing.
            self.offsets.get(at).copied().unwrap_or_default()
        };
        (0..params.partitions()).map(offset).collect()
    }
}

/// Parameters of either scheme, with one server or with two.
pub(crate) trait EitherParams {
    /// The parameters that both schemes share.
    fn one(&self) -> &Params;
}

impl EitherParams for Params {
    fn one(&self) -> &Params {
        self
    }
}

impl<P: EitherParams> Wire<P> for Query {
    fn size(params: &P) -> usize {
        let (c, bits) = (params.one().partitions(), params.one().offset_bits() as usize);
        c.div_ceil(8) + (c / 2 * bits).div_ceil(8)
    }

    fn put(&self, params: &P, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ones);
        put_offsets(&self.offsets, params.one().offset_bits(), out);
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let c = params.one().partitions();
        let (ones, packed) = bytes.split_at(c.div_ceil(8).min(bytes.len()));
        let past_the_last = ones.last().is_some_and(|last| !c.is_multiple_of(8) && last >> (c % 8) != 0);
        let balanced = ones.iter().map(|byte| byte.count_ones() as usize).sum::<usize>() == c / 2;
        match take_offsets(packed, params.one().offset_bits(), c / 2) {
            Some(offsets) if balanced && !past_the_last => Ok(Query { ones: ones.to_vec(), offsets }),
            _ => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
    }
}
