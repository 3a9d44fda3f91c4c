//! The request scope around a small application: ids, error envelopes, and bodies as they arrive.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::web::{self, get, post, resource};
use actix_web::{App, Error, HttpResponse, ResponseError};
use domain::secret::Secret;
use domain::store::StoreError;
use http_wire::cursor::CursorSeal;
use http_wire::error::ApiError;
use http_wire::request_scope::RequestScope;
use http_wire::strict_json::{MAX_BODY_BYTES, NoBody, StrictJson};
use serde_json::{Value, json};

async fn app()
-> impl Service<actix_http::Request, Response = ServiceResponse<impl MessageBody>, Error = Error> {
    let refusing = web::scope("/refusing")
        .wrap(from_fn(|_, _| async { Err::<ServiceResponse, _>(ApiError::from(unavailable()).into()) }))
        .service(resource("").route(get().to(HttpResponse::Ok)));
    init_service(
        App::new()
            .wrap(RequestScope)
            .app_data(web::Data::new(CursorSeal::new(Secret([7; 32]))))
            .service(resource("/fine").route(get().to(HttpResponse::Ok)).route(post().to(take)))
            .service(resource("/broken").route(get().to(broken)))
            .service(resource("/foreign").route(get().to(|| async { Err::<&str, _>(Teapot) })))
            .service(resource("/unwired").route(get().to(|_: web::Data<u8>| async { "never" })))
            .service(web::scope("/in/{some}").service(resource("/{other}").route(get().to(HttpResponse::Ok))))
            .service(resource("/bare").route(get().to(HttpResponse::ServiceUnavailable)))
            .service(refusing),
    )
    .await
}

async fn take(_: StrictJson<NoBody>) -> &'static str {
    "taken"
}

async fn broken() -> Result<HttpResponse, ApiError> {
    Err(StoreError::Broken("secret cause".into()).into())
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("secret cause".into())
}

/// A foreign error.
#[derive(Debug)]
struct Teapot;

impl fmt::Display for Teapot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret cause")
    }
}

impl ResponseError for Teapot {
    fn status_code(&self) -> StatusCode {
        StatusCode::IM_A_TEAPOT
    }
}

/// Status, request id of the header, body.
async fn answer(request: TestRequest) -> (u16, String, Vec<u8>) {
    let app = app().await;
    let response = match app.call(request.to_request()).await {
        Ok(response) => response.map_into_boxed_body(),
        Err(error) => {
            let response = error.error_response();
            ServiceResponse::new(TestRequest::default().to_http_request(), response)
        }
    };
    let status = response.status().as_u16();
    let id = response.headers().get("x-request-id").expect("every answer has an id");
    let id = id.to_str().unwrap().to_owned();
    (status, id, read_body(response).await.to_vec())
}

async fn failure(request: TestRequest) -> (u16, Value) {
    let (status, id, body) = answer(request).await;
    let body: Value = serde_json::from_slice(&body).expect("a failure is an envelope");
    assert_eq!(body["error"]["request_id"], id.as_str());
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert!(!body.to_string().contains("secret"), "{body}");
    (status, body["error"]["code"].clone())
}

#[actix_web::test]
async fn every_failure_is_an_envelope() {
    for (path, expected) in [
        ("/nowhere", (404, "not_found")),
        ("/broken", (500, "internal_error")),
        ("/foreign", (418, "bad_request")),
        ("/unwired", (500, "internal_error")),
        ("/bare", (503, "service_unavailable")),
        ("/refusing", (503, "service_unavailable")),
    ] {
        let (status, code) = failure(TestRequest::get().uri(path)).await;
        assert_eq!((status, code.as_str().unwrap()), expected, "{path}");
    }
}

