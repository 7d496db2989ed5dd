//! A query on the wire, and reading an answer. `spec/lp-treepir.md` draws the bytes.
#![deny(clippy::indexing_slicing)]

use crate::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_hints::two_server::sets::equal;
use sotto_hints::two_server::{Answer, Seed, Set, Trees};

/// A set without the row of one partition, which it does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) shift: u16,
    /// The public key of the tree.
    pub(crate) salt: [u8; 16],
    /// The seeds beside the path to a leaf, the highest first.
    pub(crate) beside: Vec<Seed>,
    /// The other numbers of that leaf.
    pub(crate) others: Vec<u16>,
}

impl Query {
    /// A set without its row of one partition.
    pub(crate) fn new(trees: &Trees<u16>, set: &Set<u16>, partition: u32) -> Self {
        let (beside, others) = trees.puncture(&set.root, partition);
        Query { shift: set.shift, salt: set.root.salt, beside, others }
    }
}

/// Adds the parity for a partition to a sum. All parities are read.
pub(crate) fn of_partition(answer: &Answer, partition: u32, sum: &mut [u8]) {
    for (at, bytes) in (0u32..).zip(answer.0.chunks_exact(sum.len())) {
        let mask = equal(at, partition) as u8;
        sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum |= byte & mask);
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        let trees = params.trees();
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
        let (seeds, others) = bytes.split_at(18 + 16 * params.trees().beside());
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
        if query.others.iter().chain([&query.shift]).all(|number| *number <= params.trees().mask()) {
            return Ok(query);
        }
        Err(uncanonical().into())
    }
}
