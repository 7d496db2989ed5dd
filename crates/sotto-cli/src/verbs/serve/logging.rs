//! The log of a server on stderr, and traces, if the program was built with them (feature
//! `traces`).
//!
//! Traces go to a collector by OTLP over HTTP, as OpenTelemetry's own variables say:
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, or the same with `TRACES`. Without one of them there are none. A
//! span is a request, by route and outcome, or a pass, by table and number of queries: what the
//! metrics count. None contains a row, a key or a client, and no client's `traceparent` is used,
//! since that would link requests.

use crate::failure::Result;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Guards of the log and of the traces, whose rest is sent when this is dropped.
pub(crate) struct Logging {
    #[cfg(feature = "opentelemetry")]
    _traces: Option<traces::TraceExporter>,
}

/// Starts structured logs on stderr, as JSON if requested; and traces.
pub(crate) fn start(level: &str, json: bool) -> Result<Logging> {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = if json { lines.json().boxed() } else { lines.with_ansi(false).boxed() };
    let registry = tracing_subscriber::registry();
    #[cfg(feature = "opentelemetry")]
    let (layer, traces) = traces::start()?.unzip();
    #[cfg(feature = "opentelemetry")]
    let registry = registry.with(layer);
    registry.with(lines.with_filter(EnvFilter::new(level))).init();
    Ok(Logging {
        #[cfg(feature = "opentelemetry")]
        _traces: traces,
    })
}

#[cfg(feature = "opentelemetry")]
mod traces {
    use crate::failure::{Failure, Result};
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Level;
    use tracing::Subscriber;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::Layer;
    use tracing_subscriber::registry::LookupSpan;

    /// Environment variables with the address of a collector, which every program with traces
    /// reads.
    const WHERE: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

    /// Exports spans to the collector.
    pub(crate) struct TraceExporter(SdkTracerProvider);

    impl Drop for TraceExporter {
        fn drop(&mut self) {
            // A collector that is gone does not keep the server from ending.
            let _ = self.0.shutdown();
        }
    }

    /// The layer that exports spans, if there is a collector.
    pub(crate) fn start<S>() -> Result<Option<(impl Layer<S>, TraceExporter)>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        if WHERE.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().build().map_err(|error| {
            let why = format!("traces cannot be sent: {error}");
            Failure::usage(why)
                .fix(format!("{} is the address of a collector, such as http://127.0.0.1:4318", WHERE[1]))
        })?;
        let server = Resource::builder().with_service_name("sotto").build();
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(server).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("sotto"));
        let ours = Targets::new().with_target("sotto_server", Level::DEBUG);
        Ok(Some((layer.with_filter(ours), TraceExporter(provider))))
    }
}