/// The captured log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log names a request by the pattern of its path, never by the path itself, even if a middleware
/// answered.
#[actix_web::test]
async fn the_log_names_routes() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().json().with_max_level(tracing::Level::DEBUG);
    let log = log.with_writer(move || writer.clone());
    let _logs = tracing::subscriber::set_default(log.finish());
    // Another test may be the first to log a line, and finds that nobody wants it, just before this log
    // begins.
    answer(TestRequest::with_uri("/fine")).await;
    tracing::callsite::rebuild_interest_cache();
    for (method, path, route) in [
        (Method::GET, "/fine?a=secret", "/fine"),
        (Method::GET, "/in/secret/place", "/in/{some}/{other}"),
        (Method::DELETE, "/in/secret/place", "/in/{some}/{other}"),
        (Method::GET, "/in/secret", "none"),
        (Method::GET, "/secret", "none"),
        (Method::GET, "/broken", "/broken"),
        (Method::GET, "/refusing", "/refusing"),
        (Method::POST, "/refusing", "/refusing"),
        (Method::GET, "/refusing/secret", "none"),
    ] {
        lines.0.lock().unwrap().clear();
        answer(TestRequest::with_uri(path).method(method.clone())).await;
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let answered = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let routes = answered.filter(|line| line["fields"]["message"] == "request completed");
        let routes = routes.map(|line| line["fields"]["http.route"].clone()).collect::<Vec<_>>();
        assert_eq!(routes, [route], "{method} {path}");
        assert!(!text.lines().any(|line| line.contains("\"answered\"") && line.contains("secret")), "{text}");
    }
}

#[actix_web::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let app = app().await;
    let response = call_service(&app, TestRequest::delete().uri("/fine").to_request()).await;
    assert_eq!(response.status(), 405);
    let allowed =
        response.headers().get_all("allow").map(|value| value.to_str().unwrap()).collect::<String>();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    let body: Value = serde_json::from_slice(&read_body(response).await).unwrap();
    assert_eq!(body["error"]["code"], "method_not_allowed");
}

#[actix_web::test]
async fn ids_are_kept_if_sane_and_made_otherwise() {
    let with = |id: &str| TestRequest::get().uri("/fine").insert_header(("x-request-id", id));
    let (_, kept, _) = answer(with("abc-1.2_X")).await;
    assert_eq!(kept, "abc-1.2_X");
    for odd in ["", "a b", "a\"b", &"x".repeat(129)] {
        let (_, made, _) = answer(with(odd)).await;
        assert_eq!(made.len(), 32, "{odd}");
    }
    let (_, one, _) = answer(TestRequest::get().uri("/fine")).await;
    let (_, other, _) = answer(TestRequest::get().uri("/fine")).await;
    assert_ne!(one, other);
}

#[actix_web::test]
async fn a_store_that_cannot_work_says_when_to_come_back() {
    let app = app().await;
    let error = app.call(TestRequest::get().uri("/refusing").to_request()).await.err().unwrap();
    assert_eq!(error.error_response().headers().get("retry-after").unwrap(), "1");
}

fn posted(body: impl Into<web::Bytes>) -> TestRequest {
    TestRequest::post().uri("/fine").set_payload(body)
}

#[actix_web::test]
async fn bodies_are_json_or_nothing() {
    for request in [
        posted(""),
        posted("").insert_header(("content-type", "application/json")),
        posted("").insert_header(("content-type", "text/plain")),
        posted("{}"),
        posted("{}").insert_header(("content-type", "application/json; charset=utf-8")),
        posted("{}").insert_header(("content-type", "Application/JSON")),
        posted("{}").insert_header(("content-type", "application/merge-patch+json")),
    ] {
        assert_eq!(answer(request).await.0, 200);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", ""] {
        let refused = failure(posted("{}").insert_header(("content-type", kind))).await;
        assert_eq!(refused, (415, json!("unsupported_media_type")), "{kind}");
    }
    assert_eq!(failure(posted("{")).await, (400, json!("bad_request")));
    assert_eq!(failure(posted("[]")).await, (422, json!("validation_error")));
}

#[actix_web::test]
async fn bodies_have_a_size() {
    let padded = |bytes: usize| posted(format!("{{}}{}", " ".repeat(bytes - 2)));
    assert_eq!(answer(padded(MAX_BODY_BYTES)).await.0, 200);
    assert_eq!(failure(padded(MAX_BODY_BYTES + 1)).await, (413, json!("content_too_large")));
    // A body whose announced length is too large is not read.
    let announced = posted("{}").insert_header(("content-length", "99999999999"));
    assert_eq!(failure(announced).await, (413, json!("content_too_large")));
}

#[actix_web::test]
async fn a_422_always_has_details() {
    let (_, _, body) = answer(posted("[]")).await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["error"]["details"].is_object());
}
