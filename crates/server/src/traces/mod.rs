//! Traces: spans of requests on their way to a collector, in the form that OpenTelemetry has for it (OTLP over
//! HTTP, protobuf).
//!
//! A request never waits for the collector: its spans are put into a bounded queue, and what finds it full is
//! dropped and counted. One task takes them out, and tells of an outage once.

mod collector;
mod queue;

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::TraceConfig;
use crate::failure::Failure;
use collector::Collector;

pub(crate) use collector::Endpoint;

/// How long sending what is left may take when the server stops.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// The spans on their way.
pub(crate) struct Traces {
    stop: watch::Sender<bool>,
    sending: JoinHandle<()>,
    provider: SdkTracerProvider,
}

impl Traces {
    /// Requests leave spans from now on, if that is configured.
    pub(crate) fn start(config: &TraceConfig) -> Result<Option<Self>, Failure> {
        let Some(endpoint) = &config.endpoint else { return Ok(None) };
        let collector = Collector::new(endpoint.clone())?;
        let resource = Resource::builder_empty()
            .with_service_name(config.service_name.clone())
            .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let (queue, spans) = queue::queue();
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.sample_ratio))))
            .with_resource(resource.clone())
            .with_span_processor(queue)
            .build();
        measure::trace_with(provider.tracer("parlance"));
        let (stop, stopped) = watch::channel(false);
        let sending = tokio::spawn(queue::send(spans, collector, resource, stopped));
        tracing::info!(endpoint = %endpoint, sample_ratio = config.sample_ratio, "sending traces");
        Ok(Some(Self { stop, sending, provider }))
    }

    /// Sends what is left, for as long as that may take.
    pub(crate) async fn stop(self) {
        // Spans that end from now on are dropped.
        let _ = self.provider.shutdown();
        self.stop.send_replace(true);
        let aborting = self.sending.abort_handle();
        if timeout(LAST_SPANS, self.sending).await.is_err() {
            aborting.abort();
            tracing::warn!("last spans could not be sent");
        }
    }
}
