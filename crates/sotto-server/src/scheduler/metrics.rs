//! What is counted of the passes and their queue.

use crate::metrics::{ByTable, register, register_as};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Metrics of the passes and their queue.
#[derive(Debug, Clone)]
pub(crate) struct SchedulerMetrics {
    queries: Family<ByTable, Counter>,
    passes: Family<ByTable, Counter>,
    stream_units: Family<ByTable, Counter>,
    /// Number of streams that are open.
    pub(crate) open_streams: Gauge,
    /// Number of query requests evicted from a full queue.
    pub(super) evictions: Counter,
    batch: Histogram,
    /// Number of query requests that wait for a pass.
    pub(super) queue_depth: Gauge,
    /// Number of requests dropped because their client hung up, or did not read.
    pub(super) abandoned: Counter,
}

impl SchedulerMetrics {
    /// Registers all but `abandoned`, which others count too.
    pub(crate) fn register(r: &mut Registry, abandoned: Counter) -> Self {
        let sizes = Histogram::new([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0]);
        SchedulerMetrics {
            queries: register(r, "queries", "Queries answered in passes"),
            passes: register(r, "passes", "Passes over a table"),
            stream_units: register(r, "stream_units", "Units computed for row streams"),
            open_streams: register(r, "open_streams", "Open row streams"),
            evictions: register(
                r,
                "queue_evictions",
                "Queued query requests evicted from the network with the most \
                 queued queries",
            ),
            batch: register_as(r, "batch_queries", "Queries per pass", sizes),
            queue_depth: register(r, "queue_depth", "Query requests waiting for a pass"),
            abandoned,
        }
    }

    pub(crate) fn pass(&self, table: &str, queries: usize) {
        let table = ByTable { table: table.to_owned() };
        self.passes.get_or_create(&table).inc();
        self.queries.get_or_create(&table).inc_by(queries as u64);
        self.batch.observe(queries as f64);
    }

    pub(crate) fn unit(&self, table: &str) {
        self.stream_units.get_or_create(&ByTable { table: table.to_owned() }).inc();
    }
}
