//! Order, supply, request and answer. `spec/lp-treepir.md` draws the bytes.

use crate::params::Params;
use crate::set::Set;
use crate::tree::{Seed, Trees};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// A set without the row of one partition, which it does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) shift: u16,
    /// The tree's key.
    pub(crate) salt: [u8; 16],
    /// The seeds beside the path to a leaf, the highest first.
    pub(crate) beside: Vec<Seed>,
    /// The other numbers of that leaf.
    pub(crate) others: Vec<u16>,
}

/// For each partition the parity of the set, were it this one that lacks its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Zeroizing<Vec<u8>>);

/// Which parities the second server is to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub(crate) key: Zeroizing<[u8; 16]>,
    pub(crate) block: u32,
}

/// The parities of a block of hints. Where the last block has fewer than others, zeros follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supply(pub(crate) Zeroizing<Vec<u8>>);

impl Query {
    /// A set without its row of a partition.
    pub(crate) fn new(trees: &Trees, set: &Set, partition: u32) -> Self {
        let (beside, others) = trees.puncture(&set.root, partition);
        Query { shift: set.shift, salt: set.root.salt, beside, others }
    }
}

impl Answer {
    /// The parity for a partition. All are read.
    pub(crate) fn of(&self, partition: u32, row_bytes: usize) -> Zeroizing<Vec<u8>> {
        let mut parity = Zeroizing::new(vec![0; row_bytes]);
        for (at, bytes) in (0u32..).zip(self.0.chunks_exact(row_bytes)) {
            let mask = ((at ^ partition).wrapping_sub(1) >> 31).wrapping_neg() as u8;
            parity.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum |= byte & mask);
        }
        parity
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        let trees = Trees::new(params);
        2 + 16 * (1 + trees.beside()) + 2 * trees.others()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend(self.shift.to_le_bytes());
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(self.beside.as_flattened());
        out.extend(self.others.iter().flat_map(|number| number.to_le_bytes()));
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let uncanonical = || PeerMisbehaved::NotCanonical("query");
        let (seeds, others) = bytes.split_at(18 + 16 * Trees::new(params).beside());
        let ([a, b, seeds @ ..], others) = (seeds, others.as_chunks().0) else {
            return Err(uncanonical().into());
        };
        let [salt, beside @ ..] = seeds.as_chunks().0 else { return Err(uncanonical().into()) };
        let query = Query {
            shift: u16::from_le_bytes([*a, *b]),
            salt: *salt,
            beside: beside.to_vec(),
            others: others.iter().map(|number| u16::from_le_bytes(*number)).collect(),
        };
        if query.others.iter().chain([&query.shift]).all(|number| *number <= params.mask()) {
            return Ok(query);
        }
        Err(uncanonical().into())
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.partitions() * params.row_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        Ok(Answer(Zeroizing::new(bytes.to_vec())))
    }
}

impl Wire<Params> for Order {
    fn size(_: &Params) -> usize {
        20
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_slice());
        out.extend(self.block.to_le_bytes());
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("order", bytes, Self::size(params))?;
        let parts = bytes.split_first_chunk().zip(bytes.last_chunk());
        match parts.map(|((key, _), block)| (*key, u32::from_le_bytes(*block))) {
            Some((key, block)) if block < params.blocks() => Ok(Order { key: Zeroizing::new(key), block }),
            _ => Err(PeerMisbehaved::NotCanonical("order").into()),
        }
    }
}

impl Wire<Params> for Supply {
    fn size(params: &Params) -> usize {
        params.block_hints() * params.row_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("supply", bytes, Self::size(params))?;
        Ok(Supply(Zeroizing::new(bytes.to_vec())))
    }
}
