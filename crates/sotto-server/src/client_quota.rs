//! Quotas of each client over time: hint requests, evaluations, registrations, time of the passes.
//! A limit on concurrent requests is not enough: a client that sends the next request as soon as
//! the previous one is answered would have the server to itself, or all rows of a symmetric table.

use crate::StartError;
use crate::client::{ClientId, Peer};
use crate::rate_limiter::{Rate, RateLimiter};
use crate::refusal::Refusal;
use crate::sessions::CountStore;
use sotto_wire::{Code, Problem};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work done for each client, counted in a unit of the quota's choice. Clients are stored as keyed
/// hashes, and no longer than their counts matter.
pub(crate) struct ClientQuota {
    meter: Mutex<RateLimiter>,
    is_bound: bool,
    keep: CountStore,
    /// The counts on disk, if there are any: the time until which each client has used up its
    /// quota. While a server runs, this is never earlier than the true time, so a server that is
    /// killed forgets nothing. Locked before the rate limiter, and held while the disk is written,
    /// so that a second request does not overtake a count that is not written yet.
    written: Option<Mutex<HashMap<ClientId, u64>>>,
    /// Amount by which the counts on disk are ahead of the true ones, so that not every request is
    /// written.
    ahead: u64,
    /// Message for a client whose quota is used up.
    words: &'static str,
}

/// Divisor of the burst that gives the amount written ahead.
const AHEAD: u32 = 16;

impl ClientQuota {
    /// A quota that is in memory alone.
    pub(crate) fn new(rate: Rate, words: &'static str, keep: &CountStore) -> Self {
        let keep = keep.without_disk();
        ClientQuota {
            meter: Mutex::new(RateLimiter::new(rate)),
            is_bound: rate.is_bound(),
            keep,
            written: None,
            ahead: 0,
            words,
        }
    }

    /// A quota that outlives the process, if there is a database for it.
    ///
    /// # Errors
    /// [`StartError::State`].
    pub(crate) fn kept(
        rate: Rate,
        words: &'static str,
        keep: &CountStore,
        now: Instant,
    ) -> Result<Self, StartError> {
        let plain = ClientQuota::new(rate, words, keep);
        if !keep.has_disk() || !rate.is_bound() {
            return Ok(plain);
        }
        let (now, mut written) = (keep.clock.at(now), HashMap::new());
        for (client, until) in keep.counts()? {
            plain.meter().restore(client, until, now);
            written.insert(client, until);
        }
        let ahead = crate::clock::nanos(rate.period / AHEAD);
        Ok(ClientQuota { keep: keep.clone(), written: Some(Mutex::new(written)), ahead, ..plain })
    }

    /// Checks that a client has some quota left. Work in progress counts once it is done.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(crate) fn check(&self, peer: Peer, now: Instant) -> Result<(), Refusal> {
        self.wait(peer, now).map_or(Ok(()), |wait| Err(self.refusal(wait)))
    }

    /// The time until a client has quota again, if it has none now.
    pub(crate) fn wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        if !self.is_bound {
            return None;
        }
        let (now, mut meter) = (self.keep.clock.at(now), self.meter());
        let waits = self.keep.counted(peer).filter_map(|counted| meter.check(counted.client, now).err());
        waits.max().map(Duration::from_nanos)
    }

    /// Adds work that was done for a client.
    pub(crate) fn add(&self, peer: Peer, amount: u64, now: Instant) {
        if self.is_bound {
            let (now, mut meter) = (self.keep.clock.at(now), self.meter());
            self.keep.counted(peer).for_each(|counted| meter.add(counted, amount, now));
        }
    }

    /// Adds work that is about to be done for a client, if its quota allows. Blocks on the disk, if
    /// counts are stored there.
    ///
    /// # Errors
    /// [`Code::Busy`]. Nothing was added then.
    pub(crate) fn take(&self, peer: Peer, amount: u64, now: Instant) -> Result<(), Refusal> {
        if !self.is_bound {
            return Ok(());
        }
        let now = self.keep.clock.at(now);
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
                self.keep.count(&counts, &[], now);
            }
        }
        Ok(())
    }

    /// Counts an amount in all networks of a client, or in none.
    fn take_all(&self, peer: Peer, amount: u64, now: u64) -> Result<Vec<(ClientId, u64)>, u64> {
        let mut meter = self.meter();
        for counted in self.keep.counted(peer) {
            meter.could_take(counted, amount, now)?;
        }
        self.keep.counted(peer).map(|counted| meter.take(counted, amount, now)).collect()
    }

    /// Forgets clients whose quota is full again. Blocks on the disk, if counts are stored there.
    pub(crate) fn sweep(&self, now: Instant) {
        self.tidy(now, |at, until| at.max(until));
    }

    /// Stores the true counts, with nothing written ahead, at the end of a server.
    pub(crate) fn settle(&self, now: Instant) {
        self.tidy(now, |_, until| until);
    }

    /// Rewrites the counts on disk: `fitting` computes each from the stored and the true one.
    fn tidy(&self, now: Instant, fitting: impl Fn(u64, u64) -> u64) {
        let now = self.keep.clock.at(now);
        let mut written = self.written.as_ref().map(locked);
        let used: HashMap<_, _> = {
            let mut meter = self.meter();
            meter.forget(now);
            if written.is_none() { HashMap::new() } else { meter.used().collect() }
        };
        let Some(written) = written.as_mut() else { return };
        let gone: Vec<_> = written.keys().filter(|client| !used.contains_key(*client)).copied().collect();
        let fits = |(client, until): (&ClientId, &u64)| {
            let at = written.get(client).copied().unwrap_or_default();
            (*client, fitting(at, *until), at)
        };
        let other: Vec<_> = used
            .iter()
            .map(fits)
            .filter(|(_, fits, at)| fits != at)
            .map(|(client, fits, _)| (client, fits))
            .collect();
        if gone.is_empty() && other.is_empty() {
            return;
        }
        written.retain(|client, _| used.contains_key(client));
        written.extend(other.iter().copied());
        self.keep.count(&other, &gone, now);
    }

    /// Refuses with the time until there is quota again, so that clients do not retry every second.
    fn refusal(&self, wait: Duration) -> Refusal {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
        let words = self.words;
        Refusal::from(Problem::new(Code::Busy, format!("{words}; the next may come in {seconds} s")))
            .after(seconds)
    }

    fn meter(&self) -> MutexGuard<'_, RateLimiter> {
        locked(&self.meter)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
