//! The three forms of a pair of queries.
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

use crate::PuncturedSets;
use crate::message::Query;
use crate::set::{at, choose_set, containing, either, outside};
use sotto_core::{CryptoRng, TwoServers};
use sotto_hints::two_server::{Set, Workspace};

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

    let (trees, room) = (&tools.trees, &mut tools.room);
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
    let member = at(trees.grow([fresh.root].into_iter(), room), other) ^ fresh.shift;

    let set = choose_set(shared, [&hint, &fresh]);
    let position = either(first, [either(second, [hinted, own]), other]);
    let extra = either(first, [outside(&set, position, trees, room, rng), member]);
    let to_first = Query::new(trees, &set, position, extra);

    let position = either(second, [own, other]);
    let extra = either(second, [outside(&fresh, position, trees, room, rng), member]);
    let to_second = Query::new(trees, &fresh, position, extra);

    let form = (u32::from(FIRST) * first + u32::from(SECOND) * second) as u8;
    QueryPair { queries: TwoServers(to_first, to_second), form, fresh }
}
