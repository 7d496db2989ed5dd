//! Order, supply, request and answer. `spec/checklist.md` draws the bytes.

use crate::params::Params;
use crate::set::Set;
use crate::tree::{Seed, Trees};
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::Zeroizing;

/// A punctured set, and a place that it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) shift: u32,
    /// The position that is punctured out.
    pub(crate) position: u16,
    /// A place whose row is wanted too.
    pub(crate) extra: u32,
    /// The numbers beside the position in its leaf.
    pub(crate) others: Vec<u32>,
    /// The tree's key.
    pub(crate) salt: [u8; 16],
    /// The seeds beside the path to that leaf, the highest first.
    pub(crate) beside: Vec<Seed>,
}

/// The parity of the set's rows, and then the row of the extra place.
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
    /// A set without the member at a position.
    pub(crate) fn new(trees: &Trees, set: &Set, position: u32, extra: u32) -> Self {
        let (beside, others) = trees.puncture(&set.root, position);
        // Positions are below 2^16.
        Query { shift: set.shift, position: position as u16, extra, others, salt: set.root.salt, beside }
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        10 + 4 * (params.leaf_rows() - 1) + 16 * (1 + Trees::new(params).beside())
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend(self.shift.to_le_bytes());
        out.extend(self.position.to_le_bytes());
        out.extend(self.extra.to_le_bytes());
        out.extend(self.others.iter().flat_map(|number| number.to_le_bytes()));
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(self.beside.as_flattened());
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let uncanonical = || PeerMisbehaved::NotCanonical("query");
        let (head, seeds) = bytes.split_at(10 + 4 * (params.leaf_rows() - 1));
        let ([a, b, c, d, low, high, e, f, g, h, others @ ..], [salt, beside @ ..]) =
            (head, seeds.as_chunks().0)
        else {
            return Err(uncanonical().into());
        };
        let others = others.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number));
        let query = Query {
            shift: u32::from_le_bytes([*a, *b, *c, *d]),
            position: u16::from_le_bytes([*low, *high]),
            extra: u32::from_le_bytes([*e, *f, *g, *h]),
            others: others.collect(),
            salt: *salt,
            beside: beside.to_vec(),
        };
        let places = [query.shift, query.extra];
        let inside = places.iter().chain(&query.others).all(|place| *place <= params.mask());
        if inside && usize::from(query.position) < params.set_rows() {
            return Ok(query);
        }
        Err(uncanonical().into())
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
