//! From a credential to a caller.
//!
//! [`users_only`], [`agents_only`] and, for the generic paths, [`any_caller`] stand before
//! everything that needs a credential, so that somebody without a valid one learns neither which
//! paths there are nor what is wrong with a body; the extractors hand the caller to a handler.

pub mod credential;

use std::future::{Ready, ready};

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use domain::account::{AccountService, TokenService};
use domain::caller::{AgentCaller, Caller, UserCaller};

use crate::error::{ApiError, ErrorCode, unauthorized};
pub use credential::Credential;

/// Lets humans pass: 401 without a valid credential, 403 for an agent.
pub async fn users_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    match authenticate(&request, credential::of_interface(request.headers())).await? {
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
    match authenticate(&request, credential::of_interface(request.headers())).await? {
        Caller::Agent(caller) => request.extensions_mut().insert(AgentAuth(caller)),
        Caller::User(_) => return Err(forbidden("A user's credential is not accepted here").into()),
    };
    next.call(request).await
}

/// Lets humans and agents pass, with the credentials that the generic paths know: 401 without a
/// valid one.
pub async fn any_caller<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let caller = authenticate(&request, credential::of_generic_path(request.headers())).await?;
    request.extensions_mut().insert(CallerAuth(caller));
    next.call(request).await
}

/// A token counts only where a service for tokens is mounted.
async fn authenticate(
    request: &ServiceRequest,
    credential: Option<Credential<'_>>,
) -> Result<Caller, ApiError> {
    let accounts = request
        .app_data::<web::Data<AccountService>>()
        .ok_or_else(|| ApiError::defect("the account service is not registered"))?;
    match credential {
        Some(Credential::Key(key)) => Ok(accounts.authenticate(key).await?),
        Some(Credential::Token(token)) => match request.app_data::<web::Data<TokenService>>() {
            Some(tokens) => Ok(tokens.authenticate(token).await?.into()),
            None => Err(unauthorized()),
        },
        None => Err(unauthorized()),
    }
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

/// Whoever calls; behind [`any_caller`].
#[derive(Clone, Copy, Debug)]
pub struct CallerAuth(pub Caller);

impl FromRequest for CallerAuth {
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
