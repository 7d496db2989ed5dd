//! The state that all routes share.

use crate::database::CopyTo;
use crate::epochs::{Opening, READ_BUDGET, ServedTables};
use crate::extension::{Extension, ExtensionContext, ExtensionReload, ExtensionSetup};
use crate::hint_queue::HintQueue;
use crate::host::Host;
use crate::limits::Limits;
use crate::limits::slots::Slots;
use crate::logs::ServedLogs;
use crate::low_priority::LowPriorityPool;
use crate::metrics::{self, ServerMetrics};
use crate::scheduler::{Scheduler, SchedulerLimits};
use crate::served_table::{ReloadOutcome, ServedTable};
use crate::sessions::{self, Sessions};
use crate::stacks::ServedStacks;
use crate::static_site::StaticSite;
use crate::{EpochSource, ServerConfig, StartError};
use prometheus_client::registry::Registry;
use sotto_db::CopyBudget;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Maximum number of threads of the runtime that wait for pages of files which are downloaded.
const READERS: usize = 2;

/// What a server is to serve.
pub(crate) struct ServiceSources {
    pub(crate) tables: Vec<Box<dyn EpochSource>>,
    pub(crate) extensions: Vec<Box<dyn ExtensionSetup>>,
    /// Memory for copies of tables, shared by all of them.
    pub(crate) copies: Arc<CopyBudget>,
}

/// A server without its sockets.
pub(crate) struct Service {
    pub(crate) tables: ServedTables,
    pub(crate) stacks: ServedStacks,
    pub(crate) logs: ServedLogs,
    pub(crate) page: StaticSite,
    /// Protocols that are served besides the server's own.
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) host: Arc<Host>,
    pub(crate) hint_queue: HintQueue,
    pub(crate) sessions: Sessions,
    /// Limit on downloads that wait for the disk at once.
    pub(crate) readers: Arc<Semaphore>,
    /// Maximum time that a download of an epoch continues after the epoch is no longer served.
    pub(crate) grace: Duration,
    /// All metrics, those of extensions included.
    registry: Registry,
}

impl Service {
    /// Opens every table and starts the workers.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &ServerConfig,
        sources: ServiceSources,
        mut registry: Registry,
        metrics: Arc<ServerMetrics>,
        memory: Arc<Slots>,
        opening: &Opening,
    ) -> Result<Self, StartError> {
        let ServiceSources { tables, extensions: setups, copies } = sources;
        let tables = ServedTables::open(tables, opening)?;
        let stacks = ServedStacks::open(&config.stacks, &tables)?;
        let logs = ServedLogs::open(&config.logs)?;
        let page = StaticSite::open(config.static_dir.as_deref())?;
        let state = config.state.as_deref();
        let sessions = Sessions::open(&config.sessions, state, metrics.clone(), sessions::now())?;
        // Opened after the database of sessions, which no two servers can have open.
        let (mut extensions, mut max_stepped) = (Vec::new(), 0);
        for setup in setups {
            max_stepped = max_stepped.max(setup.needs().max_stepped);
            let (registry, metrics) = (&mut registry, metrics.clone());
            extensions.extend(setup.open(ExtensionContext { config, copies: &copies, registry, metrics })?);
        }
        let limits = Limits::open(config, memory, sessions.count_store(), &metrics)?;
        let scheduler = Scheduler::start(
            SchedulerLimits::of(config, max_stepped),
            config.threads,
            limits.budget.clone(),
            metrics.clone(),
        )?;
        let hint_queue = HintQueue::start(config, &limits, metrics.clone())?;
        let host = Host {
            scheduler,
            low_priority: LowPriorityPool::start()?,
            metrics,
            limits,
            read_timeout: config.read_timeout(),
            stopping: AtomicBool::new(false),
        };
        let (readers, grace) = (Arc::new(Semaphore::new(READERS)), config.idle_timeout());
        let host = Arc::new(host);
        Ok(Service {
            tables,
            stacks,
            logs,
            page,
            extensions,
            host,
            hint_queue,
            sessions,
            readers,
            grace,
            registry,
        })
    }

    /// The metrics as text; gauges are computed now.
    pub(crate) fn exposition(&self) -> String {
        self.extensions.iter().for_each(|extension| extension.update_gauges());
        self.tables.update_gauges(&self.host.metrics);
        self.sessions.update_gauges(self.tables.live_names());
        metrics::exposition(&self.registry)
    }

    /// Drops expired keys, stores the times of use, and forgets counts that have expired. Blocks on
    /// the disk.
    pub(crate) fn sweep(&self) {
        self.sessions.sweep(sessions::now());
        self.extensions.iter().for_each(|extension| extension.sweep());
        self.host.limits.sweep();
    }

    /// Interval between two calls of [`Self::sweep`].
    pub(crate) fn sweep_every(&self) -> Duration {
        let others = self.extensions.iter().filter_map(|extension| extension.sweep_every());
        others.fold(self.sessions.sweep_every(), Duration::min)
    }

    /// Stores what has to outlive this server. Blocks on the disk.
    pub(crate) fn settle(&self) {
        self.sweep();
        self.host.limits.settle();
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

    pub(crate) fn is_stopping(&self) -> bool {
        self.host.stopping.load(Ordering::Relaxed)
    }

    /// Checks for new epochs of every table and of every extension. Blocks on files; large images
    /// are read by a thread of its own.
    pub(crate) fn reload(self: &Arc<Self>) -> (Vec<(String, ReloadOutcome)>, Vec<ExtensionReload>) {
        let others: Vec<_> = self.extensions.iter().map(|extension| extension.reload()).collect();
        self.host.metrics.epoch_load_failures.inc_by(others.iter().map(|other| other.failures).sum());
        (self.reload_tables(), others)
    }

    fn reload_tables(self: &Arc<Self>) -> Vec<(String, ReloadOutcome)> {
        let mut read_budget = READ_BUDGET;
        let reload = |table: &Arc<ServedTable>| {
            let outcome = table.reload(&mut read_budget);
            if outcome.refused.is_some() {
                self.host.metrics.epoch_load_failures.inc();
            }
            (table.clone(), outcome)
        };
        let outcome: Vec<_> = self.tables.all().map(reload).collect();
        self.stacks.reload(&self.tables);
        // After the tables, since a publisher writes the log last.
        self.logs.refresh();
        let begun =
            |(table, outcome): &(Arc<ServedTable>, ReloadOutcome)| outcome.begun.then(|| table.clone());
        self.finish_reading(outcome.iter().filter_map(begun).collect());
        outcome.into_iter().map(|(table, outcome)| (table.name(), outcome)).collect()
    }

    /// Verifies the images of these tables on a thread of its own, one after the other: a disk does
    /// not get faster with two readers.
    pub(crate) fn finish_reading(self: &Arc<Self>, tables: Vec<Arc<ServedTable>>) {
        if tables.is_empty() {
            return;
        }
        let (service, waiting) = (self.clone(), tables.clone());
        let read = move || {
            for table in tables {
                if table.finish_reading().refused.is_some() {
                    service.host.metrics.epoch_load_failures.inc();
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
