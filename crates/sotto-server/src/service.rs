//! The state that all routes share.

use crate::admin_hosts::AdminHosts;
use crate::client_quota::ClientQuota;
use crate::clock::nanos;
use crate::concurrency::{Capacity, ConcurrencyLimit};
use crate::database::CopyTo;
use crate::epochs::{PATIENCE, ServedTables};
use crate::extension::{Extension, ExtensionContext, ExtensionReload, ExtensionSetup};
use crate::hint_queue::HintQueue;
use crate::host::Host;
use crate::logs::ServedLogs;
use crate::low_priority::LowPriorityPool;
use crate::memory::MemoryBudget;
use crate::opening::Opening;
use crate::origins::AllowedOrigins;
use crate::rate_limiter::Rate;
use crate::scheduler::{Scheduler, SchedulerLimits};
use crate::served_table::{ReloadOutcome, ServedTable};
use crate::server_metrics::ServerMetrics;
use crate::sessions::{self, Sessions};
use crate::stacks::ServedStacks;
use crate::static_site::StaticSite;
use crate::time_budget::TimeBudget;
use crate::{EpochSource, ServerConfig, StartError};
use sotto_db::CopyBudget;
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
    /// Other protocols that are served.
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) host: Arc<Host>,
    pub(crate) hint_queue: HintQueue,
    pub(crate) sessions: Sessions,
    pub(crate) open_streams: Arc<ConcurrencyLimit>,
    pub(crate) open_hint_requests: Arc<ConcurrencyLimit>,
    /// Quota of each client for the time of its hint requests.
    pub(crate) hint_quota: Arc<ClientQuota>,
    /// Origins whose pages may make requests.
    pub(crate) origins: AllowedOrigins,
    /// Hosts that requests of operators may name.
    pub(crate) admin_hosts: AdminHosts,
    /// Limit on downloads that wait for the disk at once.
    pub(crate) readers: Arc<Semaphore>,
    /// Maximum time that a download of an epoch continues after the epoch is no longer served.
    pub(crate) grace: Duration,
    /// State directory, if there is one.
    pub(crate) state: Option<PathBuf>,
    /// Locked while a backup is made.
    pub(crate) copying: Mutex<()>,
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
        setups: Vec<Box<dyn ExtensionSetup>>,
        copies: &Arc<CopyBudget>,
        metrics: Arc<ServerMetrics>,
        memory: Arc<MemoryBudget>,
        opening: &Opening,
    ) -> Result<Self, StartError> {
        let tables = ServedTables::open(sources, opening)?;
        let stacks = ServedStacks::open(&config.stacks, &tables)?;
        let logs = ServedLogs::open(&config.logs)?;
        let page = StaticSite::open(config.static_dir.as_deref())?;
        let state = config.state.as_deref();
        let sessions = Sessions::open(&config.sessions, state, metrics.sessions.clone(), sessions::now())?;
        // Opened after the database of sessions, which no two servers can have open.
        let (mut extensions, mut max_stepped) = (Vec::new(), 0);
        for setup in setups {
            max_stepped = max_stepped.max(setup.needs().max_stepped);
            let (registry, sessions) = (&mut *metrics.registry(), metrics.sessions.clone());
            extensions.extend(setup.open(ExtensionContext { config, copies, registry, sessions })?);
        }
        let (count_store, now) = (sessions.count_store(), Instant::now());
        let budget = Arc::new(TimeBudget::new(&config.scan_budget, count_store, metrics.budget.clone()));
        let limits = SchedulerLimits::of(config, max_stepped);
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
        let (low_priority, read_timeout, stopping) =
            (LowPriorityPool::start()?, config.read_timeout(), AtomicBool::new(false));
        let host = Host {
            scheduler,
            low_priority,
            metrics: metrics.clone(),
            memory,
            evaluations,
            budget,
            read_timeout,
            stopping,
        };
        Ok(Service {
            tables,
            stacks,
            logs,
            page,
            extensions,
            hint_queue,
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
            hint_quota,
            host: Arc::new(host),
            origins: AllowedOrigins::new(&config.allow_origins),
            admin_hosts: AdminHosts::new(&config.admin_hosts),
            readers: Arc::new(Semaphore::new(READERS)),
            grace: config.idle_timeout(),
            state: config.state.clone(),
            copying: Mutex::default(),
            drained: AtomicBool::new(false),
        })
    }

    /// The metrics as text.
    pub(crate) fn exposition(&self) -> String {
        self.extensions.iter().for_each(|extension| extension.update_gauges());
        self.host.metrics.exposition(&self.tables, &self.sessions)
    }

    /// Drops expired keys, stores the times of use, and forgets counts that have expired. Blocks on
    /// the disk.
    pub(crate) fn sweep(&self) {
        self.sessions.sweep(sessions::now());
        self.extensions.iter().for_each(|extension| extension.sweep());
        let now = Instant::now();
        [&self.hint_quota, &self.host.evaluations].into_iter().for_each(|quota| quota.sweep(now));
        self.host.budget.sweep(now);
    }

    /// Interval between two calls of [`Self::sweep`].
    pub(crate) fn sweep_every(&self) -> Duration {
        let others = self.extensions.iter().filter_map(|extension| extension.sweep_every());
        others.fold(self.sessions.sweep_every(), Duration::min)
    }

    /// Stores what has to outlive this server. Blocks on the disk.
    pub(crate) fn settle(&self) {
        self.sweep();
        self.host.evaluations.settle(Instant::now());
    }

    /// The databases in the state folder.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &dyn CopyTo> {
        self.sessions.store().into_iter().chain(self.extensions.iter().flat_map(|other| other.stores()))
    }

    /// Accepts no new work from now on.
    pub(crate) fn stop(&self) {
        self.host.stopping.store(true, Ordering::Relaxed);
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
        self.host.stopping.load(Ordering::Relaxed)
    }

    /// Checks for new epochs of every table and of every extension. Blocks on files; large images
    /// are read by a thread of its own.
    pub(crate) fn reload(self: &Arc<Self>) -> (Vec<(String, ReloadOutcome)>, Vec<ExtensionReload>) {
        let others: Vec<_> = self.extensions.iter().map(|extension| extension.reload()).collect();
        self.host.metrics.tables.load_failures.inc_by(others.iter().map(|other| other.failures).sum());
        (self.reload_tables(), others)
    }

    fn reload_tables(self: &Arc<Self>) -> Vec<(String, ReloadOutcome)> {
        let mut patience = PATIENCE;
        let reload = |table: &Arc<ServedTable>| {
            let outcome = table.reload(&mut patience);
            if outcome.refused.is_some() {
                self.host.metrics.tables.load_failures.inc();
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
                    service.host.metrics.tables.load_failures.inc();
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
