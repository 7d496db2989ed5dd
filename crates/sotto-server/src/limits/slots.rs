//! Limits on what clients hold at once: open streams, hint requests, and memory for data in transit,
//! requests as their bytes arrive, and answers from before they are made until their last byte is
//! handed to the socket.
//!
//! There is a total, since each takes memory or seconds of work, and a share of one network, so that
//! no client takes all. Shares of memory are those of a shared buffer with dynamic thresholds
//! (Choudhury and Hahne, 1998): a network may hold a fixed multiple of what is free after that. So a
//! client that is alone has most of the memory, many have equal parts, and something is left for a
//! new client at any time.

use crate::client::{Network, Peer};
use crate::http_error::HttpError;
use crate::locked;
use crate::metrics::gauge_value;
use prometheus_client::metrics::gauge::Gauge;
use sotto_wire::{Problem, ProblemCode};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Slots that clients hold, and the networks that hold them.
pub(crate) struct Slots {
    total: u64,
    share: Share,
    used: Mutex<SlotsInUse>,
    /// Gauge of the slots that are held.
    gauge: Gauge,
    /// Messages of refusals: for the total, and for one client.
    messages: [&'static str; 2],
}

/// The slots that one network may hold.
#[derive(Debug, Clone, Copy)]
enum Share {
    /// A number for one client; the IPv6 networks that a provider assigns to one customer have
    /// twice and four times as much.
    Number(u64),
    /// A multiple of what is free.
    OfFree,
}

#[derive(Default)]
struct SlotsInUse {
    all: u64,
    by_network: HashMap<Network, u64>,
}

/// Slots that are held for a client, until this is dropped.
pub struct Permit {
    slots: Arc<Slots>,
    peer: Peer,
    held: u64,
}

/// The memory of a response's body, which a route puts into the response's extensions. Without it,
/// the body's announced bytes are taken before it is sent.
#[derive(Clone)]
pub enum BodyMemory {
    /// Memory that was taken for this body, and is held until its last byte is sent.
    Taken(Arc<Permit>),
    /// The body is in memory or in a mapped file whether it is sent or not.
    Shared,
}

impl Slots {
    /// Slots for concurrent work: `total`, and `per_client` for one client (0: any number).
    pub(crate) fn new(
        total: usize,
        per_client: usize,
        gauge: Gauge,
        messages: [&'static str; 2],
    ) -> Arc<Self> {
        let share = Share::Number(if per_client == 0 { u64::MAX } else { per_client as u64 });
        Arc::new(Slots { total: total as u64, share, used: Mutex::default(), gauge, messages })
    }

    /// Memory of `total` bytes.
    pub(crate) fn memory(total: u64, gauge: Gauge) -> Arc<Self> {
        let messages =
            ["the memory for requests is used up", "the memory for requests of this address is used up"];
        Arc::new(Slots { total, share: Share::OfFree, used: Mutex::default(), gauge, messages })
    }

    /// Takes slots for a client.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`] while others or the client itself hold too many; [`ProblemCode::TooLarge`] for more
    /// memory than a client can ever have.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer, count: u64) -> Result<Permit, HttpError> {
        let mut permit = self.none(peer);
        permit.grow(count)?;
        Ok(permit)
    }

    /// An empty permit, for a client whose request is arriving.
    pub(crate) fn none(self: &Arc<Self>, peer: Peer) -> Permit {
        Permit { slots: self.clone(), peer, held: 0 }
    }

    /// Maximum number that one client can have.
    fn max(&self, peer: Peer) -> u64 {
        let share = |network: Network| match self.share {
            Share::Number(_) => self.total,
            Share::OfFree => self.total / (network.share() + 1) * network.share(),
        };
        peer.networks().map(share).min().unwrap_or(0)
    }
}

impl Permit {
    /// Takes `count` more slots; on an error none.
    ///
    /// # Errors
    /// As for [`Slots::take`].
    pub(crate) fn grow(&mut self, count: u64) -> Result<(), HttpError> {
        let (slots, max) = (&self.slots, self.slots.max(self.peer));
        if matches!(slots.share, Share::OfFree) && self.held.saturating_add(count) > max {
            let text = format!(
                "the request and its answer take more than {max} bytes, which is what one client may have of the \
                 server's memory: ask for less at once"
            );
            return Err(Problem::new(ProblemCode::TooLarge, text).into());
        }
        let mut used = locked(&slots.used);
        let [all, own] = slots.messages;
        let Some(free) = slots.total.checked_sub(used.all.saturating_add(count)) else {
            return Err(HttpError::new(ProblemCode::Busy, all));
        };
        let fits = |network: Network| {
            let held = used.by_network.get(&network).copied().unwrap_or(0);
            let share = match slots.share {
                Share::Number(number) => number.saturating_mul(network.clients() as u64),
                Share::OfFree => free.saturating_mul(network.share()),
            };
            held.saturating_add(count) <= share
        };
        if count > 0 && !self.peer.networks().all(fits) {
            return Err(HttpError::new(ProblemCode::Busy, own));
        }
        used.all += count;
        for network in self.peer.networks() {
            *used.by_network.entry(network).or_default() += count;
        }
        self.held += count;
        slots.gauge.set(gauge_value(used.all));
        Ok(())
    }

    /// Moves everything held to a new permit, and leaves this one empty.
    pub fn split(&mut self) -> Permit {
        let held = std::mem::take(&mut self.held);
        Permit { slots: self.slots.clone(), peer: self.peer, held }
    }

