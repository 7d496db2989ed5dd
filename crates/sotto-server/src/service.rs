//! The state that all routes share.

use crate::admin_hosts::AdminHosts;
use crate::apple::use_cases::ReloadOutcome as LookedCase;
use crate::apple::{AppleServer, UseCaseSource};
use crate::client::Peer;
use crate::client_quota::ClientQuota;
use crate::clock::nanos;
use crate::concurrency::{Capacity, ConcurrencyLimit};
use crate::database::CopyTo;
use crate::epochs::{PATIENCE, ServedTables};
use crate::hint_queue::HintQueue;
use crate::logs::ServedLogs;
use crate::low_priority::LowPriorityPool;
use crate::memory::{MemoryBudget, MemoryPermit};
use crate::opening::Opening;
use crate::origins::AllowedOrigins;
use crate::rate_limiter::Rate;
use crate::refusal::Refusal;
use crate::scheduler::{Scheduler, SchedulerLimits};
use crate::served_table::{ReloadOutcome, ServedTable};
use crate::server_metrics::ServerMetrics;
use crate::sessions::{self, Sessions};
use crate::stacks::ServedStacks;
use crate::static_site::StaticSite;
use crate::time_budget::TimeBudget;
use crate::{EpochSource, ServerConfig, StartError};
use sotto_wire::Code;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Maximum number of threads of the runtime that wait for pages of files which are downloaded.
const READERS: usize = 2;

const HOUR: Duration = Duration::from_secs(3600);

/// A server without its sockets.
pub(crate) struct Service {
    pub(crate) tables: ServedTables,
    pub(crate) stacks: ServedStacks,
    pub(crate) logs: ServedLogs,
    pub(crate) page: StaticSite,
    /// Apple's private lookups, if any are served.
    pub(crate) apple: Option<AppleServer>,
    #[cfg(feature = "ohttp")]
    pub(crate) ohttp: Option<crate::ohttp::Gateway>,
    pub(crate) scheduler: Scheduler,
    pub(crate) hint_queue: HintQueue,
    /// Low-priority threads, which expand keys.
    pub(crate) low_priority: LowPriorityPool,
    pub(crate) sessions: Sessions,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) open_streams: Arc<ConcurrencyLimit>,
    pub(crate) open_hint_requests: Arc<ConcurrencyLimit>,
    /// Quota of each client for the time of its hint requests.
    pub(crate) hint_quota: Arc<ClientQuota>,
    pub(crate) evaluations: ClientQuota,
    pub(crate) budget: Arc<TimeBudget>,
    /// Origins whose pages may make requests.
    pub(crate) origins: AllowedOrigins,
    /// Hosts that requests of operators may name.
    pub(crate) admin_hosts: AdminHosts,
    pub(crate) read_timeout: Duration,
    /// Limit on downloads that wait for the disk at once.
    pub(crate) readers: Arc<Semaphore>,
    /// Maximum time that a download of an epoch continues after the epoch is no longer served.
    pub(crate) grace: Duration,
    /// State directory, if there is one.
    pub(crate) state: Option<PathBuf>,
    /// Locked while a backup is made.
    pub(crate) copying: Mutex<()>,
    /// Memory for requests and their answers.
    pub(crate) memory: Arc<MemoryBudget>,
    stopping: AtomicBool,
    /// Whether an operator has drained the server.
    drained: AtomicBool,
}

