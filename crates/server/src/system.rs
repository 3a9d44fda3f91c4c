//! What programs ask to find out whom and what they talk to (`rest` 7): version, a health report
//! with its parts, and whether a key is any good.

use actix_web::middleware::from_fn;
use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::ports::Clock;
use http_wire::auth::{CallerAuth, any_caller};
use http_wire::query::{NoQuery, StrictQuery};
use serde_json::json;

use crate::health::Readiness;
use crate::ports::SystemClock;

/// Mounts `/version`, `/api/version`, `/api/v1/health` and `/api/v1/test`.
pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/version").route(web::get().to(version)))
        .service(web::resource("/api/version").route(web::get().to(version)))
        .service(web::resource("/api/v1/health").route(web::get().to(report)))
        .service(
            web::resource("/api/v1/test").wrap(from_fn(any_caller)).route(web::get().to(test_credential)),
        );
}

async fn version() -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "name": "parlance",
        "version": env!("CARGO_PKG_VERSION"),
        "api_version": "v1",
    }))
}

/// Always 200: the parts say what is wrong. Load balancers ask `/ready`.
async fn report(readiness: web::Data<Readiness>) -> HttpResponse {
    let healthy = readiness.store.ping().await.is_ok();
    HttpResponse::Ok().json(json!({
        "status": if healthy { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "api_version": "v1",
        "timestamp": SystemClock.now().to_string(),
        "services": { "database": { "healthy": healthy } },
    }))
}

/// 200 for any valid credential, with whose it is.
async fn test_credential(CallerAuth(caller): CallerAuth, _: StrictQuery<NoQuery>) -> HttpResponse {
    let auth_type = match caller {
        Caller::User(_) => "user",
        Caller::Agent(_) => "agent",
    };
    HttpResponse::Ok().json(json!({
        "status": "ok",
        "message": "The credential is valid",
        "auth_type": auth_type,
        "api_version": "v1",
        "id": caller.participant().to_string(),
    }))
}
