//! Rates of each client over time: hint requests, evaluations, registrations, time of the passes. A
//! limit on concurrent requests is not enough: a client that sends the next request as soon as the
//! previous one is answered would have the server to itself, or all rows of a symmetric table.
//!
//! A rate is a leaky bucket, of which only the time until which it is full is stored (GCRA, ITU-T
//! I.371). Periods do not begin and end at fixed times, so there is no edge of a period to wait for.

use super::counts::{CountStore, Counted, nanos};
use crate::StartError;
use crate::client::{ClientId, Peer};
use crate::http_error::HttpError;
use crate::locked;
use sotto_wire::{Problem, ProblemCode};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

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

    fn is_bound(&self) -> bool {
        self.amount != 0
    }

    /// The time in which `amount` accrues, in nanoseconds; rounded up, so that no client gets more.
    fn time(&self, amount: u64) -> u64 {
        let all = u128::from(amount) * u128::from(nanos(self.period));
        u64::try_from(all.div_ceil(u128::from(self.amount.max(1)))).unwrap_or(u64::MAX)
    }
}

/// The amounts that each client has used. Times are in nanoseconds, and do not go back
/// ([`crate::limits::counts::Clock`]).
struct Buckets {
    rate: Rate,
    /// Time in which a whole burst accrues.
    full: u64,
    /// Time until which each client's burst is not whole again; clients without an entry have a
    /// whole burst.
    until: HashMap<ClientId, u64>,
    clients: usize,
    looked: u64,
}

impl Buckets {
    fn new(rate: Rate) -> Self {
        Buckets { rate, full: rate.time(rate.burst), until: HashMap::new(), clients: CLIENTS, looked: 0 }
    }

    /// Restores a count of an earlier run, which cannot exceed a whole burst.
    fn restore(&mut self, client: ClientId, until: u64, now: u64) {
        if until > now {
            self.until.insert(client, until.min(now.saturating_add(self.full)));
        }
    }

    /// Checks that a client has anything left.
    ///
    /// # Errors
    /// The time until it has, in nanoseconds.
    fn check(&mut self, client: ClientId, now: u64) -> Result<(), u64> {
        let spot = self.spot(client, now);
        let owes = self.until.get(&spot).map_or(0, |until| until.saturating_sub(now));
        if owes < self.full { Ok(()) } else { Err((owes - self.full).saturating_add(1)) }
    }

    /// Counts work that was done for a client, even if it is more than the client had.
    fn add(&mut self, counted: impl Into<Counted>, amount: u64, now: u64) {
        let Counted { client, times } = counted.into();
        let spot = self.spot(client, now);
        let until = self.until.entry(spot).or_insert(now);
        *until = (*until).max(now).saturating_add(self.rate.time(amount).div_ceil(times));
    }

    /// Counts work that is about to be done for a client, if the client has that amount. Returns
    /// the client that it is counted for, and the time at which its burst is whole again.
    ///
    /// # Errors
    /// The time until it has the amount, in nanoseconds; nothing was counted then.
    fn take(&mut self, counted: impl Into<Counted>, amount: u64, now: u64) -> Result<(ClientId, u64), u64> {
        let (spot, until) = self.could_take(counted, amount, now)?;
        self.until.insert(spot, until);
        Ok((spot, until))
    }

    /// Whether [`Buckets::take`] would succeed; nothing is counted.
    ///
    /// # Errors
    /// As for [`Buckets::take`].
    fn could_take(
        &mut self,
        counted: impl Into<Counted>,
        amount: u64,
        now: u64,
    ) -> Result<(ClientId, u64), u64> {
        let Counted { client, times } = counted.into();
        let spot = self.spot(client, now);
        let used = self.until.get(&spot).copied().unwrap_or(now).max(now);
        let until = used.saturating_add(self.rate.time(amount).div_ceil(times));
        let most = now.saturating_add(self.full);
        if until > most { Err(until - most) } else { Ok((spot, until)) }
    }

    /// Forgets clients whose burst is whole again.
    fn forget(&mut self, now: u64) {
        self.until.retain(|_, until| *until > now);
    }

    /// The clients whose burst is not whole, and the times at which it is.
    fn used(&self) -> impl Iterator<Item = (ClientId, u64)> {
        self.until.iter().map(|(client, until)| (*client, *until))
    }

    /// The client that an amount is counted for: the client itself, as long as there is space for
    /// it.
    fn spot(&mut self, client: ClientId, now: u64) -> ClientId {
        let known = |own: &Self| own.until.contains_key(&client) || own.until.len() < own.clients;
        if !known(self) && now.saturating_sub(self.looked) >= LOOK {
            self.looked = now;
            self.forget(now);
        }
        if known(self) { client } else { OTHERS }
    }
}

/// A limit on the work for each client over time, counted in a unit of its choice. Clients are stored as keyed
/// hashes, and no longer than their counts matter.
pub struct RateLimit {
    buckets: Mutex<Buckets>,
    is_bound: bool,
    counts: CountStore,
    /// The counts on disk, if there are any: the time until which each client has used up its
    /// quota. While a server runs, this is never earlier than the true time, so a server that is
    /// killed forgets nothing. Locked before the buckets, and held while the disk is written,
    /// so that a second request does not overtake a count that is not written yet.
    written: Option<Mutex<HashMap<ClientId, u64>>>,
    /// Amount by which the counts on disk are ahead of the true ones, so that not every request is
    /// written.
    ahead: u64,
    /// Message for a client whose quota is used up.
    message: &'static str,
}

/// Divisor of the burst that gives the amount written ahead.
const AHEAD: u32 = 16;

