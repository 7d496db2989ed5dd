//! What every route shares.

use crate::admin::AdminHosts;
use crate::apple::use_cases::ReloadOutcome as LookedCase;
use crate::apple::{AppleServer, UseCaseSource};
use crate::client_quota::ClientQuota;
use crate::clock::nanos;
use crate::concurrency::{Capacity, ConcurrencyLimit};
use crate::database::CopyTo;
use crate::epochs::{PATIENCE, ServedTables};
use crate::hint_queue::HintQueue;
use crate::logs::ServedLogs;
use crate::low_priority::LowPriorityPool;
use crate::memory::{MemoryBudget, MemoryPermit};
use crate::metrics::Metrics;
use crate::opening::Opening;
use crate::rate_limiter::Rate;
use crate::refusal::Refusal;
use crate::routes::origins::AllowedOrigins;
use crate::scheduler::{Scheduler, SchedulerLimits};
use crate::served_table::{ReloadOutcome, ServedTable};
use crate::sessions::{self, Peer, Sessions};
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

/// Threads that wait for pages of files which are downloaded, of those that the runtime has for such work.
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
    pub(crate) batch: Scheduler,
    pub(crate) orders: HintQueue,
    /// Where keys are expanded.
    pub(crate) aside: LowPriorityPool,
    pub(crate) sessions: Sessions,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) open_streams: Arc<ConcurrencyLimit>,
    pub(crate) open_orders: Arc<ConcurrencyLimit>,
    /// Time that hints are made for each client.
    pub(crate) effort: Arc<ClientQuota>,
    pub(crate) evaluations: ClientQuota,
    pub(crate) budget: Arc<TimeBudget>,
    /// Whose pages may ask.
    pub(crate) origins: AllowedOrigins,
    /// Hosts that requests of operators may name.
    pub(crate) admin_hosts: AdminHosts,
    pub(crate) read_timeout: Duration,
    /// How many downloads may wait for the disk at once.
    pub(crate) readers: Arc<Semaphore>,
    /// How long a download goes on whose epoch is not served any more.
    pub(crate) grace: Duration,
    /// Where what outlives a restart is.
    pub(crate) state: Option<PathBuf>,
    /// Held by whoever copies it.
    pub(crate) copying: Mutex<()>,
    /// Memory for requests and their answers.
    pub(crate) memory: Arc<MemoryBudget>,
    stopping: AtomicBool,
    /// Whether an operator has asked that nothing new be sent here.
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
        (metrics, memory, opening): (Arc<Metrics>, Arc<MemoryBudget>, &Opening),
    ) -> Result<Self, StartError> {
        let tables = ServedTables::open(sources, opening)?;
        let stacks = ServedStacks::open(&config.stacks, &tables)?;
        let logs = ServedLogs::open(&config.logs)?;
        let page = StaticSite::open(config.page.as_deref())?;
        let apple = AppleServer::open(config, use_cases, &metrics)?;
        let state = config.state.as_deref();
        let sessions = Sessions::open(&config.sessions, state, metrics.clone(), sessions::now())?;
        // After the database of sessions, which no two servers have open.
        #[cfg(feature = "ohttp")]
        let ohttp = config.ohttp.as_ref().map(|set| crate::ohttp::Gateway::open(set, state)).transpose()?;
        let (keep, now) = (sessions.keep(), Instant::now());
        let budget = Arc::new(TimeBudget::new(&config.scans, keep, metrics.clone()));
        let batch =
            Scheduler::start(SchedulerLimits::of(config), config.threads, budget.clone(), metrics.clone())?;
        let making = nanos(Duration::from_secs(config.order_seconds_per_client));
        let made = "as much was made for one address as may be in an hour";
        let effort = Arc::new(ClientQuota::new(Rate::per(making, HOUR), made, keep));
        let evaluated = "as many evaluations were made for one address as may be in an hour";
        let evaluations =
            ClientQuota::kept(Rate::per(config.evaluations_per_client, HOUR), evaluated, keep, now)?;
        let works = (effort.clone(), budget.clone());
        let orders = HintQueue::start(config.max_orders, config.order_threads, works, metrics.clone())?;
        let streams =
            ["as many streams are open as may be", "as many streams are open as one address may have"];
        let hints = ["as many orders wait as may", "as many orders wait as one address may have"];
        let places = |all, per_client| Capacity { all, per_client };
        Ok(Service {
            tables,
            stacks,
            logs,
            page,
            apple,
            #[cfg(feature = "ohttp")]
            ohttp,
            batch,
            orders,
            aside: LowPriorityPool::start()?,
            sessions,
            open_streams: ConcurrencyLimit::new(
                places(config.max_streams, config.streams_per_client),
                metrics.open_streams.clone(),
                streams,
            ),
            open_orders: ConcurrencyLimit::new(
                places(config.max_orders, config.orders_per_client),
                metrics.open_orders.clone(),
                hints,
            ),
            memory,
            effort,
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

    /// Whether new work is taken.
    ///
    /// # Errors
    /// [`Code::ShuttingDown`].
    pub(crate) fn check_working(&self) -> Result<(), Code> {
        if self.is_stopping() { Err(Code::ShuttingDown) } else { Ok(()) }
    }

    /// Room in memory for a client's `bytes`, until it is dropped. While the server ends too: an answer that is made goes out.
    ///
    /// # Errors
    /// As [`MemoryBudget::take`].
    pub(crate) fn room(&self, peer: Peer, bytes: u64) -> Result<MemoryPermit, Refusal> {
        self.memory.take(peer, bytes)
    }

    /// Drops keys that have expired, writes down which were used, and forgets whose counts are over. Blocks on the disk.
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
        [&self.effort, &self.evaluations].into_iter().for_each(|allowance| allowance.sweep(now));
        self.budget.sweep(now);
    }

    /// How often to do so.
    pub(crate) fn sweep_every(&self) -> Duration {
        let ours = self.sessions.sweep_every();
        self.apple.as_ref().map_or(ours, |apple| ours.min(apple.keys.sweep_every()))
    }

    /// Writes down what has to outlive this server. Blocks on the disk.
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

    /// From now on, takes no new work.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.tables.all().for_each(|slot| slot.stop());
        self.orders.close();
    }

    /// Whether a load balancer should send nothing here: what comes all the same is answered.
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    /// Asks for that, or that it be so no more.
    pub(crate) fn drain(&self, drained: bool) {
        self.drained.store(drained, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Looks for new epochs of every table and of every use case. Blocks on files; large images are read by a thread of its own.
    pub(crate) fn reload(self: &Arc<Self>) -> (Vec<(String, ReloadOutcome)>, Vec<LookedCase>) {
        let use_cases = self.apple.as_ref().map(|apple| apple.shelf.reload()).unwrap_or_default();
        self.apple.iter().flat_map(|apple| &apple.tokens).for_each(|tokens| tokens.refresh());
        use_cases.iter().filter(|looked| looked.refused.is_some()).for_each(|_| self.metrics.epoch_refused());
        (self.reload_tables(), use_cases)
    }

    fn reload_tables(self: &Arc<Self>) -> Vec<(String, ReloadOutcome)> {
        let mut patience = PATIENCE;
        let look = |slot: &Arc<ServedTable>| {
            let looked = slot.reload(&mut patience);
            if looked.refused.is_some() {
                self.metrics.epoch_refused();
            }
            (slot.clone(), looked)
        };
        let looked: Vec<_> = self.tables.all().map(look).collect();
        self.stacks.reload(&self.tables);
        // After the tables: whoever publishes writes the log last.
        self.logs.refresh();
        let begun = |(slot, looked): &(Arc<ServedTable>, ReloadOutcome)| looked.begun.then(|| slot.clone());
        self.read_on(looked.iter().filter_map(begun).collect());
        looked.into_iter().map(|(slot, looked)| (slot.name(), looked)).collect()
    }

    /// Reads the images of these tables through on a thread of its own, one after the other: a disk does not get faster from two
    /// who read it.
    pub(crate) fn read_on(self: &Arc<Self>, slots: Vec<Arc<ServedTable>>) {
        if slots.is_empty() {
            return;
        }
        let (service, waiting) = (self.clone(), slots.clone());
        let read = move || {
            for slot in slots {
                if slot.finish_reading().refused.is_some() {
                    service.metrics.epoch_refused();
                }
                service.stacks.reload(&service.tables);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sotto-check".into()).spawn(read) {
            tracing::error!(%error, "no thread to read images on; they are looked for again later");
            waiting.iter().for_each(|slot| slot.put_off());
        }
    }
}
