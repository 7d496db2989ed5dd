//! Metrics of Apple's private lookups, by use case.

use super::keys::UserKeyStore;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use sotto_apple::proto::Response;
use sotto_apple::request_part::answer_bytes;
use sotto_apple::service::{Refusal, RequestPart, Service};
use sotto_server::extension::{gauge_value, register, register_as};
use std::time::Duration;

/// Label of the medium that keys are stored in: `memory` or `disk`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MediumLabel {
    medium: &'static str,
}

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

/// Metrics of Apple's private lookups.
pub(crate) struct AppleMetrics {
    /// Number of lookup requests that wait or are being answered.
    pub(crate) open: Gauge,
    lookups: Family<UseCaseLabel, Counter>,
    evaluations: Family<UseCaseLabel, Counter>,
    seconds: Family<ByUseCase, Histogram>,
    bytes_in: Family<ByUseCase, Counter>,
    bytes_out: Family<ByUseCase, Counter>,
    configurations: Family<ByUseCase, Gauge>,
    keys: Family<ByUseCase, Gauge>,
    keys_in_memory: Family<ByUseCase, Gauge>,
    key_bytes: Family<MediumLabel, Gauge>,
}

impl AppleMetrics {
    pub(crate) fn register(r: &mut Registry) -> Self {
        // A millisecond to half a minute.
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 16));
        AppleMetrics {
            open: register(
                r,
                "apple_open_requests",
                "Lookup requests of Apple's protocol queued or in progress",
            ),
            lookups: register(r, "apple_lookups", "Lookups of Apple's protocol, by outcome"),
            evaluations: register(
                r,
                "apple_evaluations",
                "Evaluations for Apple's symmetric tables, by outcome",
            ),
            seconds: register_as(
                r,
                "apple_lookup_seconds",
                "Time to compute an answer",
                Family::new_with_constructor(seconds),
            ),
            bytes_in: register(r, "apple_query_bytes", "Bytes of queries"),
            bytes_out: register(r, "apple_answer_bytes", "Bytes of answers"),
            configurations: register(r, "apple_configurations", "Configurations being served"),
            keys: register(r, "apple_keys", "Users' evaluation keys that fit a use case"),
            keys_in_memory: register(
                r,
                "apple_keys_in_memory",
                "Users' evaluation keys of a use case that are in \
                 memory",
            ),
            key_bytes: register(r, "apple_key_bytes", "Bytes of users' evaluation keys, by medium"),
        }
    }

    /// Sets the gauges to the current values.
    pub(crate) fn update_gauges(&self, live: &Service, users: &UserKeyStore) {
        let (memory, disk) = users.bytes();
        for (medium, bytes) in [("memory", memory), ("disk", disk)] {
            self.key_bytes.get_or_create(&MediumLabel { medium }).set(gauge_value(bytes));
        }
        let counts = users.counts();
        for (name, all) in live.use_cases() {
            let by = ByUseCase { use_case: name.to_owned() };
            let newest = all.first().and_then(|newest| counts.get(newest.key_id()));
            let count = newest.copied().unwrap_or_default();
            self.configurations.get_or_create(&by).set(gauge_value(all.len() as u64));
            self.keys.get_or_create(&by).set(gauge_value(count.sessions as u64));
            self.keys_in_memory.get_or_create(&by).set(gauge_value(count.in_memory as u64));
        }
    }

    /// Makes one series of each metric: see `metrics_sample`.
    pub(crate) fn sample(&self) {
        let by = ByUseCase { use_case: "use case".into() };
        for counter in [&self.lookups, &self.evaluations] {
            counter.get_or_create(&UseCaseLabel { use_case: by.use_case.clone(), outcome: "outcome" }).inc();
        }
        self.seconds.get_or_create(&by).observe(0.0);
        for counter in [&self.bytes_in, &self.bytes_out] {
            counter.get_or_create(&by).inc();
        }
        for gauge in [&self.configurations, &self.keys, &self.keys_in_memory] {
            gauge.get_or_create(&by).set(0);
        }
        for medium in ["memory", "disk"] {
            self.key_bytes.get_or_create(&MediumLabel { medium }).set(0);
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
        counted.get_or_create(&UseCaseLabel { use_case: by.use_case, outcome }).inc();
    }
}
