//! So much at once, and so much more with time, for each client: a leaky bucket, of which nothing is kept but the time until
//! which it is full (GCRA, ITU-T I.371). There is no hour that begins and ends, so there is no edge of one to wait for.

use crate::clock::nanos;
use crate::sessions::ClientId;
use std::collections::HashMap;
use std::time::Duration;

/// So many clients are told apart. Those who come when there are as many share one bucket, until others are forgotten.
const CLIENTS: usize = 100_000;

/// Who shares a bucket: no address is hashed to this, but by a chance of one in 2^128.
const OTHERS: ClientId = ClientId([0; 16]);

/// When there are too many, those whose buckets are empty are looked for once in so long, in nanoseconds.
const LOOK: u64 = 1_000_000_000;

/// How much a client may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// At once.
    pub(crate) burst: u64,
    /// So much more with each period; 0 for any amount at any time.
    pub(crate) amount: u64,
    pub(crate) period: Duration,
}

impl Rate {
    /// So much at once, and as much again with each period.
    pub(crate) fn per(amount: u64, period: Duration) -> Self {
        Rate { burst: amount, amount, period }
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.amount != 0
    }

    /// How long it takes until there is so much more, in nanoseconds; rounded up, so that nobody gets more than that.
    fn time(&self, amount: u64) -> u64 {
        let all = u128::from(amount) * u128::from(nanos(self.period));
        u64::try_from(all.div_ceil(u128::from(self.amount.max(1)))).unwrap_or(u64::MAX)
    }
}

/// Under which name something is counted, and how many times what one client may have there is for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) client: ClientId,
    pub(crate) times: u64,
}

impl From<ClientId> for Counted {
    fn from(client: ClientId) -> Self {
        Counted { client, times: 1 }
    }
}

/// What each client has used. Times are in nanoseconds, and do not go back ([`crate::clock::Clock`]).
pub(crate) struct RateLimiter {
    rate: Rate,
    /// The time of a whole burst.
    full: u64,
    /// Until when each client has used up what there was; who is not here has all of it.
    until: HashMap<ClientId, u64>,
    clients: usize,
    looked: u64,
}

