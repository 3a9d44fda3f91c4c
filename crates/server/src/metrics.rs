//! `GET /metrics`: the server's metrics for Prometheus, on a listener and a thread of its own,
//! which also answers `/health` and `/ready`.
//!
//! Metrics of edges and adapters are recorded from the start; those of the hub, the cache of callers, and
//! attempts are read on request, and open work is counted periodically. Without a listener nothing is
//! recorded.

use std::future::Future;
use std::time::Duration;

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{App, HttpResponse, HttpServer, web};
use domain::account::cache::CacheCounts;
use domain::bulk_deletion::DeletedItem;
use domain::time::Timestamp;
use domain::work::{WorkFlag, WorkTotals};
use http_wire::request_scope::RequestScope;
use measure::{Figure, Kind};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::time::Instant;
use ws_gateway::{EndReason, Figures};

use crate::config::Config;
use crate::failure::Failure;
use crate::health::{Readiness, health, ready};
use crate::wiring::Wiring;

/// The interval at which recorded values are aggregated, even without a reader.
const UPKEEP: Duration = Duration::from_secs(5);

/// The recorded metrics.
pub(crate) struct Metrics {
    listen: String,
    collected: PrometheusHandle,
    since: Instant,
}

impl Metrics {
    /// Starts recording, if configured.
    pub(crate) fn install(config: &Config) -> Result<Option<Self>, Failure> {
        let Some(listen) = config.metrics_listen.clone() else { return Ok(None) };
        let mut builder = PrometheusBuilder::new();
        for Figure { name, kind, .. } in measure::ALL {
            if let Kind::Histogram(bounds) = kind {
                let name = Matcher::Full((*name).to_owned());
                builder = builder
                    .set_buckets_for_metric(name, bounds)
                    .map_err(|cause| Failure::new("cannot measure", cause))?;
            }
        }
        let recorder = builder.build_recorder();
        let collected = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|cause| Failure::new("cannot measure", cause))?;
        describe();
        measure::begin();
        counter!(measure::BULK_ITEMS, "result" => "deleted").absolute(0);
        gauge!(measure::BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        Ok(Some(Self { listen, collected, since: Instant::now() }))
    }

    /// Binds the address; returns the server, which runs until it is dropped.
    pub(crate) fn bind(
        self,
        wiring: &Wiring,
        readiness: &web::Data<Readiness>,
    ) -> Result<impl Future<Output = ()> + Send + use<>, Failure> {
        let listen = self.listen.clone();
        let collected = self.collected.clone();
        let data = web::Data::new((self, wiring.clone()));
        let readiness = readiness.clone();
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .app_data(readiness.clone())
                .route("/metrics", web::get().to(answer))
                .service(web::resource("/health").wrap(RequestScope).route(web::get().to(health)))
                .service(web::resource("/ready").wrap(RequestScope).route(web::get().to(ready)))
        });
        // A thread of its own: it answers whatever the workers of the other listener do.
        let server = server.workers(1).disable_signals().bind(&listen).map_err(|cause| {
            Failure::new(format_args!("cannot serve metrics on {listen} (metrics_listen)"), cause)
        })?;
        let server = server.run();
        tracing::info!(address = listen, "serving metrics");
        Ok(async move {
            let upkeep = async {
                loop {
                    tokio::time::sleep(UPKEEP).await;
                    collected.run_upkeep();
                }
            };
            tokio::select! {
                ended = server => tracing::error!(error = ?ended.err(), "metrics server ended"),
                () = upkeep => {}
            }
        })
    }
}

