//! What travels: a query that says which slot it uses, and the record.

use super::P;
use sotto_core::wire::exact;
use sotto_core::{PeerMisbehaved, Result, Wire};

/// Key, slot, index and coin.
pub(super) const QUERY_BYTES: usize = 32;

/// A question in the clear.
#[derive(Clone, Copy)]
pub(super) struct Query {
    /// Which client this is, and which of its preparations.
    pub(super) key: u64,
    /// What is used up.
    pub(super) slot: u64,
    pub(super) index: u64,
    /// Drawn afresh for each query, so that no two are equal unless one was sent again.
    pub(super) coin: u64,
}

/// The key and the slot an encoded query uses; `None` if it is none.
pub fn used(query: &[u8]) -> Option<(u64, u64)> {
    fields(query).map(|[key, slot, _, _]| (key, slot))
}

fn fields(bytes: &[u8]) -> Option<[u64; 4]> {
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return None;
    }
    words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>().try_into().ok()
}

impl Wire<P> for Query {
    fn size(_: &P) -> usize {
        QUERY_BYTES
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        for field in [self.key, self.slot, self.index, self.coin] {
            out.extend(field.to_le_bytes());
        }
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("query", bytes, QUERY_BYTES)?;
        let [key, slot, index, coin] = fields(bytes).unwrap_or_default();
        if index >= params.0.records || slot >= params.0.slots {
            return Err(PeerMisbehaved::NotCanonical("query").into());
        }
        Ok(Query { key, slot, index, coin })
    }
}

/// The record.
pub(super) struct Answer(pub(super) Vec<u8>);

impl Wire<P> for Answer {
    fn size(params: &P) -> usize {
        params.record_bytes()
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, params.record_bytes())?;
        Ok(Answer(bytes.to_vec()))
    }
}
