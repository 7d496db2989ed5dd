//! The metrics of a server, each declared once: its type, its name and its help text.
//!
//! The label types below are the allow-list: no row, key, session or address can become a label,
//! because there is none for it.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Declares a structure of metrics. A field has the name of its metric, and its help text; one that
/// does not start as its type's default has a value too.
#[macro_export]
macro_rules! metrics {
    ($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty = $help:literal $(, $value:expr)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        $vis struct $name { $($(#[$field_doc])* pub(crate) $field: $kind,)* }

        impl $name {
            /// Registers all metrics, under a prefix.
            $vis fn register(registry: &mut prometheus_client::registry::Registry, prefix: &str) -> Self {
                $(let $field: $kind = $crate::metrics!(@value $kind $(, $value)?);
                registry.register(format!("{prefix}{}", stringify!($field)), $help, Clone::clone(&$field));)*
                $name { $($field,)* }
            }
        }
    };
    (@value $kind:ty) => { <$kind>::default() };
    (@value $kind:ty, $value:expr) => { $value };
}

metrics! {
    /// The metrics of a server.
    pub struct ServerMetrics {
        requests: Family<RequestLabel, Counter> = "Requests by route and outcome";
        query_requests: Family<ByTable, Counter> = "Query requests answered";
        row_streams: Family<ByTable, Counter> = "Row streams started";
        evaluations: Family<ByTable, Counter> = "Evaluations for symmetric tables";
        query_wait_seconds: Histogram = "Time that a query request waited for its pass", seconds();
        answer_seconds: Histogram = "Time from the last byte of a query request to its answer", seconds();
        abandoned_requests: Counter =
            "Query requests and row streams dropped because the client disconnected or did not read";
        request_bytes: Counter = "Bytes of request frames read";
        response_bytes: Counter = "Bytes of responses, as announced to clients";
        queries: Family<ByTable, Counter> = "Queries answered in passes";
        passes: Family<ByTable, Counter> = "Passes over a table";
        stream_units: Family<ByTable, Counter> = "Units computed for row streams";
        open_streams: Gauge = "Open row streams";
        queue_evictions: Counter =
            "Queued query requests evicted from the network with the most queued queries";
        batch_queries: Histogram = "Queries per pass",
            Histogram::new([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0]);
        queue_depth: Gauge = "Query requests waiting for a pass";
        hint_requests: Family<ByTable, Counter> = "Hint requests started";
        open_hint_requests: Gauge = "Hint requests queued or in progress";
        request_memory_bytes: Gauge = "Memory in use for requests and answers, in bytes";
        scan_seconds: Counter<f64, AtomicU64> =
            "Time of passes, units and hints, as charged to the clients' budgets";
        budget_refusals: Family<ScopeLabel, Counter> =
            "Requests refused because a scan time budget is used up, of one client or of all";
        live_epoch: Family<EpochLabel, Gauge> = "Number of each live epoch";
        table_up: Family<ByTable, Gauge> =
            "1 if a table is served, 0 if its image is damaged or still being verified";
        table_bytes: Family<PlacementLabel, Gauge> =
            "Bytes of data that live epochs are answered from, by medium and page size";
        accelerated_bytes: Family<ByTable, Gauge> =
            "Bytes of data of live epochs whose passes an accelerator makes";
        server_role: Family<ByTable, Gauge> = "Role of this server in the table's scheme, counted from 0";
        epoch_load_failures: Counter = "Reloads that found an invalid epoch";
        sessions: Family<ByTable, Gauge> = "Sessions in memory or on disk";
        sessions_in_memory: Family<ByTable, Gauge> = "Sessions whose keys are in memory";
        session_bytes: Family<MediumLabel, Gauge> = "Bytes of evaluation keys of sessions, by medium";
        session_evictions: Family<EvictionLabel, Counter> = "Sessions evicted, by reason";
        session_readmissions: Counter = "Sessions loaded from disk back into memory";
        session_store_failures: Counter = "Failed operations on stored keys";
        connections: Gauge = "Open public connections";
    }
}

/// Half a millisecond to about a minute.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_5, 2.0, 17))
}

/// Labels of a request: its route and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabel {
    pub(crate) route: &'static str,
    pub(crate) outcome: &'static str,
}

/// Label with a table's name, which is always one of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ByTable {
    pub(crate) table: String,
}

/// Label of one of a table's live epochs: `newest` or `previous`. The epoch's number is the gauge's
/// value, so that old epochs leave no series behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EpochLabel {
    pub(crate) table: String,
    pub(crate) generation: &'static str,
}

/// Label of the bytes of a table's live epochs: in the mapped `file` or in `memory`, on `huge`
/// pages, `small` ones, or `unknown`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PlacementLabel {
    pub(crate) table: String,
    pub(crate) medium: &'static str,
    pub(crate) pages: &'static str,
}

