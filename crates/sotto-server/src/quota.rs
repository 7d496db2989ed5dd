//! Places for what is under way: open streams, orders of hints, bytes of requests. So many in all, since each takes memory or
//! seconds of work, and so many of one client, so that nobody takes them all.

use crate::admission::Peer;
use crate::refusal::Refusal;
use prometheus_client::metrics::gauge::Gauge;
use sotto_wire::Code;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many places there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) all: usize,
    /// Those of one client; 0 for any number.
    pub(crate) per_client: usize,
    /// So many are for clients that have none yet.
    pub(crate) for_others: usize,
}

/// The places there are, and who has them: networks, unless something else is said.
pub(crate) struct Quota<K: Eq + Hash + Copy = IpAddr> {
    places: Places,
    taken: Mutex<Taken<K>>,
    /// How many are taken.
    gauge: Gauge,
    words: Words,
}

struct Taken<K> {
    all: usize,
    by_client: HashMap<K, usize>,
}

/// What is said when there is no place: in all, and for one client.
pub(crate) type Words = [&'static str; 2];

/// Places, given back when this is dropped.
pub(crate) struct Open<K: Eq + Hash + Copy = IpAddr> {
    quota: Arc<Quota<K>>,
    client: K,
    places: usize,
}

impl Quota {
    /// Takes a place.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take(self: &Arc<Self>, peer: Peer) -> Result<Open, Refusal> {
        self.take_many(peer, 1)
    }

    /// Takes places; all there are, where more are wanted.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take_many(self: &Arc<Self>, peer: Peer, wanted: usize) -> Result<Open, Refusal> {
        self.take_for(peer.network(), wanted)
    }
}

impl<K: Eq + Hash + Copy> Quota<K> {
    pub(crate) fn new(places: Places, gauge: Gauge, words: Words) -> Arc<Self> {
        let per_client = if places.per_client == 0 { usize::MAX } else { places.per_client };
        let taken = Mutex::new(Taken { all: 0, by_client: HashMap::new() });
        Arc::new(Quota { places: Places { per_client, ..places }, taken, gauge, words })
    }

    /// Takes places for somebody; all there are, where more are wanted.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take_for(self: &Arc<Self>, client: K, wanted: usize) -> Result<Open<K>, Refusal> {
        let places = wanted.clamp(1, self.places.all);
        let [all, own] = self.words;
        let mut taken = self.taken();
        let left = (self.places.all - taken.all).checked_sub(places);
        let Some(left) = left else { return Err(Refusal::new(Code::Busy, all)) };
        let has = taken.by_client.get(&client).copied().unwrap_or_default();
        let too_many = has.saturating_add(places) > self.places.per_client;
        if has > 0 && (too_many || left < self.places.for_others) {
            return Err(Refusal::new(Code::Busy, own));
        }
        taken.all += places;
        taken.by_client.insert(client, has + places);
        self.gauge.inc_by(i64::try_from(places).unwrap_or(i64::MAX));
        Ok(Open { quota: self.clone(), client, places })
    }

    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Copy> Drop for Open<K> {
    fn drop(&mut self) {
        let mut taken = self.quota.taken();
        taken.all -= self.places;
        if let Some(own) = taken.by_client.get_mut(&self.client) {
            *own -= self.places;
            if *own == 0 {
                taken.by_client.remove(&self.client);
            }
        }
        self.quota.gauge.dec_by(i64::try_from(self.places).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    /// So many places for whoever comes.
    pub(crate) fn places(all: usize) -> Arc<Quota> {
        Quota::new(Places { all, per_client: 0, for_others: 0 }, Gauge::default(), ["all", "own"])
    }

    #[test]
    fn so_many_in_all_and_so_many_of_one() {
        let (one, other, third) = (peer("192.0.2.1"), peer("2001:db8::1"), peer("192.0.2.3"));
        let three = Places { all: 3, per_client: 2, for_others: 0 };
        let quota = Quota::new(three, Gauge::default(), ["all", "own"]);
        let take = |peer| quota.take(peer).map_err(|refusal| refusal.0.code);
        let held = [take(one).ok().unwrap(), take(one).ok().unwrap()];
        assert_eq!(take(one).err(), Some(Code::Busy), "a third of one client");
        let others = take(other).ok().unwrap();
        assert_eq!(take(third).err(), Some(Code::Busy), "a fourth in all");
        drop(held);
        let held = [take(third).ok().unwrap(), take(peer("2001:db8::2")).ok().unwrap()];
        assert_eq!(take(other).err(), Some(Code::Busy), "an IPv6 network is one client");
        drop((held, others));
        assert!(quota.taken().by_client.is_empty() && quota.taken().all == 0);
        let any = places(100);
        let held: Vec<_> = (0..100).map(|_| any.take(one).ok().unwrap()).collect();
        assert!(any.take(one).is_err() && held.len() == 100);
    }

    #[test]
    fn nobody_takes_what_is_left_for_others() {
        let (one, other, third) = (peer("192.0.2.1"), peer("192.0.2.2"), peer("192.0.2.3"));
        let places = Places { all: 80, per_client: 0, for_others: 10 };
        let quota = Quota::new(places, Gauge::default(), ["all", "own"]);
        let take = |peer, places| quota.take_many(peer, places).map_err(|refusal| refusal.0.message);
        let held = [take(one, 60).ok().unwrap(), take(one, 10).ok().unwrap()];
        assert_eq!(take(one, 1).err().unwrap(), "own");
        let first = take(other, 5).ok().unwrap();
        assert_eq!(
            (take(other, 1).err().unwrap(), take(third, 6).err().unwrap()),
            ("own".into(), "all".into())
        );
        drop((held, first));
        assert!(take(one, usize::MAX).is_ok(), "the first of a client may take all");
        assert_eq!(quota.taken().all, 0);
    }
}
