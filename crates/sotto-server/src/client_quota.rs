//! Quotas of each client over time: hint requests, evaluations, registrations, time of the passes.
//! A limit on concurrent requests is not enough: a client that sends the next request as soon as
//! the previous one is answered would have the server to itself, or all rows of a symmetric table.

use crate::StartError;
use crate::client::{ClientId, Peer};
use crate::http_error::HttpError;
use crate::rate_limiter::{Rate, RateLimiter};
use crate::session_store::count_store::CountStore;
use sotto_wire::{Code, Problem};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work done for each client, counted in a unit of the quota's choice. Clients are stored as keyed
/// hashes, and no longer than their counts matter.
pub struct ClientQuota {
    meter: Mutex<RateLimiter>,
    is_bound: bool,
    count_store: CountStore,
    /// The counts on disk, if there are any: the time until which each client has used up its
    /// quota. While a server runs, this is never earlier than the true time, so a server that is
    /// killed forgets nothing. Locked before the rate limiter, and held while the disk is written,
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

impl ClientQuota {
    /// A quota that is in memory alone.
    pub fn new(rate: Rate, message: &'static str, count_store: &CountStore) -> Self {
        let count_store = count_store.without_disk();
        ClientQuota {
            meter: Mutex::new(RateLimiter::new(rate)),
            is_bound: rate.is_bound(),
            count_store,
            written: None,
            ahead: 0,
            message,
        }
    }

    /// A quota that outlives the process, if there is a database for it.
    ///
    /// # Errors
    /// [`StartError::State`].
    pub(crate) fn open(
        rate: Rate,
        message: &'static str,
        count_store: &CountStore,
        now: Instant,
    ) -> Result<Self, StartError> {
        let plain = ClientQuota::new(rate, message, count_store);
        if !count_store.has_disk() || !rate.is_bound() {
            return Ok(plain);
        }
        let (now, mut written) = (count_store.clock.at(now), HashMap::new());
        for (client, until) in count_store.counts()? {
            plain.meter().restore(client, until, now);
            written.insert(client, until);
        }
        let ahead = crate::clock::nanos(rate.period / AHEAD);
        Ok(ClientQuota {
            count_store: count_store.clone(),
            written: Some(Mutex::new(written)),
            ahead,
            ..plain
        })
    }

    /// Checks that a client has some quota left. Work in progress counts once it is done.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub fn check(&self, peer: Peer, now: Instant) -> Result<(), HttpError> {
        self.wait(peer, now).map_or(Ok(()), |wait| Err(self.refusal(wait)))
    }

