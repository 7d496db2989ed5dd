//! Limits on what clients may use.
//!
//! | module | contents |
//! |---|---|
//! | [`rate`] | rates over time, in memory or across restarts |
//! | [`slots`] | what clients hold at once: concurrent work, and memory |
//! | [`counts`] | names, time and storage for counts per client |
//!
//! Open connections are limited by `listen`, and stored keys by `sessions`, since a new one evicts
//! another there.

pub(crate) mod counts;
pub(crate) mod rate;
pub(crate) mod slots;

use crate::client::Peer;
use crate::http_error::HttpError;
use crate::metrics::{ScopeLabel, ServerMetrics};
use crate::{ScanConfig, ServerConfig, StartError};
use counts::{CountStore, nanos};
use rate::{Rate, RateLimit};
use slots::Slots;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// The limits of a server.
pub(crate) struct Limits {
    /// Memory for requests and their answers.
    pub(crate) memory: Arc<Slots>,
    pub(crate) streams: Arc<Slots>,
    pub(crate) hint_requests: Arc<Slots>,
    /// Time of each client's hint requests.
    pub(crate) hint_time: Arc<RateLimit>,
    pub(crate) evaluations: RateLimit,
    pub(crate) budget: Arc<TimeBudget>,
}

impl Limits {
    /// The limits of a configuration, and the counts of an earlier run.
    ///
    /// # Errors
    /// [`StartError::State`].
    pub(crate) fn open(
        config: &ServerConfig,
        memory: Arc<Slots>,
        counts: &CountStore,
        metrics: &Arc<ServerMetrics>,
    ) -> Result<Self, StartError> {
        let streams = [
            "the limit of open row streams is reached",
            "the limit of open row streams for this address is reached",
        ];
        let hints = [
            "the limit of open hint requests is reached",
            "the limit of open hint requests for this address is reached",
        ];
        let made = "the hourly limit of time for hints for this address is reached";
        let evaluated = "the hourly limit of evaluations for this address is reached";
        let hint_time = nanos(Duration::from_secs(config.hint_seconds_per_client));
        Ok(Limits {
            memory,
            streams: Slots::new(
                config.max_streams,
                config.streams_per_client,
                metrics.open_streams.clone(),
                streams,
            ),
            hint_requests: Slots::new(
                config.max_hint_requests,
                config.hint_requests_per_client,
                metrics.open_hint_requests.clone(),
                hints,
            ),
            hint_time: Arc::new(RateLimit::new(Rate::per(hint_time, HOUR), made, counts)),
            evaluations: RateLimit::open(
                Rate::per(config.evaluations_per_client, HOUR),
                evaluated,
                counts,
                Instant::now(),
            )?,
            budget: Arc::new(TimeBudget::new(&config.scan_budget, counts, metrics.clone())),
        })
    }

    /// Forgets clients whose limits are whole again. Blocks on the disk.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        [&*self.hint_time, &self.evaluations].into_iter().for_each(|limit| limit.sweep(now));
        self.budget.sweep(now);
    }

    /// Stores the true counts, at the end of a server.
    pub(crate) fn settle(&self) {
        self.evaluations.settle(Instant::now());
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Address that the total is counted for.
const ALL: Peer = Peer(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

/// The time budgets of each client and in total.
pub(crate) struct TimeBudget {
    own: RateLimit,
    all: RateLimit,
    metrics: Arc<ServerMetrics>,
}

/// The share of `queries` of all `total` queries in the time of their pass.
pub(crate) fn share(time: Duration, queries: usize, total: usize) -> Duration {
    let share = u128::from(nanos(time)) * queries as u128 / total.max(1) as u128;
    Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
}

impl TimeBudget {
    pub(crate) fn new(config: &ScanConfig, counts: &CountStore, metrics: Arc<ServerMetrics>) -> Self {
        // One percent of a second, in nanoseconds.
        let rate = |percent: u64, burst: u64| Rate {
            burst: nanos(Duration::from_secs(burst)),
            amount: percent.saturating_mul(nanos(SECOND) / 100),
            period: SECOND,
        };
        let own = "the scan time budget of this address is used up";
        let all = "the scan time budget of all clients is used up";
        TimeBudget {
            own: RateLimit::new(
                rate(config.percent_per_client, config.burst_seconds_per_client),
                own,
                counts,
            ),
            all: RateLimit::new(rate(config.percent, config.burst_seconds), all, counts),
            metrics,
        }
    }

    /// Checks that a client has some time left.
    ///
    /// # Errors
    /// [`sotto_wire::ProblemCode::Busy`].
    pub(crate) fn check(&self, peer: Peer, now: Instant) -> Result<(), HttpError> {
        for (limit, peer, scope) in [(&self.own, peer, "client"), (&self.all, ALL, "all")] {
            limit.check(peer, now).inspect_err(|_| {
                self.metrics.budget_refusals.get_or_create(&ScopeLabel { scope }).inc();
            })?;
        }
        Ok(())
    }

    /// The time until a client has time again, if it has none now.
    pub(crate) fn wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        self.own.wait(peer, now).max(self.all.wait(ALL, now))
    }

    /// Charges a client for the time of its work.
    pub(crate) fn charge(&self, peer: Peer, time: Duration, now: Instant) {
        self.own.add(peer, nanos(time), now);
        self.all.add(ALL, nanos(time), now);
        self.metrics.scan_seconds.inc_by(time.as_secs_f64());
    }

    /// Forgets clients that owe nothing.
    pub(crate) fn sweep(&self, now: Instant) {
        self.own.sweep(now);
        self.all.sweep(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_pass_is_shared_by_queries_and_is_there_again_with_time() {
        let config =
            ScanConfig { percent_per_client: 10, burst_seconds_per_client: 2, percent: 50, burst_seconds: 5 };
        let metrics = Arc::<ServerMetrics>::default();
        let budget = TimeBudget::new(&config, &CountStore::in_memory(0), metrics.clone());
        let peer = |last| Peer(IpAddr::from([192, 0, 2, last]));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let took = Duration::from_secs(4);
        // A pass of eight queries, six of one and two of another.
        budget.charge(peer(1), share(took, 6, 8), start);
        budget.charge(peer(2), share(took, 2, 8), start);
        let refused = budget.check(peer(1), start).unwrap_err();
        assert_eq!(
            (refused.summary().0, refused.summary().2),
            (sotto_wire::ProblemCode::Busy, 11),
            "{}",
            refused.summary().1
        );
        assert!(budget.check(peer(2), start).is_ok() && budget.check(peer(1), at(11)).is_ok());
        // Three more have two seconds each, and five is the total.
        (3..6).for_each(|last| budget.charge(peer(last), share(took, 1, 4), start));
        let refused = budget.check(peer(9), start).unwrap_err();
        assert!(
            refused.summary().1.contains("all clients") && refused.summary().2 == 5,
            "{}",
            refused.summary().1
        );
        assert!(budget.check(peer(9), at(5)).is_ok());
        budget.sweep(at(1000));
        assert!(budget.wait(peer(1), at(1000)).is_none());
        let off = TimeBudget::new(&ScanConfig::default(), &CountStore::in_memory(0), metrics);
        off.charge(peer(1), Duration::from_secs(1 << 30), start);
        assert!(off.check(peer(1), start).is_ok());
    }
}
