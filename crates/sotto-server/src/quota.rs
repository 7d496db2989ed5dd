//! Places for open streams, and for orders of hints: so many in all, since each takes memory or seconds of work, and so
//! many of one client, so that nobody takes them all.

use crate::admission::Peer;
use crate::refusal::Refusal;
use prometheus_client::metrics::gauge::Gauge;
use sotto_wire::Code;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places there are, and who has them.
pub(crate) struct Quota {
    most: usize,
    per_client: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
    /// How many are taken.
    gauge: Gauge,
    words: Words,
}

/// What is said when there is no place: in all, and for one client.
pub(crate) type Words = [&'static str; 2];

/// A place, given back when it is dropped.
pub(crate) struct Open {
    quota: Arc<Quota>,
    client: IpAddr,
}

impl Quota {
    /// `most` in all, and `per_client` of one client; 0 for any number.
    pub(crate) fn new(most: usize, per_client: usize, gauge: Gauge, words: Words) -> Arc<Self> {
        let per_client = if per_client == 0 { usize::MAX } else { per_client };
        Arc::new(Quota { most, per_client, taken: Mutex::default(), gauge, words })
    }

    /// Takes a place.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn take(self: &Arc<Self>, peer: Peer) -> Result<Open, Refusal> {
        let client = peer.network();
        let [all, own] = self.words;
        let mut taken = self.taken();
        if taken.values().sum::<usize>() >= self.most {
            return Err(Refusal::new(Code::Busy, all));
        }
        if taken.get(&client).is_some_and(|taken| *taken >= self.per_client) {
            return Err(Refusal::new(Code::Busy, own));
        }
        *taken.entry(client).or_default() += 1;
        self.gauge.inc();
        Ok(Open { quota: self.clone(), client })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut taken = self.quota.taken();
        if let Some(own) = taken.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.client);
            }
        }
        self.quota.gauge.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_all_and_so_many_of_one() {
        let peer = |address: &str| Peer(address.parse().unwrap());
        let (one, other, third) = (peer("192.0.2.1"), peer("2001:db8::1"), peer("192.0.2.3"));
        let quota = Quota::new(3, 2, Gauge::default(), ["all", "own"]);
        let take = |peer| quota.take(peer).map_err(|refusal| refusal.0.code);
        let held = [take(one).ok().unwrap(), take(one).ok().unwrap()];
        assert_eq!(take(one).err(), Some(Code::Busy), "a third of one client");
        let others = take(other).ok().unwrap();
        assert_eq!(take(third).err(), Some(Code::Busy), "a fourth in all");
        drop(held);
        let held = [take(third).ok().unwrap(), take(peer("2001:db8::2")).ok().unwrap()];
        assert_eq!(take(other).err(), Some(Code::Busy), "an IPv6 network is one client");
        drop((held, others));
        assert!(quota.taken().is_empty());
        let any = Quota::new(100, 0, Gauge::default(), ["all", "own"]);
        let held: Vec<_> = (0..100).map(|_| any.take(one).ok().unwrap()).collect();
        assert!(any.take(one).is_err() && held.len() == 100);
    }
}
