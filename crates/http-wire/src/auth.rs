//! From a credential to a caller.
//!
//! [`users_only`] and [`agents_only`] stand before everything under `/api/v1/me` and
//! `/api/v1/agent`, so that somebody without a valid credential learns neither which paths there
//! are nor what is wrong with a body; the extractors hand the caller to a handler.

use std::future::{Ready, ready};

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use domain::account::AccountService;
use domain::caller::{AgentCaller, Caller, UserCaller};

use crate::error::{ApiError, ErrorCode, unauthorized};

/// The most bytes of a key that is looked at.
const MAX_KEY_BYTES: usize = 512;

/// The key in `X-API-Key`; `None` when it is absent or cannot be a key.
pub fn api_key(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get("x-api-key")?.to_str().ok()?;
    (1..=MAX_KEY_BYTES).contains(&key.len()).then_some(key)
}

/// Lets humans pass: 401 without a valid credential, 403 for an agent.
pub async fn users_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    match authenticate(&request).await? {
        Caller::User(caller) => request.extensions_mut().insert(UserAuth(caller)),
        Caller::Agent(_) => return Err(forbidden("An agent's credential is not accepted here").into()),
    };
    next.call(request).await
}

/// Lets agents pass: 401 without a valid credential, 403 for a human.
pub async fn agents_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    match authenticate(&request).await? {
        Caller::Agent(caller) => request.extensions_mut().insert(AgentAuth(caller)),
        Caller::User(_) => return Err(forbidden("A user's credential is not accepted here").into()),
    };
    next.call(request).await
}

/// A bearer token is never valid: nothing issues any, and an API key is none.
async fn authenticate(request: &ServiceRequest) -> Result<Caller, ApiError> {
    let accounts = request
        .app_data::<web::Data<AccountService>>()
        .ok_or_else(|| ApiError::defect("the account service is not registered"))?;
    let key = api_key(request.headers()).ok_or_else(unauthorized)?;
    Ok(accounts.authenticate(key).await?)
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Forbidden, message)
}

/// The human who calls; behind [`users_only`].
#[derive(Clone, Copy, Debug)]
pub struct UserAuth(pub UserCaller);

impl FromRequest for UserAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The agent that calls; behind [`agents_only`].
#[derive(Clone, Copy, Debug)]
pub struct AgentAuth(pub AgentCaller);

impl FromRequest for AgentAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

fn caller<T: Copy + 'static>(request: &HttpRequest) -> Result<T, ApiError> {
    let known = request.extensions().get::<T>().copied();
    known.ok_or_else(|| ApiError::defect("a handler is mounted outside its guard"))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_what_can_be_a_key_is_looked_at() {
        let with = |bytes: &[u8]| {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_bytes(bytes).unwrap();
            headers.insert(HeaderName::from_static("x-api-key"), value);
            api_key(&headers).map(str::to_owned)
        };
        assert_eq!(api_key(&HeaderMap::new()), None);
        assert_eq!(with(b""), None);
        assert_eq!(with(b"thnv_u_1").as_deref(), Some("thnv_u_1"));
        assert_eq!(with("schlüssel".as_bytes()), None);
        assert_eq!(with(&[b'k'; 513]), None);
        assert!(with(&[b'k'; 512]).is_some());
    }
}
