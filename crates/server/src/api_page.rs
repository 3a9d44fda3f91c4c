//! The page that shows the API's document (`/api/v1/docs/`), if the program was built with the
//! feature `swagger-ui`.
//!
//! The page loads everything from this server, and may not contact any other.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use actix_web::guard::Get;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::anonymous;
use http_wire::static_file::StaticFile;
use utoipa_swagger_ui::Config;

use crate::api_document::{self, DOCUMENT, READABLE};

/// The configuration of the page.
static PAGE: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| Arc::new(Config::from(DOCUMENT)));

/// Mounts the page.
pub(crate) fn configure(config: &mut web::ServiceConfig) {
    let policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                  frame-ancestors 'none'";
    let headers = DefaultHeaders::new().add((CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)));
    let page = web::resource("/{_:.*}").guard(Get()).to(serve);
    let scope = web::scope("/api/v1/docs").wrap(headers).wrap(from_fn(anonymous));
    // The page names its files relative to the slash.
    config.service(scope.service(web::redirect("", READABLE)).service(page));
}

async fn serve(request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, ApiError> {
    let path = path.into_inner();
    api_document::serve(&request, &path, || {
        let file = utoipa_swagger_ui::serve(&path, PAGE.clone());
        let file = file.map_err(|fault| {
            tracing::error!(error = %fault, "file of the documentation page cannot be built");
            ApiError::new(
                ErrorCode::InternalError,
                "The server cannot read this file. Ask the operator to look for the cause in the log.",
            )
        })?;
        Ok(file.map(|file| {
            let body = match file.bytes {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => Bytes::from(bytes),
            };
            StaticFile::new(body, file.content_type, file.gzpipped)
        }))
    })
}
