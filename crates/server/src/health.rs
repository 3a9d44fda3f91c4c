//! Whether the server lives, and whether it can serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::{HttpResponse, web};
use adapters_sqlite::SqliteStore;
use http_wire::error::{ApiError, ErrorCode};
use serde_json::json;

/// What `/ready` looks at.
pub(crate) struct Readiness {
    pub(crate) store: Arc<SqliteStore>,
    draining: AtomicBool,
}

impl Readiness {
    pub(crate) fn new(store: Arc<SqliteStore>) -> Self {
        Self { store, draining: AtomicBool::new(false) }
    }

    /// From now on the server is about to end.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// Mounts `/health`, `/ready` and `/`.
pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/").route(web::get().to(root)))
        .service(web::resource("/health").route(web::get().to(health)))
        .service(web::resource("/ready").route(web::get().to(ready)));
}

async fn root() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "name": "parlance", "version": env!("CARGO_PKG_VERSION") }))
}

/// 200 as soon as requests are served; says nothing about the store.
async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "api_version": "v1",
    }))
}

/// 200 when the store answers and the server is not about to end, else 503.
async fn ready(readiness: web::Data<Readiness>) -> Result<HttpResponse, ApiError> {
    let draining = readiness.draining.load(Ordering::Relaxed);
    let store = readiness.store.ping().await;
    if let Err(error) = &store {
        tracing::warn!(error = %error, "the store does not answer");
    }
    if store.is_ok() && !draining {
        return Ok(HttpResponse::Ok().json(json!({ "status": "ready" })));
    }
    let what = if draining { "The server is about to stop" } else { "The store does not answer" };
    Err(ApiError::new(ErrorCode::ServiceUnavailable, what).with_retry_after(1))
}
