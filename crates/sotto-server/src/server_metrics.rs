//! All metrics of a server, and their exposition text.

use crate::epochs::{ServedTables, TableMetrics};
use crate::hint_queue::HintMetrics;
use crate::listen;
use crate::memory::MemoryBudget;
use crate::metrics::{ByTable, MediumLabel, RequestMetrics};
use crate::scheduler::SchedulerMetrics;
use crate::session_store::metrics::{EvictionReason, SessionMetrics};
use crate::sessions::Sessions;
use crate::time_budget::BudgetMetrics;
use prometheus_client::encoding::text;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All metrics of a server, as its modules have registered them.
pub(crate) struct ServerMetrics {
    registry: Mutex<Registry>,
    pub(crate) requests: RequestMetrics,
    pub(crate) scheduler: SchedulerMetrics,
    pub(crate) hints: HintMetrics,
    /// Memory in bytes that requests and answers take.
    pub(crate) request_memory: Gauge,
    pub(crate) budget: BudgetMetrics,
    pub(crate) tables: TableMetrics,
    pub(crate) sessions: SessionMetrics,
    /// Number of open public connections.
    pub(crate) connections: Gauge,
}

impl ServerMetrics {
    pub(crate) fn new() -> Self {
        let mut r = Registry::with_prefix("sotto");
        let requests = RequestMetrics::register(&mut r);
        ServerMetrics {
            scheduler: SchedulerMetrics::register(&mut r, requests.abandoned.clone()),
            hints: HintMetrics::register(&mut r, requests.abandoned.clone()),
            request_memory: MemoryBudget::gauge(&mut r),
            budget: BudgetMetrics::register(&mut r),
            tables: TableMetrics::register(&mut r),
            sessions: SessionMetrics::register(&mut r),
            connections: listen::connection_gauge(&mut r),
            requests,
            registry: Mutex::new(r),
        }
    }

    /// The exposition text; gauges of tables and sessions are computed now.
    pub(crate) fn exposition(&self, tables: &ServedTables, sessions: &Sessions) -> String {
        self.tables.update_gauges(tables);
        sessions.update_gauges(tables.live_names());
        self.text()
    }

    /// The registry, for the metrics of extensions.
    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        match text::encode(&mut out, &self.registry()) {
            Ok(()) => out,
            Err(_) => String::new(),
        }
    }
}

/// The exposition text of a server that has counted something of each metric, for tools that list
/// names, help texts and labels; `register` adds the metrics of extensions.
#[doc(hidden)]
pub fn metrics_sample(register: impl FnOnce(&mut Registry)) -> String {
    let metrics = ServerMetrics::new();
    register(&mut metrics.registry());
    metrics.requests.request("route", "outcome");
    metrics.requests.stream("table");
    metrics.requests.evaluated("table", 1);
    metrics.requests.answered("table", Duration::ZERO, Duration::ZERO);
    metrics.scheduler.pass("table", 1);
    metrics.scheduler.unit("table");
    metrics.hints.request("table");
    metrics.budget.charged(Duration::ZERO);
    ["client", "all"].into_iter().for_each(|scope| metrics.budget.refused(scope));
    EvictionReason::ALL.into_iter().for_each(|reason| metrics.sessions.evicted(reason));
    let by_table = ByTable { table: "table".into() };
    for gauge in [&metrics.sessions.sessions, &metrics.sessions.in_memory] {
        gauge.get_or_create(&by_table).set(0);
    }
    for medium in ["memory", "disk"] {
        metrics.sessions.bytes.get_or_create(&MediumLabel { medium }).set(0);
    }
    metrics.tables.sample(&by_table);
    metrics.text()
}
