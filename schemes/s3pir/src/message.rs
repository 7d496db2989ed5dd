//! Request and answer.
#![deny(clippy::indexing_slicing)]

use crate::params::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_math::bits;

/// Two sets of rows, one of each partition between them: which partitions belong to set 1, and c/2 offsets that
/// both sets use, each for its partitions in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// A bit for each partition, from the lowest of the first byte on; c/2 ones.
    pub(crate) ones: Vec<u8>,
    /// c/2 offsets below w.
    pub(crate) offsets: Vec<u16>,
}

/// The parities of both sets, of set 0 first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<u8>);

impl Query {
    /// For each partition the offset of its row.
    #[cfg(feature = "server")]
    pub(crate) fn offsets(&self, params: &Params) -> Vec<u16> {
        let mut ones = 0;
        let offset = |k: usize| {
            let one = usize::from(self.ones.get(k / 8).map_or(0, |byte| byte >> (k % 8) & 1));
            // Of the k partitions so far, `ones` are in set 1. A branch would be guessed wrong every second time.
            let mask = one.wrapping_neg();
            let at = (ones & mask) | ((k - ones) & !mask);
            ones += one;
            // Both sets have c/2 partitions, so no offset is missing.
            self.offsets.get(at).copied().unwrap_or_default()
        };
        (0..params.partitions()).map(offset).collect()
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.request_bytes()
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ones);
        if params.offset_bits() > 0 {
            let offsets: Vec<u64> = self.offsets.iter().map(|offset| u64::from(*offset)).collect();
            bits::pack_words(&offsets, params.offset_bits(), out);
        }
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (c, width) = (params.partitions(), params.offset_bits());
        let (ones, packed) = bytes.split_at(c.div_ceil(8).min(bytes.len()));
        let past_the_last = ones.last().is_some_and(|last| !c.is_multiple_of(8) && last >> (c % 8) != 0);
        let balanced = ones.iter().map(|byte| byte.count_ones() as usize).sum::<usize>() == c / 2;
        let offsets =
            if width == 0 { Some(vec![0; c / 2]) } else { bits::unpack_words(packed, width, c / 2) };
        match offsets {
            Some(offsets) if balanced && !past_the_last => {
                // At most 16 bits each.
                let offsets = offsets.into_iter().map(|offset| offset as u16).collect();
                Ok(Query { ones: ones.to_vec(), offsets })
            }
            _ => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        2 * params.row_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        Ok(Answer(bytes.to_vec()))
    }
}