impl RateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        RateLimiter { rate, full: rate.time(rate.burst), until: HashMap::new(), clients: CLIENTS, looked: 0 }
    }

    /// Takes up what an earlier run has counted. It cannot have counted more than a whole burst.
    pub(crate) fn restore(&mut self, client: ClientId, until: u64, now: u64) {
        if self.rate.is_bound() && until > now {
            self.until.insert(client, until.min(now.saturating_add(self.full)));
        }
    }

    /// Whether a client has anything left.
    ///
    /// # Errors
    /// The time until it has.
    pub(crate) fn check(&mut self, client: ClientId, now: u64) -> Result<(), u64> {
        if !self.rate.is_bound() {
            return Ok(());
        }
        let spot = self.spot(client, now);
        let owes = self.until.get(&spot).map_or(0, |until| until.saturating_sub(now));
        if owes < self.full { Ok(()) } else { Err((owes - self.full).saturating_add(1)) }
    }

    /// Counts what was done for a client, even if that is more than it had.
    pub(crate) fn add(&mut self, counted: impl Into<Counted>, amount: u64, now: u64) {
        let Counted { client, times } = counted.into();
        if self.rate.is_bound() {
            let spot = self.spot(client, now);
            let until = self.until.entry(spot).or_insert(now);
            *until = (*until).max(now).saturating_add(self.rate.time(amount).div_ceil(times));
        }
    }

    /// Counts what is about to be done for a client, if it has as much. Gives who it is counted for, and until when there is
    /// nothing used up any more.
    ///
    /// # Errors
    /// The time until it has; nothing was counted then.
    pub(crate) fn take(
        &mut self,
        counted: impl Into<Counted>,
        amount: u64,
        now: u64,
    ) -> Result<(ClientId, u64), u64> {
        let (spot, until) = self.could_take(counted, amount, now)?;
        if self.rate.is_bound() {
            self.until.insert(spot, until);
        }
        Ok((spot, until))
    }

    /// Whether [`RateLimiter::take`] would grant it; nothing is counted.
    ///
    /// # Errors
    /// As [`RateLimiter::take`].
    pub(crate) fn could_take(
        &mut self,
        counted: impl Into<Counted>,
        amount: u64,
        now: u64,
    ) -> Result<(ClientId, u64), u64> {
        let Counted { client, times } = counted.into();
        if !self.rate.is_bound() {
            return Ok((client, now));
        }
        let spot = self.spot(client, now);
        let used = self.until.get(&spot).copied().unwrap_or(now).max(now);
        let until = used.saturating_add(self.rate.time(amount).div_ceil(times));
        let most = now.saturating_add(self.full);
        if until > most { Err(until - most) } else { Ok((spot, until)) }
    }

    /// Forgets who has all of it again.
    pub(crate) fn forget(&mut self, now: u64) {
        self.until.retain(|_, until| *until > now);
    }

    /// Whose buckets are not empty, and until when.
    pub(crate) fn used(&self) -> impl Iterator<Item = (ClientId, u64)> {
        self.until.iter().map(|(client, until)| (*client, *until))
    }

    /// Whom a client is counted as: itself, as long as there is room for it.
    fn spot(&mut self, client: ClientId, now: u64) -> ClientId {
        let known = |meter: &Self| meter.until.contains_key(&client) || meter.until.len() < meter.clients;
        if !known(self) && now.saturating_sub(self.looked) >= LOOK {
            self.looked = now;
            self.forget(now);
        }
        if known(self) { client } else { OTHERS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const HOUR: u64 = 3600 * SECOND;

    fn client(number: u8) -> ClientId {
        ClientId([number; 16])
    }

    fn hourly(amount: u64) -> RateLimiter {
        RateLimiter::new(Rate::per(amount, Duration::from_secs(3600)))
    }

    /// What a client gets that takes whatever it can, one at a time, at these times.
    fn gets(meter: &mut RateLimiter, times: &[u64]) -> Vec<usize> {
        let mut all = |now| (0..100).take_while(|_| meter.take(client(1), 1, now).is_ok()).count();
        times.iter().map(|&now| all(now)).collect()
    }

    #[test]
    fn there_is_no_edge_at_which_all_of_it_is_there_twice() {
        for edge in [HOUR, 2 * HOUR, 7 * HOUR + 13] {
            let mut meter = hourly(10);
            // All of it at the end of any hour, and then one in six minutes.
            assert_eq!(gets(&mut meter, &[edge - 1, edge, edge + 1, edge + 359 * SECOND]), [10, 0, 0, 0]);
            assert_eq!(gets(&mut meter, &[edge + 360 * SECOND, edge + HOUR, edge + 3 * HOUR]), [1, 9, 10]);
        }
    }

    #[test]
    fn all_or_nothing_is_counted_and_the_wait_is_true() {
        let mut meter = hourly(10);
        let now = 5 * HOUR;
        assert!(meter.take(client(1), 8, now).is_ok());
        let wait = meter.take(client(1), 4, now).unwrap_err();
        assert_eq!(wait, 2 * 360 * SECOND);
        assert!(meter.take(client(1), 4, now + wait - 1).is_err() && meter.take(client(2), 10, now).is_ok());
        assert!(meter.take(client(1), 4, now + wait).is_ok() && meter.check(client(1), now + wait).is_err());
        assert!(meter.take(client(3), 11, now).is_err(), "more than there ever is");
        let mut any = hourly(0);
        assert!(any.take(client(1), u64::MAX, now).is_ok() && any.until.is_empty());
    }

    #[test]
    fn what_was_done_is_owed() {
        let mut meter = RateLimiter::new(Rate { burst: 100, amount: 10, period: Duration::from_secs(1) });
        meter.add(client(1), 99, 0);
        assert_eq!(meter.check(client(1), 0), Ok(()));
        meter.add(client(1), 51, 0);
        assert_eq!(meter.check(client(1), 0), Err(5 * SECOND + 1));
        assert_eq!(meter.check(client(1), 5 * SECOND + 1), Ok(()));
        assert_eq!(meter.check(client(2), 0), Ok(()));
    }

    #[test]
    fn a_clock_that_stands_gives_nothing() {
        let mut meter = hourly(10);
        assert_eq!(gets(&mut meter, &[HOUR, HOUR, HOUR]), [10, 0, 0]);
        // One that went back all the same.
        assert_eq!(gets(&mut meter, &[0, HOUR - 1, HOUR]), [0, 0, 0]);
    }

    #[test]
    fn a_crowd_is_bounded_and_those_past_it_share() {
        let mut meter = RateLimiter { clients: 3, ..hourly(10) };
        for number in 1..4 {
            assert!(meter.take(client(number), 10, 0).is_ok());
        }
        assert!(meter.take(client(4), 6, 0).is_ok() && meter.take(client(5), 6, 0).is_err());
        assert_eq!(meter.until.len(), 4);
        for number in 1..200 {
            meter.add(client(number), 1, 0);
        }
        assert_eq!(meter.until.len(), 4, "no more than there is room for");
        assert!(meter.take(client(6), 10, 100 * HOUR).is_ok());
        assert_eq!(meter.until.len(), 1, "whoever has all of it again is forgotten");
    }
}
