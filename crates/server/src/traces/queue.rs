//! The queue of spans for the collector.

use std::time::Duration;

use measure::Outage;
use opentelemetry::Context;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use prost::Message;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::collector::Collector;

/// The capacity of the queue in spans, a few megabytes.
const WAIT: usize = 8192;

/// The maximum number of spans per request.
const TOGETHER: usize = 512;

/// How long the first of them waits for others.
const GATHER: Duration = Duration::from_secs(1);

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The input of the queue.
#[derive(Clone, Debug)]
pub(super) struct Queue(mpsc::Sender<SpanData>);

/// Makes an empty queue.
pub(super) fn queue() -> (Queue, mpsc::Receiver<SpanData>) {
    let (sender, receiver) = mpsc::channel(WAIT);
    (Queue(sender), receiver)
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(span).is_err() {
            measure::spans_dropped(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Sends spans until it is stopped, and then the remaining ones.
pub(super) async fn send(
    mut spans: mpsc::Receiver<SpanData>,
    collector: Collector,
    resource: Resource,
    mut stopped: watch::Receiver<bool>,
) {
    let mut sender = Sender { collector, resource: (&resource).into(), outage: Outage::default(), lost: 0 };
    let stop = async move {
        // A dropped sender counts as a stop.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    tokio::pin!(stop);
    let mut stopping = false;
    loop {
        let mut batch = Vec::with_capacity(TOGETHER);
        tokio::select! {
            () = gather(&mut spans, &mut batch) => {}
            () = &mut stop, if !stopping => {
                stopping = true;
                spans.close();
            }
        }
        if batch.is_empty() && spans.is_closed() && spans.is_empty() {
            return;
        }
        if batch.is_empty() {
            continue;
        }
        let sent = sender.send(batch).await;
        if !sent && !stopping {
            let again = Instant::now() + PAUSE;
            tokio::select! {
                () = sleep_until(again) => {}
                () = &mut stop => {
                    stopping = true;
                    spans.close();
                }
            }
        }
    }
}

/// Waits for spans, and then a little for more of them. Spans that were taken are in `batch` at any
/// moment.
async fn gather(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    if spans.recv_many(batch, TOGETHER).await == 0 {
        return;
    }
    let enough = Instant::now() + GATHER;
    while batch.len() < TOGETHER {
        match timeout_at(enough, spans.recv_many(batch, TOGETHER - batch.len())).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

struct Sender {
    collector: Collector,
    resource: ResourceAttributesWithSchema,
    outage: Outage,
    /// The number of spans lost since the collector stopped answering.
    lost: u64,
}

impl Sender {
    /// Returns whether the collector accepted them.
    async fn send(&mut self, batch: Vec<SpanData>) -> bool {
        let count = batch.len() as u64;
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let message = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        match self.collector.take(message.into()).await {
            Ok(()) => {
                measure::spans_sent(count);
                if let Some(lasted) = self.outage.ends() {
                    let lost = std::mem::take(&mut self.lost);
                    tracing::info!(lost, duration_ms = lasted.as_millis(), "trace collector available again");
                }
                true
            }
            Err(error) => {
                measure::spans_dropped(count);
                self.lost += count;
                if self.outage.begins() {
                    tracing::warn!(error, "trace collector unavailable; dropping spans");
                }
                false
            }
        }
    }
}
