//! Order and supply. Queries and answers are those of the one-server scheme.
#![deny(clippy::indexing_slicing)]

use super::params::Params;
use crate::message::{Answer, Query};
use crate::params as one;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// Which block of ids a client wants parities of, and the key that makes sets of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Order {
    pub(crate) key: Zeroizing<[u8; 16]>,
    pub(crate) block: u32,
}

/// The parities of a block: of H hints; or of the halves of H/2 pairs, and then of their other halves.
#[derive(Clone, PartialEq, Eq)]
pub struct Supply(pub(crate) Zeroizing<Vec<u8>>);

impl Wire<Params> for Order {
    fn size(_: &Params) -> usize {
        20
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_ref());
        out.extend_from_slice(&self.block.to_le_bytes());
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("order", bytes, Self::size(params))?;
        let parts = bytes.split_first_chunk().map(|(key, block)| (*key, block.first_chunk()));
        let (key, block) = match parts {
            Some((key, Some(block))) => (Zeroizing::new(key), u32::from_le_bytes(*block)),
            _ => return Err(PeerMisbehaved::NotCanonical("order").into()),
        };
        if u64::from(block) >= params.blocks() as u64 {
            let why = format!("block {block} of {}", params.blocks());
            return Err(PeerMisbehaved::Malformed { what: "order", why }.into());
        }
        Ok(Order { key, block })
    }
}

impl Wire<Params> for Supply {
    fn size(params: &Params) -> usize {
        params.supply_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("supply", bytes, Self::size(params))?;
        Ok(Supply(Zeroizing::new(bytes.to_vec())))
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        <Query as Wire<one::Params>>::size(params.one())
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.put(params.one(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        Query::take(params.one(), bytes)
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        <Answer as Wire<one::Params>>::size(params.one())
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.put(params.one(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        Answer::take(params.one(), bytes)
    }
}
