//! Whether the server lives, and whether it can serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::{HttpResponse, web};
use adapters_nats::NatsBus;
use http_wire::error::{ApiError, ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::disk::Disk;
use crate::store::Store;

/// What `/ready` looks at.
pub(crate) struct Readiness {
    pub(crate) store: Arc<dyn Store>,
    bus: Option<Arc<NatsBus>>,
    disk: Arc<Disk>,
    draining: AtomicBool,
}

impl Readiness {
    pub(crate) fn new(store: Arc<dyn Store>, bus: Option<Arc<NatsBus>>, disk: Arc<Disk>) -> Self {
        Self { store, bus, disk, draining: AtomicBool::new(false) }
    }

    /// From now on the server is about to end.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// That requests are served.
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

/// That the server can work.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReadyView {
    /// `ready`, or `degraded`: requests are served, but what other servers do is heard only by asking, or the disk is
    /// nearly full and large writes are refused.
    status: &'static str,
}

/// 200 when the store answers and the server is not about to end, else 503. A bus that is away is no reason to send
/// requests elsewhere.
pub(crate) async fn ready(readiness: web::Data<Readiness>) -> Result<HttpResponse, ApiError> {
    let draining = readiness.draining.load(Ordering::Relaxed);
    let store = readiness.store.ping().await;
    if let Err(error) = &store {
        // The log says so once, when the outage begins (tail).
        tracing::debug!(error = %error, "the store does not answer");
    }
    if store.is_ok() && !draining {
        let is_whole = readiness.bus.as_ref().is_none_or(|bus| bus.is_connected());
        let is_whole = is_whole && !readiness.disk.is_short();
        let status = if is_whole { "ready" } else { "degraded" };
        return Ok(HttpResponse::Ok().json(ReadyView { status }));
    }
    let what = if draining { "The server is about to stop" } else { "The store does not answer" };
    Err(ApiError::new(ErrorCode::ServiceUnavailable, what).with_retry_after(1))
}
