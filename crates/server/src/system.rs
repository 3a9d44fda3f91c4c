//! Information for client programs: version, a health report, and a check of their credential.

use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};
use domain::caller::Caller;
use domain::ports::Clock;
use http_wire::auth::{CallerAuth, any_caller};
use http_wire::limit::anonymous;
use http_wire::openapi::{AllowedCallers, Endpoint, Interface, get, mount};
use http_wire::query::{NoQuery, StrictQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::SystemClock;
use crate::health::{self, Readiness};

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The API version in the paths.
const API_VERSION: &str = "v1";

/// Mounts the operations without a credential, and `/api/v1/test`, which tests one.
pub(crate) fn configure(config: &mut web::ServiceConfig, has_console: bool) {
    config.app_data(web::Data::new(HasConsole(has_console)));
    mount(&mut *config, "", probes(), web::ServiceConfig::service);
    mount(&mut *config, "", public_endpoints(), |config, resource| {
        config.service(resource.wrap(from_fn(anonymous)))
    });
    mount(config, "", credential_endpoints(), |config, resource| {
        config.service(resource.wrap(from_fn(any_caller)))
    });
}

/// Their part of the API's document.
pub(crate) fn interfaces() -> Vec<Interface> {
    let part = |callers, endpoints| Interface { base: "", tag: "System", prefix: "", callers, endpoints };
    vec![
        part(AllowedCallers::Public, probes()),
        part(AllowedCallers::Public, public_endpoints()),
        part(AllowedCallers::Any, credential_endpoints()),
    ]
}

/// Operations that are polled, and cost next to nothing.
fn probes() -> Vec<Endpoint> {
    vec![
        get("/health", health::health)
            .named("health", "Check whether the server accepts requests")
            .answers_bare::<health::HealthView>(200),
        get("/ready", health::ready)
            .named("ready", "Check whether the store responds and the server is not stopping")
            .answers_bare::<health::ReadyView>(200),
    ]
}

fn public_endpoints() -> Vec<Endpoint> {
    vec![
        get("/", root).named("root", "Show the name of the program").answers_bare::<ProgramView>(200),
        get("/version", version)
            .named("version", "Show the version of the program")
            .answers_bare::<ProgramView>(200),
        get("/api/version", version)
            .named("apiVersion", "Show the version of the program")
            .answers_bare::<ProgramView>(200),
        get("/api/v1/health", report)
            .named("healthReport", "Show the status of the server and its components")
            .answers_bare::<ReportView>(200),
    ]
}

fn credential_endpoints() -> Vec<Endpoint> {
    vec![
        get("/api/v1/test", test_credential)
            .named("testCredential", "Check a credential and show its holder")
            .answers_bare::<CredentialReportView>(200),
    ]
}

/// The program and its version.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProgramView {
    name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) api_version: &'static str,
    /// Value of `PARLANCE_COMMIT` at build time.
    pub(crate) commit: &'static str,
    /// Value of `PARLANCE_BUILT_AT` at build time.
    pub(crate) built_at: &'static str,
}

pub(crate) const PROGRAM: ProgramView = ProgramView {
    name: "parlance",
    version: VERSION,
    api_version: API_VERSION,
    commit: known(option_env!("PARLANCE_COMMIT")),
    built_at: known(option_env!("PARLANCE_BUILT_AT")),
};

const fn known(value: Option<&'static str>) -> &'static str {
    match value {
        Some(value) => value,
        None => "unknown",
    }
}

/// Set if the console is served.
struct HasConsole(bool);

/// A browser is led to the console.
async fn root(request: HttpRequest, console: web::Data<HasConsole>) -> HttpResponse {
    let redirect = if console.0 { http_console::redirect(&request) } else { None };
    redirect.unwrap_or_else(|| HttpResponse::Ok().json(PROGRAM))
}

async fn version() -> HttpResponse {
    HttpResponse::Ok().json(PROGRAM)
}

/// Status of the server and its components.
#[derive(Serialize, ToSchema)]
struct ReportView {
    status: &'static str,
    version: &'static str,
    api_version: &'static str,
    timestamp: String,
    services: ServicesView,
}

#[derive(Serialize, ToSchema)]
struct ServicesView {
    database: ServiceView,
}

#[derive(Serialize, ToSchema)]
struct ServiceView {
    healthy: bool,
}

/// Always 200: the parts say what is wrong. Load balancers ask `/ready`.
async fn report(readiness: web::Data<Readiness>) -> HttpResponse {
    let healthy = readiness.store_answers().await;
    HttpResponse::Ok().json(ReportView {
        status: if healthy { "ok" } else { "degraded" },
        version: VERSION,
        api_version: API_VERSION,
        timestamp: SystemClock.now().to_string(),
        services: ServicesView { database: ServiceView { healthy } },
    })
}

/// A valid credential and its holder.
#[derive(Serialize, ToSchema)]
struct CredentialReportView {
    status: &'static str,
    message: &'static str,
    auth_type: &'static str,
    api_version: &'static str,
    id: String,
}

/// 200 for any valid credential.
async fn test_credential(CallerAuth(caller): CallerAuth, _: StrictQuery<NoQuery>) -> HttpResponse {
    let auth_type = match caller {
        Caller::User(_) => "user",
        Caller::Agent(_) => "agent",
    };
    HttpResponse::Ok().json(CredentialReportView {
        status: "ok",
        message: "The credential is valid",
        auth_type,
        api_version: API_VERSION,
        id: caller.participant().to_string(),
    })
}
