//! What travels.

use super::P;
use sotto_core::wire::exact;
use sotto_core::{PeerMisbehaved, Result, Wire};

/// Index and slot.
pub(super) const QUERY_BYTES: usize = 16;

/// Words of eight bytes.
pub(super) fn words<const N: usize>(what: &'static str, bytes: &[u8]) -> Result<[u64; N]> {
    exact(what, bytes, 8 * N)?;
    let mut words = [0; N];
    words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    Ok(words)
}

/// A number of a client's: the client, and which of its own.
pub(super) fn name(client: u64, number: u64) -> u64 {
    client << 32 | number
}

/// The slot an encoded query uses; `None` if it is none.
pub fn used(query: &[u8]) -> Option<u64> {
    words::<2>("query", query).ok().map(|[_, slot]| slot)
}

/// The index in the clear, and what is used up.
pub(super) struct Query {
    pub(super) index: u64,
    pub(super) slot: u64,
}

impl Wire<P> for Query {
    fn size(_: &P) -> usize {
        QUERY_BYTES
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        [self.index, self.slot].iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        match words("query", bytes)? {
            [index, slot] if index < params.records() => Ok(Query { index, slot }),
            _ => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
    }
}

/// The record, masked.
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

/// The number of an order.
pub(super) struct Order(pub(super) u64);

impl Wire<P> for Order {
    fn size(_: &P) -> usize {
        8
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        match words("order", bytes)? {
            [u64::MAX] => Err(PeerMisbehaved::NotCanonical("order").into()),
            [number] => Ok(Order(number)),
        }
    }
}

/// The number of its order, and the sum of the table's words.
pub(super) struct Supply(pub(super) [u64; 2]);

impl Wire<P> for Supply {
    fn size(_: &P) -> usize {
        16
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        Ok(Supply(words("supply", bytes)?))
    }
}
