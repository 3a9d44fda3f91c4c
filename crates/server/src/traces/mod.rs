//! Traces: exports spans of requests and conversations to a collector (OTLP over HTTP, protobuf).
//!
//! A request never waits for the collector: its spans are put into a bounded queue; if it is full,
//! they are dropped and counted. One task sends them, and logs an outage once.

mod collector;
mod conversations;
mod queue;

use std::sync::Arc;
use std::time::Duration;

use domain::ports::EventPublisher;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::TraceConfig;
use crate::failure::Failure;
use collector::Collector;
use conversations::ConversationSpans;
use queue::Queue;

pub(crate) use collector::Endpoint;

/// The time limit for sending the remaining spans when the server stops.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// The export of spans.
pub(crate) struct Traces {
    stop: watch::Sender<bool>,
    sending: JoinHandle<()>,
    provider: SdkTracerProvider,
    /// Set if conversations have spans.
    conversations: Option<Queue>,
}

impl Traces {
    /// Starts the export, if configured.
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
            .with_span_processor(queue.clone())
            .build();
        measure::trace_with(provider.tracer("parlance"));
        let (stop, stopped) = watch::channel(false);
        let sending = tokio::spawn(queue::send(spans, collector, resource, stopped));
        tracing::info!(endpoint = %endpoint, sample_ratio = config.sample_ratio, "sending traces");
        let conversations = config.conversations.then_some(queue);
        Ok(Some(Self { stop, sending, provider, conversations }))
    }

    /// The publisher that makes spans of the events to `to`, if conversations have spans.
    pub(crate) fn around(&self, to: Arc<dyn EventPublisher>) -> Arc<dyn EventPublisher> {
        match self.conversations.clone() {
            Some(queue) => Arc::new(ConversationSpans::new(queue, to)),
            None => to,
        }
    }

    /// Sends the remaining spans, within a time limit.
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
