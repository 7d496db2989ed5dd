//! A query on the wire.
#![deny(clippy::indexing_slicing)]

use crate::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_hints::one_server::request::{put_offsets, take_offsets};

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
