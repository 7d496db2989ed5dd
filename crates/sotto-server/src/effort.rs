//! What was done for each client in the hour at hand. So many requests at once are no bound: whoever sends the next one as soon
//! as the last is answered would have the helper to itself, or all rows of a symmetric table.

use crate::admission::Peer;
use crate::refusal::Refusal;
use sotto_wire::Code;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// What was done for whom, counted in whatever is bounded. Who that was is kept as a keyed hash, and no longer than the hour.
pub(crate) struct Effort {
    most: u64,
    hasher: RandomState,
    spent: Mutex<Spent>,
    /// What is said when there is no more.
    words: &'static str,
}

struct Spent {
    since: Instant,
    by_client: HashMap<u64, u64>,
}

impl Effort {
    /// At most so much in an hour for one client; 0 for any amount.
    pub(crate) fn new(most: u64, words: &'static str, now: Instant) -> Self {
        let most = if most == 0 { u64::MAX } else { most };
        let spent = Mutex::new(Spent { since: now, by_client: HashMap::new() });
        Effort { most, hasher: RandomState::new(), spent, words }
    }

    /// Whether more may be done for a client. What is under way counts once it is done.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn check(&self, peer: Peer, now: Instant) -> Result<(), Refusal> {
        let all = self.at(now);
        let spent = all.by_client.get(&self.client(peer)).copied().unwrap_or_default();
        if spent < self.most { Ok(()) } else { Err(self.refusal(&all, now)) }
    }

    /// Adds what was done for a client.
    pub(crate) fn add(&self, peer: Peer, amount: u64, now: Instant) {
        let client = self.client(peer);
        let mut spent = self.at(now);
        let spent = spent.by_client.entry(client).or_default();
        *spent = spent.saturating_add(amount);
    }

    /// Adds what is about to be done for a client, if that is no more than there is.
    ///
    /// # Errors
    /// [`Code::Busy`]. Nothing was added then.
    pub(crate) fn take(&self, peer: Peer, amount: u64, now: Instant) -> Result<(), Refusal> {
        let client = self.client(peer);
        let mut all = self.at(now);
        let spent = all.by_client.get(&client).copied().unwrap_or_default();
        let after = spent.saturating_add(amount);
        if after > self.most {
            return Err(self.refusal(&all, now));
        }
        all.by_client.insert(client, after);
        Ok(())
    }

    /// Says when the next hour begins, so that nobody tries again every second of this one.
    fn refusal(&self, spent: &Spent, now: Instant) -> Refusal {
        let left = HOUR.saturating_sub(now.saturating_duration_since(spent.since));
        Refusal::new(Code::Busy, self.words).after(left.as_secs().saturating_add(1))
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

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    #[test]
    fn so_much_in_an_hour_for_each() {
        let (one, other) = (peer("192.0.2.1"), peer("192.0.2.2"));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let effort = Effort::new(10, "enough", start);
        let code = |peer, now| effort.check(peer, at(now)).map_err(|refusal| refusal.0.code);
        for (now, took) in [(0, 4), (100, 5), (200, 6)] {
            assert_eq!(code(one, now), Ok(()), "{now}");
            effort.add(one, took, at(now));
        }
        assert_eq!((code(one, 3599), code(other, 3599)), (Err(Code::Busy), Ok(())));
        assert_eq!(code(one, 3600), Ok(()), "the next hour");
        assert!(effort.at(at(3600)).by_client.is_empty());
        let any = Effort::new(0, "enough", start);
        any.add(one, 1 << 60, start);
        assert!(any.check(one, start).is_ok());
    }

    #[test]
    fn what_is_taken_is_never_more_than_there_is() {
        let (one, start) = (peer("192.0.2.1"), Instant::now());
        let effort = Effort::new(10, "enough", start);
        let take = |amount, now| effort.take(one, amount, now).map_err(|refusal| refusal.0.code);
        let busy = Err(Code::Busy);
        assert_eq!([4, 7, 6, 1].map(|amount| take(amount, start)), [Ok(()), busy, Ok(()), busy]);
        assert!(effort.take(peer("192.0.2.2"), 10, start).is_ok(), "another client");
        assert_eq!([10, 1].map(|amount| take(amount, start + HOUR)), [Ok(()), busy]);
        assert!(Effort::new(0, "enough", start).take(one, u64::MAX - 1, start).is_ok());
    }
}