/// Label of the reason of an eviction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EvictionLabel {
    pub(crate) reason: &'static str,
}

/// Label of a time budget: that of one `client`, or of `all`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ScopeLabel {
    pub(crate) scope: &'static str,
}

/// Label of the medium that keys are stored in: `memory` or `disk`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct MediumLabel {
    /// The medium.
    pub medium: &'static str,
}

impl ByTable {
    pub(crate) fn of(table: impl Into<String>) -> Self {
        ByTable { table: table.into() }
    }
}

impl Default for ServerMetrics {
    /// Metrics that nobody reads.
    fn default() -> Self {
        ServerMetrics::register(&mut Registry::default(), "")
    }
}

impl ServerMetrics {
    pub(crate) fn request(&self, route: &'static str, outcome: &'static str) {
        self.requests.get_or_create(&RequestLabel { route, outcome }).inc();
    }

    pub(crate) fn answered(&self, table: &str, queue: Duration, total: Duration) {
        self.query_requests.get_or_create(&ByTable::of(table)).inc();
        self.query_wait_seconds.observe(queue.as_secs_f64());
        self.answer_seconds.observe(total.as_secs_f64());
    }

    pub(crate) fn pass(&self, table: &str, queries: usize) {
        self.passes.get_or_create(&ByTable::of(table)).inc();
        self.queries.get_or_create(&ByTable::of(table)).inc_by(queries as u64);
        self.batch_queries.observe(queries as f64);
    }

    pub(crate) fn unit(&self, table: &str) {
        self.stream_units.get_or_create(&ByTable::of(table)).inc();
    }

    pub(crate) fn evicted(&self, reason: EvictionReason) {
        self.session_evictions.get_or_create(&EvictionLabel { reason: reason.label() }).inc();
    }

    /// Makes one series of each metric.
    fn sample(&self) {
        self.request("route", "outcome");
        self.answered("table", Duration::ZERO, Duration::ZERO);
        self.pass("table", 1);
        let by_table = ByTable::of("table");
        for counter in [&self.row_streams, &self.evaluations, &self.stream_units, &self.hint_requests] {
            counter.get_or_create(&by_table).inc();
        }
        let gauges = [&self.sessions, &self.sessions_in_memory, &self.table_up, &self.server_role];
        for gauge in gauges.into_iter().chain([&self.accelerated_bytes]) {
            gauge.get_or_create(&by_table).set(0);
        }
        for scope in ["client", "all"] {
            self.budget_refusals.get_or_create(&ScopeLabel { scope }).inc();
        }
        for generation in ["newest", "previous"] {
            self.live_epoch.get_or_create(&EpochLabel { table: "table".into(), generation }).set(0);
        }
        for (medium, pages) in ["file", "memory"]
            .map(|medium| ["huge", "small", "unknown"].map(|pages| (medium, pages)))
            .concat()
        {
            self.table_bytes.get_or_create(&PlacementLabel { table: "table".into(), medium, pages }).set(0);
        }
        for medium in ["memory", "disk"] {
            self.session_bytes.get_or_create(&MediumLabel { medium }).set(0);
        }
        EvictionReason::ALL.into_iter().for_each(|reason| self.evicted(reason));
    }
}

/// Why a session was evicted from memory or from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvictionReason {
    /// The session was unused for too long.
    Expired,
    /// The session's client has registered others since.
    Client,
    /// Memory was short. With a store, the keys are loaded again when they are needed.
    Memory,
    /// The space on disk was short.
    Disk,
    /// The session's stored keys are damaged.
    Damaged,
}

impl EvictionReason {
    const ALL: [Self; 5] = [Self::Expired, Self::Client, Self::Memory, Self::Disk, Self::Damaged];

    fn label(self) -> &'static str {
        match self {
            EvictionReason::Expired => "expired",
            EvictionReason::Client => "client",
            EvictionReason::Memory => "memory",
            EvictionReason::Disk => "disk",
            EvictionReason::Damaged => "damaged",
        }
    }
}

/// The value of a gauge for a number.
pub fn gauge_value(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The registry of a server's metrics, in which nothing is registered yet.
pub(crate) fn registry() -> Registry {
    Registry::with_prefix("sotto")
}

/// The exposition text.
pub(crate) fn exposition(registry: &Registry) -> String {
    let mut out = String::new();
    match text::encode(&mut out, registry) {
        Ok(()) => out,
        Err(_) => String::new(),
    }
}

/// The exposition text of a server that has counted something of each metric, for tools that list
/// names, help texts and labels; `register` adds the metrics of extensions.
#[doc(hidden)]
pub fn metrics_sample(register: impl FnOnce(&mut Registry)) -> String {
    let mut registry = registry();
    ServerMetrics::register(&mut registry, "").sample();
    register(&mut registry);
    exposition(&registry)
}
