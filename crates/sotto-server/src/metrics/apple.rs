//! Metrics of Apple's private lookups, by use case: labels are the names of served use cases, and
//! no user's.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use sotto_apple::proto::Response;
use sotto_apple::request_part::answer_bytes;
use sotto_apple::service::{Refusal, RequestPart};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ByUseCase {
    pub(crate) use_case: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    use_case: String,
    outcome: &'static str,
}

/// Label of the medium that keys are stored in: `memory` or `disk`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Medium {
    pub(crate) medium: &'static str,
}

/// Metrics of Apple's private lookups.
pub(crate) struct AppleMetrics {
    /// Number of lookup requests that wait or are being answered.
    pub(crate) open: Gauge,
    lookups: Family<Outcome, Counter>,
    evaluations: Family<Outcome, Counter>,
    seconds: Family<ByUseCase, Histogram>,
    bytes_in: Family<ByUseCase, Counter>,
    bytes_out: Family<ByUseCase, Counter>,
    pub(crate) configurations: Family<ByUseCase, Gauge>,
    pub(crate) keys: Family<ByUseCase, Gauge>,
    pub(crate) keys_in_memory: Family<ByUseCase, Gauge>,
    pub(crate) key_bytes: Family<Medium, Gauge>,
}

impl AppleMetrics {
    pub(super) fn new() -> Self {
        AppleMetrics {
            open: Gauge::default(),
            lookups: Family::default(),
            evaluations: Family::default(),
            // A millisecond to half a minute.
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 16))),
            bytes_in: Family::default(),
            bytes_out: Family::default(),
            configurations: Family::default(),
            keys: Family::default(),
            keys_in_memory: Family::default(),
            key_bytes: Family::default(),
        }
    }

    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "apple_open_requests",
            "Apple's requests for lookups that wait or are answered",
            self.open.clone(),
        );
        r.register("apple_lookups", "Apple's lookups, by what became of them", self.lookups.clone());
        r.register("apple_evaluations", "Evaluations of Apple's symmetric tables", self.evaluations.clone());
        r.register("apple_lookup_seconds", "How long an answer took to make", self.seconds.clone());
        r.register("apple_query_bytes", "Bytes of queries", self.bytes_in.clone());
        r.register("apple_answer_bytes", "Bytes of answers", self.bytes_out.clone());
        r.register("apple_configurations", "Configurations that are answered", self.configurations.clone());
        r.register("apple_keys", "Users' keys that fit a use case", self.keys.clone());
        r.register("apple_keys_in_memory", "Those that are in memory", self.keys_in_memory.clone());
        r.register("apple_key_bytes", "Bytes of users' keys", self.key_bytes.clone());
    }

    /// Makes one series of each metric: see [`super::sample`].
    pub(super) fn sample(&self) {
        let by = ByUseCase { use_case: "use case".into() };
        for counter in [&self.lookups, &self.evaluations] {
            counter.get_or_create(&Outcome { use_case: by.use_case.clone(), outcome: "outcome" }).inc();
        }
        self.seconds.get_or_create(&by).observe(0.0);
        for counter in [&self.bytes_in, &self.bytes_out] {
            counter.get_or_create(&by).inc();
        }
        for gauge in [&self.configurations, &self.keys, &self.keys_in_memory] {
            gauge.get_or_create(&by).set(0);
        }
        for medium in ["memory", "disk"] {
            self.key_bytes.get_or_create(&Medium { medium }).set(0);
        }
    }

    /// Counts a lookup or an evaluation that was answered or refused.
    pub(crate) fn answered(&self, work: &RequestPart, answer: &Result<Response, Refusal>, took: Duration) {
        let by = ByUseCase { use_case: work.name().to_owned() };
        let is_evaluation = work.is_evaluation();
        self.bytes_in.get_or_create(&by).inc_by(work.query_bytes() as u64);
        let outcome = match answer {
            Ok(answer) => {
                if !is_evaluation {
                    self.seconds.get_or_create(&by).observe(took.as_secs_f64());
                }
                self.bytes_out.get_or_create(&by).inc_by(answer_bytes(answer) as u64);
                "ok"
            }
            Err(refused) => refused.outcome(),
        };
        let counted = if is_evaluation { &self.evaluations } else { &self.lookups };
        counted.get_or_create(&Outcome { use_case: by.use_case, outcome }).inc();
    }
}
