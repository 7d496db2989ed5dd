//! Metrics: their labels, and what the routes count. Each module registers its own.
//!
//! The label types below are the allow-list: no row, key, session or address can become a label,
//! because there is none for it.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
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
pub(crate) struct MediumLabel {
    pub(crate) medium: &'static str,
}

/// Registers a metric that starts at 0.
pub fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    register_as(registry, name, help, M::default())
}

/// Registers a metric.
pub fn register_as<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// The value of a gauge for a number.
pub fn gauge_value(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Metrics of the public routes.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    requests: Family<RequestLabel, Counter>,
    query_requests: Family<ByTable, Counter>,
    row_streams: Family<ByTable, Counter>,
    evaluations: Family<ByTable, Counter>,
    query_wait: Histogram,
    answer: Histogram,
    /// Number of query requests and streams dropped because their client hung up, or did not read.
    pub(crate) abandoned: Counter,
    /// Bytes of frames that were read.
    pub(crate) bytes_in: Counter,
    /// Bytes of responses, as announced.
    pub(crate) bytes_out: Counter,
}

impl RequestMetrics {
    pub(crate) fn register(r: &mut Registry) -> Self {
        // Half a millisecond to about a minute.
        let seconds = || Histogram::new(exponential_buckets(0.000_5, 2.0, 17));
        RequestMetrics {
            requests: register(r, "requests", "Requests by route and outcome"),
            query_requests: register(r, "query_requests", "Query requests answered"),
            row_streams: register(r, "row_streams", "Row streams started"),
            evaluations: register(r, "evaluations", "Evaluations for symmetric tables"),
            query_wait: register_as(
                r,
                "query_wait_seconds",
                "Time that a query request waited for its pass",
                seconds(),
            ),
            answer: register_as(
                r,
                "answer_seconds",
                "Time from the last byte of a query request to its answer",
                seconds(),
            ),
            abandoned: register(
                r,
                "abandoned_requests",
                "Query requests and row streams dropped because the client disconnected or did not read",
            ),
            bytes_in: register(r, "request_bytes", "Bytes of request frames read"),
            bytes_out: register(r, "response_bytes", "Bytes of responses, as announced to clients"),
        }
    }

    pub(crate) fn request(&self, route: &'static str, outcome: &'static str) {
        self.requests.get_or_create(&RequestLabel { route, outcome }).inc();
    }

    pub(crate) fn stream(&self, table: &str) {
        self.row_streams.get_or_create(&ByTable { table: table.to_owned() }).inc();
    }

    pub(crate) fn evaluated(&self, table: &str, count: usize) {
        self.evaluations.get_or_create(&ByTable { table: table.to_owned() }).inc_by(count as u64);
    }

    pub(crate) fn answered(&self, table: &str, queue: Duration, total: Duration) {
        self.query_requests.get_or_create(&ByTable { table: table.to_owned() }).inc();
        self.query_wait.observe(queue.as_secs_f64());
        self.answer.observe(total.as_secs_f64());
    }
}