impl RateLimit {
    /// A limit whose counts are in memory alone.
    pub fn new(rate: Rate, message: &'static str, counts: &CountStore) -> Self {
        let counts = counts.without_disk();
        RateLimit {
            buckets: Mutex::new(Buckets::new(rate)),
            is_bound: rate.is_bound(),
            counts,
            written: None,
            ahead: 0,
            message,
        }
    }

    /// A limit whose counts outlive the process, if there is a database for them.
    ///
    /// # Errors
    /// [`StartError::State`].
    pub(crate) fn open(
        rate: Rate,
        message: &'static str,
        counts: &CountStore,
        now: Instant,
    ) -> Result<Self, StartError> {
        let plain = RateLimit::new(rate, message, counts);
        if !counts.has_disk() || !rate.is_bound() {
            return Ok(plain);
        }
        let (now, mut written) = (counts.clock.at(now), HashMap::new());
        for (client, until) in counts.counts()? {
            locked(&plain.buckets).restore(client, until, now);
            written.insert(client, until);
        }
        let ahead = nanos(rate.period / AHEAD);
        Ok(RateLimit { counts: counts.clone(), written: Some(Mutex::new(written)), ahead, ..plain })
    }

    /// Checks that a client has some quota left. Work in progress counts once it is done.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`].
    pub fn check(&self, peer: Peer, now: Instant) -> Result<(), HttpError> {
        self.wait(peer, now).map_or(Ok(()), |wait| Err(self.refusal(wait)))
    }

    /// The time until a client has quota again, if it has none now.
    pub(crate) fn wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        if !self.is_bound {
            return None;
        }
        let (now, mut buckets) = (self.counts.clock.at(now), locked(&self.buckets));
        let waits = self.counts.counted(peer).filter_map(|counted| buckets.check(counted.client, now).err());
        waits.max().map(Duration::from_nanos)
    }

    /// Adds work that was done for a client.
    pub fn add(&self, peer: Peer, amount: u64, now: Instant) {
        if self.is_bound {
            let (now, mut buckets) = (self.counts.clock.at(now), locked(&self.buckets));
            self.counts.counted(peer).for_each(|counted| buckets.add(counted, amount, now));
        }
    }

    /// Adds work that is about to be done for a client, if its quota allows. Blocks on the disk, if
    /// counts are stored there.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`]. Nothing was added then.
    pub(crate) fn take(&self, peer: Peer, amount: u64, now: Instant) -> Result<(), HttpError> {
        if !self.is_bound {
            return Ok(());
        }
        let now = self.counts.clock.at(now);
        let mut written = self.written.as_ref().map(locked);
        let taken = self.take_all(peer, amount, now);
        let taken = taken.map_err(|wait| self.refusal(Duration::from_nanos(wait)))?;
        if let Some(written) = written.as_mut() {
            let is_past = |(client, until): &(ClientId, u64)| written.get(client).is_none_or(|at| at < until);
            let ahead = |(client, until): (ClientId, u64)| (client, until.saturating_add(self.ahead));
            let counts: Vec<_> = taken.into_iter().filter(is_past).map(ahead).collect();
            if !counts.is_empty() {
                // Even if writing failed: that is logged, and the counts continue in memory.
                written.extend(counts.iter().copied());
                self.counts.count(&counts, &[], now);
            }
        }
        Ok(())
    }

    /// Counts an amount in all networks of a client, or in none.
    fn take_all(&self, peer: Peer, amount: u64, now: u64) -> Result<Vec<(ClientId, u64)>, u64> {
        let mut buckets = locked(&self.buckets);
        for counted in self.counts.counted(peer) {
            buckets.could_take(counted, amount, now)?;
        }
        self.counts.counted(peer).map(|counted| buckets.take(counted, amount, now)).collect()
    }

    /// Forgets clients whose quota is full again. Blocks on the disk, if counts are stored there.
    pub fn sweep(&self, now: Instant) {
        self.compact(now, |at, until| at.max(until));
    }

    /// Stores the true counts, with nothing written ahead, at the end of a server.
    pub(crate) fn settle(&self, now: Instant) {
        self.compact(now, |_, until| until);
    }

    /// Rewrites the counts on disk: `fitting` computes each from the stored and the true one.
    fn compact(&self, now: Instant, fitting: impl Fn(u64, u64) -> u64) {
        let now = self.counts.clock.at(now);
        let mut written = self.written.as_ref().map(locked);
        let used: HashMap<_, _> = {
            let mut buckets = locked(&self.buckets);
            buckets.forget(now);
            if written.is_none() { HashMap::new() } else { buckets.used().collect() }
        };
        let Some(written) = written.as_mut() else { return };
        let expired: Vec<_> = written.keys().filter(|client| !used.contains_key(*client)).copied().collect();
        let fitted = |(client, until): (&ClientId, &u64)| {
            let at = written.get(client).copied().unwrap_or_default();
            (*client, fitting(at, *until), at)
        };
        let other: Vec<_> = used
            .iter()
            .map(fitted)
            .filter(|(_, fitted, at)| fitted != at)
            .map(|(client, fitted, _)| (client, fitted))
            .collect();
        if expired.is_empty() && other.is_empty() {
            return;
        }
        written.retain(|client, _| used.contains_key(client));
        written.extend(other.iter().copied());
        self.counts.count(&other, &expired, now);
    }

    /// Refuses with the time until there is quota again, so that clients do not retry every second.
    fn refusal(&self, wait: Duration) -> HttpError {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
        let message = self.message;
        HttpError::from(Problem::new(
            ProblemCode::Busy,
            format!("{message}; the next may come in {seconds} s"),
        ))
        .after(seconds)
    }
}

#[cfg(test)]
mod tests;
