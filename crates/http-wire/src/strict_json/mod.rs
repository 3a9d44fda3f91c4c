//! Request bodies, read strictly.
//!
//! A body that is not JSON is 400, as is an unknown property; wrong values are 422, all of them
//! reported at once under the pointers that the client used, and so is a duplicate member of an
//! object. A body may be in a wrapper (`{"message": {…}}`) or flat.

mod description;
mod faults;
mod reader;
mod scan;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::rt::time::timeout;
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::time::Instant;

pub use description::Optionality;
pub(crate) use faults::Faults;
pub use faults::{NOT_AN_ID, Rejected, UNKNOWN_WORD};
pub use reader::{Number, ObjectReader, id, known};

use crate::auth;
use crate::error::{ApiError, ErrorCode};
use crate::query::{self, NoQuery};

/// The maximum size of a body. Enough for the longest text with every character escaped, so that a
/// text that is too long is a 422 with its pointer.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The time limit for receiving a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A credential is checked again if the body took longer than this.
const CHECK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A type that can be read from a body.
pub trait FromBody: Sized + 'static {
    /// The property that may hold the whole body.
    const WRAPPER: Option<&'static str> = None;

    /// Takes every known property from `body`, and records all faults instead of returning at the
    /// first. Remaining properties are unknown.
    ///
    /// This also describes the body (`schema`): an operation is documented as it is read.
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected>;
}

/// A body with its form.
#[derive(Clone, Debug)]
pub struct StrictJson<T> {
    /// The body.
    pub body: T,
    /// Its form.
    pub form: Form,
}

/// The form of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In its wrapper, or it has none.
    Plain,
    /// Without the wrapper of this name.
    Flat(&'static str),
}

impl Form {
    /// A later failure, with pointers that fit the form of this body.
    pub fn explain(self, error: impl Into<ApiError>) -> ApiError {
        match self {
            Self::Plain => error.into(),
            Self::Flat(wrapper) => error.into().without_wrapper(wrapper),
        }
    }
}

/// An operation without a body: an empty one and `{}` are fine, with any content type that is
/// JSON or none.
#[derive(Clone, Copy, Debug)]
pub struct NoBody;

impl FromBody for NoBody {
    fn from_body(_: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self)
    }
}

impl<T: FromBody> FromRequest for StrictJson<T> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let bytes = read_body(request, payload);
        Box::pin(async move { parse(&bytes.await?) })
    }
}

/// The text of a body of an operation that reads it in its own way, and may have parameters.
#[derive(Clone, Debug)]
pub struct JsonText(pub Bytes);

impl FromRequest for JsonText {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let text = read_text(request, payload);
        Box::pin(async move { text.await.map(Self) })
    }
}

/// The text of the body of an operation without parameters.
pub(crate) fn read_body(
    request: &HttpRequest,
    payload: &mut Payload,
) -> impl Future<Output = Result<Bytes, ApiError>> + 'static {
    let parameters = query::of_request::<NoQuery>(request);
    let text = read_text(request, payload);
    async move {
        parameters?;
        text.await
    }
}

/// The text of a request's body, which must be declared as JSON, unless it is empty.
fn read_text(
    request: &HttpRequest,
    payload: &mut Payload,
) -> impl Future<Output = Result<Bytes, ApiError>> + 'static {
    let announced = announced_length(request.headers());
    let json = is_json(request.headers());
    let (request, payload) = (request.clone(), payload.take());
    async move {
        if announced > MAX_BODY_BYTES {
            return Err(too_large());
        }
        let late = |_| {
            ApiError::new(
                ErrorCode::RequestTimeout,
                "The body did not arrive in time. Send the request again.",
            )
        };
        let begun = Instant::now();
        let bytes = timeout(READ_TIMEOUT, collect(payload)).await.map_err(late)??;
        if begun.elapsed() >= CHECK_AGAIN_AFTER {
            auth::check_again(&request).await?;
        }
        if !json && !bytes.is_empty() {
            let message = "The body must be JSON. Send it with Content-Type: application/json.";
            return Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
        }
        Ok(bytes)
    }
}

/// Reads a body from its text.
pub fn parse<T: FromBody>(bytes: &[u8]) -> Result<StrictJson<T>, ApiError> {
    let mut members = object(bytes)?;
    let mut faults = Faults::default();
    let content = T::WRAPPER.and_then(|name| members.remove(name).map(|content| (name, content)));
    let mut outer = ObjectReader::new(members, String::new(), &mut faults);
    let (body, form) = match (content, T::WRAPPER) {
        (Some((name, content)), _) => (outer.inside(name, content, T::from_body), Form::Plain),
        (None, Some(name)) => (T::from_body(&mut outer), Form::Flat(name)),
        (None, None) => (T::from_body(&mut outer), Form::Plain),
    };
    outer.finish();
    faults.into_result()?;
    body.map(|body| StrictJson { body, form }).map_err(|_: Rejected| ApiError::validation())
}

/// Reads a flat body from its members, which a door has parsed.
pub fn read_members<T: FromBody>(members: Map<String, Value>) -> Result<T, ApiError> {
    let mut faults = Faults::default();
    let mut reader = ObjectReader::new(members, String::new(), &mut faults);
    let body = T::from_body(&mut reader);
    reader.finish();
    faults.into_result()?;
    body.map_err(|_: Rejected| ApiError::validation())
}

/// The JSON schema of the flat form of a body, for the API's document.
pub fn schema<T: FromBody>() -> Value {
    ObjectReader::schema_of(T::from_body)
}

/// An empty body counts as `{}`.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match value(bytes)? {
        Value::Object(members) => Ok(members),
        other => Err(ApiError::validation().with_detail("", reader::expected("object", &other))),
    }
}

/// Parses a text that is not too deep, has not too many values, and names no member of an object twice.
fn value(bytes: &[u8]) -> Result<Value, ApiError> {
    let members = scan::check(bytes)?;
    let parsed = serde_json::from_slice::<Value>(bytes).map_err(|error| {
        // The position and the grammar only: the error never holds a value of the body.
        let message = format!("The body is not valid JSON: {error}. Correct it, and send it again.");
        ApiError::new(ErrorCode::BadRequest, message)
    })?;
    scan::check_names(bytes, &parsed, members)?;
    Ok(parsed)
}

/// Checks that a body which a library will parse is within the limits of all bodies.
pub fn check(bytes: &[u8]) -> Result<(), ApiError> {
    value(bytes).map(|_| ())
}

async fn collect(mut payload: Payload) -> Result<Bytes, ApiError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let broken =
            |_| ApiError::new(ErrorCode::BadRequest, "The body could not be read. Send the request again.");
        let chunk = chunk.map_err(broken)?;
        if bytes.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

fn announced_length(headers: &HeaderMap) -> usize {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns whether the body is declared as JSON, or not at all.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/");
    subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

fn too_large() -> ApiError {
    let message = format!("The body is too large. Send at most {MAX_BODY_BYTES} bytes.");
    ApiError::new(ErrorCode::ContentTooLarge, message)
}
