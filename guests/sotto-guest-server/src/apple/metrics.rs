//! Metrics of Apple's private lookups, by use case.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use sotto_apple::proto::Response;
use sotto_apple::service::{Refusal, RequestPart, Service, StoredKeys, answer_bytes};
use sotto_server::extension::{MediumLabel, Sessions, gauge_value};
use std::time::Duration;

/// Label with the name of a served use case, and no user's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByUseCase {
    use_case: String,
}

/// Labels of a request for a use case: its name, and the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UseCaseLabel {
    use_case: String,
    outcome: &'static str,
}

/// Prefix of the names of these metrics.
pub(crate) const PREFIX: &str = "apple_";

sotto_server::metrics! {
    /// Metrics of Apple's private lookups.
    pub(crate) struct AppleMetrics {
        open_requests: Gauge = "Lookup requests of Apple's protocol queued or in progress";
        lookups: Family<UseCaseLabel, Counter> = "Lookups of Apple's protocol, by outcome";
        evaluations: Family<UseCaseLabel, Counter> =
            "Evaluations for Apple's symmetric tables, by outcome";
        lookup_seconds: Family<ByUseCase, Histogram> = "Time to compute an answer",
            Family::new_with_constructor(seconds);
        query_bytes: Family<ByUseCase, Counter> = "Bytes of queries";
        answer_bytes: Family<ByUseCase, Counter> = "Bytes of answers";
        configurations: Family<ByUseCase, Gauge> = "Configurations being served";
        keys: Family<ByUseCase, Gauge> = "Users' evaluation keys that fit a use case";
        keys_in_memory: Family<ByUseCase, Gauge> =
            "Users' evaluation keys of a use case that are in memory";
        key_bytes: Family<MediumLabel, Gauge> = "Bytes of users' evaluation keys, by medium";
    }
}

/// A millisecond to half a minute.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

/// Registers the metrics, and makes one series of each.
pub(crate) fn sample(registry: &mut Registry) {
    let metrics = AppleMetrics::register(registry, PREFIX);
    let by = ByUseCase { use_case: "use case".into() };
    for counter in [&metrics.lookups, &metrics.evaluations] {
        counter.get_or_create(&UseCaseLabel { use_case: by.use_case.clone(), outcome: "outcome" }).inc();
    }
    metrics.lookup_seconds.get_or_create(&by).observe(0.0);
    for counter in [&metrics.query_bytes, &metrics.answer_bytes] {
        counter.get_or_create(&by).inc();
    }
    for gauge in [&metrics.configurations, &metrics.keys, &metrics.keys_in_memory] {
        gauge.get_or_create(&by).set(0);
    }
    for medium in ["memory", "disk"] {
        metrics.key_bytes.get_or_create(&MediumLabel { medium }).set(0);
    }
}

impl AppleMetrics {
    /// Sets the gauges to the current values.
    pub(crate) fn update_gauges(&self, live: &Service, users: &Sessions<StoredKeys>) {
        let (memory, disk) = users.bytes();
        for (medium, bytes) in [("memory", memory), ("disk", disk)] {
            self.key_bytes.get_or_create(&MediumLabel { medium }).set(gauge_value(bytes));
        }
        let counts = users.counts(|owner| owner.digest.0);
        for (name, all) in live.use_cases() {
            let by = ByUseCase { use_case: name.to_owned() };
            let newest = all.first().and_then(|newest| counts.get(newest.key_id()));
            let count = newest.copied().unwrap_or_default();
            self.configurations.get_or_create(&by).set(gauge_value(all.len() as u64));
            self.keys.get_or_create(&by).set(gauge_value(count.sessions as u64));
            self.keys_in_memory.get_or_create(&by).set(gauge_value(count.in_memory as u64));
        }
    }

    /// Counts a lookup or an evaluation that was answered or refused.
    pub(crate) fn answered(&self, work: &RequestPart, answer: &Result<Response, Refusal>, took: Duration) {
        let by = ByUseCase { use_case: work.name().to_owned() };
        let is_evaluation = work.is_evaluation();
        self.query_bytes.get_or_create(&by).inc_by(work.query_bytes() as u64);
        let outcome = match answer {
            Ok(answer) => {
                if !is_evaluation {
                    self.lookup_seconds.get_or_create(&by).observe(took.as_secs_f64());
                }
                self.answer_bytes.get_or_create(&by).inc_by(answer_bytes(answer) as u64);
                "ok"
            }
            Err(refused) => refused.outcome(),
        };
        let counted = if is_evaluation { &self.evaluations } else { &self.lookups };
        counted.get_or_create(&UseCaseLabel { use_case: by.use_case, outcome }).inc();
    }
}