    /// The time until a client has quota again, if it has none now.
    pub(crate) fn wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        if !self.is_bound {
            return None;
        }
        let (now, mut meter) = (self.count_store.clock.at(now), self.meter());
        let waits =
            self.count_store.counted(peer).filter_map(|counted| meter.check(counted.client, now).err());
        waits.max().map(Duration::from_nanos)
    }

    /// Adds work that was done for a client.
    pub fn add(&self, peer: Peer, amount: u64, now: Instant) {
        if self.is_bound {
            let (now, mut meter) = (self.count_store.clock.at(now), self.meter());
            self.count_store.counted(peer).for_each(|counted| meter.add(counted, amount, now));
        }
    }

    /// Adds work that is about to be done for a client, if its quota allows. Blocks on the disk, if
    /// counts are stored there.
    ///
    /// # Errors
    /// [`Code::Busy`]. Nothing was added then.
    pub(crate) fn take(&self, peer: Peer, amount: u64, now: Instant) -> Result<(), HttpError> {
        if !self.is_bound {
            return Ok(());
        }
        let now = self.count_store.clock.at(now);
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
                self.count_store.count(&counts, &[], now);
            }
        }
        Ok(())
    }

    /// Counts an amount in all networks of a client, or in none.
    fn take_all(&self, peer: Peer, amount: u64, now: u64) -> Result<Vec<(ClientId, u64)>, u64> {
        let mut meter = self.meter();
        for counted in self.count_store.counted(peer) {
            meter.could_take(counted, amount, now)?;
        }
        self.count_store.counted(peer).map(|counted| meter.take(counted, amount, now)).collect()
    }

    /// Forgets clients whose quota is full again. Blocks on the disk, if counts are stored there.
    pub fn sweep(&self, now: Instant) {
        self.tidy(now, |at, until| at.max(until));
    }

    /// Stores the true counts, with nothing written ahead, at the end of a server.
    pub(crate) fn settle(&self, now: Instant) {
        self.tidy(now, |_, until| until);
    }

    /// Rewrites the counts on disk: `fitting` computes each from the stored and the true one.
    fn tidy(&self, now: Instant, fitting: impl Fn(u64, u64) -> u64) {
        let now = self.count_store.clock.at(now);
        let mut written = self.written.as_ref().map(locked);
        let used: HashMap<_, _> = {
            let mut meter = self.meter();
            meter.forget(now);
            if written.is_none() { HashMap::new() } else { meter.used().collect() }
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
        self.count_store.count(&other, &expired, now);
    }

    /// Refuses with the time until there is quota again, so that clients do not retry every second.
    fn refusal(&self, wait: Duration) -> HttpError {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
        let message = self.message;
        HttpError::from(Problem::new(Code::Busy, format!("{message}; the next may come in {seconds} s")))
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
mod tests {
    use super::*;
    use crate::SessionConfig;
    use crate::session_store::metrics::SessionMetrics;
    use crate::sessions::Sessions;
    use std::path::Path;

    const HOUR: Duration = Duration::from_secs(3600);

    fn peer(last: u8) -> Peer {
        Peer([192, 0, 2, last].into())
    }

    /// A quota of 160 an hour that is stored in a directory; `now` is the time in seconds since 1970.
    fn stored(dir: &Path, now: u64) -> ClientQuota {
        let metrics = SessionMetrics::register(&mut Default::default());
        let sessions = Sessions::open(&SessionConfig::default(), Some(dir), metrics, now).unwrap();
        ClientQuota::open(Rate::per(160, HOUR), "enough", sessions.count_store(), Instant::now()).unwrap()
    }

    /// The quota that a client has left, taken one by one. The time that this takes adds nothing to the
    /// quota.
    fn left(quota: &ClientQuota, last: u8) -> usize {
        let now = Instant::now();
        (0..1000).take_while(|_| quota.take(peer(last), 1, now).is_ok()).count()
    }

    #[test]
    fn so_much_at_once_and_then_with_time() {
        let quota = ClientQuota::new(Rate::per(10, HOUR), "enough", &CountStore::in_memory(0));
        let start = Instant::now();
        let code = |outcome: Result<(), HttpError>| {
            outcome.err().map(|refusal| (refusal.told().0, refusal.told().2))
        };
        assert_eq!(code(quota.take(peer(1), 7, start)), None);
        assert_eq!(code(quota.take(peer(1), 4, start)), Some((Code::Busy, 360)));
        assert_eq!(code(quota.take(peer(1), 3, start)), None);
        assert_eq!(code(quota.check(peer(1), start)), Some((Code::Busy, 1)));
        assert_eq!(code(quota.take(peer(2), 10, start)), None);
        assert_eq!(code(quota.take(peer(1), 4, start + 4 * HOUR / 10)), None);
        let any = ClientQuota::new(Rate::per(0, HOUR), "enough", &CountStore::in_memory(0));
        any.add(peer(1), 1 << 60, start);
        assert_eq!(code(any.check(peer(1), start)), None);
        let refusal = quota.take(peer(1), 4, start + 4 * HOUR / 10).unwrap_err();
        assert_eq!(refusal.told().1, "enough; the next may come in 1440 s");
    }

    #[test]
    fn a_server_that_is_killed_forgets_nothing() {
        for used in [1, 9, 10, 11, 100, 151, 160] {
            let dir = tempfile::tempdir().unwrap();
            let first = stored(dir.path(), 1000);
            (0..used).for_each(|_| first.take(peer(1), 1, Instant::now()).unwrap());
            // Nothing is written when it is dropped.
            drop(first);
            let again = stored(dir.path(), 1000);
            let (left, others) = (left(&again, 1), left(&again, 2));
            let max = 160 - used;
            assert!(left <= max && left + 10 >= max, "{left} after {used}");
            assert_eq!(others, 160);
        }
    }

    #[test]
    fn one_that_ends_in_order_is_exact() {
        let dir = tempfile::tempdir().unwrap();
        let first = stored(dir.path(), 1000);
        first.take(peer(1), 64, Instant::now()).unwrap();
        first.settle(Instant::now());
        drop(first);
        let again = stored(dir.path(), 1000);
        assert_eq!(left(&again, 1), 96);
        drop(again);
        // Half an hour later half of the quota is back, less what was written ahead.
        let later = stored(dir.path(), 1000 + 1800);
        assert!((70..=80).contains(&left(&later, 1)));
        later.sweep(Instant::now() + 3 * HOUR);
        drop(later);
        assert!(
            stored(dir.path(), 1000 + 1800).written.unwrap().into_inner().unwrap().is_empty(),
            "all is forgotten"
        );
    }

    #[test]
    fn a_clock_that_was_set_back_gives_nothing_away() {
        let dir = tempfile::tempdir().unwrap();
        let first = stored(dir.path(), 1_000_000);
        assert_eq!(left(&first, 1), 160);
        first.settle(Instant::now());
        drop(first);
        for now in [0, 999_999, 1_000_000] {
            let again = stored(dir.path(), now);
            assert_eq!(left(&again, 1), 0, "at {now}");
            let refusal = again.take(peer(1), 1, Instant::now()).unwrap_err();
            assert!(refusal.told().2 <= 23, "nobody waits for longer either: {}", refusal.told().2);
            drop(again);
        }
    }

    #[test]
    fn the_disk_is_not_written_for_each() {
        let dir = tempfile::tempdir().unwrap();
        let quota = stored(dir.path(), 1000);
        let mut writes = std::collections::BTreeSet::new();
        for _ in 0..160 {
            quota.take(peer(1), 1, Instant::now()).unwrap();
            writes.extend(quota.written.as_ref().unwrap().lock().unwrap().values().copied());
        }
        assert!(writes.len() <= 16, "{}", writes.len());
    }

    #[test]
    fn a_customer_of_many_ipv6_networks_has_what_four_clients_have() {
        let count_store = CountStore::in_memory(0);
        let quota = ClientQuota::new(Rate::per(10, Duration::from_secs(3600)), "enough", &count_store);
        let now = Instant::now();
        let takes = |address: String| quota.take(Peer(address.parse().unwrap()), 10, now).is_ok();
        let of_one_site = (0..256).filter(|i| takes(format!("2001:db8:0:{i:x}::1"))).count();
        let of_other_sites = (1..256).filter(|i| takes(format!("2001:db8:0:{i:x}00::1"))).count();
        assert_eq!((of_one_site, of_other_sites), (2, 2));
        assert!(takes("2001:db8:1::1".into()), "another customer");
        // An amount that one network refuses is counted in none.
        assert!(!takes("2001:db8:0:f00::2".into()) && takes("192.0.2.1".into()));
    }
}
