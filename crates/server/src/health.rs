//! Liveness and readiness.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::{HttpResponse, web};
use domain::bus::RunningBus;
use http_wire::error::{ApiError, ErrorCode};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;

use crate::disk::Disk;
use crate::store::Store;

/// How long an answer waits for a busy store before it reports the last result.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a successful answer of the store counts.
const TRUSTED: Duration = Duration::from_secs(5);

/// The state behind `/ready`.
pub(crate) struct Readiness {
    store: Arc<dyn Store>,
    bus: Option<Arc<dyn RunningBus>>,
    disk: Arc<Disk>,
    draining: AtomicBool,
    /// The runtime for queries of the store, whichever thread asks.
    runtime: Handle,
    seen: Mutex<Seen>,
    asked: Notify,
}

/// The last result from the store.
#[derive(Default)]
struct Seen {
    /// The result, and its time.
    last: Option<(bool, Instant)>,
    /// Set while the store is being queried.
    is_asked: bool,
}

impl Readiness {
    /// Must be called on the runtime on which the store may be queried.
    pub(crate) fn new(store: Arc<dyn Store>, bus: Option<Arc<dyn RunningBus>>, disk: Arc<Disk>) -> Self {
        let (runtime, seen, asked) = (Handle::current(), Mutex::default(), Notify::new());
        Self { store, bus, disk, draining: AtomicBool::new(false), runtime, seen, asked }
    }

    /// Marks the server as about to stop.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Returns whether the store answers. Concurrent calls share one query, and a busy store delays
    /// none: a recent success counts.
    pub(crate) async fn store_answers(self: &Arc<Self>) -> bool {
        let asked = self.asked.notified();
        let patience = {
            let mut seen = self.seen();
            if !std::mem::replace(&mut seen.is_asked, true) {
                self.runtime.spawn(self.clone().ask());
            }
            if seen.last.is_some() { PATIENCE } else { TRUSTED }
        };
        // The last result is reported in time, or after it.
        let _ = timeout(patience, asked).await;
        self.seen().last.is_some_and(|(answered, at)| answered && at.elapsed() < TRUSTED)
    }

    async fn ask(self: Arc<Self>) {
        let answer = self.store.ping().await;
        if let Err(error) = &answer {
            // The outage itself is logged once, elsewhere (tail).
            tracing::debug!(error = %error, "store does not respond");
        }
        *self.seen() = Seen { last: Some((answer.is_ok(), Instant::now())), is_asked: false };
        self.asked.notify_waiters();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server accepts requests.
#[derive(Serialize, ToSchema)]
pub(crate) struct HealthView {
    status: &'static str,
    version: &'static str,
    api_version: &'static str,
}

/// 200 as soon as requests are served; says nothing about the store.
pub(crate) async fn health() -> HttpResponse {
    let view = HealthView { status: "ok", version: env!("CARGO_PKG_VERSION"), api_version: "v1" };
    HttpResponse::Ok().json(view)
}

/// The server is ready.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReadyView {
    /// `ready` or `degraded`. A degraded server accepts requests, but it receives no events from other
    /// servers, or its disk is nearly full and it refuses large writes.
    status: &'static str,
}

/// 200 when the store answers and the server is not about to end, else 503. A bus that is away is
/// no reason to send requests elsewhere.
pub(crate) async fn ready(readiness: web::Data<Readiness>) -> Result<HttpResponse, ApiError> {
    let draining = readiness.is_draining();
    if !draining && readiness.store_answers().await {
        let is_whole = readiness.bus.as_ref().is_none_or(|bus| bus.is_connected());
        let is_whole = is_whole && !readiness.disk.is_short();
        let status = if is_whole { "ready" } else { "degraded" };
        return Ok(HttpResponse::Ok().json(ReadyView { status }));
    }
    let what = if draining {
        "The server is stopping. Try again in a second, or use another server."
    } else {
        "The store does not respond. Try again in a second, or check the database."
    };
    Err(ApiError::new(ErrorCode::ServiceUnavailable, what).with_retry_after(1))
}