impl Service {
    /// Opens every table and starts the workers.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &ServerConfig,
        sources: Vec<Box<dyn EpochSource>>,
        use_cases: Vec<Box<dyn UseCaseSource>>,
        metrics: Arc<ServerMetrics>,
        memory: Arc<MemoryBudget>,
        opening: &Opening,
    ) -> Result<Self, StartError> {
        let tables = ServedTables::open(sources, opening)?;
        let stacks = ServedStacks::open(&config.stacks, &tables)?;
        let logs = ServedLogs::open(&config.logs)?;
        let page = StaticSite::open(config.static_dir.as_deref())?;
        let apple = AppleServer::open(config, use_cases, metrics.sessions.clone())?;
        let state = config.state.as_deref();
        let sessions = Sessions::open(&config.sessions, state, metrics.sessions.clone(), sessions::now())?;
        // Opened after the database of sessions, which no two servers can have open.
        #[cfg(feature = "ohttp")]
        let ohttp = config.ohttp.as_ref().map(|set| crate::ohttp::Gateway::open(set, state)).transpose()?;
        let (count_store, now) = (sessions.count_store(), Instant::now());
        let budget = Arc::new(TimeBudget::new(&config.scan_budget, count_store, metrics.budget.clone()));
        let limits = SchedulerLimits::of(config);
        let scheduler = Scheduler::start(limits, config.threads, budget.clone(), metrics.scheduler.clone())?;
        let hint_time = nanos(Duration::from_secs(config.hint_seconds_per_client));
        let made = "the hourly limit of time for hints for this address is reached";
        let hint_quota = Arc::new(ClientQuota::new(Rate::per(hint_time, HOUR), made, count_store));
        let evaluated = "the hourly limit of evaluations for this address is reached";
        let evaluations =
            ClientQuota::open(Rate::per(config.evaluations_per_client, HOUR), evaluated, count_store, now)?;
        let hint_queue = HintQueue::start(
            config.max_hint_requests,
            config.hint_threads,
            hint_quota.clone(),
            budget.clone(),
            metrics.hints.clone(),
        )?;
        let streams = [
            "the limit of open row streams is reached",
            "the limit of open row streams for this address is reached",
        ];
        let hints = [
            "the limit of open hint requests is reached",
            "the limit of open hint requests for this address is reached",
        ];
        let capacity = |all, per_client| Capacity { all, per_client };
        Ok(Service {
            tables,
            stacks,
            logs,
            page,
            apple,
            #[cfg(feature = "ohttp")]
            ohttp,
            scheduler,
            hint_queue,
            low_priority: LowPriorityPool::start()?,
            sessions,
            open_streams: ConcurrencyLimit::new(
                capacity(config.max_streams, config.streams_per_client),
                metrics.scheduler.open_streams.clone(),
                streams,
            ),
            open_hint_requests: ConcurrencyLimit::new(
                capacity(config.max_hint_requests, config.hint_requests_per_client),
                metrics.hints.open.clone(),
                hints,
            ),
            memory,
            hint_quota,
            evaluations,
            budget,
            metrics,
            origins: AllowedOrigins::new(&config.allow_origins),
            admin_hosts: AdminHosts::new(&config.admin_hosts),
            read_timeout: config.read_timeout(),
            readers: Arc::new(Semaphore::new(READERS)),
            grace: config.idle_timeout(),
            state: config.state.clone(),
            copying: Mutex::default(),
            stopping: AtomicBool::new(false),
            drained: AtomicBool::new(false),
        })
    }

    /// The metrics as text.
    pub(crate) fn exposition(&self) -> String {
        self.metrics.exposition(&self.tables, &self.sessions, self.apple.as_ref())
    }

    /// Checks that new work is accepted.
    ///
    /// # Errors
    /// [`Code::ShuttingDown`].
    pub(crate) fn check_working(&self) -> Result<(), Code> {
        if self.is_stopping() { Err(Code::ShuttingDown) } else { Ok(()) }
    }

    /// Takes `bytes` bytes of memory for a client, also during a shutdown: an answer that is made
    /// is sent.
    ///
    /// # Errors
    /// As for [`MemoryBudget::take`].
    pub(crate) fn take_memory(&self, peer: Peer, bytes: u64) -> Result<MemoryPermit, Refusal> {
        self.memory.take(peer, bytes)
    }

    /// Drops expired keys, stores the times of use, and forgets counts that have expired. Blocks on
    /// the disk.
    pub(crate) fn sweep(&self) {
        self.sessions.sweep(sessions::now());
        if let Some(apple) = &self.apple {
            apple.keys.sweep();
            if let Some(tokens) = &apple.tokens {
                tokens.refresh();
                tokens.sweep();
            }
        }
        #[cfg(feature = "ohttp")]
        self.ohttp.iter().for_each(|gateway| gateway.renew_keys());
        let now = Instant::now();
        [&self.hint_quota, &self.evaluations].into_iter().for_each(|quota| quota.sweep(now));
        self.budget.sweep(now);
    }

    /// Interval between two calls of [`Self::sweep`].
    pub(crate) fn sweep_every(&self) -> Duration {
        let ours = self.sessions.sweep_every();
        self.apple.as_ref().map_or(ours, |apple| ours.min(apple.keys.sweep_every()))
    }

    /// Stores what has to outlive this server. Blocks on the disk.
    pub(crate) fn settle(&self) {
        self.sweep();
        self.evaluations.settle(Instant::now());
    }

    /// The databases in the state folder.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &dyn CopyTo> {
        let apple = self.apple.iter();
        let apple = apple
            .flat_map(|apple| [apple.keys.store(), apple.tokens.as_ref().and_then(|tokens| tokens.store())]);
        std::iter::once(self.sessions.store()).chain(apple).flatten()
    }

    /// Accepts no new work from now on.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.tables.all().for_each(|table| table.stop());
        self.hint_queue.close();
    }

    /// Whether a load balancer should send nothing here; requests that arrive nevertheless are
    /// answered.
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    /// Drains the server, or ends that.
    pub(crate) fn drain(&self, drained: bool) {
        self.drained.store(drained, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Checks for new epochs of every table and of every use case. Blocks on files; large images
    /// are read by a thread of its own.
    pub(crate) fn reload(self: &Arc<Self>) -> (Vec<(String, ReloadOutcome)>, Vec<LookedCase>) {
        let use_cases = self.apple.as_ref().map(|apple| apple.use_cases.reload()).unwrap_or_default();
        self.apple.iter().flat_map(|apple| &apple.tokens).for_each(|tokens| tokens.refresh());
        let failures = use_cases.iter().filter(|outcome| outcome.refused.is_some()).count();
        self.metrics.tables.load_failures.inc_by(failures as u64);
        (self.reload_tables(), use_cases)
    }

    fn reload_tables(self: &Arc<Self>) -> Vec<(String, ReloadOutcome)> {
        let mut patience = PATIENCE;
        let reload = |table: &Arc<ServedTable>| {
            let outcome = table.reload(&mut patience);
            if outcome.refused.is_some() {
                self.metrics.tables.load_failures.inc();
            }
            (table.clone(), outcome)
        };
        let outcome: Vec<_> = self.tables.all().map(reload).collect();
        self.stacks.reload(&self.tables);
        // After the tables, since a publisher writes the log last.
        self.logs.refresh();
        let begun =
            |(table, outcome): &(Arc<ServedTable>, ReloadOutcome)| outcome.begun.then(|| table.clone());
        self.read_on(outcome.iter().filter_map(begun).collect());
        outcome.into_iter().map(|(table, outcome)| (table.name(), outcome)).collect()
    }

    /// Verifies the images of these tables on a thread of its own, one after the other: a disk does
    /// not get faster with two readers.
    pub(crate) fn read_on(self: &Arc<Self>, tables: Vec<Arc<ServedTable>>) {
        if tables.is_empty() {
            return;
        }
        let (service, waiting) = (self.clone(), tables.clone());
        let read = move || {
            for table in tables {
                if table.finish_reading().refused.is_some() {
                    service.metrics.tables.load_failures.inc();
                }
                service.stacks.reload(&service.tables);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sotto-check".into()).spawn(read) {
            tracing::error!(%error, "cannot start a thread to verify images; trying again later");
            waiting.iter().for_each(|table| table.put_off());
        }
    }
}
