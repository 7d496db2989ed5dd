//! Limits on concurrent work: open streams, hint requests. There is a total limit, since each takes
//! memory or seconds of work, and a limit per client, so that no client takes all; the IPv6
//! networks that a provider assigns to one customer have twice and four times as much.

use crate::client::{Network, Peer};
use crate::http_error::HttpError;
use prometheus_client::metrics::gauge::Gauge;
use sotto_wire::Code;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of concurrent permits, in total and per client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    pub(crate) all: usize,
    /// Maximum per client; 0 for any number.
    pub(crate) per_client: usize,
}

/// A limit on concurrent work, with the permits held by each client; by default, clients are
/// networks.
pub(crate) struct ConcurrencyLimit<K: Eq + Hash + Copy = Network> {
    capacity: Capacity,
    taken: Mutex<PermitsInUse<K>>,
    /// Gauge of the permits that are held.
    gauge: Gauge,
    messages: BusyMessages,
}

struct PermitsInUse<K> {
    all: usize,
    by_client: HashMap<K, usize>,
}

/// Messages of refusals: for the total limit, and for that of one client.
pub(crate) type BusyMessages = [&'static str; 2];

/// A permit for concurrent work, released when it is dropped.
pub(crate) struct Permit<K: Eq + Hash + Copy = Network> {
    quota: Arc<ConcurrencyLimit<K>>,
    clients: Vec<K>,
}

impl ConcurrencyLimit {
    /// Takes a permit.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take(self: &Arc<Self>, peer: Peer) -> Result<Permit, HttpError> {
        self.take_for(peer.networks().map(|network| (network, network.clients())))
    }
}

impl<K: Eq + Hash + Copy> ConcurrencyLimit<K> {
    pub(crate) fn new(capacity: Capacity, gauge: Gauge, messages: BusyMessages) -> Arc<Self> {
        let per_client = if capacity.per_client == 0 { usize::MAX } else { capacity.per_client };
        let taken = Mutex::new(PermitsInUse { all: 0, by_client: HashMap::new() });
        Arc::new(ConcurrencyLimit { capacity: Capacity { per_client, ..capacity }, taken, gauge, messages })
    }

    /// Takes a permit for a requester that is counted under each of these names; each name has a
    /// multiple of a client's limit.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take_for(
        self: &Arc<Self>,
        counted_as: impl Iterator<Item = (K, usize)>,
    ) -> Result<Permit<K>, HttpError> {
        let [all, own] = self.messages;
        let mut taken = self.taken();
        if taken.all >= self.capacity.all {
            return Err(HttpError::new(Code::Busy, all));
        }
        let mut clients = Vec::with_capacity(3);
        for (client, times) in counted_as {
            let has = taken.by_client.get(&client).copied().unwrap_or_default();
            if has >= self.capacity.per_client.saturating_mul(times) {
                return Err(HttpError::new(Code::Busy, own));
            }
            clients.push(client);
        }
        taken.all += 1;
        clients.iter().for_each(|client| *taken.by_client.entry(*client).or_default() += 1);
        self.gauge.inc();
        Ok(Permit { quota: self.clone(), clients })
    }

    fn taken(&self) -> MutexGuard<'_, PermitsInUse<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Copy> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut taken = self.quota.taken();
        taken.all -= 1;
        for client in &self.clients {
            if let Some(own) = taken.by_client.get_mut(client) {
                *own -= 1;
                if *own == 0 {
                    taken.by_client.remove(client);
                }
            }
        }
        self.quota.gauge.dec();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    /// A limit in total, without one per client.
    pub(crate) fn capacity(all: usize) -> Arc<ConcurrencyLimit> {
        ConcurrencyLimit::new(Capacity { all, per_client: 0 }, Gauge::default(), ["all", "own"])
    }

    #[test]
    fn so_many_in_all_and_so_many_of_one() {
        let (one, other, third) = (peer("192.0.2.1"), peer("2001:db8::1"), peer("192.0.2.3"));
        let three = Capacity { all: 3, per_client: 2 };
        let quota = ConcurrencyLimit::new(three, Gauge::default(), ["all", "own"]);
        let take = |peer| quota.take(peer).map_err(|refusal| refusal.told().0);
        let held = [take(one).ok().unwrap(), take(one).ok().unwrap()];
        assert_eq!(take(one).err(), Some(Code::Busy), "a third of one client");
        let others = take(other).ok().unwrap();
        assert_eq!(take(third).err(), Some(Code::Busy), "a fourth in all");
        drop(held);
        let held = [take(third).ok().unwrap(), take(peer("2001:db8::2")).ok().unwrap()];
        assert_eq!(take(other).err(), Some(Code::Busy), "an IPv6 network is one client");
        drop((held, others));
        assert!(quota.taken().by_client.is_empty() && quota.taken().all == 0);
        let any = capacity(100);
        let held: Vec<_> = (0..100).map(|_| any.take(one).ok().unwrap()).collect();
        assert!(any.take(one).is_err() && held.len() == 100);
    }

    #[test]
    fn a_customer_of_many_ipv6_networks_has_the_places_of_four_clients() {
        let quota =
            ConcurrencyLimit::new(Capacity { all: 100, per_client: 2 }, Gauge::default(), ["all", "own"]);
        let take = |address: String| quota.take(peer(&address)).ok();
        // 256 networks of one /56, and one network each of 256 /56 of a /48.
        let small: Vec<_> = (0..256).filter_map(|i| take(format!("2001:db8:0:{i:x}::1"))).collect();
        assert_eq!(small.len(), 4);
        let large: Vec<_> = (0..256).filter_map(|i| take(format!("2001:db8:0:{i:x}00::1"))).collect();
        assert_eq!(small.len() + large.len(), 8);
        assert!(take("2001:db8:1::1".into()).is_some());
        drop((small, large));
        assert!(quota.taken().by_client.is_empty() && quota.taken().all == 0);
    }
}
