//! Order, supply and answer. What a query is, each scheme says.
#![deny(clippy::indexing_slicing)]

use super::{Family, Params};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// Rows, or sums of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Zeroizing<Vec<u8>>);

/// Which parities the second server is to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What the sets are drawn from.
    pub key: Zeroizing<[u8; 16]>,
    /// Of which block of hints.
    pub block: u32,
}

/// The parities of a block of hints. Where the last block has fewer than others, zeros follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supply(pub Zeroizing<Vec<u8>>);

impl<F: Family> Wire<Params<F>> for Answer {
    fn size(params: &Params<F>) -> usize {
        F::answer_rows(params.numbers() as u64) as usize * params.row_bytes()
    }

    fn put(&self, _: &Params<F>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        Ok(Answer(Zeroizing::new(bytes.to_vec())))
    }
}

impl<F> Wire<Params<F>> for Order {
    fn size(_: &Params<F>) -> usize {
        20
    }

    fn put(&self, _: &Params<F>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_slice());
        out.extend(self.block.to_le_bytes());
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        wire::exact("order", bytes, Self::size(params))?;
        let parts = bytes.split_first_chunk().zip(bytes.last_chunk());
        match parts.map(|((key, _), block)| (*key, u32::from_le_bytes(*block))) {
            Some((key, block)) if block < params.blocks() => Ok(Order { key: Zeroizing::new(key), block }),
            _ => Err(PeerMisbehaved::NotCanonical("order").into()),
        }
    }
}

impl<F> Wire<Params<F>> for Supply {
    fn size(params: &Params<F>) -> usize {
        params.block_hints() * params.row_bytes()
    }

    fn put(&self, _: &Params<F>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        wire::exact("supply", bytes, Self::size(params))?;
        Ok(Supply(Zeroizing::new(bytes.to_vec())))
    }
}