async fn answer(data: web::Data<(Metrics, Wiring)>) -> HttpResponse {
    let (metrics, wiring) = &**data;
    take_up(wiring.hub.figures());
    take_up_callers(wiring.services.callers.counts());
    for (outcome, count) in wiring.services.deliveries.attempts().read() {
        counter!(measure::ATTEMPTS, "outcome" => outcome.as_str()).absolute(count);
    }
    for (kind, count) in wiring.services.messages.reported_tokens().read() {
        counter!(measure::REPORTED_TOKENS, "kind" => kind.as_str()).absolute(count);
    }
    let budgets = wiring.services.budgets.watch();
    for (level, count) in ["warned", "exceeded"].into_iter().zip(budgets.events()) {
        counter!(measure::BUDGET_EVENTS, "level" => level).absolute(count);
    }
    let exceeded = budgets.exceeded().map_or(0, |exceeded| exceeded.len());
    gauge!(measure::BUDGETS_EXCEEDED).set(whole(exceeded as u64));
    gauge!(measure::UPTIME).set(metrics.since.elapsed().as_secs_f64());
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
        .body(metrics.collected.render())
}

/// Records the result of an item of a bulk deletion.
pub(crate) fn bulk_item(item: &DeletedItem) {
    let result = item.result.as_ref().map_or_else(|failure| failure.as_str(), |_| "deleted");
    counter!(measure::BULK_ITEMS, "result" => result).increment(1);
}

/// Counts messages whose deadline passed before all agents had processed them.
pub(crate) fn overdue_texts(count: u64) {
    counter!(measure::OVERDUE_TEXTS).increment(count);
}

fn describe() {
    for Figure { name, kind, what } in measure::ALL {
        match kind {
            Kind::Counter => describe_counter!(*name, *what),
            Kind::Gauge => describe_gauge!(*name, *what),
            Kind::Histogram(_) => describe_histogram!(*name, *what),
        }
    }
}

/// Records the figures of the hub.
fn take_up(figures: Figures) {
    gauge!(measure::SOCKETS, "kind" => "users").set(number(figures.user_sockets));
    gauge!(measure::SOCKETS, "kind" => "agents").set(number(figures.agent_sockets));
    gauge!(measure::REMOTE_SESSIONS).set(number(figures.remote));
    gauge!(measure::TOPICS).set(number(figures.topics));
    gauge!(measure::LISTENERS).set(number(figures.listeners));
    gauge!(measure::QUEUED_BYTES).set(number(figures.queued_bytes));
    gauge!(measure::QUEUED_BYTES_MAX).set(number(figures.queued_bytes_max));
    counter!(measure::PUSHES).absolute(figures.pushes);
    counter!(measure::REDELIVERIES).absolute(figures.redeliveries);
    for (reason, count) in EndReason::ALL.into_iter().zip(figures.ended) {
        counter!(measure::SOCKETS_ENDED, "reason" => reason.as_str()).absolute(count);
        if reason == EndReason::SlowConsumer {
            counter!(measure::SLOW_CONSUMERS).absolute(count);
        }
    }
}

/// Records the hits and misses of the cache of callers.
fn take_up_callers(counts: CacheCounts) {
    counter!(measure::CALLER_CACHE, "result" => "hit").absolute(counts.hits);
    counter!(measure::CALLER_CACHE, "result" => "miss").absolute(counts.misses);
}

/// Records the open work of agents as counted at `now`.
pub(crate) fn take_up_work(totals: WorkTotals, now: Timestamp) {
    let oldest = totals.oldest.map(|at| now.since(at)).unwrap_or_default();
    for (state, count) in totals.by_state() {
        gauge!(measure::OPEN_DELIVERIES, "state" => state.as_str()).set(whole(count));
    }
    // Dead and held are states as well.
    let is_state = |flag: WorkFlag| matches!(flag, WorkFlag::Dead | WorkFlag::Held);
    for (flag, count) in totals.by_flag().into_iter().filter(|(flag, _)| !is_state(*flag)) {
        gauge!(measure::FLAGGED_DELIVERIES, "flag" => flag.as_str()).set(whole(count));
    }
    gauge!(measure::OLDEST_OPEN_DELIVERY).set(oldest.as_secs_f64());
    gauge!(measure::WORK_COUNTED).set(whole(now.unix_millis()) / 1000.0);
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
const fn whole(of: u64) -> f64 {
    of as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
const fn number(of: usize) -> f64 {
    of as f64
}
