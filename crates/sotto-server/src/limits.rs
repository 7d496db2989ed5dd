//! Limits on what clients may use.
//!
//! | module | contents |
//! |---|---|
//! | [`rate`] | rates over time, in memory or across restarts |
//! | [`slots`] | what clients hold at once: concurrent work, and memory |
//! | [`budget`] | the time that is spent on the tables, charged to clients |
//! | [`counts`] | names, time and storage for counts per client |
//!
//! Open connections are limited by `listen`, and stored keys by `sessions`, since a new one evicts
//! another there.

pub(crate) mod budget;
pub(crate) mod counts;
pub(crate) mod rate;
pub(crate) mod slots;

use crate::clock::nanos;
use crate::metrics::ServerMetrics;
use crate::{ServerConfig, StartError};
use budget::TimeBudget;
use counts::CountStore;
use rate::{Rate, RateLimit};
use slots::Slots;
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
