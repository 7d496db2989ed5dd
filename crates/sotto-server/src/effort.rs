//! How long hints were made for each client in the hour at hand. So many orders at once are no bound on work: whoever sends
//! the next one as soon as the last is filled would have the helper to itself.

use crate::admission::Peer;
use crate::refusal::Refusal;
use sotto_wire::Code;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// What was done for whom. Who that was is kept as a keyed hash, and no longer than the hour.
pub(crate) struct Effort {
    most: Duration,
    hasher: RandomState,
    spent: Mutex<Spent>,
}

struct Spent {
    since: Instant,
    by_client: HashMap<u64, Duration>,
}

impl Effort {
    /// At most so many seconds in an hour for one client; 0 for any number.
    pub(crate) fn new(seconds: u64, now: Instant) -> Self {
        let most = if seconds == 0 { Duration::MAX } else { Duration::from_secs(seconds) };
        let spent = Mutex::new(Spent { since: now, by_client: HashMap::new() });
        Effort { most, hasher: RandomState::new(), spent }
    }

    /// Whether more may be done for a client. What is under way counts once it is done.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn check(&self, peer: Peer, now: Instant) -> Result<(), Refusal> {
        let spent = self.at(now).by_client.get(&self.client(peer)).copied().unwrap_or_default();
        match spent < self.most {
            true => Ok(()),
            false => Err(Refusal::new(Code::Busy, "as much was made for one address as may be in an hour")),
        }
    }

    /// Adds what was done for a client.
    pub(crate) fn add(&self, peer: Peer, took: Duration, now: Instant) {
        let client = self.client(peer);
        let mut spent = self.at(now);
        let spent = spent.by_client.entry(client).or_default();
        *spent = spent.saturating_add(took);
    }

    fn client(&self, peer: Peer) -> u64 {
        self.hasher.hash_one(peer.network())
    }

    /// The hour that `now` is in.
    fn at(&self, now: Instant) -> MutexGuard<'_, Spent> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(spent.since) >= HOUR {
            *spent = Spent { since: now, by_client: HashMap::new() };
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_long_in_an_hour_for_each() {
        let peer = |address: &str| Peer(address.parse().unwrap());
        let (one, other) = (peer("192.0.2.1"), peer("192.0.2.2"));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let effort = Effort::new(10, start);
        let code = |peer, now| effort.check(peer, at(now)).map_err(|refusal| refusal.0.code);
        for (now, took) in [(0, 4), (100, 5), (200, 6)] {
            assert_eq!(code(one, now), Ok(()), "{now}");
            effort.add(one, Duration::from_secs(took), at(now));
        }
        assert_eq!((code(one, 3599), code(other, 3599)), (Err(Code::Busy), Ok(())));
        assert_eq!(code(one, 3600), Ok(()), "the next hour");
        assert!(effort.at(at(3600)).by_client.is_empty());
        let any = Effort::new(0, start);
        any.add(one, Duration::from_secs(1 << 40), start);
        assert!(any.check(one, start).is_ok());
    }
}