    /// Number of slots that are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u64 {
        self.held
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = locked(&self.slots.used);
        used.all -= self.held;
        for network in self.peer.networks() {
            if let Some(held) = used.by_network.get_mut(&network) {
                *held -= self.held;
                if *held == 0 {
                    used.by_network.remove(&network);
                }
            }
        }
        self.slots.gauge.set(gauge_value(used.all));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    /// A limit in total, without one per client.
    pub(crate) fn capacity(total: usize) -> Arc<Slots> {
        Slots::new(total, 0, Gauge::default(), ["all", "own"])
    }

    fn memory(total: u64) -> Arc<Slots> {
        Slots::memory(total, Gauge::default())
    }

    fn code(taken: Result<Permit, HttpError>) -> Option<ProblemCode> {
        taken.err().map(|error| error.summary().0)
    }

    #[test]
    fn so_many_in_all_and_so_many_of_one() {
        let (one, other, third) = (peer("192.0.2.1"), peer("2001:db8::1"), peer("192.0.2.3"));
        let slots = Slots::new(3, 2, Gauge::default(), ["all", "own"]);
        let take = |peer| slots.take(peer, 1);
        let held = [take(one).ok().unwrap(), take(one).ok().unwrap()];
        assert_eq!(take(one).err().unwrap().summary().1, "own", "a third of one client");
        let others = take(other).ok().unwrap();
        assert_eq!(take(third).err().unwrap().summary().1, "all", "a fourth in all");
        drop(held);
        let held = [take(third).ok().unwrap(), take(peer("2001:db8::2")).ok().unwrap()];
        assert_eq!(code(take(other)), Some(ProblemCode::Busy), "an IPv6 network is one client");
        assert_eq!(slots.gauge.get(), 3);
        drop((held, others));
        assert!(locked(&slots.used).by_network.is_empty() && locked(&slots.used).all == 0);
        let any = capacity(100);
        let held: Vec<_> = (0..100).map(|_| any.take(one, 1).ok().unwrap()).collect();
        assert!(any.take(one, 1).is_err() && held.len() == 100);
    }

    #[test]
    fn a_customer_of_many_ipv6_networks_has_the_places_of_four_clients() {
        let slots = Slots::new(100, 2, Gauge::default(), ["all", "own"]);
        let take = |address: String| slots.take(peer(&address), 1).ok();
        // 256 networks of one /56, and one network each of 256 /56 of a /48.
        let small: Vec<_> = (0..256).filter_map(|i| take(format!("2001:db8:0:{i:x}::1"))).collect();
        assert_eq!(small.len(), 4);
        let large: Vec<_> = (0..256).filter_map(|i| take(format!("2001:db8:0:{i:x}00::1"))).collect();
        assert_eq!(small.len() + large.len(), 8);
        assert!(take("2001:db8:1::1".into()).is_some());
    }

    #[test]
    fn whoever_is_alone_has_most_and_a_newcomer_always_gets_something() {
        let memory = memory(800);
        let first = memory.take(peer("192.0.2.1"), 700).ok().unwrap();
        assert_eq!(code(memory.take(peer("192.0.2.1"), 1)), Some(ProblemCode::Busy));
        let mut held = vec![first];
        for last in 2..5 {
            let address = format!("192.0.2.{last}");
            let free = memory.total - locked(&memory.used).all;
            // Seven eighths of what is free.
            held.push(memory.take(peer(&address), free / 8 * 7).ok().unwrap());
            assert!(memory.total > locked(&memory.used).all, "nothing is left after {last}");
        }
        assert_eq!(code(memory.take(peer("192.0.2.9"), 800)), Some(ProblemCode::TooLarge));
        drop(held);
        assert!(locked(&memory.used).by_network.is_empty() && locked(&memory.used).all == 0);
    }

    #[test]
    fn a_permit_grows_by_what_comes_and_not_past_its_share() {
        let memory = memory(800);
        let mut one = memory.none(peer("192.0.2.1"));
        assert_eq!((locked(&memory.used).all, one.held()), (0, 0));
        one.grow(600).ok().unwrap();
        assert!(one.grow(101).is_err());
        assert_eq!((locked(&memory.used).all, one.held()), (600, 600));
        one.grow(100).ok().unwrap();
        assert_eq!(one.grow(1).unwrap_err().summary().0, ProblemCode::TooLarge);
        assert_eq!(memory.gauge.get(), 700);
    }

    #[test]
    fn an_ipv6_customer_is_bounded_however_many_networks_it_has() {
        let memory = memory(8000);
        // A /64 may hold half of the memory, a /56 three quarters, a /48 seven eighths.
        let take = |address: &str, bytes| memory.take(peer(address), bytes);
        assert_eq!(code(take("2001:db8::1", 4001)), Some(ProblemCode::TooLarge));
        let first = take("2001:db8::1", 4000).ok().unwrap();
        assert_eq!(code(take("2001:db8::2", 1)), Some(ProblemCode::Busy), "the same /64");
        assert_eq!(code(take("2001:db8:0:1::1", 2001)), Some(ProblemCode::Busy), "the same /56");
        let second = take("2001:db8:0:1::1", 1900).ok().unwrap();
        assert_eq!(code(take("2001:db8:0:2::1", 101)), Some(ProblemCode::Busy), "the same /56");
        let third = take("2001:db8:0:100::1", 1000).ok().unwrap();
        assert_eq!(code(take("2001:db8:0:200::1", 101)), Some(ProblemCode::Busy), "the same /48");
        let other = take("2001:db8:1::1", 500).ok().unwrap();
        drop((first, second, third, other));
        assert_eq!(locked(&memory.used).all, 0);
    }
}
