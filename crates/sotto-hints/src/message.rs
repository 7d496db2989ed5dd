//! Hint request, hint response and answer. Each scheme defines its own query.
#![deny(clippy::indexing_slicing)]

use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// Message lengths as functions of a scheme's parameters.
pub trait MessageLengths {
    /// Bytes of an answer.
    fn answer_bytes(&self) -> usize;

    /// Number of hint blocks that a client can request; 0 where clients stream the table.
    fn blocks(&self) -> u32 {
        0
    }

    /// Bytes of a hint response.
    fn hint_response_bytes(&self) -> usize {
        0
    }
}

/// An answer: rows, or sums of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Zeroizing<Vec<u8>>);

/// A request for the parities of one block of hints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintRequest {
    /// The key that the sets are derived from.
    pub key: Zeroizing<[u8; 16]>,
    /// The number of the block, from 0.
    pub block: u32,
}

/// The parities of a block of hints. If the last block has fewer hints than others, zeros follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintResponse(pub Zeroizing<Vec<u8>>);

/// Implements `Wire` for a message of bytes whose number follows from the parameters.
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
octets!(HintResponse, "hint response", hint_response_bytes);

impl<P: MessageLengths> Wire<P> for HintRequest {
    fn size(_: &P) -> usize {
        20
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_slice());
        out.extend(self.block.to_le_bytes());
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        wire::exact("hint request", bytes, 20)?;
        let parts = bytes.split_first_chunk().zip(bytes.last_chunk());
        match parts.map(|((key, _), block)| (*key, u32::from_le_bytes(*block))) {
            Some((key, block)) if block < params.blocks() => {
                Ok(HintRequest { key: Zeroizing::new(key), block })
            }
            _ => Err(PeerMisbehaved::NotCanonical("hint request").into()),
        }
    }
}
