//! Order, supply and answer. What a query is, each scheme says.
#![deny(clippy::indexing_slicing)]

use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// How long messages are: a function of a scheme's parameters.
pub trait MessageLengths {
    /// Bytes of an answer.
    fn answer_bytes(&self) -> usize;

    /// Blocks of hints that can be ordered; none where clients stream the table.
    fn blocks(&self) -> u32 {
        0
    }

    /// Bytes of a supply.
    fn supply_bytes(&self) -> usize {
        0
    }
}

/// Rows, or sums of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Zeroizing<Vec<u8>>);

/// Which parities a server is to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintRequest {
    /// What the sets are drawn from.
    pub key: Zeroizing<[u8; 16]>,
    /// Of which block of hints.
    pub block: u32,
}

/// The parities of a block of hints. Where the last block has fewer than others, zeros follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintResponse(pub Zeroizing<Vec<u8>>);

/// A message of octets, as many as the parameters say.
macro_rules! octets {
    ($name:ident, $called:literal, $bytes:ident) => {
        impl<P: MessageLengths> Wire<P> for $name {
            fn size(params: &P) -> usize {
                params.$bytes()
            }

            fn put(&self, _: &P, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0);
            }

            fn take(params: &P, bytes: &[u8]) -> Result<Self> {
                wire::exact($called, bytes, params.$bytes())?;
                Ok($name(Zeroizing::new(bytes.to_vec())))
            }
        }
    };
}

octets!(Answer, "answer", answer_bytes);
octets!(HintResponse, "supply", supply_bytes);

impl<P: MessageLengths> Wire<P> for HintRequest {
    fn size(_: &P) -> usize {
        20
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_slice());
        out.extend(self.block.to_le_bytes());
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        wire::exact("order", bytes, 20)?;
        let parts = bytes.split_first_chunk().zip(bytes.last_chunk());
        match parts.map(|((key, _), block)| (*key, u32::from_le_bytes(*block))) {
            Some((key, block)) if block < params.blocks() => {
                Ok(HintRequest { key: Zeroizing::new(key), block })
            }
            _ => Err(PeerMisbehaved::NotCanonical("order").into()),
        }
    }
}
