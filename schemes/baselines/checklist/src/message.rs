//! A query on the wire. `spec/checklist.md` draws the bytes.
#![deny(clippy::indexing_slicing)]

use crate::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
#[cfg(feature = "server")]
use sotto_hints::two_server::TreeScratch;
use sotto_hints::two_server::{Seed, Set, Trees};
#[cfg(feature = "server")]
use sotto_math::aes::Aes;

/// A punctured set, and a place that it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) shift: u32,
    /// The position of the punctured member.
    pub(crate) position: u16,
    /// A place whose row is requested too.
    pub(crate) extra: u32,
    /// The other numbers in the leaf of the position.
    pub(crate) others: Vec<u32>,
    /// The public key of the tree.
    pub(crate) salt: [u8; 16],
    /// The seeds beside the path to that leaf, the highest first.
    pub(crate) beside: Vec<Seed>,
}

impl Query {
    /// A set without the member at a position.
    pub(crate) fn new(trees: &Trees<u32>, set: &Set<u32>, position: u32, extra: u32) -> Self {
        let (beside, others) = trees.puncture(&set.root, position);
        // Positions are below 2^16.
        Query { shift: set.shift, position: position as u16, extra, others, salt: set.root.salt, beside }
    }

    /// Passes the members to `each`, in runs that do not reveal the position.
    #[cfg(feature = "server")]
    pub(crate) fn members(&self, trees: &Trees<u32>, mut each: impl FnMut(&mut dyn Iterator<Item = usize>)) {
        let (key, mut room, mut beside) =
            (Aes::new(&self.salt), TreeScratch::default(), self.beside.as_slice());
        let place = |number: &u32| (number ^ self.shift) as usize;
        for level in 0..trees.depth() {
            let (now, below) = beside.split_at_checked(trees.fan(level) - 1).unwrap_or_default();
            each(&mut trees.grow_below(&key, level, now, &mut room).iter().map(place));
            beside = below;
        }
        each(&mut self.others.iter().map(place));
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        let trees = params.trees();
        10 + 4 * trees.others() + 16 * (1 + trees.beside())
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
        let trees = params.trees();
        let uncanonical = || PeerMisbehaved::NotCanonical("query");
        let (head, seeds) = bytes.split_at(10 + 4 * trees.others());
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
        let inside = places.iter().chain(&query.others).all(|place| *place <= trees.mask());
        if inside && usize::from(query.position) < params.numbers() {
            return Ok(query);
        }
        Err(uncanonical().into())
    }
}
