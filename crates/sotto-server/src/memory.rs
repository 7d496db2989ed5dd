//! Memory for data in transit: requests as their bytes arrive, and answers from before they are
//! made until their last byte is handed to the socket.
//!
//! The shares are those of a shared buffer with dynamic thresholds (Choudhury and Hahne, 1998): a
//! network may hold a fixed multiple of what is free after that. So a client that is alone has most
//! of the memory, many have equal parts, and something is left for a new client at any time.

use crate::client::{Network, Peer};
use crate::http_error::HttpError;
use crate::metrics::{gauge_value, register};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sotto_wire::{Code, Problem};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory for requests and responses, and the networks that hold it.
pub(crate) struct MemoryBudget {
    total: u64,
    used: Mutex<MemoryUsage>,
    /// Gauge of the memory that is held, in bytes.
    gauge: Gauge,
}

#[derive(Default)]
struct MemoryUsage {
    all: u64,
    by_network: HashMap<Network, u64>,
}

/// Memory that is held for a client, until this is dropped.
pub struct MemoryPermit {
    budget: Arc<MemoryBudget>,
    peer: Peer,
    bytes: u64,
}

/// The memory of a response's body, which a route puts into the response's extensions. Without it,
/// the body's announced bytes are taken before it is sent.
#[derive(Clone)]
pub enum BodyMemory {
    /// Memory that was taken for this body, and is held until its last byte is sent.
    Taken(Arc<MemoryPermit>),
    /// The body is in memory or in a mapped file whether it is sent or not.
    Shared,
}

impl MemoryBudget {
    /// Registers the gauge of the memory that is held.
    pub(crate) fn gauge(registry: &mut Registry) -> Gauge {
        register(registry, "request_memory_bytes", "Memory in use for requests and answers, in bytes")
    }

    pub(crate) fn new(total: u64, gauge: Gauge) -> Arc<Self> {
        Arc::new(MemoryBudget { total, used: Mutex::default(), gauge })
    }

    /// Takes memory for a client.
    ///
    /// # Errors
    /// [`Code::Busy`] while others or the client itself hold too much; [`Code::TooLarge`] for more
    /// than a client can ever have.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer, bytes: u64) -> Result<MemoryPermit, HttpError> {
        let mut permit = self.none(peer);
        permit.grow(bytes)?;
        Ok(permit)
    }

    /// An empty permit, for a client whose request is arriving.
    pub(crate) fn none(self: &Arc<Self>, peer: Peer) -> MemoryPermit {
        MemoryPermit { budget: self.clone(), peer, bytes: 0 }
    }

    /// Maximum bytes that one client can have.
    fn max_bytes(&self, peer: Peer) -> u64 {
        let share = |network: Network| self.total / (network.share() + 1) * network.share();
        peer.networks().map(share).min().unwrap_or(0)
    }

    fn used(&self) -> MutexGuard<'_, MemoryUsage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, used: &MemoryUsage) {
        self.gauge.set(gauge_value(used.all));
    }
}

