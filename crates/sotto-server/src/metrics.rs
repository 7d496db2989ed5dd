//! Counts by table, route and outcome. The label types below are the allow-list: no row, key,
//! session or address can become a label, because there is none for it.

pub(crate) mod apple;
pub(crate) mod placement;
mod sample;

use apple::AppleMetrics;
use placement::PlacementLabel;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
pub use sample::metrics_sample;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EvictionLabel {
    reason: &'static str,
}

/// Label of a time budget: that of one `client`, or of `all`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScopeLabel {
    scope: &'static str,
}

/// Label of the medium that keys are stored in: `memory` or `disk`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct MediumLabel {
    pub(crate) medium: &'static str,
}

/// All metrics of a server.
pub(crate) struct Metrics {
    pub(crate) registry: Registry,
    requests: Family<RequestLabel, Counter>,
    query_requests: Family<ByTable, Counter>,
    queries: Family<ByTable, Counter>,
    passes: Family<ByTable, Counter>,
    row_streams: Family<ByTable, Counter>,
    stream_units: Family<ByTable, Counter>,
    pub(crate) open_streams: Gauge,
    hint_requests: Family<ByTable, Counter>,
    evaluations: Family<ByTable, Counter>,
    /// Number of hint requests that wait or are being answered.
    pub(crate) open_hint_requests: Gauge,
    /// Memory in bytes that requests and answers take.
    pub(crate) request_memory: Gauge,
    scan_seconds: Counter<f64, AtomicU64>,
    budget_refusals: Family<ScopeLabel, Counter>,
    /// Number of query requests evicted from a full queue.
    pub(crate) queue_evictions: Counter,
    batch: Histogram,
    query_wait: Histogram,
    answer: Histogram,
    pub(crate) live: Family<EpochLabel, Gauge>,
    pub(crate) table_up: Family<ByTable, Gauge>,
    pub(crate) lying: Family<PlacementLabel, Gauge>,
    pub(crate) server_role: Family<ByTable, Gauge>,
    pub(crate) sessions: Family<ByTable, Gauge>,
    pub(crate) admitted: Family<ByTable, Gauge>,
    pub(crate) session_bytes: Family<MediumLabel, Gauge>,
    evictions: Family<EvictionLabel, Counter>,
    epoch_load_failures: Counter,
    /// Number of sessions loaded from disk into memory.
    pub(crate) readmitted: Counter,
    /// Number of failed operations on the store of keys.
    pub(crate) store_failures: Counter,
    /// Number of query requests that wait for a pass.
    pub(crate) queue_depth: Gauge,
    /// Number of query requests and streams dropped because their client hung up, or did not read.
    pub(crate) abandoned_requests: Counter,
    /// Bytes of frames that were read.
    pub(crate) bytes_in: Counter,
    /// Bytes of responses, as announced.
    pub(crate) bytes_out: Counter,
    /// Number of open public connections.
    pub(crate) connections: Gauge,
    /// Metrics of Apple's private lookups.
    pub(crate) apple: AppleMetrics,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        // Half a millisecond to about a minute.
        let seconds = || Histogram::new(exponential_buckets(0.000_5, 2.0, 17));
        let mut metrics = Metrics {
            registry: Registry::with_prefix("sotto"),
            requests: Family::default(),
            query_requests: Family::default(),
            queries: Family::default(),
            passes: Family::default(),
            row_streams: Family::default(),
            stream_units: Family::default(),
            open_streams: Gauge::default(),
            hint_requests: Family::default(),
            evaluations: Family::default(),
            open_hint_requests: Gauge::default(),
            request_memory: Gauge::default(),
            scan_seconds: Counter::default(),
            budget_refusals: Family::default(),
            queue_evictions: Counter::default(),
            batch: Histogram::new([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0]),
            query_wait: seconds(),
            answer: seconds(),
            live: Family::default(),
            table_up: Family::default(),
            lying: Family::default(),
            server_role: Family::default(),
            sessions: Family::default(),
            admitted: Family::default(),
            session_bytes: Family::default(),
            evictions: Family::default(),
            readmitted: Counter::default(),
            store_failures: Counter::default(),
            epoch_load_failures: Counter::default(),
            queue_depth: Gauge::default(),
            abandoned_requests: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            connections: Gauge::default(),
            apple: AppleMetrics::new(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("requests", "Requests by route and outcome", self.requests.clone());
        r.register("query_requests", "Asks answered", self.query_requests.clone());
        r.register("queries", "Queries in passes", self.queries.clone());
        r.register("passes", "Passes over a table", self.passes.clone());
        r.register("row_streams", "Streams begun", self.row_streams.clone());
        r.register("stream_units", "Units made for streams", self.stream_units.clone());
        r.register("open_streams", "Streams that are open", self.open_streams.clone());
        r.register("hint_requests", "Orders of hints begun", self.hint_requests.clone());
        r.register("evaluations", "Evaluations of symmetric tables", self.evaluations.clone());
        r.register(
            "open_hint_requests",
            "Orders of hints that wait or are being filled",
            self.open_hint_requests.clone(),
        );
        r.register(
            "request_memory_bytes",
            "Memory for requests and answers that is taken, in bytes",
            self.request_memory.clone(),
        );
        r.register(
            "scan_seconds",
            "Time of passes, units and hints, as charged to clients",
            self.scan_seconds.clone(),
        );
        r.register(
            "budget_refusals",
            "Refusals for want of such time: a client's, or that of all",
            self.budget_refusals.clone(),
        );
        r.register(
            "queue_evictions",
            "Asks of who had most that gave way in a full queue",
            self.queue_evictions.clone(),
        );
        r.register("batch_queries", "Queries in one pass", self.batch.clone());
        r.register("query_wait_seconds", "How long an ask waited for its pass", self.query_wait.clone());
        r.register("answer_seconds", "From the last byte of an ask to its answer", self.answer.clone());
        r.register("live_epoch", "Number of a live epoch", self.live.clone());
        r.register(
            "table_up",
            "Whether a table is answered about: 1, or 0 where its image is damaged or still read",
            self.table_up.clone(),
        );
        r.register(
            "table_bytes",
            "Bytes that answers of live epochs are made from, by medium and kind of pages",
            self.lying.clone(),
        );
        r.register("server_role", "Which of its scheme's servers this is, from 0", self.server_role.clone());
        r.register("sessions", "Sessions held, in memory or on disk", self.sessions.clone());
        r.register("sessions_in_memory", "Sessions whose keys are in memory", self.admitted.clone());
        r.register("session_bytes", "Bytes of held keys", self.session_bytes.clone());
        r.register("session_evictions", "Sessions let go, or out of memory", self.evictions.clone());
        r.register("session_readmissions", "Sessions brought back from the disk", self.readmitted.clone());
        r.register("session_store_failures", "Failed operations on stored keys", self.store_failures.clone());
        r.register(
            "epoch_load_failures",
            "Reloads that found an epoch that is not valid",
            self.epoch_load_failures.clone(),
        );
        r.register("queue_depth", "Asks that wait for a pass", self.queue_depth.clone());
        r.register(
            "abandoned_requests",
            "Asks and streams dropped because their client hung up, or did not read",
            self.abandoned_requests.clone(),
        );
        r.register("request_bytes", "Bytes of frames read", self.bytes_in.clone());
        r.register("response_bytes", "Bytes of responses, as announced", self.bytes_out.clone());
        r.register("connections", "Open public connections", self.connections.clone());
        self.apple.register(r);
    }

    pub(crate) fn request(&self, route: &'static str, outcome: &'static str) {
        self.requests.get_or_create(&RequestLabel { route, outcome }).inc();
    }

    pub(crate) fn pass(&self, table: &str, queries: usize) {
        let table = ByTable { table: table.to_owned() };
        self.passes.get_or_create(&table).inc();
        self.queries.get_or_create(&table).inc_by(queries as u64);
        self.batch.observe(queries as f64);
    }

    pub(crate) fn stream(&self, table: &str) {
        self.row_streams.get_or_create(&ByTable { table: table.to_owned() }).inc();
    }

    pub(crate) fn unit(&self, table: &str) {
        self.stream_units.get_or_create(&ByTable { table: table.to_owned() }).inc();
    }

    pub(crate) fn order(&self, table: &str) {
        self.hint_requests.get_or_create(&ByTable { table: table.to_owned() }).inc();
    }

    pub(crate) fn evaluated(&self, table: &str, count: usize) {
        self.evaluations.get_or_create(&ByTable { table: table.to_owned() }).inc_by(count as u64);
    }

    pub(crate) fn answered(&self, table: &str, queue: Duration, total: Duration) {
        self.query_requests.get_or_create(&ByTable { table: table.to_owned() }).inc();
        self.query_wait.observe(queue.as_secs_f64());
        self.answer.observe(total.as_secs_f64());
    }

    pub(crate) fn evicted(&self, reason: EvictionReason) {
        let reason = match reason {
            EvictionReason::Expired => "expired",
            EvictionReason::Client => "client",
            EvictionReason::Memory => "memory",
            EvictionReason::Disk => "disk",
            EvictionReason::Damaged => "damaged",
        };
        self.evictions.get_or_create(&EvictionLabel { reason }).inc();
    }

    /// Counts a refusal because the time budget of `client` or of `all` is used up.
    pub(crate) fn over_budget(&self, scope: &'static str) {
        self.budget_refusals.get_or_create(&ScopeLabel { scope }).inc();
    }

    pub(crate) fn scanned(&self, took: Duration) {
        self.scan_seconds.inc_by(took.as_secs_f64());
    }

    pub(crate) fn epoch_refused(&self) {
        self.epoch_load_failures.inc();
    }
}
