//! A rate limiter per client: a leaky bucket, of which only the time until which it is full is
//! stored (GCRA, ITU-T I.371). Periods do not begin and end at fixed times, so there is no edge of
//! a period to wait for.

use crate::client::ClientId;
use crate::clock::nanos;
use std::collections::HashMap;
use std::time::Duration;

/// Maximum number of clients that are told apart. Further clients share one bucket, until others
/// are forgotten.
const CLIENTS: usize = 100_000;

/// The client that stands for all that share a bucket: an address hashes to it with a probability
/// of 2^-128.
const OTHERS: ClientId = ClientId([0; 16]);

/// Interval in nanoseconds between two searches for empty buckets, when there are too many clients.
const LOOK: u64 = 1_000_000_000;

/// The rate at which a client may use something.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Maximum amount at once.
    pub burst: u64,
    /// Amount per period; 0 for any amount at any time.
    pub amount: u64,
    /// Period in which the amount accrues.
    pub period: Duration,
}

impl Rate {
    /// A burst of `amount`, and as much again per period.
    pub fn per(amount: u64, period: Duration) -> Self {
        Rate { burst: amount, amount, period }
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.amount != 0
    }

    /// The time in which `amount` accrues, in nanoseconds; rounded up, so that no client gets more.
    fn time(&self, amount: u64) -> u64 {
        let all = u128::from(amount) * u128::from(nanos(self.period));
        u64::try_from(all.div_ceil(u128::from(self.amount.max(1)))).unwrap_or(u64::MAX)
    }
}

/// The client that an amount is counted for, and the multiple of one client's rate that it has.
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

/// The amounts that each client has used. Times are in nanoseconds, and do not go back
/// ([`crate::clock::Clock`]).
pub(crate) struct RateLimiter {
    rate: Rate,
    /// Time in which a whole burst accrues.
    full: u64,
    /// Time until which each client's burst is not whole again; clients without an entry have a
    /// whole burst.
    until: HashMap<ClientId, u64>,
    clients: usize,
    looked: u64,
}

impl RateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        RateLimiter { rate, full: rate.time(rate.burst), until: HashMap::new(), clients: CLIENTS, looked: 0 }
    }

    /// Restores a count of an earlier run, which cannot exceed a whole burst.
    pub(crate) fn restore(&mut self, client: ClientId, until: u64, now: u64) {
        if self.rate.is_bound() && until > now {
            self.until.insert(client, until.min(now.saturating_add(self.full)));
        }
    }

    /// Checks that a client has anything left.
    ///
    /// # Errors
    /// The time until it has, in nanoseconds.
    pub(crate) fn check(&mut self, client: ClientId, now: u64) -> Result<(), u64> {
        if !self.rate.is_bound() {
            return Ok(());
        }
        let spot = self.spot(client, now);
        let owes = self.until.get(&spot).map_or(0, |until| until.saturating_sub(now));
        if owes < self.full { Ok(()) } else { Err((owes - self.full).saturating_add(1)) }
    }

    /// Counts work that was done for a client, even if it is more than the client had.
    pub(crate) fn add(&mut self, counted: impl Into<Counted>, amount: u64, now: u64) {
        let Counted { client, times } = counted.into();
        if self.rate.is_bound() {
            let spot = self.spot(client, now);
            let until = self.until.entry(spot).or_insert(now);
            *until = (*until).max(now).saturating_add(self.rate.time(amount).div_ceil(times));
        }
    }

    /// Counts work that is about to be done for a client, if the client has that amount. Returns
    /// the client that it is counted for, and the time at which its burst is whole again.
    ///
    /// # Errors
    /// The time until it has the amount, in nanoseconds; nothing was counted then.
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

    /// Whether [`RateLimiter::take`] would succeed; nothing is counted.
    ///
    /// # Errors
    /// As for [`RateLimiter::take`].
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

    /// Forgets clients whose burst is whole again.
    pub(crate) fn forget(&mut self, now: u64) {
        self.until.retain(|_, until| *until > now);
    }

    /// The clients whose burst is not whole, and the times at which it is.
    pub(crate) fn used(&self) -> impl Iterator<Item = (ClientId, u64)> {
        self.until.iter().map(|(client, until)| (*client, *until))
    }

    /// The client that an amount is counted for: the client itself, as long as there is space for
    /// it.
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

    /// The amounts that a client gets, one at a time, at each of these times.
    fn gets(meter: &mut RateLimiter, times: &[u64]) -> Vec<usize> {
        let mut all = |now| (0..100).take_while(|_| meter.take(client(1), 1, now).is_ok()).count();
        times.iter().map(|&now| all(now)).collect()
    }

    #[test]
    fn there_is_no_edge_at_which_all_of_it_is_there_twice() {
        for edge in [HOUR, 2 * HOUR, 7 * HOUR + 13] {
            let mut meter = hourly(10);
            // The whole burst at the end of any hour, and then one in six minutes.
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
        // A clock that went back nevertheless.
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
