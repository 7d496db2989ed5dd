//! A pair of queries: its three forms, and its bytes on the wire, which `spec/checklist.md` draws.
//!
//! A set with the requested member punctured out never contains that member, so a server could
//! exclude the rows that it is not asked for. Therefore each server is sent a set that contains the
//! row as often as a random set would. T is what a server gets: s - 1 different places, and an
//! extra place e that is none of them. In the form
//!
//! - `SPEND`, the first server gets a hint without the row, the second a fresh set A without it,
//!   and both a random e;
//! - `FIRST`, with probability (s - 1)/n, the first gets A with the row but without another member,
//!   which is its e; the second A without the row. The parities differ by the row and by that
//!   member's row, which the first returns;
//! - `SECOND`, with the same probability, the two change places.
//!
//! README.md proves that T and e are uniform in the view of either server. All forms take the same
//! steps: the form must not be visible in time, since the extra place would reveal something with
//! it.
#![deny(clippy::indexing_slicing)]

use crate::set::{at, choose_set, containing, either, outside};
use crate::{Params, PuncturedSets};
use sotto_core::{CryptoRng, PeerMisbehaved, Result, TwoServers, Wire, wire};
#[cfg(feature = "server")]
use sotto_hints::two_server::TreeScratch;
use sotto_hints::two_server::{Seed, Set, Trees, Workspace};
#[cfg(feature = "server")]
use sotto_math::aes::Aes;

/// The form in which a hint is spent.
pub(crate) const SPEND: u8 = 0;
/// The form in which the first server is sent the row among others.
pub(crate) const FIRST: u8 = 1;
/// The form in which the second server is sent the row among others.
pub(crate) const SECOND: u8 = 2;

/// Two queries, and the client's data about them.
pub(crate) struct QueryPair {
    pub(crate) queries: TwoServers<Query>,
    pub(crate) form: u8,
    /// The set that replaces the hint, if it is spent.
    pub(crate) fresh: Set<u32>,
}

/// Makes queries for a place. `found` is a set that contains it, and its position; if there is
/// none, a random set is sent.
pub(crate) fn build(
    place: u32,
    found: Option<(Set<u32>, u32)>,
    tools: &mut Workspace<PuncturedSets>,
    rng: &mut dyn CryptoRng,
) -> QueryPair {
    let (fresh, own) = containing(place, tools, rng);
    let random = containing(place, tools, rng);
    // Without a hint the row is lost: 2^-40 over the whole budget, so nobody will ever observe this
    // branch.
    let (hint, hinted) = found.unwrap_or(random);

    let (trees, scratch) = (&tools.trees, &mut tools.scratch);
    let last = trees.numbers() as u32 - 1;

    // n is a power of two, so both probabilities are exact.
    let chance = rng.next_u32() & trees.mask();
    let first = u32::from(chance < last);
    let second = u32::from(chance < 2 * last) & !first;
    let shared = first | second;

    let other = loop {
        let position = rng.next_u32() & last;
        if position != own {
            break position;
        }
    };
    let member = at(trees.grow([fresh.root].into_iter(), scratch), other) ^ fresh.shift;

    let set = choose_set(shared, [&hint, &fresh]);
    let position = either(first, [either(second, [hinted, own]), other]);
    let extra = either(first, [outside(&set, position, trees, scratch, rng), member]);
    let to_first = Query::new(trees, &set, position, extra);

    let position = either(second, [own, other]);
    let extra = either(second, [outside(&fresh, position, trees, scratch, rng), member]);
    let to_second = Query::new(trees, &fresh, position, extra);

    let form = (u32::from(FIRST) * first + u32::from(SECOND) * second) as u8;
    QueryPair { queries: TwoServers(to_first, to_second), form, fresh }
}

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
        let (key, mut scratch, mut beside) =
            (Aes::new(&self.salt), TreeScratch::default(), self.beside.as_slice());
        let place = |number: &u32| (number ^ self.shift) as usize;
        for level in 0..trees.depth() {
            let (now, below) = beside.split_at_checked(trees.fan(level) - 1).unwrap_or_default();
            each(&mut trees.grow_below(&key, level, now, &mut scratch).iter().map(place));
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