impl MemoryPermit {
    /// Takes `bytes` more bytes; on an error nothing.
    ///
    /// # Errors
    /// As for [`MemoryBudget::take`].
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), HttpError> {
        let (budget, max) = (&self.budget, self.budget.max_bytes(self.peer));
        if self.bytes.saturating_add(bytes) > max {
            let text = format!(
                "the request and its answer take more than {max} bytes, which is what one client may have of the server's \
                 memory: ask for less at once"
            );
            return Err(Problem::new(Code::TooLarge, text).into());
        }
        let mut used = budget.used();
        let Some(free) = budget.total.checked_sub(used.all.saturating_add(bytes)) else {
            return Err(HttpError::new(Code::Busy, "the memory for requests is used up"));
        };
        let fits = |network: Network| {
            let held = used.by_network.get(&network).copied().unwrap_or(0);
            held.saturating_add(bytes) <= free.saturating_mul(network.share())
        };
        if bytes > 0 && !self.peer.networks().all(fits) {
            let why = "the memory for requests of this address is used up";
            return Err(HttpError::new(Code::Busy, why));
        }
        used.all += bytes;
        for network in self.peer.networks() {
            *used.by_network.entry(network).or_default() += bytes;
        }
        self.bytes += bytes;
        budget.show(&used);
        Ok(())
    }

    /// Moves everything held to a new permit, and leaves this one empty.
    pub fn split(&mut self) -> MemoryPermit {
        let bytes = std::mem::take(&mut self.bytes);
        MemoryPermit { budget: self.budget.clone(), peer: self.peer, bytes }
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        let mut used = self.budget.used();
        used.all -= self.bytes;
        for network in self.peer.networks() {
            if let Some(held) = used.by_network.get_mut(&network) {
                *held -= self.bytes;
                if *held == 0 {
                    used.by_network.remove(&network);
                }
            }
        }
        self.budget.show(&used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    fn budget(total: u64) -> Arc<MemoryBudget> {
        MemoryBudget::new(total, Gauge::default())
    }

    fn code(taken: Result<MemoryPermit, HttpError>) -> Option<Code> {
        taken.err().map(|refusal| refusal.told().0)
    }

    #[test]
    fn whoever_is_alone_has_most_and_a_newcomer_always_gets_something() {
        let budget = budget(800);
        let first = budget.take(peer("192.0.2.1"), 700).ok().unwrap();
        assert_eq!(code(budget.take(peer("192.0.2.1"), 1)), Some(Code::Busy));
        let mut held = vec![first];
        for last in 2..5 {
            let address = format!("192.0.2.{last}");
            let free = budget.total - budget.used().all;
            // Seven eighths of what is free.
            held.push(budget.take(peer(&address), free / 8 * 7).ok().unwrap());
            assert!(budget.total > budget.used().all, "nothing is left after {last}");
        }
        assert_eq!(code(budget.take(peer("192.0.2.9"), 800)), Some(Code::TooLarge));
        drop(held);
        assert!(budget.used().by_network.is_empty() && budget.used().all == 0);
    }

    #[test]
    fn a_permit_grows_by_what_comes_and_not_past_its_share() {
        let budget = budget(800);
        let mut one = budget.none(peer("192.0.2.1"));
        assert_eq!((budget.used().all, one.bytes()), (0, 0));
        one.grow(600).ok().unwrap();
        assert!(one.grow(101).is_err());
        assert_eq!((budget.used().all, one.bytes()), (600, 600));
        one.grow(100).ok().unwrap();
        assert_eq!(one.grow(1).unwrap_err().told().0, Code::TooLarge);
        assert_eq!(budget.gauge.get(), 700);
    }

    #[test]
    fn an_ipv6_customer_is_bounded_however_many_networks_it_has() {
        let budget = budget(8000);
        // A /64 may hold half of the memory, a /56 three quarters, a /48 seven eighths.
        let take = |address: &str, bytes| budget.take(peer(address), bytes);
        assert_eq!(code(take("2001:db8::1", 4001)), Some(Code::TooLarge));
        let first = take("2001:db8::1", 4000).ok().unwrap();
        assert_eq!(code(take("2001:db8::2", 1)), Some(Code::Busy), "the same /64");
        assert_eq!(code(take("2001:db8:0:1::1", 2001)), Some(Code::Busy), "the same /56");
        let second = take("2001:db8:0:1::1", 1900).ok().unwrap();
        assert_eq!(code(take("2001:db8:0:2::1", 101)), Some(Code::Busy), "the same /56");
        let third = take("2001:db8:0:100::1", 1000).ok().unwrap();
        assert_eq!(code(take("2001:db8:0:200::1", 101)), Some(Code::Busy), "the same /48");
        let other = take("2001:db8:1::1", 500).ok().unwrap();
        drop((first, second, third, other));
        assert_eq!(budget.used().all, 0);
    }
}
