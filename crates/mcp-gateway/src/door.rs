//! `POST /mcp`: one JSON-RPC message of a client, and its answer.
//!
//! The protocol's library answers each message on its own. It receives the message, the few headers that the protocol
//! defines, and the caller's session, but never a credential.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, ContentType, HOST};
use actix_web::middleware::from_fn;
use actix_web::web::{self, Bytes, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use domain::services::Services;
use http_body_util::{BodyExt, Full};
use http_wire::auth::{DoorAuth, Noted, mcp_door};
use http_wire::browser::allowed_pages_only;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::RateLimits;
use http_wire::query::StrictQuery;
use http_wire::request_scope::Verbatim;
use http_wire::room_waiters::{IsStopping, RoomWaiters};
use http_wire::strict_json::{self, JsonText, MAX_BODY_BYTES};
use rmcp::model::{ErrorData, JsonRpcError};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::failure;
use crate::server::Server;
use crate::session::{Gateway, Narrowing, Session};

/// The path.
const PATH: &str = "/mcp";

/// The headers of the protocol begin with this.
const PROTOCOL_HEADERS: &str = "mcp-";

/// Mounts `/mcp`, inside the request scope.
pub fn configure(
    config: &mut ServiceConfig,
    services: &Services,
    limits: &Arc<RateLimits>,
    waiters: &Arc<RoomWaiters>,
    is_stopping: &IsStopping,
) {
    let gateway = Gateway {
        services: services.clone(),
        limits: limits.clone(),
        waiters: waiters.clone(),
        is_stopping: is_stopping.clone(),
    };
    let resource = web::resource(PATH)
        .app_data(Data::new(gateway))
        .route(web::post().to(answer))
        .wrap(from_fn(mcp_door))
        .wrap(from_fn(allowed_pages_only));
    config.service(resource);
}

async fn answer(
    DoorAuth(admitted): DoorAuth,
    StrictQuery(narrowing): StrictQuery<Narrowing>,
    request: HttpRequest,
    gateway: Data<Gateway>,
    JsonText(text): JsonText,
) -> Result<HttpResponse, ApiError> {
    let session = Session::open(gateway.into_inner(), admitted, narrowing).await?;
    if let Err(fault) = check(&text) {
        session.note_failure(ErrorCode::BadRequest, None);
        return Ok(noted(error(StatusCode::BAD_REQUEST, fault)));
    }
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        // The door has checked the origin; the name of the host says nothing behind a proxy.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let noting = session.clone();
    let server = Server::new(session);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let (parts, body) = service.handle(message(&request, text)?).await.into_parts();
    let Ok(body) = body.collect().await;
    let status = StatusCode::from_u16(parts.status.as_u16())
        .map_err(|_| ApiError::defect("the protocol's library has answered with an unknown status"))?;
    if status.is_server_error() {
        return Err(ApiError::defect("the protocol's library has failed"));
    }
    let is_json = parts.headers.get("content-type").is_some_and(|kind| kind == "application/json");
    let body = body.to_bytes();
    if !status.is_success() {
        noting.note_failure(ErrorCode::of_status(status), None);
    }
    let answer = if !is_json && !status.is_success() {
        refusal(status, &body)
    } else {
        response(status, is_json, body)
    };
    Ok(if noting.has_failed() { noted(answer) } else { answer })
}

/// Marks an answer whose failure is noted: a tool that failed is answered with 200.
fn noted(mut answer: HttpResponse) -> HttpResponse {
    answer.extensions_mut().insert(Noted);
    answer
}

/// Checks that the text is JSON within the limits of all bodies, so that only what is no message of the protocol is left to
/// its library.
fn check(text: &Bytes) -> Result<(), ErrorData> {
    strict_json::check(text).map_err(|error| failure::parse_error(&error))
}

/// The message, with the headers that the protocol defines.
fn message(request: &HttpRequest, text: Bytes) -> Result<http::Request<Full<Bytes>>, ApiError> {
    // The body was checked to be JSON, whatever it was declared as.
    let mut message = http::Request::post(PATH).header("content-type", "application/json");
    for (name, value) in request.headers() {
        let is_defined = [ACCEPT, HOST].contains(name) || name.as_str().starts_with(PROTOCOL_HEADERS);
        if is_defined {
            message = message.header(name.as_str(), value.as_bytes());
        }
    }
    if !request.headers().contains_key(HOST) {
        message = message.header("host", "localhost");
    }
    message.body(Full::new(text)).map_err(|_| ApiError::defect("a header cannot be passed on"))
}

/// What the library has answered in plain words, as an error of the protocol.
fn refusal(status: StatusCode, said: &[u8]) -> HttpResponse {
    // What it cannot read is no message of the protocol, although it is JSON.
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let message = "The body is not a message of MCP. Send one JSON-RPC request or notification.";
        return error(StatusCode::BAD_REQUEST, ErrorData::invalid_request(message, None));
    }
    error(status, ErrorData::invalid_request(String::from_utf8_lossy(said).into_owned(), None))
}

/// An error that answers no known request.
fn error(status: StatusCode, fault: ErrorData) -> HttpResponse {
    let body = serde_json::to_vec(&JsonRpcError::new(None, fault)).unwrap_or_default();
    response(status, true, body.into())
}

fn response(status: StatusCode, is_json: bool, body: Bytes) -> HttpResponse {
    let mut builder = HttpResponse::build(status);
    if is_json {
        builder.insert_header(ContentType::json());
    }
    let mut response = builder.body(body);
    response.extensions_mut().insert(Verbatim);
    response
}
